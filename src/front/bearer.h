/* Bearer tokens: only their SHA-256 digests are kept, and compared in constant time. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define BEARER_DIGEST_SIZE 32
#define BEARER_TOKENS_MAX  64

struct bearer {
    uint8_t digests[BEARER_TOKENS_MAX][BEARER_DIGEST_SIZE];
    size_t count; /* 0: no token is asked for */
};

enum bearer_verdict {
    BEARER_RIGHT,
    BEARER_MISSING, /* no token was given */
    BEARER_WRONG,
};

void bearer_digest(const char *token, size_t len, uint8_t ret[BEARER_DIGEST_SIZE]);

/* authorization: the value of the header, NULL where there is none. */
enum bearer_verdict bearer_check(const struct bearer *bearer, const char *authorization);
