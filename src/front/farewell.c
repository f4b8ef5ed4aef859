#include "front/farewell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define FAREWELL_MS 2000
#define READ_MAX    65536

void farewell_init(struct farewell *farewell)
{
    *farewell = (struct farewell){0};
}

void farewell_done(struct farewell *farewell)
{
    while (farewell->count > 0)
        close(farewell->entries[--farewell->count].fd);
}

void farewell_add(struct farewell *farewell, int fd, int64_t now)
{
    int copy;

    if (farewell->count == FAREWELL_MAX)
        return;
    copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return;
    farewell->entries[farewell->count].fd = copy;
    farewell->entries[farewell->count].deadline = now + FAREWELL_MS;
    farewell->count++;
}

size_t farewell_watch(const struct farewell *farewell, struct pollfd *fds)
{
    for (size_t i = 0; i < farewell->count; i++)
        fds[i] = (struct pollfd){.fd = farewell->entries[i].fd, .events = POLLIN};
    return farewell->count;
}

/* false at the end of what comes. */
static bool drop_input(int fd)
{
    char bytes[READ_MAX];
    ssize_t count = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

void farewell_step(struct farewell *farewell, const struct pollfd *fds, int64_t now)
{
    /* Backwards: the last one takes the place of one that ends, and has been looked at. */
    for (size_t i = farewell->count; i-- > 0;) {
        bool goes_on = now < farewell->entries[i].deadline;

        if (goes_on && fds[i].revents != 0)
            goes_on = drop_input(farewell->entries[i].fd);
        if (goes_on)
            continue;
        close(farewell->entries[i].fd);
        farewell->entries[i] = farewell->entries[--farewell->count];
    }
}

int64_t farewell_due(const struct farewell *farewell)
{
    int64_t due = CLOCK_NEVER;

    for (size_t i = 0; i < farewell->count; i++)
        due = clock_earlier(due, farewell->entries[i].deadline);
    return due;
}
