#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void open_pipe(int ends[2])
{
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(fd_nonblock(ends[0]), 0);
    assert_int_equal(fd_nonblock(ends[1]), 0);
}

static void test_close_and_take(void **state)
{
    int ends[2];
    int none = -1;
    int taken;

    (void)state;
    open_pipe(ends);
    taken = fd_take(&ends[0]);
    assert_true(taken >= 0);
    assert_int_equal(ends[0], -1);
    errno = EPERM;
    fd_close_at(&none);
    fd_close_at(&taken);
    fd_close_at(&taken);
    assert_int_equal(errno, EPERM);
    assert_int_equal(fcntl(taken, F_GETFD), -1);
    fd_close_at(&ends[1]);
}

static void test_read(void **state)
{
    auto_buf struct buf buf;
    int ends[2];

    (void)state;
    buf_init(&buf, 10);
    open_pipe(ends);
    assert_int_equal(fd_read(ends[0], &buf, 5), -1);
    assert_int_equal(errno, EAGAIN);

    assert_int_equal(write(ends[1], "0123456789ABC", 13), 13);
    assert_int_equal(fd_read(ends[0], &buf, 4), 4);
    assert_string_equal(buf.data, "0123");
    assert_int_equal(fd_read(ends[0], &buf, SIZE_MAX), 6);
    assert_string_equal(buf.data, "0123456789");
    assert_int_equal(fd_read(ends[0], &buf, 4), -1);
    assert_int_equal(errno, ENOBUFS);

    buf_drop(&buf, 8);
    assert_int_equal(fd_read(ends[0], &buf, 100), 3);
    assert_string_equal(buf.data, "89ABC");
    fd_close_at(&ends[1]);
    assert_int_equal(fd_read(ends[0], &buf, 100), 0);
    fd_close_at(&ends[0]);
}

static void test_write_stops_where_the_pipe_is_full(void **state)
{
    enum { TOTAL = 300000 };
    auto_free char *bytes = mem_alloc(TOTAL);
    auto_buf struct buf out;
    auto_buf struct buf in;
    int ends[2];

    (void)state;
    for (size_t i = 0; i < TOTAL; i++)
        bytes[i] = (char)(i % 251);
    buf_init(&out, TOTAL);
    buf_init(&in, TOTAL);
    open_pipe(ends);
    assert_int_equal(buf_add(&out, bytes, TOTAL), 0);
    assert_int_equal(fd_write(ends[1], &out), 0);
    assert_true(out.len > 0 && out.len < TOTAL);
    while (in.len < TOTAL) {
        assert_true(fd_read(ends[0], &in, TOTAL) > 0);
        assert_int_equal(fd_write(ends[1], &out), 0);
    }
    assert_int_equal(out.len, 0);
    assert_memory_equal(in.data, bytes, TOTAL);
    assert_int_equal(fd_write(ends[1], &out), 0);
    fd_close_at(&ends[0]);
    fd_close_at(&ends[1]);
}

static void test_bad_input(void **state)
{
    auto_buf struct buf buf;
    int ends[2];

    (void)state;
    buf_init(&buf, 10);
    assert_int_equal(fd_nonblock(-1), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(fd_read(-1, &buf, 1), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(buf_add_text(&buf, "kept"), 0);
    assert_int_equal(fd_write(-1, &buf), -1);
    assert_int_equal(errno, EBADF);

    signal(SIGPIPE, SIG_IGN);
    open_pipe(ends);
    fd_close_at(&ends[0]);
    assert_int_equal(fd_write(ends[1], &buf), -1);
    assert_int_equal(errno, EPIPE);
    assert_string_equal(buf.data, "kept");
    fd_close_at(&ends[1]);
}

static void test_read_file(void **state)
{
    char path[] = "/tmp/test_fd.XXXXXX";
    auto_close int fd = mkstemp(path);
    static const struct {
        size_t max;
        int error;
    } cases[] = {{6, 0}, {7, 0}, {1000000, 0}, {5, EFBIG}, {1, EFBIG}, {0, EFBIG}};

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "ab\0cd\n", 6), 6);
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t len = 99;
        auto_free char *bytes = fd_read_file(path, cases[i].max, &len);

        if (cases[i].error != 0) {
            assert_null(bytes);
            assert_int_equal(errno, cases[i].error);
            assert_int_equal(len, 99);
        } else {
            assert_non_null(bytes);
            assert_int_equal(len, 6);
            assert_memory_equal(bytes, "ab\0cd\n", 7);
        }
    }
    assert_int_equal(ftruncate(fd, 0), 0);
    {
        auto_free char *bytes = fd_read_file(path, 0, NULL);

        assert_string_equal(bytes, "");
    }
    assert_int_equal(unlink(path), 0);
}

static void test_read_file_bad_input(void **state)
{
    static const struct {
        const char *path;
        size_t max;
        int error;
    } cases[] = {
        {"", 10, ENOENT},
        {"/nowhere/at/all", 10, ENOENT},
        {"/proc/self/status/x", 10, ENOTDIR},
        {"/proc", 10, EISDIR},
        {"/proc/self/status", 10, EFBIG},
        {"/dev/zero", 200000, EFBIG},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_null(fd_read_file(cases[i].path, cases[i].max, NULL));
        assert_int_equal(errno, cases[i].error);
    }
    {
        auto_free char *status = fd_read_file("/proc/self/status", 65536, NULL);

        assert_non_null(strstr(status, "Pid:"));
    }
}

enum end { OPEN, HALF_CLOSED, CLOSED, CLOSED_UNREAD };

static void test_is_over(void **state)
{
    static const struct {
        enum end end; /* of the other side */
        bool left;    /* bytes of it that nobody has read yet */
        bool over;
    } cases[] = {
        {OPEN, false, false},         {OPEN, true, false},   {HALF_CLOSED, false, true},
        {HALF_CLOSED, true, false},   {CLOSED, false, true}, {CLOSED, true, false},
        {CLOSED_UNREAD, false, true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char bytes[4];
        int ends[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        assert_false(fd_is_over(ends[0]));
        if (cases[i].left)
            assert_int_equal(write(ends[1], "abc", 3), 3);
        if (cases[i].end == HALF_CLOSED)
            assert_int_equal(shutdown(ends[1], SHUT_WR), 0);
        if (cases[i].end == CLOSED_UNREAD)
            assert_int_equal(write(ends[0], "abc", 3), 3); /* the other side is reset */
        if (cases[i].end == CLOSED || cases[i].end == CLOSED_UNREAD)
            close(ends[1]);
        assert_int_equal(fd_is_over(ends[0]), cases[i].over);
        if (cases[i].left) {
            /* Looking took nothing away. */
            assert_int_equal(read(ends[0], bytes, sizeof(bytes)), 3);
            assert_memory_equal(bytes, "abc", 3);
            assert_int_equal(fd_is_over(ends[0]), cases[i].end != OPEN);
        }
        if (cases[i].end != CLOSED && cases[i].end != CLOSED_UNREAD)
            close(ends[1]);
        close(ends[0]);
    }
}

/* What is no socket says nothing of another side. */
static void test_is_over_bad_input(void **state)
{
    int ends[2];

    (void)state;
    assert_false(fd_is_over(-1));
    open_pipe(ends);
    fd_close_at(&ends[1]);
    assert_false(fd_is_over(ends[0]));
    fd_close_at(&ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_close_and_take),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_write_stops_where_the_pipe_is_full),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_read_file),
        cmocka_unit_test(test_read_file_bad_input),
        cmocka_unit_test(test_is_over),
        cmocka_unit_test(test_is_over_bad_input),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
