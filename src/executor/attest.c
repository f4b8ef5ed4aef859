#include "executor/attest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "executor/cgroup.h"
#include "executor/devices.h"
#include "executor/mounts.h"
#include "executor/walls.h"

#define MEND_ENGINE "update the engine and its runtime"
#define MEND_IMAGE  "use another image, or a current engine"

#define ENVIRONMENT_ASKED "the variables of profile and image"
#define JOINED_MAX        4096

static void check_identity(cJSON *walls, const cJSON *hello, int64_t uid)
{
    static const char asked[] = "a user and group id of its own";
    auto_free char *own = mem_printf("%" PRId64, uid);
    int64_t found_uid, found_gid;

    if (!json_get_int(hello, "uid", &found_uid) || !json_get_int(hello, "gid", &found_gid) ||
        found_uid != uid || found_gid != uid)
        walls_fall(walls, "user", asked, "another", MEND_IMAGE);
    else
        walls_stand(walls, "user", asked, own);
}

static void check_groups(cJSON *walls, const cJSON *hello, int64_t uid)
{
    static const char asked[] = "none but its own";
    const cJSON *groups = json_get_array(hello, "groups");
    const cJSON *group;
    bool more = false;

    cJSON_ArrayForEach(group, groups)
    {
        more = more || group->valuedouble != (double)uid;
    }
    if (!groups || more)
        walls_fall(walls, "groups", asked, more ? "more" : NULL, MEND_IMAGE);
    else
        walls_stand(walls, "groups", asked, asked);
}

static void check_capabilities(cJSON *walls, const cJSON *hello)
{
    static const char *const sets[] = {"CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb"};
    static const char asked[] = "no capability";

    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        const char *text = json_get_text(hello, sets[i]);

        if (!text || !*text || strspn(text, "0") != strlen(text))
            walls_fall(walls, sets[i], asked, text, MEND_ENGINE);
        else
            walls_stand(walls, sets[i], asked, text);
    }
}

static void check_privileges(cJSON *walls, const cJSON *hello)
{
    int64_t value;

    if (!json_get_int(hello, "no_new_privs", &value) || value != 1)
        walls_fall(walls, "no_new_privs", "1", "another value", MEND_ENGINE);
    else
        walls_stand(walls, "no_new_privs", "1", "1");
}

/* "refused" holds what the supervisor tried: name of the call to the errno that it got, 0 for
 * success. */
static void check_seccomp(cJSON *walls, const cJSON *hello)
{
    const cJSON *refused = json_get_object(hello, "refused");
    const cJSON *call, *passed = NULL;
    int tried = cJSON_GetArraySize(refused);
    auto_free char *found = mem_printf("mode 2, %d calls tried and refused", tried);
    int64_t mode;

    cJSON_ArrayForEach(call, refused)
    {
        if (!passed && call->valuedouble != EPERM && call->valuedouble != ENOSYS)
            passed = call;
    }
    if (!json_get_int(hello, "seccomp", &mode) || mode != 2)
        walls_fall(walls, "seccomp", "mode 2 (filter)", "another mode",
                   "use an engine and a kernel with seccomp");
    else if (tried == 0)
        walls_fall(walls, "seccomp", "calls that were tried and refused", NULL, MEND_ENGINE);
    else if (passed)
        walls_fall(walls, "seccomp", "this server's own profile, which refuses it", passed->string,
                   "use an engine that takes a seccomp profile with the container");
    else
        walls_stand(walls, "seccomp", "mode 2 (filter), with this server's own profile", found);
}

/* The items, with commas between them; "none". */
static char *join(const cJSON *texts)
{
    auto_buf struct buf out;
    const cJSON *item;

    buf_init(&out, JOINED_MAX);
    cJSON_ArrayForEach(item, texts)
    {
        (void)buf_addf(&out, "%s%s", out.len ? ", " : "", item->valuestring);
    }
    return out.len ? buf_take(&out, NULL) : mem_strdup("none");
}

/* Every item of an array of texts must be on the list, which ends with NULL. */
static void check_texts(cJSON *walls, const cJSON *array, const char *const *allowed,
                        const char *name, const char *asked, const char *mend)
{
    auto_free char *found = NULL;
    const cJSON *item;

    if (!array) {
        walls_fall(walls, name, asked, NULL, mend);
        return;
    }
    cJSON_ArrayForEach(item, array)
    {
        bool good = false;

        for (size_t i = 0; !good && allowed[i]; i++)
            good = cJSON_IsString(item) && strcmp(item->valuestring, allowed[i]) == 0;
        if (!good) {
            walls_fall(walls, name, asked, cJSON_GetStringValue(item), mend);
            return;
        }
    }
    found = join(array);
    walls_stand(walls, name, asked, found);
}

