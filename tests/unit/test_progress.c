/* progress: what is said, how often, and that the numbers only grow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "front/progress.h"

/* Steps at this time; the message that came out, or "" where there was none. */
static const char *message_at(struct progress *progress, int64_t now, char *text, size_t size)
{
    auto_buf struct buf out;

    text[0] = '\0';
    buf_init(&out, 4096);
    if (!progress_step(progress, &out, now))
        return text;
    auto_json cJSON *line = json_parse(out.data, out.len, NULL);
    assert_string_equal(json_get_text(line, "method"), "notifications/progress");
    strncpy(text, json_get_text(json_get_object(line, "params"), "message"), size - 1);
    text[size - 1] = '\0';
    return text;
}

static void test_messages(void **state)
{
    struct progress progress;
    char text[128];

    (void)state;
    progress_init(&progress, "0", 1, 1000);
    assert_string_equal(message_at(&progress, 1000, text, sizeof(text)), "");
    progress_phase(&progress, WIRE_QUEUED, 3, 1000);
    assert_string_equal(message_at(&progress, 1000, text, sizeof(text)), "queued, 3rd in line");
    progress_phase(&progress, WIRE_QUEUED, 12, 2000);
    assert_string_equal(message_at(&progress, 2000, text, sizeof(text)), "queued, 12th in line");
    progress_phase(&progress, WIRE_QUEUED, 1, 3000);
    assert_string_equal(message_at(&progress, 3000, text, sizeof(text)), "queued, 1st in line");
    progress_phase(&progress, WIRE_PULLING, 42, 4000);
    assert_string_equal(message_at(&progress, 4000, text, sizeof(text)), "pulling image: 42 %");
    progress_phase(&progress, WIRE_STARTING, 0, 5000);
    assert_string_equal(message_at(&progress, 5000, text, sizeof(text)), "starting a container");
    progress_phase(&progress, WIRE_RUNNING, 0, 6000);
    assert_string_equal(message_at(&progress, 6000, text, sizeof(text)), "running");
    assert_int_equal(progress.due, 11000);
    assert_string_equal(message_at(&progress, 10999, text, sizeof(text)), "");
    assert_string_equal(message_at(&progress, 11000, text, sizeof(text)), "running for 5 s");
    assert_string_equal(message_at(&progress, 16000, text, sizeof(text)), "running for 10 s");
    progress_done(&progress);
}

static void test_rate_limit(void **state)
{
    struct progress progress;
    char text[128];

    (void)state;
    progress_init(&progress, "\"t\"", 3, 0);
    progress_phase(&progress, WIRE_PULLING, 1, 0);
    assert_string_equal(message_at(&progress, 0, text, sizeof(text)), "pulling image: 1 %");
    for (uint32_t i = 2; i < 50; i++) {
        progress_phase(&progress, WIRE_PULLING, i, i * 10);
        assert_int_equal(progress.due, PROGRESS_GAP);
        assert_string_equal(message_at(&progress, i * 10, text, sizeof(text)), "");
    }
    assert_string_equal(message_at(&progress, 500, text, sizeof(text)), "pulling image: 49 %");
    progress_phase(&progress, WIRE_PULLING, 49, 2000);
    assert_string_equal(message_at(&progress, 2000, text, sizeof(text)), "");
    progress_done(&progress);
}

static void test_numbers_grow_and_token_is_echoed(void **state)
{
    static const char *const tokens[] = {"0", "-1", "\"\"", "\"a\\u0062\"", "9007199254740993"};

    (void)state;
    for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
        struct progress progress;
        int64_t last = -1;

        progress_init(&progress, tokens[i], strlen(tokens[i]), 0);
        for (int64_t now = 0; now < 60000; now += 700) {
            auto_buf struct buf out;
            const char *raw;
            size_t raw_len;
            const char *params;
            size_t params_len;
            int64_t number;

            buf_init(&out, 4096);
            progress_phase(&progress, WIRE_PULLING, (uint32_t)(100 - now / 700), now);
            if (!progress_step(&progress, &out, now))
                continue;
            auto_json cJSON *line = json_parse(out.data, out.len, NULL);
            assert_true(json_get_int(json_get_object(line, "params"), "progress", &number));
            assert_true(number > last);
            last = number;
            assert_true(json_raw_member(out.data, out.len, "params", &params, &params_len));
            assert_true(json_raw_member(params, params_len, "progressToken", &raw, &raw_len));
            assert_int_equal(raw_len, strlen(tokens[i]));
            assert_memory_equal(raw, tokens[i], raw_len);
        }
        assert_true(last > 50);
        progress_done(&progress);
    }
}

