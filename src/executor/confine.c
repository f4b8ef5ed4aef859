#include "executor/confine.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/log.h"
#include "base/reach.h"
#include "executor/endpoint.h"

/* A user of nobody else's, below those of the containers. */
#define EXECUTOR_UID 60599

#define GROUP_MAY_CONNECT (S_IRGRP | S_IWGRP)

static int drop_root(struct endpoint *endpoint, struct error *err)
{
    const char *path;
    struct stat status;

    if (geteuid() != 0 || endpoint_is_remote(endpoint))
        return confine_user(EXECUTOR_UID, EXECUTOR_UID, err);
    (void)endpoint_find(endpoint, NULL);
    path = endpoint_socket(endpoint);
    if (path && stat(path, &status) == 0 && status.st_gid != 0 &&
        (status.st_mode & GROUP_MAY_CONNECT) == GROUP_MAY_CONNECT &&
        reach_by_group(path, status.st_gid))
        return confine_user(EXECUTOR_UID, status.st_gid, err);
    log_info("the executor stays root: the engine's socket is not for a group of its own");
    return 0;
}

int executor_confine(struct endpoint *endpoint, struct error *err)
{
    /* Beyond what is common: contexts and /proc to read, the front's end, the engine; over TCP for
     * the first two rows, over a unix socket for the last. */
    static const struct confine_call calls[] = {
        {"socket", 0, ~0ULL, AF_INET},
        {"socket", 0, ~0ULL, AF_INET6},
        {"connect", 0, 0, 0},
        {"fcntl", 1, UINT32_MAX, F_OFD_SETLK}, /* the audit log, which others may write too */
        {"ftruncate", 0, 0, 0},
        {"getdents64", 0, 0, 0},
        {"getegid", 0, 0, 0},
        {"getgroups", 0, 0, 0},
        {"newfstatat", 0, 0, 0},
        {"openat", 2, O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND, O_RDONLY},
        {"stat", 0, 0, 0},
        {"statx", 0, 0, 0},
        {"wait4", 0, 0, 0},
        {"socket", 0, ~0ULL, AF_UNIX},
    };
    size_t count = sizeof(calls) / sizeof(calls[0]);

    tzset(); /* the C library opens the time zone's file once */
    endpoint_settle(endpoint);
    if (drop_root(endpoint, err) < 0)
        return -1;
    if (endpoint_is_remote(endpoint))
        return confine_calls(calls, count - 1, err);
    return confine_calls(calls + 2, count - 2, err);
}
