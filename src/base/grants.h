/* What a profile may be granted beside its limits: plain structs that settings and the bodies of
 * containers have in common. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum grants_gpus_kind {
    GRANTS_GPUS_NONE,
    GRANTS_GPUS_ALL,
    GRANTS_GPUS_COUNT, /* any of them, so many */
    GRANTS_GPUS_IDS,   /* these */
};

struct grants_gpus {
    enum grants_gpus_kind kind;
    int64_t count; /* GRANTS_GPUS_COUNT */
    char **ids;    /* GRANTS_GPUS_IDS: "0", "GPU-...", names of CDI */
    size_t id_count;
};

/* A folder of the host that scripts may read. */
struct grants_folder {
    char *path;   /* in the container: absolute, without ".." */
    char *source; /* on the host: likewise */
};