static void test_silent_without_token(void **state)
{
    struct progress progress;
    char text[128];

    (void)state;
    progress_init(&progress, NULL, 0, 0);
    progress_phase(&progress, WIRE_RUNNING, 0, 0);
    assert_true(progress.due == CLOCK_NEVER);
    assert_string_equal(message_at(&progress, 100000, text, sizeof(text)), "");
    progress_done(&progress);
    assert_true(progress.due == CLOCK_NEVER);
}

static void output(struct progress *progress, const char *text)
{
    progress_output(progress, text, strlen(text));
}

/* The last line as a reader of a terminal sees it, cut where it is long. */
static void test_last_line(void **state)
{
    static const struct {
        const char *from;
        const char *shown;
    } cases[] = {
        {"one\ntwo\n", ": two"},
        {"one\ntwo\n\n \n", ": two"},
        {"one\ntw", ": tw"},
        {"\n\n", ""},
        {"10 %\r20 %\r30 %", ": 30 %"},
        {"10 %\r20 %\r", ": 20 %"},
        {"\x1b[1;31mred\x1b[0m\n", ": red"},
        {"\x1b]0;title\x07text", ": text"},
        {"a\tb\x01"
         "c\n",
         ": a b c"},
        {"caf\xC3\xA9 \xFF", ": caf\xC3\xA9 \xEF\xBF\xBD"},
        {"caf\xC3", ": caf"},
        {"\"quoted\" \\", ": \"quoted\" \\"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct progress progress;
        char text[600];

        progress_init(&progress, "0", 1, 0);
        progress_phase(&progress, WIRE_RUNNING, 0, 0);
        output(&progress, cases[i].from);
        message_at(&progress, 3000, text, sizeof(text));
        assert_memory_equal(text, "running for 3 s", 15);
        assert_string_equal(text + 15, cases[i].shown);
        progress_done(&progress);
    }
}

static void test_long_lines(void **state)
{
    struct progress progress;
    char text[1000];
    char line[5000];

    (void)state;
    progress_init(&progress, "0", 1, 0);
    progress_phase(&progress, WIRE_RUNNING, 0, 0);
    for (size_t i = 0; i + 4 < sizeof(line); i += 4)
        memcpy(line + i, "\xF0\x9F\x90\x8D", 5);
    output(&progress, "old\n");
    output(&progress, line);
    message_at(&progress, 0, text, sizeof(text));
    assert_int_equal(strlen(text), strlen("running: ...") + 4 * PROGRESS_LINE_CHARS);
    for (int i = 0; i < 5000; i++)
        output(&progress, i % 3 == 0 ? "\xC3" : "x");
    output(&progress, "\nend");
    message_at(&progress, 10000, text, sizeof(text));
    assert_string_equal(text, "running for 10 s: end");
    progress_done(&progress);
}

/* A chatty script is told of less often than a phase, and never after the end. */
static void test_output_rate(void **state)
{
    struct progress progress;
    char text[600];
    int told = 0;

    (void)state;
    progress_init(&progress, "0", 1, 0);
    progress_phase(&progress, WIRE_RUNNING, 0, 0);
    for (int64_t now = 0; now < 20000; now += 10) {
        output(&progress, "line\n");
        told += message_at(&progress, now, text, sizeof(text))[0] != '\0';
    }
    assert_int_equal(told, 20000 / PROGRESS_LINE);
    progress_done(&progress);
    output(&progress, "late\n");
    assert_string_equal(message_at(&progress, 100000, text, sizeof(text)), "");
    progress_done(&progress);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_rate_limit),
        cmocka_unit_test(test_numbers_grow_and_token_is_echoed),
        cmocka_unit_test(test_silent_without_token),
        cmocka_unit_test(test_last_line),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_output_rate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
