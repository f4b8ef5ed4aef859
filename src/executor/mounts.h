/* Compares the whole mount table of a container with the one that was asked for. Pure. */
#pragma once

#include <cjson/cJSON.h>
#include <stdint.h>

struct error;
struct spec_profile;

/* mountinfo is the text of /proc/self/mountinfo, see proc(5); volumes is the image's object of
 * covered volumes, or NULL. -1 where a mount is there that nobody asked for, is writable or
 * executable where it must not be, has another size, or is missing; err says which and how. */
int mounts_check(const char *mountinfo, const struct spec_profile *profile, int64_t uid,
                 const cJSON *volumes, struct error *err);
