/* SHA-256, from nettle. Pure. */
#pragma once

#include <stddef.h>

#define SHA256_SIZE     32
#define SHA256_HEX_SIZE 65 /* with its NUL */

void sha256_bytes(const void *bytes, size_t len, unsigned char ret[SHA256_SIZE]);
void sha256_to_hex(const unsigned char digest[SHA256_SIZE], char ret[SHA256_HEX_SIZE]);
void sha256_hex(const void *bytes, size_t len, char ret[SHA256_HEX_SIZE]);
