/* The hint for a script that ended since a module is not there. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct buf;
struct front_options;

/* Appends a line with a newline, where error (the end of stderr, valid UTF-8) tells of a module
 * that was not found: what the call's profile has, and which other profile has the module. */
void missing_put(struct buf *out, const struct front_options *options, uint32_t profile,
                 const char *error, size_t len);
