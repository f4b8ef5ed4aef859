/* How an engine gives GPUs to a container, and what is missing where it cannot. Pure. */
#pragma once

#include "base/grants.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

struct about;
struct error;

enum gpus_way {
    GPUS_NONE,    /* none were asked for */
    GPUS_RUNTIME, /* through NVIDIA's runtime, as `docker run --gpus` does */
    GPUS_CDI,     /* through the Container Device Interface: names such as nvidia.com/gpu=0 */
};

/* Looks at what the engine tells in GET /info before anything is asked of it. NVIDIA's runtime goes
 * before CDI, except for ids that are names of CDI. -1 where the engine offers no way; err says
 * what is missing, how to mend it and how to check. */
int gpus_find_way(const struct about *about, const struct grants_gpus *gpus, enum gpus_way *ret,
                  struct error *err);

/* The DeviceRequests of a create body; the caller frees. way: not GPUS_NONE. */
cJSON *gpus_requests(const struct grants_gpus *gpus, enum gpus_way way);

/* The value that NVIDIA's runtime gives NVIDIA_VISIBLE_DEVICES for these; the caller frees. */
char *gpus_visible(const struct grants_gpus *gpus);

/* What of it a person calls it: "all", "2", "0, GPU-1"; the caller frees. */
char *gpus_text(const struct grants_gpus *gpus);

/* Whether devices, the names in /dev of a container, hold what a GPU needs: a card and the control
 * device. */
bool gpus_are_there(const cJSON *devices);

/* Whether a name in /dev is one that comes with a GPU. */
bool gpus_is_device(const char *name);
