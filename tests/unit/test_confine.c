/* confine: children give up what they will not need, and try it. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/confine.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "executor/confine.h"
#include "executor/endpoint.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

#define OTHER_USER 60598

/* In a child nothing is printed: its exit status is the line of the check that failed. cmocka's own
 * checks would go on with the tests of the parent. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return __LINE__;                                                                       \
    } while (0)

static bool refused(long result)
{
    return result == -1 && errno == EPERM;
}

static bool works(long result)
{
    return result >= 0;
}

static void run_child(int (*body)(void))
{
    int ends[2], status, line = -1;
    pid_t pid;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        line = body();
        _exit(write(ends[1], &line, sizeof(line)) == sizeof(line) ? 0 : 1);
    }
    close(ends[1]);
    if (read(ends[0], &line, sizeof(line)) != sizeof(line))
        line = -1;
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (line != 0 || status != 0)
        fail_msg("the child failed: line %d, wait status %d", line, status);
}

/* Sanitizers and valgrind make system calls of their own. */
static bool can_confine(void)
{
#if defined(CONFINE_OFF) || defined(__SANITIZE_ADDRESS__)
    return false;
#else
    const char *preload = getenv("LD_PRELOAD");

    if (preload && strstr(preload, "vgpreload"))
        return false;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) < 0 && errno == EFAULT;
#endif
}

#define NEEDS_FILTERS()                                                                            \
    do {                                                                                           \
        if (!can_confine())                                                                        \
            skip();                                                                                \
    } while (0)

static int try_refused(void)
{
    static char *const arguments[] = {NULL};
    const struct sockaddr address = {.sa_family = AF_UNIX};
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct stat status;

    CHECK(fd >= 0);
    CHECK(confine_calls(NULL, 0, NULL) == 0);
    CHECK(refused(open("/dev/null", O_RDONLY | O_CLOEXEC)));
    CHECK(refused(open("/tmp/test_confine", O_WRONLY | O_CREAT | O_CLOEXEC, 0600)));
    CHECK(refused(stat("/", &status)));
    CHECK(refused(unlink("/tmp/test_confine")));
    CHECK(refused(mkdir("/tmp/test_confine", 0700)));
    CHECK(refused(socket(AF_UNIX, SOCK_STREAM, 0)));
    CHECK(refused(socket(AF_INET, SOCK_STREAM, 0)));
    CHECK(refused(connect(fd, &address, sizeof(address))));
    CHECK(refused(accept(fd, NULL, NULL)));
    CHECK(refused(execve("/bin/true", arguments, arguments)));
    CHECK(refused(fork()));
    CHECK(refused(vfork()));
    CHECK(refused(kill(getpid(), 0)));
    CHECK(refused(setuid(0)));
    CHECK(refused(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)));
    CHECK(
        refused((long)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
    CHECK(refused(syscall(SYS_ptrace, 0, 0, 0, 0)));
    CHECK(refused(syscall(SYS_process_vm_readv, 0, 0, 0, 0, 0, 0)));
    CHECK(refused(syscall(SYS_io_uring_setup, 0, 0)));
    CHECK(refused(syscall(SYS_bpf, 0, 0, 0)));
    CHECK(refused(syscall(SYS_seccomp, 0, 0, 0)));
    return 0;
}

static int try_allowed(void)
{
    const struct timespec moment = {.tv_nsec = 1000};
    struct pollfd wait = {.events = POLLIN};
    char byte = 0, *memory;
    struct timespec now;
    int ends[2], pair[2], copy;

    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    CHECK(confine_calls(NULL, 0, NULL) == 0);
    CHECK(write(ends[1], "x", 1) == 1);
    wait.fd = ends[0];
    CHECK(poll(&wait, 1, 1000) == 1 && wait.revents == POLLIN);
    CHECK(read(ends[0], &byte, 1) == 1 && byte == 'x');
    CHECK(send(pair[0], "y", 1, MSG_NOSIGNAL) == 1);
    CHECK(recv(pair[1], &byte, 1, 0) == 1 && byte == 'y');
    CHECK(shutdown(pair[0], SHUT_WR) == 0 && fd_is_over(pair[1]));
    memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    memory[4096] = 1;
    CHECK(refused(mprotect(memory, 4096, PROT_READ | PROT_EXEC)));
    CHECK(mprotect(memory, 4096, PROT_READ) == 0);
    CHECK(munmap(memory, 1 << 20) == 0);
    memory = mem_alloc(64 << 20);
    memory = mem_realloc(memory, 128 << 20);
    free(memory);
    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0 && nanosleep(&moment, NULL) == 0);
    CHECK(fd_nonblock(ends[0]) == 0);
    CHECK(read(ends[0], &byte, 1) == -1 && errno == EAGAIN);
    copy = fcntl(ends[0], F_DUPFD_CLOEXEC, 100);
    CHECK(copy >= 100 && close(copy) == 0);
    return 0;
}

