/* Compares a container's cgroup limits, version 1 or 2, with its profile. Pure. */
#pragma once

#include <cjson/cJSON.h>

struct spec_profile;

/* files is the hello's object of file name to text; swap_bytes the host's swap. Adds the walls
 * "memory", "swap", "processes" and "cpu (thousandths)": one does not stand where its limit is
 * absent or another than asked. */
void cgroup_walls(cJSON *walls, const cJSON *files, double swap_bytes,
                  const struct spec_profile *profile);
