/* Compares what a container says of itself with what was asked of the engine. Pure. */
#pragma once

#include "executor/spec.h"

#include <cjson/cJSON.h>

struct error;

/* hello is the supervisor's H frame, profile and instance what the container was created with.
 * Every wall, in a fixed order, as walls.h has it; the caller frees. */
cJSON *attest_walls(const cJSON *hello, const struct spec_profile *profile,
                    const struct spec_instance *instance);

/* The verdict alone: 0 where every wall stands; else -1, and err names the first that does not. */
int attest(const cJSON *hello, const struct spec_profile *profile,
           const struct spec_instance *instance, struct error *err);
