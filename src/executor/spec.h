/* The body of a container's creation. Additive: it begins with everything denied, and each grant is
 * one line. Pure. */
#pragma once

#include "base/grants.h"
#include "base/limits.h"
#include "executor/gpus.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most files and folders on one tmpfs: empty files cost memory that the size limit does not count.
 */
#define SPEC_TMPFS_INODES 16384

#define SPEC_OPEN_FILES   8192
#define SPEC_LOCKED_BYTES 65536
#define SPEC_HOSTNAME     "sandbox"

/* What a container may use. Sizes in bytes; strings and arrays are borrowed. */
struct spec_profile {
    int64_t memory; /* tmpfs included; no swap */
    int64_t cpus_milli;
    int64_t pids;
    int64_t workspace;          /* tmpfs on /workspace */
    int64_t tmp;                /* tmpfs on /tmp */
    int64_t shm;                /* tmpfs on /dev/shm */
    bool exec;                  /* the tmpfs may hold programs that run */
    const char *runtime;        /* OCI runtime; NULL: the engine's default */
    const char *const *preload; /* modules that are imported before there is a script */
    size_t preload_count;
    struct grants_gpus gpus;
    const struct grants_folder *data; /* mounted read-only */
    size_t data_count;
};

/* What differs from container to container. Strings and arrays are borrowed. */
struct spec_instance {
    const char *image_id;
    const cJSON *image_env;     /* array of "NAME=value", or NULL */
    const cJSON *image_volumes; /* object whose names are clean paths, or NULL */
    const char *seccomp;        /* whole profile as JSON text */
    const char *owner;          /* value of the owner label */
    int64_t uid;                /* also the group id */
    enum gpus_way gpus;         /* how the engine gives them; GPUS_NONE where none are granted */
};

/* Length of the name that spec_name writes, with its NUL. */
#define SPEC_NAME_MAX 48

/* The container's name carries its user id, so that the engine itself lets no two live containers
 * share one. */
void spec_name(int64_t uid, char ret[SPEC_NAME_MAX]);

/* The variables that are set for every container, as an array of "NAME=value"; those of the image
 * stay beside them, and "HOSTNAME" comes from the engine. The caller frees. */
cJSON *spec_env(const struct spec_profile *profile, const cJSON *image_env);

/* The JSON body; the caller frees. */
char *spec_body(const struct spec_profile *profile, const struct spec_instance *instance);
