/* Compares the devices that a container may use with those of every container. Pure. */
#pragma once

#include <cjson/cJSON.h>

struct spec_profile;

/* hello is the supervisor's H frame. Adds the walls "device nodes" (those in the folders that the
 * supervisor looked through) and, on cgroup version 1, "device rules" (the whole list of the
 * container's cgroup; version 2 has a program in its place, which cannot be read inside). A profile
 * with GPUs may have those in /dev. */
void devices_walls(cJSON *walls, const cJSON *hello, const struct spec_profile *profile);
