/* stdio: lines at every split, blank and long ones, back-pressure, a broken reader. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "front/stdio.h"

#define LINE_MAX_HERE 20

struct fixture {
    int to_server[2];
    int from_server[2];
    struct stdio stdio;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_int_equal(pipe(f->to_server), 0);
    assert_int_equal(pipe(f->from_server), 0);
    assert_int_equal(fd_nonblock(f->to_server[0]), 0);
    assert_int_equal(fd_nonblock(f->from_server[0]), 0);
    assert_int_equal(fd_nonblock(f->from_server[1]), 0);
    stdio_init(&f->stdio, f->to_server[0], f->from_server[1], LINE_MAX_HERE, 1000);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    stdio_done(&f->stdio);
    for (int i = 0; i < 2; i++) {
        fd_close_at(&f->to_server[i]);
        fd_close_at(&f->from_server[i]);
    }
    free(f);
    return 0;
}

/* Reads, and appends each line as "<line>", a long one as "<!>", to what was found. */
static void collect(struct fixture *f, struct buf *found)
{
    const char *line;
    size_t len;

    stdio_read(&f->stdio);
    while (true) {
        enum stdio_line kind = stdio_next(&f->stdio, &line, &len);

        if (kind == STDIO_NONE)
            return;
        buf_add(found, "<", 1);
        if (kind == STDIO_LINE)
            buf_add(found, line, len);
        else
            buf_add(found, "!", 1);
        buf_add(found, ">", 1);
    }
}

static void feed(struct fixture *f, const char *bytes, size_t len)
{
    assert_int_equal(write(f->to_server[1], bytes, len), (ssize_t)len);
}

static const char text[] = "{\"a\":1}\n\n  \r\n{\"b\":2}\r\n"
                           "this line is longer than twenty bytes are\n"
                           "12345678901234567890\n123456789012345678901\nlast";
static const char expected[] = "<{\"a\":1}><{\"b\":2}\r><!><12345678901234567890><!><last>";

static void test_lines_at_every_split(void **state)
{
    for (size_t split = 0; split <= strlen(text); split++) {
        auto_buf struct buf found;
        struct fixture *f;

        assert_int_equal(setup(state), 0);
        f = *state;
        buf_init(&found, 1000);
        feed(f, text, split);
        collect(f, &found);
        feed(f, text + split, strlen(text) - split);
        collect(f, &found);
        fd_close_at(&f->to_server[1]);
        f->to_server[1] = -1;
        collect(f, &found);
        assert_true(f->stdio.input_ended);
        assert_string_equal(found.data, expected);
        teardown(state);
    }
}

static void test_bytewise(void **state)
{
    struct fixture *f = *state;
    auto_buf struct buf found;

    buf_init(&found, 1000);
    for (size_t i = 0; i < strlen(text); i++) {
        feed(f, text + i, 1);
        collect(f, &found);
    }
    assert_false(f->stdio.input_ended);
    assert_memory_equal(found.data, expected, strlen(expected) - strlen("<last>"));
}

/* A line without an end takes no more memory than the ceiling. */
static void test_endless_line(void **state)
{
    struct fixture *f = *state;
    auto_buf struct buf found;
    char bytes[4096];

    buf_init(&found, 1000);
    memset(bytes, 'x', sizeof(bytes));
    for (int i = 0; i < 1000; i++) {
        feed(f, bytes, sizeof(bytes));
        collect(f, &found);
        assert_true(f->stdio.input.len <= LINE_MAX_HERE);
    }
    assert_string_equal(found.data, "<!>");
    feed(f, "\nok\n", 4);
    collect(f, &found);
    assert_string_equal(found.data, "<!><ok>");
}

static void test_back_pressure(void **state)
{
    struct fixture *f = *state;
    struct stdio *stdio = &f->stdio;
    auto_buf struct buf found;
    char bytes[1 << 16];

    buf_init(&found, 1000);
    memset(bytes, 'x', sizeof(bytes));
    while (stdio->output.len <= STDIO_BACKLOG_MAX)
        stdio->peer.send(&stdio->peer, 200, bytes, sizeof(bytes));
    assert_false(stdio_wants_input(stdio));

    /* Nothing more is taken, and notifications are left out whole. */
    size_t before = stdio->output.len;
    stdio->peer.send(&stdio->peer, PEER_NOTIFICATION, "{}", 2);
    assert_int_equal(stdio->output.len, before);
    feed(f, "{}\n", 3);
    collect(f, &found);
    assert_int_equal(found.len, 0);

    /* The reader is back: all arrives, and the line that waited is taken. */
    size_t got = 0;
    while (stdio->output.len > 0) {
        stdio_write(stdio);
        got += (size_t)read(f->from_server[0], bytes, sizeof(bytes));
    }
    for (ssize_t count; (count = read(f->from_server[0], bytes, sizeof(bytes))) > 0;)
        got += (size_t)count;
    assert_int_equal(got, before);
    assert_true(stdio_wants_input(stdio));
    collect(f, &found);
    assert_string_equal(found.data, "<{}>");
}

static void test_broken_reader(void **state)
{
    struct fixture *f = *state;
    struct stdio *stdio = &f->stdio;

    signal(SIGPIPE, SIG_IGN);
    fd_close_at(&f->from_server[0]);
    f->from_server[0] = -1;
    stdio->peer.send(&stdio->peer, 200, "{}", 2);
    stdio_write(stdio);
    assert_true(stdio->broken);
    assert_int_equal(stdio->output.len, 0);
    assert_false(stdio_wants_input(stdio));
    stdio->peer.send(&stdio->peer, 200, "{}", 2);
    assert_int_equal(stdio->output.len, 0);
}

#define with_fixture(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_at_every_split),
        with_fixture(test_bytewise),
        with_fixture(test_endless_line),
        with_fixture(test_back_pressure),
        with_fixture(test_broken_reader),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