static int try_list(void)
{
    static const struct confine_call calls[] = {
        {"openat", 2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY},
        {"socket", 0, ~0ULL, AF_UNIX},
        {"socket", 0, ~0ULL, AF_INET},
        {"getuid", 0, 0, 0},
        {"_llseek", 0, 0, 0}, /* this architecture may lack it */
    };

    CHECK(confine_calls(calls, COUNT(calls), NULL) == 0);
    CHECK(works(open("/dev/null", O_RDONLY | O_CLOEXEC)));
    CHECK(refused(open("/dev/null", O_WRONLY | O_CLOEXEC)));
    CHECK(refused(open("/dev/null", O_RDWR | O_CLOEXEC)));
    CHECK(refused(open("/dev/null", O_RDONLY | O_TRUNC | O_CLOEXEC)));
    CHECK(refused(open("/tmp/test_confine", O_RDONLY | O_CREAT | O_CLOEXEC, 0600)));
    CHECK(works(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)));
    CHECK(works(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
    CHECK(refused(socket(AF_INET6, SOCK_STREAM, 0)));
    CHECK(refused(socket(AF_NETLINK, SOCK_RAW, 0)));
    CHECK(syscall(SYS_getuid) >= 0);
    CHECK(refused(syscall(SYS_getppid)));
    return 0;
}

/* Root stays, since the engine has no socket whose group there could be. */
static int try_executor(void)
{
    const struct sockaddr_un nowhere = {.sun_family = AF_UNIX, .sun_path = "/nonexistent/sock"};
    static char *const arguments[] = {NULL};
    int pipe_ends[2], listener, stream;
    struct error err;

    CHECK(pipe2(pipe_ends, O_CLOEXEC) == 0);
    CHECK(executor_confine(endpoint_new("unix:///nonexistent/sock", NULL), &err) == 0);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    stream = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(listener >= 0 && stream >= 0);
    CHECK(connect(stream, (const struct sockaddr *)&nowhere, sizeof(nowhere)) == -1 &&
          errno == ENOENT);
    CHECK(works(open("/proc/self/stat", O_RDONLY | O_CLOEXEC)));
    CHECK(refused(open("/dev/null", O_WRONLY | O_CLOEXEC)));
    CHECK(refused(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
    CHECK(refused(bind(listener, (const struct sockaddr *)&nowhere, sizeof(nowhere))));
    CHECK(refused(listen(listener, 1)));
    CHECK(refused(ioctl(pipe_ends[0], FIONREAD, &stream)));
    CHECK(refused(ioctl(STDIN_FILENO, TIOCSTI, "x")));
    CHECK(refused(execve("/bin/true", arguments, arguments)));
    CHECK(refused(fork()));
    return 0;
}

static int look_at_status(void)
{
    static const struct confine_call calls[] = {{"openat", 0, 0, 0}};
    auto_free char *text = NULL;

    CHECK(confine_calls(calls, COUNT(calls), NULL) == 0);
    text = fd_read_file("/proc/self/status", 65536, NULL);
    CHECK(text && strstr(text, "\nSeccomp:\t2\n") && strstr(text, "\nNoNewPrivs:\t1\n"));
    return 0;
}

static int name_what_is_unknown(void)
{
    static const struct confine_call calls[] = {{"read", 0, 0, 0}, {"open_sesame", 0, 0, 0}};
    struct error err = {""};

    CHECK(confine_calls(calls, COUNT(calls), &err) == -1);
    CHECK(strstr(err.text, "open_sesame"));
    CHECK(works(open("/dev/null", O_RDONLY | O_CLOEXEC))); /* no filter was installed */
    return 0;
}

static int become_another(void)
{
    static const gid_t groups[] = {27, 60597};
    auto_free char *text = NULL;
    uid_t real, effective, saved;

    CHECK(setgroups(COUNT(groups), groups) == 0);
    CHECK(confine_user(OTHER_USER, OTHER_USER + 1, NULL) == 0);
    CHECK(getresuid(&real, &effective, &saved) == 0);
    CHECK(real == OTHER_USER && effective == OTHER_USER && saved == OTHER_USER);
    CHECK(getresgid(&real, &effective, &saved) == 0);
    CHECK(real == OTHER_USER + 1 && effective == real && saved == real);
    CHECK(getgroups(0, NULL) == 0);
    text = fd_read_file("/proc/self/status", 65536, NULL);
    CHECK(text && strstr(text, "\nCapPrm:\t0000000000000000\n"));
    CHECK(strstr(text, "\nCapEff:\t0000000000000000\n"));
    CHECK(prctl(PR_GET_DUMPABLE) == 0);
    CHECK(refused(setuid(0)));
    CHECK(refused(setgid(0)));
    return 0;
}

/* As nobody in particular: the user stays, and the doors to memory close all the same. */
static int stay_oneself(void)
{
    if (geteuid() == 0)
        CHECK(setresgid(OTHER_USER, OTHER_USER, OTHER_USER) == 0 &&
              setresuid(OTHER_USER, OTHER_USER, OTHER_USER) == 0);
    CHECK(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0);
    CHECK(confine_user(getuid() + 1, getgid() + 1, NULL) == 0);
    CHECK(getuid() != 0 && geteuid() == getuid());
    CHECK(prctl(PR_GET_DUMPABLE) == 0);
    return 0;
}

static void what_is_not_needed_is_refused(void **state)
{
    (void)state;
    NEEDS_FILTERS();
    run_child(try_refused);
}

static void what_every_process_needs_works(void **state)
{
    (void)state;
    NEEDS_FILTERS();
    run_child(try_allowed);
}

static void the_list_is_allowed_as_it_says(void **state)
{
    (void)state;
    NEEDS_FILTERS();
    run_child(try_list);
}

static void the_executor_reaches_unix_sockets_and_reads(void **state)
{
    (void)state;
    NEEDS_FILTERS();
    run_child(try_executor);
}

static void the_kernel_says_so(void **state)
{
    (void)state;
    NEEDS_FILTERS();
    run_child(look_at_status);
}

static void unknown_calls_are_named(void **state)
{
    (void)state;
    run_child(name_what_is_unknown);
}

static void root_becomes_another_user(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    run_child(become_another);
}

static void others_stay_who_they_are(void **state)
{
    (void)state;
    run_child(stay_oneself);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_needed_is_refused),
        cmocka_unit_test(what_every_process_needs_works),
        cmocka_unit_test(the_list_is_allowed_as_it_says),
        cmocka_unit_test(the_executor_reaches_unix_sockets_and_reads),
        cmocka_unit_test(the_kernel_says_so),
        cmocka_unit_test(unknown_calls_are_named),
        cmocka_unit_test(root_becomes_another_user),
        cmocka_unit_test(others_stay_who_they_are),
    };

    return cmocka_run_group_tests_name("confine", tests, NULL, NULL);
}
