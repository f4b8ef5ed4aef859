#include "executor/devices.h"

#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "executor/gpus.h"
#include "executor/spec.h"
#include "executor/walls.h"

#define MEND                                                                                       \
    "stop whatever gives containers devices: hooks of the runtime, device rules, nodes in the "    \
    "image"

/* null, zero, full, random, urandom, tty and ptmx: the default devices of the OCI runtime
 * specification, without the console. */
static const char *const usual_nodes[] = {"c 1:3", "c 1:5", "c 1:7", "c 1:8",
                                          "c 1:9", "c 5:0", "c 5:2"};

/* What runtimes allow beside those: the making of any node (which needs a capability), the console,
 * terminals, and, with runc before 1.2, tun. None of them has a node. */
static const char *const usual_rules[] = {"c 5:1", "c 136:*", "c 10:200"};
static const char *const making_rules[] = {"b *:* m", "c *:* m"};

#define DEVICES "/dev/"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static bool is_among(const char *const *list, size_t count, const char *text, size_t len)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(list[i]) == len && strncmp(list[i], text, len) == 0)
            return true;
    }
    return false;
}

/* Of a GPU, by its name or its folder in /dev. */
static bool is_granted_gpu(const char *path, const struct spec_profile *profile)
{
    auto_free char *name = NULL;

    if (profile->gpus.kind == GRANTS_GPUS_NONE || strncmp(path, DEVICES, strlen(DEVICES)) != 0)
        return false;
    path += strlen(DEVICES);
    name = mem_strndup(path, strcspn(path, "/"));
    return gpus_is_device(name);
}

static void check_nodes(cJSON *walls, const cJSON *nodes, const struct spec_profile *profile)
{
    static const char name[] = "device nodes", asked[] = "none but the usual ones";
    auto_free char *count = mem_printf("%d of them", cJSON_GetArraySize(nodes));
    const cJSON *node;

    if (!nodes) {
        walls_fall(walls, name, asked, NULL, MEND);
        return;
    }
    cJSON_ArrayForEach(node, nodes)
    {
        const char *text = cJSON_GetStringValue(node);

        if (!text || (!is_among(usual_nodes, COUNT(usual_nodes), text, strlen(text)) &&
                      !is_granted_gpu(node->string, profile))) {
            auto_free char *found = mem_printf("%s (%s)", node->string, text ? text : "no device");

            walls_fall(walls, name, asked, found, MEND);
            return;
        }
    }
    walls_stand(walls, name, asked, count);
}

/* Whether a rule is for a GPU that has a node. */
static bool is_gpu_rule(const char *rule, size_t len, const cJSON *nodes,
                        const struct spec_profile *profile)
{
    const cJSON *node;

    cJSON_ArrayForEach(node, nodes)
    {
        const char *text = cJSON_GetStringValue(node);

        if (text && strlen(text) == len && strncmp(text, rule, len) == 0 &&
            is_granted_gpu(node->string, profile))
            return true;
    }
    return false;
}

/* "c 1:3 rwm": the device, and what may be done with it. */
static bool is_rule(const char *rule, const cJSON *nodes, const struct spec_profile *profile)
{
    const char *end = strrchr(rule, ' ');
    size_t len = end ? (size_t)(end - rule) : 0;

    return is_among(making_rules, COUNT(making_rules), rule, strlen(rule)) ||
           is_among(usual_nodes, COUNT(usual_nodes), rule, len) ||
           is_among(usual_rules, COUNT(usual_rules), rule, len) ||
           is_gpu_rule(rule, len, nodes, profile);
}

static void check_rules(cJSON *walls, const char *list, const cJSON *nodes,
                        const struct spec_profile *profile)
{
    static const char name[] = "device rules", asked[] = "those of the usual devices alone";
    auto_free char *text = list ? mem_strdup(list) : NULL;
    auto_free char *found = NULL;
    char *rest = text, *rule;
    unsigned count = 0;

    if (!list) {
        walls_fall(walls, name, asked, "no list to read", MEND);
        return;
    }
    while ((rule = strsep(&rest, "\n"))) {
        if (!is_rule(rule, nodes, profile)) {
            walls_fall(walls, name, asked, rule, MEND);
            return;
        }
        count++;
    }
    found = mem_printf("%u of them", count);
    walls_stand(walls, name, asked, found);
}

void devices_walls(cJSON *walls, const cJSON *hello, const struct spec_profile *profile)
{
    const cJSON *files = json_get_object(hello, "cgroup");
    const cJSON *nodes = json_get_object(hello, "nodes");
    const char *list = json_get_text(files, "devices.list");

    check_nodes(walls, nodes, profile);
    if (list || json_get(files, "memory.limit_in_bytes"))
        check_rules(walls, list, nodes, profile);
}
