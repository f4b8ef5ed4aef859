/* The limits by default. */
#pragma once

#include <stdint.h>

#include "executor/spec.h"

#define MIB (INT64_C(1024) * 1024)

static const struct spec_profile profile = {
    .memory = 512 * MIB,
    .cpus_milli = 1000,
    .pids = 128,
    .workspace = 256 * MIB,
    .tmp = 64 * MIB,
    .shm = 64 * MIB,
};
