#include "base/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"

static const struct confine_call common[] = {
    /* Memory, none of it executable. */
    {"brk", 0, 0, 0},
    {"madvise", 0, 0, 0},
    {"mmap", 2, PROT_EXEC, 0},
    {"mprotect", 2, PROT_EXEC, 0},
    {"mremap", 0, 0, 0},
    {"munmap", 0, 0, 0},
    /* Clocks, also where the vDSO falls back to system calls. */
    {"clock_getres", 0, 0, 0},
    {"clock_gettime", 0, 0, 0},
    {"clock_nanosleep", 0, 0, 0},
    {"getcpu", 0, 0, 0},
    {"gettimeofday", 0, 0, 0},
    {"nanosleep", 0, 0, 0},
    {"time", 0, 0, 0},
    /* Waiting. */
    {"futex", 0, 0, 0},
    {"poll", 0, 0, 0},
    {"ppoll", 0, 0, 0},
    {"restart_syscall", 0, 0, 0},
    {"sched_yield", 0, 0, 0},
    /* Descriptors that are there. */
    {"close", 0, 0, 0},
    {"fcntl", 1, UINT32_MAX, F_DUPFD_CLOEXEC}, /* not F_SETOWN, which sends signals */
    {"fcntl", 1, UINT32_MAX, F_GETFD},
    {"fcntl", 1, UINT32_MAX, F_GETFL},
    {"fcntl", 1, UINT32_MAX, F_SETFD},
    {"fcntl", 1, UINT32_MAX, F_SETFL},
    {"fstat", 0, 0, 0},
    {"getpeername", 0, 0, 0},
    {"getsockname", 0, 0, 0},
    {"getsockopt", 0, 0, 0},
    {"lseek", 0, 0, 0},
    {"read", 0, 0, 0},
    {"readv", 0, 0, 0},
    {"recvfrom", 0, 0, 0},
    {"recvmsg", 0, 0, 0},
    {"sendmsg", 2, MSG_FASTOPEN, 0}, /* which connects: a listener that was shut down may */
    {"sendto", 3, MSG_FASTOPEN, 0},
    {"setsockopt", 0, 0, 0},
    {"shutdown", 0, 0, 0},
    {"write", 0, 0, 0},
    {"writev", 0, 0, 0},
    /* Signals, and the ways to end. */
    {"exit", 0, 0, 0},
    {"exit_group", 0, 0, 0},
    {"getpid", 0, 0, 0},
    {"gettid", 0, 0, 0},
    {"getrandom", 0, 0, 0},
    {"rt_sigaction", 0, 0, 0},
    {"rt_sigprocmask", 0, 0, 0},
    {"rt_sigreturn", 0, 0, 0},
    {"sigaltstack", 0, 0, 0},
};

static int allow(scmp_filter_ctx filter, const struct confine_call *call, struct error *err)
{
    int number = seccomp_syscall_resolve_name(call->name);
    int r;

    if (number == __NR_SCMP_ERROR)
        return error_set(err, "libseccomp does not know the system call %s", call->name);
    if (number < 0)
        return 0; /* not on this architecture */
    if (call->mask == 0)
        r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
    else
        r = seccomp_rule_add(
            filter, SCMP_ACT_ALLOW, number, 1,
            SCMP_CMP64(call->argument, SCMP_CMP_MASKED_EQ, call->mask, call->value));
    if (r < 0)
        return error_set(err, "seccomp: %s: %s", call->name, strerror(-r));
    return 0;
}

int confine_calls(const struct confine_call *calls, size_t count, struct error *err)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int r = 0;

    if (!filter)
        return error_set(err, "seccomp: no filter can be made");
    for (size_t i = 0; r == 0 && i < sizeof(common) / sizeof(common[0]); i++)
        r = allow(filter, &common[i], err);
    for (size_t i = 0; r == 0 && i < count; i++)
        r = allow(filter, &calls[i], err);
#ifndef CONFINE_OFF
    if (r == 0) {
        r = seccomp_load(filter);
        if (r < 0)
            error_set(err, "seccomp: the filter is refused: %s", strerror(-r));
    }
#endif
    seccomp_release(filter);
    return r < 0 ? -1 : 0;
}

int confine_user(uid_t uid, gid_t gid, struct error *err)
{
    if (geteuid() == 0 &&
        (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0))
        return error_set(err, "cannot become user %u: %s", uid, strerror(errno));
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return error_set(err, "prctl: %s", strerror(errno));
    return 0;
}
