#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"

/* The most that one call of fd_read takes: what a pipe holds. */
#define READ_MAX 65536

void fd_close_at(int *fd)
{
    int saved = errno;

    if (*fd >= 0)
        close(*fd);
    errno = saved;
}

int fd_take(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

int fd_nonblock(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0)
        return -1;
    return fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -1 : 0;
}

ssize_t fd_read(int fd, struct buf *buf, size_t max)
{
    char bytes[READ_MAX];
    size_t room = buf->max - buf->len;
    ssize_t count;

    if (room == 0) {
        errno = ENOBUFS;
        return -1;
    }
    if (max > room)
        max = room;
    if (max > sizeof(bytes))
        max = sizeof(bytes);
    do {
        count = read(fd, bytes, max);
    } while (count < 0 && errno == EINTR);
    if (count > 0 && buf_add(buf, bytes, (size_t)count) < 0) {
        errno = ENOBUFS;
        return -1;
    }
    return count;
}

int fd_write(int fd, struct buf *buf)
{
    while (buf->len > 0) {
        ssize_t count = write(fd, buf->data, buf->len);

        if (count > 0)
            buf_drop(buf, (size_t)count);
        else if (count == 0 || errno == EAGAIN)
            return 0;
        else if (errno != EINTR)
            return -1;
    }
    return 0;
}

char *fd_read_file(const char *path, size_t max, size_t *ret_len)
{
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    auto_buf struct buf buf;
    ssize_t count;

    /* One byte more than allowed tells a file that is too large from one that just fits. */
    buf_init(&buf, max + 1);
    if (fd < 0)
        return NULL;
    do {
        count = fd_read(fd, &buf, max + 1);
    } while (count > 0 && buf.len <= max);
    if (count < 0)
        return NULL;
    if (buf.len > max) {
        errno = EFBIG;
        return NULL;
    }
    return buf_take(&buf, ret_len);
}

bool fd_is_over(int fd)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return n == 0 || (n < 0 && errno == ECONNRESET);
}
