#include "base/sha256.h"

#include <nettle/sha2.h>
#include <stdio.h>

void sha256_bytes(const void *bytes, size_t len, unsigned char ret[SHA256_SIZE])
{
    struct sha256_ctx context;

    sha256_init(&context);
    sha256_update(&context, len, bytes);
    sha256_digest(&context, SHA256_SIZE, ret);
}

void sha256_to_hex(const unsigned char digest[SHA256_SIZE], char ret[SHA256_HEX_SIZE])
{
    for (size_t i = 0; i < SHA256_SIZE; i++)
        snprintf(ret + 2 * i, 3, "%02x", digest[i]);
}

void sha256_hex(const void *bytes, size_t len, char ret[SHA256_HEX_SIZE])
{
    unsigned char digest[SHA256_SIZE];

    sha256_bytes(bytes, len, digest);
    sha256_to_hex(digest, ret);
}
