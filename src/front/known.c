#include "front/known.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "wire/wire.h"

struct known {
    char *modules[LIMIT_PROFILES_MAX];
    bool closed[LIMIT_PROFILES_MAX];
};

struct known *known_new(void)
{
    return mem_alloc(sizeof(struct known));
}

void known_free(struct known *known)
{
    if (!known)
        return;
    for (size_t i = 0; i < LIMIT_PROFILES_MAX; i++)
        free(known->modules[i]);
    free(known);
}

void known_take(struct known *known, const struct wire_profile *news)
{
    known->closed[news->index] = news->reason.len > 0;
    /* Without a Python, no container has come up yet. */
    if (news->python.len == 0)
        return;
    free(known->modules[news->index]);
    known->modules[news->index] = mem_strndup(news->modules.at, news->modules.len);
}

const char *known_modules(const struct known *known, size_t profile)
{
    return known ? known->modules[profile] : NULL;
}

bool known_is_closed(const struct known *known, size_t profile)
{
    return known && known->closed[profile];
}

bool known_has(const struct known *known, size_t profile, const char *module, size_t len)
{
    const char *at = known_modules(known, profile);

    while (at && *at) {
        size_t word = strcspn(at, " ");

        if (word == len && memcmp(at, module, len) == 0)
            return true;
        at += word + strspn(at + word, " ");
    }
    return false;
}
