#include "front/hostile.h"

#ifdef HOSTILE_FRONT

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"

#define EXECUTOR_FD   3
#define LISTENER_FD   5
#define CLIENT_OUT_FD 10
#define FAMILIES      46
#define PASSED_FDS    200
#define PASSED_TIMES  20

#define ROUTER_PORT  9
#define COMMAND_MAX  32
#define RELAY_BYTES  65536
#define STOP_MESSAGE "\2\0\0\0\0\0\0\1\0\0\0\0"

struct attempt {
    const char *name;
    long number;
    const void *arguments[6];
};

/* In place of the executor's process id. */
static char executor;

static char scratch[4096];

#define N(value) ((const void *)(intptr_t)(value))
#define EXECUTOR ((const void *)&executor)
#define SCRATCH  ((const void *)scratch)

static const struct attempt attempts[] = {
    {"open-socket", SYS_openat, {N(AT_FDCWD), "/var/run/docker.sock", N(O_RDWR)}},
    {"open-read", SYS_openat, {N(AT_FDCWD), "/etc/passwd", N(O_RDONLY)}},
    {"open-write", SYS_openat, {N(AT_FDCWD), "/tmp/hostile", N(O_WRONLY | O_CREAT), N(0600)}},
    {"open-path", SYS_openat, {N(AT_FDCWD), "/", N(O_PATH)}},
    {"open-proc-fd", SYS_openat, {N(AT_FDCWD), "/proc/self/fd/0", N(O_RDWR)}},
    {"open-proc-mem", SYS_openat, {N(AT_FDCWD), "/proc/self/mem", N(O_RDWR)}},
    {"open-from-fd", SYS_openat, {N(0), "passwd", N(O_RDONLY)}},
    {"openat2", SYS_openat2, {N(AT_FDCWD), "/etc/passwd", SCRATCH, N(24)}},
    {"name_to_handle_at", SYS_name_to_handle_at, {N(AT_FDCWD), "/", SCRATCH, SCRATCH}},
    {"open_by_handle_at", SYS_open_by_handle_at, {N(0), SCRATCH, N(O_RDONLY)}},
    {"stat", SYS_newfstatat, {N(AT_FDCWD), "/etc/passwd", SCRATCH}},
    {"statx", SYS_statx, {N(AT_FDCWD), "/etc/passwd", N(0), N(0), SCRATCH}},
    {"readlink", SYS_readlinkat, {N(AT_FDCWD), "/proc/self/exe", SCRATCH, N(100)}},
    {"getdents64", SYS_getdents64, {N(0), SCRATCH, N(100)}},
    {"unlink", SYS_unlinkat, {N(AT_FDCWD), "/tmp/hostile"}},
    {"rename", SYS_renameat2, {N(AT_FDCWD), "/tmp/hostile", N(AT_FDCWD), "/tmp/hostile2"}},
    {"link", SYS_linkat, {N(AT_FDCWD), "/etc/passwd", N(AT_FDCWD), "/tmp/hostile"}},
    {"symlink", SYS_symlinkat, {"/etc/passwd", N(AT_FDCWD), "/tmp/hostile"}},
    {"mkdir", SYS_mkdirat, {N(AT_FDCWD), "/tmp/hostile", N(0700)}},
    {"mknod", SYS_mknodat, {N(AT_FDCWD), "/tmp/hostile", N(S_IFIFO | 0600)}},
    {"fchmod", SYS_fchmod, {N(0), N(0777)}},
    {"fchown", SYS_fchown, {N(0), N(0), N(0)}},
    {"ftruncate", SYS_ftruncate, {N(2), N(0)}},
    {"fallocate", SYS_fallocate, {N(2), N(0), N(0), N(1)}},
    {"chdir", SYS_chdir, {"/"}},
    {"chroot", SYS_chroot, {"/tmp"}},
    {"mount", SYS_mount, {"none", "/tmp", "tmpfs", N(0)}},
    {"fsopen", SYS_fsopen, {"tmpfs", N(0)}},
    {"open_tree", SYS_open_tree, {N(AT_FDCWD), "/", N(0)}},
    {"inotify_init1", SYS_inotify_init1, {N(0)}},
    {"fanotify_init", SYS_fanotify_init, {N(0), N(0)}},
    {"memfd_create", SYS_memfd_create, {"hostile", N(0)}},
    {"memfd_secret", SYS_memfd_secret, {N(0)}},

    {"execve", SYS_execve, {"/bin/true", NULL, NULL}},
    {"execveat", SYS_execveat, {N(AT_FDCWD), "/bin/true", NULL, NULL}},
    {"fexecve", SYS_execveat, {N(0), "", NULL, NULL, N(AT_EMPTY_PATH)}},
    {"clone", SYS_clone, {N(SIGCHLD)}},
    {"clone-vfork", SYS_clone, {N(CLONE_VM | CLONE_VFORK | SIGCHLD)}},
    {"clone-user", SYS_clone, {N(CLONE_NEWUSER | SIGCHLD)}},
    {"clone3", SYS_clone3, {SCRATCH, N(64)}},
    {"unshare", SYS_unshare, {N(CLONE_NEWUSER)}},
    {"setns", SYS_setns, {N(0), N(0)}},

    {"socketpair", SYS_socketpair, {N(AF_UNIX), N(SOCK_STREAM), N(0), SCRATCH}},
    {"bind", SYS_bind, {N(LISTENER_FD), SCRATCH, N(16)}},
    {"listen", SYS_listen, {N(LISTENER_FD), N(1)}},
    {"sendmmsg", SYS_sendmmsg, {N(EXECUTOR_FD), SCRATCH, N(1), N(0)}},
    {"recvmmsg", SYS_recvmmsg, {N(EXECUTOR_FD), SCRATCH, N(1), N(MSG_DONTWAIT)}},
    {"sendfile", SYS_sendfile, {N(1), N(0), N(0), N(1)}},
    {"splice", SYS_splice, {N(0), N(0), N(EXECUTOR_FD), N(0), N(1), N(0)}},
    {"pipe2", SYS_pipe2, {SCRATCH, N(0)}},
    {"dup", SYS_dup, {N(0)}},
    {"eventfd2", SYS_eventfd2, {N(0), N(0)}},
    {"ioctl", SYS_ioctl, {N(0), N(0x5412), SCRATCH}}, /* TIOCSTI */

    {"ptrace-attach", SYS_ptrace, {N(PTRACE_ATTACH), EXECUTOR}},
    {"ptrace-seize", SYS_ptrace, {N(PTRACE_SEIZE), EXECUTOR}},
    {"ptrace-traceme", SYS_ptrace, {N(PTRACE_TRACEME)}},
    {"process_vm_readv", SYS_process_vm_readv, {EXECUTOR, SCRATCH, N(1), SCRATCH, N(1)}},
    {"process_vm_writev", SYS_process_vm_writev, {EXECUTOR, SCRATCH, N(1), SCRATCH, N(1)}},
    {"kill", SYS_kill, {EXECUTOR, N(SIGKILL)}},
    {"kill-0", SYS_kill, {EXECUTOR, N(0)}},
    {"tkill", SYS_tkill, {EXECUTOR, N(SIGKILL)}},
    {"tgkill", SYS_tgkill, {EXECUTOR, EXECUTOR, N(SIGKILL)}},
    {"rt_sigqueueinfo", SYS_rt_sigqueueinfo, {EXECUTOR, N(SIGKILL), SCRATCH}},
    {"pidfd_open", SYS_pidfd_open, {EXECUTOR, N(0)}},
    {"pidfd_getfd", SYS_pidfd_getfd, {N(0), N(0), N(0)}},
    {"pidfd_send_signal", SYS_pidfd_send_signal, {N(0), N(SIGKILL), N(0), N(0)}},
    {"fcntl-setown", SYS_fcntl, {N(EXECUTOR_FD), N(F_SETOWN), EXECUTOR}},
    {"fcntl-setsig", SYS_fcntl, {N(EXECUTOR_FD), N(F_SETSIG), N(SIGKILL)}},
    {"fcntl-notify", SYS_fcntl, {N(0), N(F_NOTIFY), N(1)}},
    {"fcntl-lease", SYS_fcntl, {N(0), N(F_SETLEASE), N(F_RDLCK)}},
    {"fcntl-pipe", SYS_fcntl, {N(0), N(F_SETPIPE_SZ), N(1 << 20)}},
    {"kcmp", SYS_kcmp, {EXECUTOR, EXECUTOR, N(0), N(0), N(0)}},
    {"prlimit64", SYS_prlimit64, {EXECUTOR, N(0), N(0), SCRATCH}},
    {"sched_setaffinity", SYS_sched_setaffinity, {EXECUTOR, N(8), SCRATCH}},
    {"setpriority", SYS_setpriority, {N(0), EXECUTOR, N(19)}},
    {"move_pages", SYS_move_pages, {EXECUTOR, N(0), SCRATCH, SCRATCH, SCRATCH, N(0)}},
    {"getppid", SYS_getppid, {NULL}},

    {"mmap-exec", SYS_mmap, {NULL, N(4096), N(PROT_READ | PROT_EXEC), N(0x22), N(-1), N(0)}},
    {"mmap-rwx", SYS_mmap, {NULL, N(4096), N(7), N(0x22), N(-1), N(0)}},
    {"mmap-exec-fd", SYS_mmap, {NULL, N(4096), N(PROT_EXEC), N(MAP_PRIVATE), N(0), N(0)}},
    {"pkey_mprotect", SYS_pkey_mprotect, {SCRATCH, N(4096), N(PROT_EXEC), N(-1)}},
    {"shmget", SYS_shmget, {N(0), N(4096), N(01700)}},
    {"shmat", SYS_shmat, {N(0), N(0), N(0100000)}},   /* SHM_EXEC */
    {"personality", SYS_personality, {N(0x0400000)}}, /* READ_IMPLIES_EXEC */
    {"userfaultfd", SYS_userfaultfd, {N(0)}},

    {"io_uring_setup", SYS_io_uring_setup, {N(8), SCRATCH}},
    {"io_uring_enter", SYS_io_uring_enter, {N(3), N(1), N(0), N(0), N(0)}},
    {"io_setup", SYS_io_setup, {N(1), SCRATCH}},
    {"bpf", SYS_bpf, {N(BPF_PROG_LOAD), SCRATCH, N(64)}},
    {"perf_event_open", SYS_perf_event_open, {SCRATCH, N(0), N(-1), N(-1), N(0)}},
    {"add_key", SYS_add_key, {"user", "k", SCRATCH, N(1), N(-3)}},
    {"keyctl", SYS_keyctl, {N(0), N(-3), N(1)}},
    {"init_module", SYS_init_module, {SCRATCH, N(1), ""}},
    {"kexec_load", SYS_kexec_load, {N(0), N(0), SCRATCH, N(0)}},
    {"reboot", SYS_reboot, {N(0), N(0), N(0)}},
    {"syslog", SYS_syslog, {N(3), SCRATCH, N(100)}},
    {"sethostname", SYS_sethostname, {"hostile", N(7)}},
    {"clock_settime", SYS_clock_settime, {N(0), SCRATCH}},

    {"setuid", SYS_setuid, {N(0)}},
    {"setresuid", SYS_setresuid, {N(0), N(0), N(0)}},
    {"setgid", SYS_setgid, {N(0)}},
    {"setgroups", SYS_setgroups, {N(0), SCRATCH}},
    {"setfsuid", SYS_setfsuid, {N(0)}},
    {"capset", SYS_capset, {SCRATCH, SCRATCH}},
    {"setsid", SYS_setsid, {NULL}},
    {"prctl-dumpable", SYS_prctl, {N(PR_SET_DUMPABLE), N(1)}},
    {"prctl-no-new-privs", SYS_prctl, {N(PR_SET_NO_NEW_PRIVS), N(1)}},
    {"prctl-seccomp", SYS_prctl, {N(PR_SET_SECCOMP), N(0)}},
    {"prctl-ptracer", SYS_prctl, {N(PR_SET_PTRACER), N(-1)}},
    {"prctl-ambient", SYS_prctl, {N(PR_CAP_AMBIENT), N(PR_CAP_AMBIENT_RAISE), N(21)}},
    {"prctl-mm", SYS_prctl, {N(PR_SET_MM), N(1), N(0)}},
    {"seccomp", SYS_seccomp, {N(1), N(0), SCRATCH}},
#ifdef __x86_64__
    {"open", SYS_open, {"/etc/passwd", N(O_RDONLY)}},
    {"creat", SYS_creat, {"/tmp/hostile", N(0600)}},
    {"fork", SYS_fork, {NULL}},
    {"vfork", SYS_vfork, {NULL}},
    {"iopl", SYS_iopl, {N(3)}},
    {"modify_ldt", SYS_modify_ldt, {N(0), SCRATCH, N(16)}},
    {"arch_prctl", SYS_arch_prctl, {N(0x1002), N(0)}},
#endif
};

