/* As much of certificates as tells how long they hold. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The earliest end among the certificates in PEM text, in seconds since 1970. -1 where the text
 * holds none, or one that is not a certificate. Other blocks, and what stands between blocks, are
 * passed over. */
int x509_until(const char *pem, size_t len, int64_t *ret);
