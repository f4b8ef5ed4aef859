/* File descriptors. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct buf;

/* Closes *fd unless it is negative; for auto_close only. */
void fd_close_at(int *fd);
#define auto_close __attribute__((cleanup(fd_close_at)))

/* Takes the descriptor out of its variable and leaves -1. */
int fd_take(int *fd);

/* Sets O_NONBLOCK; -1 with errno on failure. */
int fd_nonblock(int fd);

/* Reads what is there, at most max bytes, onto the end of buf. Returns the count, 0 at the end of
 * the file, -1 with errno (EAGAIN where nothing is there, ENOBUFS where buf is full). Retries
 * EINTR. */
ssize_t fd_read(int fd, struct buf *buf, size_t max);

/* Writes from the front of buf as much as the descriptor takes now, and drops it from buf.
 * 0 when done or the descriptor is full, -1 with errno otherwise. Retries EINTR. */
int fd_write(int fd, struct buf *buf);

/* Reads a whole small file (a configuration, a /proc file), at most max bytes, NUL-terminated.
 * NULL with errno on failure, EFBIG where it is larger. The caller frees. */
char *fd_read_file(const char *path, size_t max, size_t *ret_len);

/* Whether the other side of a socket has closed it and nothing is left to read. Does not wait. */
bool fd_is_over(int fd);
