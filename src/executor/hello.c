#include "executor/hello.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "executor/attest.h"
#include "executor/container.h"
#include "executor/walls.h"

/* The image decides what stands there: names of modules and blanks, or nothing is believed. */
static char *take_modules(const cJSON *hello)
{
    static const char accepted[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_ ";
    const char *text = json_get_text(hello, "modules");
    size_t len = text ? strlen(text) : 0;

    return mem_strdup(len <= LIMIT_MODULES_MAX && text && strspn(text, accepted) == len ? text
                                                                                        : "");
}

int hello_take(const char *bytes, size_t len, const struct spec_profile *profile,
               const struct spec_instance *instance, struct container_facts *facts)
{
    auto_json cJSON *hello = json_parse(bytes, len, &facts->error);
    const char *python = json_get_text(hello, "python");

    facts->walls = attest_walls(hello, profile, instance);
    if (!hello || walls_verdict(facts->walls, &facts->error) < 0)
        return -1;
    snprintf(facts->python, sizeof(facts->python), "%s", python ? python : "?");
    facts->modules = take_modules(hello);
    return 0;
}
