#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "config.h"
#include "front/bearer.h"
#include "listen.h"
#include "signals.h"

#define FDS_MAX (2 + LISTEN_MAX)

/* Descriptors are moved out of the way up to here first, so that none takes another's place. */
#define PARKING_FD 64

struct fds {
    int fds[FDS_MAX]; /* in the order that the front expects */
    size_t count;
};

static char **make_arguments(const struct config *config)
{
    char **flags = config_flags(config);
    char **argv;
    size_t count = 0;

    while (flags[count])
        count++;
    argv = mem_alloc((count + 3) * sizeof(*argv));
    argv[0] = mem_strdup("python-sandbox");
    argv[1] = mem_strdup("front");
    memcpy(argv + 2, flags, count * sizeof(*argv));
    return argv;
}

static int place(struct fds *fds)
{
    for (size_t i = 0; i < fds->count; i++) {
        fds->fds[i] = fcntl(fds->fds[i], F_DUPFD, PARKING_FD);
        if (fds->fds[i] < 0)
            return -1;
    }
    for (size_t i = 0; i < fds->count; i++) {
        if (dup2(fds->fds[i], CHILD_EXECUTOR_FD + (int)i) < 0)
            return -1;
    }
    return close_range(CHILD_EXECUTOR_FD + (unsigned)fds->count, ~0U, 0);
}

static void exec_front(struct fds *fds, const struct config *config)
{
    char *empty[] = {NULL};
    char **argv = make_arguments(config);

    signals_reset();
    if (place(fds) == 0)
        execve("/proc/self/exe", argv, empty);
    log_error("cannot start the front: %s", strerror(errno));
    _exit(127);
}

/* The digests where no command line and no environment shows them. */
static int open_digests(const struct bearer *bearer)
{
    auto_close int fd = memfd_create("tokens", MFD_CLOEXEC);
    size_t size = bearer->count * BEARER_DIGEST_SIZE;

    if (fd < 0 || write(fd, bearer->digests, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) < 0)
        return -1;
    return fd_take(&fd);
}

int child_start(const struct config *config, const struct listen *listen,
                const struct bearer *bearer, pid_t *ret_pid, struct error *err)
{
    int sockets[2];
    auto_close int ours = -1;
    auto_close int theirs = -1;
    auto_close int digests = -1;
    struct fds fds = {.count = 0};
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
        return error_set(err, "socketpair: %s", strerror(errno));
    ours = sockets[0];
    theirs = sockets[1];
    fds.fds[fds.count++] = theirs;
    if (listen) {
        digests = open_digests(bearer);
        if (digests < 0)
            return error_set(err, "memfd: %s", strerror(errno));
        fds.fds[fds.count++] = digests;
        for (size_t i = 0; i < listen->count; i++)
            fds.fds[fds.count++] = listen->fds[i];
    }
    if (fd_nonblock(ours) < 0)
        return error_set(err, "socketpair: %s", strerror(errno));
    pid = fork();
    if (pid < 0)
        return error_set(err, "fork: %s", strerror(errno));
    if (pid == 0)
        exec_front(&fds, config);
    *ret_pid = pid;
    return fd_take(&ours);
}
