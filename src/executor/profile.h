/* What the executor has to know of a profile. */
#pragma once

#include "executor/image.h"
#include "executor/spec.h"

#include <stdint.h>

/* Strings and arrays are borrowed. */
struct executor_profile {
    const char *name;
    struct image_options image;
    struct spec_profile spec;
    int64_t warm;           /* containers to keep ready */
    int64_t timeout_max_ms; /* clamps every request */
};
