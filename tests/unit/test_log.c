#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define STAMP_LENGTH (sizeof("2026-01-31T12:00:00Z") - 1)
#define LINE_BYTES   4096

struct pipe {
    int ends[2];
    struct buf lines;
};

static int set_up(void **state)
{
    static struct pipe pipe;

    if (pipe2(pipe.ends, O_CLOEXEC) < 0 || fd_nonblock(pipe.ends[0]) < 0)
        return -1;
    buf_init(&pipe.lines, 1000000);
    *state = &pipe;
    return 0;
}

static int tear_down(void **state)
{
    struct pipe *pipe = *state;

    log_open(STDERR_FILENO, LOG_LEVEL_INFO);
    fd_close_at(&pipe->ends[0]);
    fd_close_at(&pipe->ends[1]);
    buf_done(&pipe->lines);
    return 0;
}

/* What one read finds; "" where nothing is there. */
static const char *read_line(struct pipe *pipe)
{
    buf_drop(&pipe->lines, SIZE_MAX);
    assert_int_equal(buf_add_text(&pipe->lines, ""), 0);
    fd_read(pipe->ends[0], &pipe->lines, 2 * LINE_BYTES);
    return pipe->lines.data;
}

static void test_line(void **state)
{
    struct pipe *pipe = *state;
    const char *line;
    regex_t pattern;

    assert_int_equal(regcomp(&pattern,
                             "^20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z "
                             "info port 8080\n$",
                             REG_EXTENDED | REG_NOSUB),
                     0);
    log_open(pipe->ends[1], LOG_LEVEL_INFO);
    errno = EPERM;
    log_info("port %d", 8080);
    assert_int_equal(errno, EPERM);
    line = read_line(pipe);
    assert_int_equal(regexec(&pattern, line, 0, NULL, 0), 0);
    regfree(&pattern);
}

static void test_levels(void **state)
{
    static const char *const all[] = {" error x\n", " warn x\n", " info x\n", " debug x\n"};
    struct pipe *pipe = *state;

    for (size_t level = 0; level < COUNT(all); level++) {
        log_open(pipe->ends[1], (enum log_level)level);
        for (size_t i = 0; i < COUNT(all); i++) {
            const char *line;

            if (i == LOG_LEVEL_ERROR)
                log_error("x");
            else if (i == LOG_LEVEL_WARN)
                log_warn("x");
            else if (i == LOG_LEVEL_INFO)
                log_info("x");
            else
                log_debug("x");
            line = read_line(pipe);
            if (i <= level)
                assert_string_equal(line + STAMP_LENGTH, all[i]);
            else
                assert_string_equal(line, "");
        }
    }
}

static void test_bad_input_is_escaped(void **state)
{
    static const struct {
        const char *given;
        const char *shown;
    } cases[] = {
        {"", ""},
        {"a\nb", "a\\nb"},
        {"\r\t\x1B[31m", "\\x0d\\x09\\x1b[31m"},
        {"\x7F", "\\x7f"},
        {"\xC2\x9B\xC2\xA0", "\\x9b\xC2\xA0"},
        {"\xFF\xE2\x82", TEXT_REPLACEMENT TEXT_REPLACEMENT},
        {"\xE2\x82\xAC \xF0\x9F\x98\x80", "\xE2\x82\xAC \xF0\x9F\x98\x80"},
        {"100%s", "100%s"},
    };
    struct pipe *pipe = *state;

    log_open(pipe->ends[1], LOG_LEVEL_ERROR);
    for (size_t i = 0; i < COUNT(cases); i++) {
        char line[100] = " error ";

        strncat(line, cases[i].shown, 80);
        strncat(line, "\n", 2);
        log_error("%s", cases[i].given);
        assert_string_equal(read_line(pipe) + STAMP_LENGTH, line);
    }
}

static void test_long_lines_are_cut(void **state)
{
    static const char *const units[] = {
        "a", "\x01", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xFF"};
    struct pipe *pipe = *state;

    log_open(pipe->ends[1], LOG_LEVEL_ERROR);
    for (size_t i = 0; i < COUNT(units); i++) {
        for (size_t lead = 0; lead < 5; lead++) {
            char text[3 * LINE_BYTES] = "";
            const char *line;
            size_t len;

            memset(text, '.', lead);
            for (size_t at = lead; at + 4 < sizeof(text); at += strlen(units[i]))
                memcpy(text + at, units[i], strlen(units[i]));
            log_error("%s", text);
            line = read_line(pipe);
            len = strlen(line);
            assert_true(len <= LINE_BYTES && len > LINE_BYTES - 8);
            assert_string_equal(line + len - 4, "...\n");
            assert_true(text_is_utf8(line, len));
            assert_ptr_equal(strchr(line, '\n'), line + len - 1);
        }
    }
}

static void test_full_pipe_drops_the_line(void **state)
{
    struct pipe *pipe = *state;
    char block[LINE_BYTES] = "";

    log_open(pipe->ends[1], LOG_LEVEL_ERROR);
    while (write(pipe->ends[1], block, sizeof(block)) > 0)
        continue;
    assert_int_equal(errno, EAGAIN);
    log_error("dropped");
    while (fd_read(pipe->ends[0], &pipe->lines, LINE_BYTES) > 0)
        continue;
    assert_null(memmem(pipe->lines.data, pipe->lines.len, "dropped", 7));
    log_error("kept");
    assert_string_equal(read_line(pipe) + STAMP_LENGTH, " error kept\n");
}

static void test_files_stay_as_they_are(void **state)
{
    char path[] = "/tmp/test_log.XXXXXX";
    auto_close int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    log_open(fd, LOG_LEVEL_ERROR);
    assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    log_error("to a file");
    assert_int_equal(lseek(fd, 0, SEEK_CUR), STAMP_LENGTH + strlen(" error to a file\n"));
    assert_int_equal(unlink(path), 0);
    log_open(-1, LOG_LEVEL_ERROR);
    log_error("nowhere");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_levels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_input_is_escaped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_lines_are_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full_pipe_drops_the_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files_stay_as_they_are, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