/* Those of GPUs count apart: with a grant they must be there, without one they must not. */
static void check_devices(cJSON *walls, const cJSON *hello, const struct spec_profile *profile)
{
    static const char *const usual[] = {"core", "fd",      "full", "mqueue", "null",  "ptmx",
                                        "pts",  "random",  "shm",  "stderr", "stdin", "stdout",
                                        "tty",  "urandom", "zero", NULL};
    const cJSON *devices = json_get_array(hello, "devices");
    bool granted = profile->gpus.kind != GRANTS_GPUS_NONE;
    auto_json cJSON *others = devices ? cJSON_CreateArray() : NULL;
    auto_free char *asked = granted ? gpus_text(&profile->gpus) : NULL;
    const cJSON *device;

    cJSON_ArrayForEach(device, devices)
    {
        const char *name = cJSON_GetStringValue(device);

        if (!granted || !name || !gpus_is_device(name))
            cJSON_AddItemToArray(others, cJSON_Duplicate(device, true));
    }
    check_texts(walls, others, usual, "devices", "the usual ones alone", MEND_ENGINE);
    if (granted && !gpus_are_there(devices))
        walls_fall(walls, "gpus", asked, "no device of a GPU in /dev",
                   "check the driver on the engine's host with `nvidia-smi`, and the toolkit with "
                   "`docker run --rm --gpus all IMAGE ls /dev`");
    else if (granted)
        walls_stand(walls, "gpus", asked, "their devices");
}

static void check_namespaces(cJSON *walls, const cJSON *hello)
{
    static const char *const interfaces[] = {"lo", NULL};
    static const char *const roots[] = {"/", NULL};
    static const char *const none[] = {NULL};
    const char *hostname = json_get_text(hello, "hostname");

    if (!hostname || strcmp(hostname, SPEC_HOSTNAME) != 0)
        walls_fall(walls, "host name", SPEC_HOSTNAME, hostname,
                   "use an engine with UTS namespaces");
    else
        walls_stand(walls, "host name", SPEC_HOSTNAME, hostname);
    check_texts(walls, json_get_array(hello, "interfaces"), interfaces, "network", "lo alone",
                "use an engine that honours NetworkDisabled and network mode none");
    check_texts(walls, json_get_array(hello, "cgroup_roots"), roots, "cgroup namespace",
                "its own cgroup as the root", "use an engine with private cgroup namespaces");
    check_texts(walls, json_get_array(hello, "unmasked"), none, "masked paths",
                "the kernel's own folders to be hidden or read-only", MEND_ENGINE);
}

static const char *value_of(const cJSON *env, const char *name)
{
    size_t len = strlen(name);
    const cJSON *item;

    cJSON_ArrayForEach(item, env)
    {
        if (cJSON_IsString(item) && strncmp(item->valuestring, name, len) == 0 &&
            item->valuestring[len] == '=')
            return item->valuestring + len + 1;
    }
    return NULL;
}

/* The first variable of ours that is missing; *ret_name is the caller's to free. */
static bool misses_variable(const cJSON *ours, const cJSON *found, char **ret_name)
{
    const cJSON *variable;

    cJSON_ArrayForEach(variable, ours)
    {
        auto_free char *name =
            mem_strndup(variable->valuestring, strcspn(variable->valuestring, "="));

        if (!json_get(found, name)) {
            *ret_name = steal(&name);
            return true;
        }
    }
    return false;
}

/* Exactly what was asked for: a variable that somebody else put in may hold a secret of the host.
 */
