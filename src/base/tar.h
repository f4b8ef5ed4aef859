/* Writes a tar archive (POSIX ustar) of regular files, root's, mode 0644, without a time. Pure. */
#pragma once

#include <stddef.h>

struct buf;

/* Longest name of a file, in bytes. */
#define TAR_NAME_MAX 100

/* Appends a file. -1 where out is full or the name too long or empty. */
int tar_add(struct buf *out, const char *name, const void *bytes, size_t len);

/* Ends the archive. */
int tar_end(struct buf *out);