static void tell(const char *name, long result)
{
    const char *word = result >= 0 ? "ok" : strerrorname_np(errno);

    log_error("hostile %s: %s", name, word ? word : "?");
}

static bool is_fork(long number)
{
#ifdef __x86_64__
    if (number == SYS_fork || number == SYS_vfork)
        return true;
#endif
    return number == SYS_clone || number == SYS_clone3;
}

static pid_t find_executor(void)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);

    return getsockopt(EXECUTOR_FD, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 ? peer.pid : 0;
}

static void try_attempt(const struct attempt *attempt, pid_t pid)
{
    const void *a[6];
    long result;

    for (size_t i = 0; i < 6; i++)
        a[i] = attempt->arguments[i] == &executor ? N(pid) : attempt->arguments[i];
    result = syscall(attempt->number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (result == 0 && is_fork(attempt->number))
        _exit(0);
    tell(attempt->name, result);
}

static void try_connections(void)
{
    const struct sockaddr_un engine = {.sun_family = AF_UNIX, .sun_path = "/var/run/docker.sock"};
    const struct sockaddr_in router = {.sin_family = AF_INET,
                                       .sin_port = htons(ROUTER_PORT),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr none = {.sa_family = AF_UNSPEC};
    struct iovec bytes = {.iov_base = scratch, .iov_len = 1};
    struct msghdr message = {
        .msg_name = scratch, .msg_namelen = sizeof(router), .msg_iov = &bytes, .msg_iovlen = 1};

    for (int family = 0; family < FAMILIES; family++) {
        char name[32];

        snprintf(name, sizeof(name), "socket-%d", family);
        tell(name, socket(family, family == AF_UNIX ? SOCK_STREAM : SOCK_RAW, 0));
    }
    tell("socket-tcp", socket(AF_INET, SOCK_STREAM, 0));
    tell("socket-udp", socket(AF_INET6, SOCK_DGRAM, 0));
    tell("connect-engine", connect(EXECUTOR_FD, (const struct sockaddr *)&engine, sizeof(engine)));
    tell("connect-none", connect(EXECUTOR_FD, &none, sizeof(none)));
    /* A listener that is shut down is an ordinary socket again, which may connect by sending. */
    (void)shutdown(LISTENER_FD, SHUT_RD);
    tell("connect-listener",
         connect(LISTENER_FD, (const struct sockaddr *)&router, sizeof(router)));
    tell("sendto-fastopen", sendto(LISTENER_FD, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL,
                                   (const struct sockaddr *)&router, sizeof(router)));
    memcpy(scratch, &router, sizeof(router));
    tell("sendmsg-fastopen", sendmsg(LISTENER_FD, &message, MSG_FASTOPEN | MSG_NOSIGNAL));
    memset(scratch, 0, sizeof(router));
    tell("sendto-address", sendto(EXECUTOR_FD, "", 0, MSG_NOSIGNAL,
                                  (const struct sockaddr *)&engine, sizeof(engine)));
}

/* What the executor never sends. */
static void try_receive(void)
{
    char control[CMSG_SPACE(sizeof(int))], byte;
    struct iovec bytes = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};

    if (recvmsg(EXECUTOR_FD, &message, MSG_PEEK | MSG_DONTWAIT) < 0)
        message.msg_controllen = 0;
    errno = ENOMSG;
    tell("recvmsg-rights", CMSG_FIRSTHDR(&message) ? 0 : -1);
}

static void try_memory(void)
{
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uintptr_t code = (uintptr_t)hostile_play & ~(uintptr_t)4095;

    tell("mprotect-exec", mprotect(page, 4096, PROT_READ | PROT_EXEC));
    tell("mprotect-code", mprotect((void *)code, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
    munmap(page, 4096);
}

static void try_everything(void)
{
    pid_t pid = find_executor();

    for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++)
        try_attempt(&attempts[i], pid);
    try_connections();
    try_receive();
    try_memory();
    log_error("hostile done");
}

/* Messages that are allowed, with descriptors that nobody asked for. */
static void pass_descriptors(void)
{
    union {
        char bytes[CMSG_SPACE(PASSED_FDS * sizeof(int))];
        struct cmsghdr header;
    } control = {.header = {.cmsg_len = CMSG_LEN(PASSED_FDS * sizeof(int)),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS}};
    struct iovec bytes = {.iov_base = scratch, .iov_len = sizeof(STOP_MESSAGE) - 1};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    struct pollfd ready = {.fd = EXECUTOR_FD, .events = POLLOUT};
    long sent = 0;

    memcpy(scratch, STOP_MESSAGE, sizeof(STOP_MESSAGE));
    memset(CMSG_DATA(&control.header), 0, PASSED_FDS * sizeof(int)); /* stdin, each */
    for (int i = 0; i < PASSED_TIMES && poll(&ready, 1, 1000) == 1 && sent >= 0; i++)
        sent = sendmsg(EXECUTOR_FD, &message, MSG_NOSIGNAL);
    tell("descriptors", sent);
}

static void use_i386(void)
{
#ifdef __x86_64__
    long result = 20; /* getpid */

    __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    tell("i386", result);
#endif
}

/* Copies what is there; false at the end of either. */
static bool copy(int from, int to)
{
    static char bytes[RELAY_BYTES];
    ssize_t count = read(from, bytes, sizeof(bytes));

    for (ssize_t done = 0; done < count;) {
        struct pollfd ready = {.fd = to, .events = POLLOUT};
        ssize_t n = write(to, bytes + done, (size_t)(count - done));

        if (n < 0 && errno != EAGAIN)
            return false;
        done += n < 0 ? 0 : n;
        if (n < 0)
            (void)poll(&ready, 1, -1);
    }
    return count > 0 || (count < 0 && errno == EAGAIN);
}

static void relay(void)
{
    struct pollfd ends[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                            {.fd = EXECUTOR_FD, .events = POLLIN}};

    while (poll(ends, 2, -1) >= 0) {
        if (ends[0].revents && !copy(STDIN_FILENO, EXECUTOR_FD)) {
            (void)shutdown(EXECUTOR_FD, SHUT_WR);
            ends[0].fd = -1;
        }
        if (ends[1].revents && !copy(EXECUTOR_FD, CLIENT_OUT_FD))
            _exit(0);
    }
    _exit(1);
}

/* The next line of the client's; false at the end. */
static bool read_command(char command[COMMAND_MAX])
{
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};

    for (size_t len = 0; len < COMMAND_MAX && poll(&ready, 1, -1) == 1; len++) {
        if (read(STDIN_FILENO, command + len, 1) != 1)
            return false;
        if (command[len] == '\n') {
            command[len] = '\0';
            return true;
        }
    }
    return false;
}

void hostile_play(void)
{
    char command[COMMAND_MAX];

    while (read_command(command)) {
        if (strcmp(command, "attempts") == 0)
            try_everything();
        else if (strcmp(command, "descriptors") == 0)
            pass_descriptors();
        else if (strcmp(command, "i386") == 0)
            use_i386();
        else if (strcmp(command, "x32") == 0)
            tell("x32", syscall(0x40000000L + SYS_getpid));
        else if (strcmp(command, "relay") == 0)
            relay();
        else if (strcmp(command, "serve") == 0)
            return;
    }
    _exit(0);
}

#endif
