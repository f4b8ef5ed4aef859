#include "front/bearer.h"

#include <nettle/memops.h>
#include <nettle/sha2.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define SCHEME "Bearer"
#define BLANKS " \t"

void bearer_digest(const char *token, size_t len, uint8_t ret[BEARER_DIGEST_SIZE])
{
    struct sha256_ctx context;

    sha256_init(&context);
    sha256_update(&context, len, (const uint8_t *)token);
    sha256_digest(&context, BEARER_DIGEST_SIZE, ret);
}

/* The token of "Bearer TOKEN" and its length; NULL where the header is something else. */
static const char *find_token(const char *authorization, size_t *ret_len)
{
    const char *token;
    size_t len;

    if (!authorization || strncasecmp(authorization, SCHEME, strlen(SCHEME)) != 0)
        return NULL;
    token = authorization + strlen(SCHEME);
    if (*token == '\0' || !strchr(BLANKS, *token))
        return NULL;
    token += strspn(token, BLANKS);
    len = strlen(token);
    while (len > 0 && strchr(BLANKS, token[len - 1]))
        len--;
    if (len == 0)
        return NULL;
    *ret_len = len;
    return token;
}

enum bearer_verdict bearer_check(const struct bearer *bearer, const char *authorization)
{
    uint8_t digest[BEARER_DIGEST_SIZE];
    int found = 0;
    size_t len;
    const char *token;

    if (bearer->count == 0)
        return BEARER_RIGHT;
    token = find_token(authorization, &len);
    if (!token)
        return BEARER_MISSING;
    bearer_digest(token, len, digest);
    /* All of them, always: the time tells nothing. */
    for (size_t i = 0; i < bearer->count; i++)
        found |= memeql_sec(digest, bearer->digests[i], BEARER_DIGEST_SIZE);
    return found ? BEARER_RIGHT : BEARER_WRONG;
}
