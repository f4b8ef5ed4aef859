/* Which folders of the host an operator may let scripts read, and where in the container. Pure. */
#pragma once

#include <stdbool.h>

struct error;

/* Whether path is absolute, without an empty, "." or ".." part, without control characters, and not
 * the root. */
bool folder_is_plain(const char *path);

/* Whether path is outer or lies below it. Both plain. */
bool folder_is_below(const char *path, const char *outer);

/* source: a plain path. -1 for what holds the host's secrets or controls it: system folders (/etc,
 * /proc, /run with the engine's socket, the engine's own store ...), a folder that has one of these
 * in it, home folders as a whole, and what has a part with a leading dot in a home folder. err says
 * why, and what to grant instead. */
int folder_check_source(const char *source, struct error *err);

/* target: a plain path. -1 unless it is below /data, /mnt, /media or /srv, or one of these, where
 * it can hide nothing of the image. */
int folder_check_target(const char *target, struct error *err);
