/* Any bytes as the facts that a container tells of itself. What passes must hold what matters most,
 * read once more in the simplest way. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/profile_sample.h"
#include "base/error.h"
#include "base/json.h"
#include "executor/attest.h"

#define UID 60601

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_number(const cJSON *hello, const char *name, int64_t wanted)
{
    int64_t value;

    return json_get_int(hello, name, &value) && value == wanted;
}

static bool is_lo_alone(const cJSON *interfaces)
{
    const cJSON *interface;

    cJSON_ArrayForEach(interface, interfaces)
    {
        if (strcmp(interface->valuestring, "lo") != 0)
            return false;
    }
    return interfaces != NULL;
}

static bool has_no_disk(const cJSON *nodes)
{
    const cJSON *node;

    cJSON_ArrayForEach(node, nodes)
    {
        if (strncmp(node->valuestring, "c ", 2) != 0)
            return false;
    }
    return nodes != NULL;
}

static bool is_plain(const cJSON *hello)
{
    const char *capabilities = json_get_text(hello, "CapEff");
    const char *rules = json_get_text(json_get_object(hello, "cgroup"), "devices.list");

    return is_number(hello, "uid", UID) && is_number(hello, "gid", UID) &&
           is_number(hello, "no_new_privs", 1) && is_number(hello, "seccomp", 2) && capabilities &&
           strtoull(capabilities, NULL, 16) == 0 &&
           is_lo_alone(json_get_array(hello, "interfaces")) &&
           has_no_disk(json_get_object(hello, "nodes")) && !(rules && strstr(rules, "a *:*")) &&
           json_get_text(hello, "mountinfo") && json_get_object(hello, "cgroup");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct spec_instance instance = {.image_id = "sha256:0123", .uid = UID};
    auto_json cJSON *hello = json_parse((const char *)data, size, NULL);
    struct error err = {""};

    if (!hello)
        return 0;
    if (attest(hello, &profile, &instance, &err) == 0) {
        if (!is_plain(hello))
            abort();
    } else if (!*err.text) {
        abort();
    }
    return 0;
}
