#include "executor/spec.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "executor/owner.h"
#include "sandbox/supervisor.h"

static void add_text(cJSON *object, const char *name, const char *text)
{
    cJSON_AddItemToObject(object, name, cJSON_CreateString(text));
}

static void add_number(cJSON *object, const char *name, int64_t number)
{
    cJSON_AddItemToObject(object, name, cJSON_CreateNumber((double)number));
}

static void add_bool(cJSON *object, const char *name, bool value)
{
    cJSON_AddItemToObject(object, name, cJSON_CreateBool(value));
}

static void push(cJSON *array, const char *text)
{
    cJSON_AddItemToArray(array, cJSON_CreateString(text));
}

static void add_texts(cJSON *object, const char *name, const char *const *texts)
{
    cJSON *array = cJSON_AddArrayToObject(object, name);

    for (; *texts; texts++)
        push(array, *texts);
}

static bool image_sets(const cJSON *image_env, const char *prefix)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, image_env)
    {
        if (cJSON_IsString(item) && strncmp(item->valuestring, prefix, strlen(prefix)) == 0)
            return true;
    }
    return false;
}

cJSON *spec_env(const struct spec_profile *profile, const cJSON *image_env)
{
    static const char *const fixed[] = {
        "HOME=/workspace",
        "USER=sandbox",
        "LOGNAME=sandbox",
        "LANG=C.UTF-8",
        "TMPDIR=/tmp",
        "XDG_CACHE_HOME=/tmp/.cache",
        "MPLBACKEND=Agg",
        "MPLCONFIGDIR=/tmp/.config/matplotlib",
        "NUMBA_CACHE_DIR=/tmp/.cache/numba",
        "JOBLIB_TEMP_FOLDER=/tmp",
        NULL,
    };
    static const char *const threads[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                          "MKL_NUM_THREADS", "NUMEXPR_MAX_THREADS", NULL};
    cJSON *env = cJSON_CreateArray();

    for (size_t i = 0; fixed[i]; i++)
        push(env, fixed[i]);
    if (!image_sets(image_env, "PATH="))
        push(env, "PATH=/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin");
    for (size_t i = 0; threads[i]; i++) {
        auto_free char *line =
            mem_printf("%s=%" PRId64, threads[i], (profile->cpus_milli + 999) / 1000);

        push(env, line);
    }
    if (profile->gpus.kind != GRANTS_GPUS_NONE)
        push(env, "NVIDIA_DRIVER_CAPABILITIES=compute,utility");
    return env;
}

static void add_tmpfs(cJSON *tmpfs, const char *path, int64_t size, bool exec, int64_t uid)
{
    auto_free char *options = mem_printf(
        "rw,nosuid,nodev,%s,size=%" PRId64 ",nr_inodes=%d,mode=0700,uid=%" PRId64 ",gid=%" PRId64,
        exec ? "exec" : "noexec", size, SPEC_TMPFS_INODES, uid, uid);

    add_text(tmpfs, path, options);
}

static bool is_data(const struct spec_profile *profile, const char *path)
{
    for (size_t i = 0; i < profile->data_count; i++)
        if (strcmp(profile->data[i].path, path) == 0)
            return true;
    return false;
}

/* A VOLUME of the image would be a writable folder on the host's disk: an empty read-only tmpfs
 * covers it. */
static void cover_volumes(cJSON *tmpfs, const cJSON *volumes, const struct spec_profile *profile)
{
    const cJSON *volume;

    cJSON_ArrayForEach(volume, volumes)
    {
        if (!json_get(tmpfs, volume->string) && !is_data(profile, volume->string))
            add_text(tmpfs, volume->string, "ro,nosuid,nodev,noexec,size=4096,nr_inodes=1");
    }
}

static void add_limits(cJSON *host, const struct spec_profile *profile)
{
    static const struct {
        const char *name;
        int64_t value;
    } ulimits[] = {{"nofile", SPEC_OPEN_FILES},
                   {"core", 0},
                   {"memlock", SPEC_LOCKED_BYTES},
                   {"nice", 0},
                   {"rtprio", 0}};
    cJSON *array;

    add_number(host, "Memory", profile->memory);
    add_number(host, "MemorySwap", profile->memory);
    add_number(host, "PidsLimit", profile->pids);
    add_number(host, "NanoCpus", profile->cpus_milli * 1000000);
    array = cJSON_AddArrayToObject(host, "Ulimits");
    for (size_t i = 0; i < sizeof(ulimits) / sizeof(ulimits[0]); i++) {
        cJSON *item = cJSON_CreateObject();

        add_text(item, "Name", ulimits[i].name);
        add_number(item, "Soft", ulimits[i].value);
        add_number(item, "Hard", ulimits[i].value);
        cJSON_AddItemToArray(array, item);
    }
}

/* The engine's local volumes take all these options, which its bind mounts do not; a volume without
 * a name goes with its container. Private: what the host mounts below the folder later would come
 * up in the container with options of its own, and be unmounted with the container on the host. */
