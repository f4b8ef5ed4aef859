/* Whether folders let a process through to what lies below them. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define REACH_NO_GROUP ((gid_t)-1)

/* Whether a process with no privileges, whose one group is gid (REACH_NO_GROUP: none that owns a
 * folder), may pass through every folder above path, links resolved. false also where one of them
 * cannot be looked at. */
bool reach_by_group(const char *path, gid_t gid);