static void check_environment(cJSON *walls, const cJSON *hello, const struct spec_profile *profile,
                              const cJSON *image_env)
{
    auto_json cJSON *ours = spec_env(profile, image_env);
    const cJSON *found = json_get_object(hello, "environ");
    auto_free char *count = mem_printf("%d of them", cJSON_GetArraySize(found));
    auto_free char *missing = NULL;
    auto_free char *visible =
        profile->gpus.kind == GRANTS_GPUS_NONE ? NULL : gpus_visible(&profile->gpus);
    const cJSON *variable;

    if (misses_variable(ours, found, &missing)) {
        walls_fall(walls, "environment", missing, NULL, MEND_ENGINE);
        return;
    }
    cJSON_ArrayForEach(variable, found)
    {
        const char *asked = value_of(ours, variable->string);

        if (!asked)
            asked = value_of(image_env, variable->string);
        if (!asked && strcmp(variable->string, "HOSTNAME") == 0)
            asked = SPEC_HOSTNAME;
        /* NVIDIA's runtime takes what it is to do from it, and leaves it there. */
        if (!asked && visible && strcmp(variable->string, "NVIDIA_VISIBLE_DEVICES") == 0)
            asked = visible;
        if (!asked) {
            walls_fall(
                walls, "environment", ENVIRONMENT_ASKED, variable->string,
                "stop whatever gives containers this variable (podman: `http_proxy = false` in "
                "containers.conf; Docker: `proxies` in ~/.docker/config.json)");
            return;
        }
        if (!cJSON_IsString(variable) || strcmp(asked, variable->valuestring) != 0) {
            walls_fall(walls, "environment", "another value of a variable", variable->string,
                       MEND_ENGINE);
            return;
        }
    }
    walls_stand(walls, "environment", ENVIRONMENT_ASKED, count);
}

static void check_rlimit(cJSON *walls, const cJSON *hello, const char *name, int64_t asked)
{
    const cJSON *pair = json_get_array(json_get_object(hello, "rlimits"), name);
    auto_free char *text = mem_printf("%" PRId64, asked);

    for (int i = 0; i < 2; i++) {
        const cJSON *limit = cJSON_GetArrayItem(pair, i);

        if (!cJSON_IsNumber(limit) || limit->valuedouble != (double)asked) {
            walls_fall(walls, name, text, limit ? "another limit" : NULL, MEND_ENGINE);
            return;
        }
    }
    walls_stand(walls, name, text, text);
}

static void check_localhost(cJSON *walls, const cJSON *hello)
{
    static const char asked[] = "names of this container to resolve";

    if (!cJSON_IsTrue(json_get(hello, "resolver")))
        walls_fall(walls, "localhost", asked, "no resolver",
                   "use an engine that honours the sysctl net.ipv4.ip_unprivileged_port_start");
    else
        walls_stand(walls, "localhost", asked, "a resolver");
}

static void check_mounts(cJSON *walls, const cJSON *hello, const struct spec_profile *profile,
                         const struct spec_instance *instance)
{
    static const char asked[] = "those of profile and engine, and no other";
    const char *mountinfo = json_get_text(hello, "mountinfo");
    auto_free char *found = NULL;
    struct error err;
    unsigned count = 0;

    if (!mountinfo) {
        walls_fall(walls, "mounts", "a mount table", NULL, MEND_ENGINE);
        return;
    }
    if (mounts_check(mountinfo, profile, instance->uid, instance->image_volumes, &err) < 0) {
        walls_fall_because(walls, "mounts", asked, err.text,
                           "use another engine or image: this mount is not one that was asked for");
        return;
    }
    for (const char *p = mountinfo; *p; p++)
        count += *p == '\n';
    found = mem_printf("%u of them", count);
    walls_stand(walls, "mounts", asked, found);
}

cJSON *attest_walls(const cJSON *hello, const struct spec_profile *profile,
                    const struct spec_instance *instance)
{
    const cJSON *swap = json_get(hello, "swap_bytes");
    cJSON *walls = cJSON_CreateArray();

    check_identity(walls, hello, instance->uid);
    check_groups(walls, hello, instance->uid);
    check_capabilities(walls, hello);
    check_privileges(walls, hello);
    check_seccomp(walls, hello);
    check_namespaces(walls, hello);
    check_devices(walls, hello, profile);
    devices_walls(walls, hello, profile);
    check_environment(walls, hello, profile, instance->image_env);
    check_rlimit(walls, hello, "RLIMIT_NOFILE", SPEC_OPEN_FILES);
    check_rlimit(walls, hello, "RLIMIT_CORE", 0);
    check_rlimit(walls, hello, "RLIMIT_MEMLOCK", SPEC_LOCKED_BYTES);
    check_rlimit(walls, hello, "RLIMIT_NICE", 0);
    check_rlimit(walls, hello, "RLIMIT_RTPRIO", 0);
    check_localhost(walls, hello);
    check_mounts(walls, hello, profile, instance);
    /* Where the supervisor cannot tell, the host counts as one that swaps. */
    cgroup_walls(walls, json_get_object(hello, "cgroup"),
                 cJSON_IsNumber(swap) ? swap->valuedouble : 1, profile);
    return walls;
}

int attest(const cJSON *hello, const struct spec_profile *profile,
           const struct spec_instance *instance, struct error *err)
{
    auto_json cJSON *walls = attest_walls(hello, profile, instance);

    return walls_verdict(walls, err);
}