static void add_data(cJSON *host, const struct spec_profile *profile)
{
    cJSON *mounts = profile->data_count ? cJSON_AddArrayToObject(host, "Mounts") : NULL;

    for (size_t i = 0; i < profile->data_count; i++) {
        cJSON *mount = cJSON_CreateObject();
        cJSON *volume, *driver, *options;

        add_text(mount, "Type", "volume");
        add_text(mount, "Target", profile->data[i].path);
        volume = cJSON_AddObjectToObject(mount, "VolumeOptions");
        add_bool(volume, "NoCopy", true);
        driver = cJSON_AddObjectToObject(volume, "DriverConfig");
        add_text(driver, "Name", "local");
        options = cJSON_AddObjectToObject(driver, "Options");
        add_text(options, "type", "none");
        add_text(options, "device", profile->data[i].source);
        add_text(options, "o", "bind,ro,nosuid,nodev,noexec,private");
        cJSON_AddItemToArray(mounts, mount);
    }
}

static cJSON *host_config(const struct spec_profile *profile, const struct spec_instance *instance)
{
    static const char *const all[] = {"ALL", NULL};
    auto_free char *seccomp = mem_printf("seccomp=%s", instance->seccomp);
    const char *const security[] = {"no-new-privileges:true", seccomp, NULL};
    cJSON *host = cJSON_CreateObject();
    cJSON *tmpfs, *log, *sysctls;

    if (profile->runtime)
        add_text(host, "Runtime", profile->runtime);
    add_text(host, "NetworkMode", "none");
    add_text(host, "IpcMode", "private");
    add_text(host, "CgroupnsMode", "private");
    add_bool(host, "ReadonlyRootfs", true);
    add_bool(host, "Privileged", false);
    add_texts(host, "CapDrop", all);
    add_texts(host, "SecurityOpt", security);
    add_bool(host, "Init", false);
    add_bool(host, "AutoRemove", true);
    log = cJSON_AddObjectToObject(host, "LogConfig");
    add_text(log, "Type", "none");
    /* The supervisor, which is not root, answers name look-ups on 127.0.0.1:53. */
    sysctls = cJSON_AddObjectToObject(host, "Sysctls");
    add_text(sysctls, "net.ipv4.ip_unprivileged_port_start", "0");
    add_limits(host, profile);
    add_number(host, "ShmSize", profile->shm);
    tmpfs = cJSON_AddObjectToObject(host, "Tmpfs");
    add_tmpfs(tmpfs, "/workspace", profile->workspace, profile->exec, instance->uid);
    add_tmpfs(tmpfs, "/tmp", profile->tmp, profile->exec, instance->uid);
    cover_volumes(tmpfs, instance->image_volumes, profile);
    add_data(host, profile);
    if (instance->gpus != GPUS_NONE)
        cJSON_AddItemToObject(host, "DeviceRequests",
                              gpus_requests(&profile->gpus, instance->gpus));
    return host;
}

void spec_name(int64_t uid, char ret[SPEC_NAME_MAX])
{
    snprintf(ret, SPEC_NAME_MAX, "python-sandbox-%" PRId64, uid);
}

/* The supervisor takes the modules to import as its arguments. */
static cJSON *command(const struct spec_profile *profile)
{
    static const char *const start[] = {"python3", "-I", "-c", supervisor_py, NULL};
    cJSON *array = cJSON_CreateArray();

    for (size_t i = 0; start[i]; i++)
        push(array, start[i]);
    for (size_t i = 0; i < profile->preload_count; i++)
        push(array, profile->preload[i]);
    return array;
}

char *spec_body(const struct spec_profile *profile, const struct spec_instance *instance)
{
    static const char *const none[] = {NULL};
    static const char *const no_check[] = {"NONE", NULL};
    auto_free char *user = mem_printf("%" PRId64 ":%" PRId64, instance->uid, instance->uid);
    auto_json cJSON *body = cJSON_CreateObject();
    cJSON *labels, *check;
    char *printed, *text;

    add_text(body, "Image", instance->image_id);
    add_texts(body, "Entrypoint", none);
    cJSON_AddItemToObject(body, "Cmd", command(profile));
    add_text(body, "User", user);
    add_text(body, "WorkingDir", "/workspace");
    add_text(body, "Hostname", SPEC_HOSTNAME);
    cJSON_AddItemToObject(body, "Env", spec_env(profile, instance->image_env));
    check = cJSON_AddObjectToObject(body, "Healthcheck");
    add_texts(check, "Test", no_check);
    add_bool(body, "NetworkDisabled", true);
    add_bool(body, "Tty", false);
    add_bool(body, "AttachStdin", true);
    add_bool(body, "AttachStdout", true);
    add_bool(body, "AttachStderr", true);
    add_bool(body, "OpenStdin", true);
    add_bool(body, "StdinOnce", true);
    labels = cJSON_AddObjectToObject(body, "Labels");
    add_text(labels, OWNER_LABEL, instance->owner);
    cJSON_AddItemToObject(body, "HostConfig", host_config(profile, instance));
    printed = cJSON_PrintUnformatted(body);
    text = mem_strdup(printed ? printed : "{}");
    cJSON_free(printed);
    return text;
}
