/* executor/confine: what the executor may still do, with an engine here and with one elsewhere. */
#include "pem_sample.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "executor/confine.h"
#include "executor/endpoint.h"

/* In a child nothing is printed: its exit status is the line of the check that failed. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return __LINE__ % 256;                                                                 \
    } while (0)

static const char *const names[] = {"ca.pem", "cert.pem", "key.pem"};

static bool may_open(int family, int type)
{
    auto_close int fd = socket(family, type | SOCK_CLOEXEC, 0);

    return fd >= 0;
}

static bool may_connect(const struct sockaddr_in *address)
{
    auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0;
}

static bool may_read_key(const char *folder)
{
    auto_free char *path = mem_printf("%s/key.pem", folder);
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

    return fd >= 0;
}

static void run_child(int (*body)(const char *folder), const char *folder)
{
    int how = -1;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

        (void)dup2(null, STDERR_FILENO);
        _exit(body(folder));
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    if (!WIFEXITED(how) || WEXITSTATUS(how) != 0)
        fail_msg("the child ended at line %d (status 0x%x)", WEXITSTATUS(how), how);
}

static int here(const char *folder)
{
    auto_free char *path = mem_printf("%s/docker.sock", folder);
    struct endpoint *endpoint = endpoint_new(path, folder);

    CHECK(executor_confine(endpoint, NULL) == 0);
    CHECK(may_open(AF_UNIX, SOCK_STREAM));
    CHECK(!may_open(AF_INET, SOCK_STREAM) && errno == EPERM);
    CHECK(!may_open(AF_INET6, SOCK_STREAM) && errno == EPERM);
    CHECK(!may_open(AF_NETLINK, SOCK_RAW) && errno == EPERM);
    CHECK(fork() < 0 && errno == EPERM);
    return 0;
}

static int elsewhere(const char *folder)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    auto_close int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct endpoint *endpoint = endpoint_new("tcp://127.0.0.1:2376", folder);
    bool root = geteuid() == 0;

    CHECK(may_read_key(folder));
    CHECK(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 1) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
    CHECK(executor_confine(endpoint, NULL) == 0);
    CHECK(endpoint_find(endpoint, NULL) == 0);
    CHECK(may_connect(&address));
    CHECK(!may_open(AF_UNIX, SOCK_STREAM) && errno == EPERM);
    CHECK(!may_open(AF_NETLINK, SOCK_RAW) && errno == EPERM);
    CHECK(!may_open(AF_PACKET, SOCK_RAW) && errno == EPERM);
    CHECK(bind(listener, (struct sockaddr *)&address, size) < 0 && errno == EPERM);
    CHECK(listen(listener, 1) < 0 && errno == EPERM);
    CHECK(accept(listener, NULL, NULL) < 0 && errno == EPERM);
    CHECK(fork() < 0 && errno == EPERM);
    CHECK(!root || !may_read_key(folder)); /* root no longer */
    return 0;
}

/* Certificates that cannot be read open no other way. */
static int elsewhere_without_certificates(const char *folder)
{
    struct endpoint *endpoint = endpoint_new("tcp://127.0.0.1:2376", "/nowhere");
    bool root = geteuid() == 0;

    CHECK(executor_confine(endpoint, NULL) == 0);
    CHECK(endpoint_find(endpoint, NULL) < 0);
    CHECK(!may_open(AF_UNIX, SOCK_STREAM) && errno == EPERM);
    CHECK(!root || !may_read_key(folder));
    return 0;
}

static void needs_the_filter(void)
{
#ifdef CONFINE_OFF
    skip();
#endif
}

static void an_engine_here(void **state)
{
    needs_the_filter();
    run_child(here, *state);
}

static void an_engine_elsewhere(void **state)
{
    needs_the_filter();
    run_child(elsewhere, *state);
    run_child(elsewhere_without_certificates, *state);
}

static int set_up(void **state)
{
    const char *const texts[] = {pem_long, pem_good, pem_key};
    char *folder = mem_strdup("/tmp/test_confine.XXXXXX");

    if (!mkdtemp(folder))
        return -1;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        auto_free char *path = mem_printf("%s/%s", folder, names[i]);
        auto_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        if (write(fd, texts[i], strlen(texts[i])) < 0)
            return -1;
    }
    *state = folder;
    return 0;
}

static int tear_down(void **state)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        auto_free char *path = mem_printf("%s/%s", (char *)*state, names[i]);

        (void)unlink(path);
    }
    (void)rmdir(*state);
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_engine_here),
        cmocka_unit_test(an_engine_elsewhere),
    };

    return cmocka_run_group_tests_name("executor_confine", tests, set_up, tear_down);
}
