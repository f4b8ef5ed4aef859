/* demux: the engine's frames around the container's output. Every split point, bad input, ceilings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "executor/demux.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define BYTES(text)  text, sizeof(text) - 1

#define OUT_MAX 1024

/* Empty frames of both streams at the start, between others and at the end. */
static const char good[] = "\1\0\0\0\0\0\0\0"
                           "\1\0\0\0\0\0\0\5H\0\0\0\1"
                           "\2\0\0\0\0\0\0\4oh, "
                           "\2\0\0\0\0\0\0\0"
                           "\1\0\0\0\0\0\0\1{"
                           "\1\0\0\0\0\0\0\0"
                           "\2\0\0\0\0\0\0\2no"
                           "\1\0\0\0\0\0\0\3\1\0\2"
                           "\1\0\0\0\0\0\0\0";
static const char good_out[] = "H\0\0\0\1{\1\0\2";
static const char good_complaint[] = "oh, no";

/* Feeds a copy of exactly len bytes, so that the sanitizer sees a read past the end. */
static int feed(struct demux *demux, const char *bytes, size_t len, struct buf *out,
                struct buf *complaint, struct error *err)
{
    auto_free char *copy = malloc(len ? len : 1);

    assert_non_null(copy);
    if (len)
        memcpy(copy, bytes, len);
    return demux_feed(demux, copy, len, out, complaint, err);
}

static void feed_good_in_parts(const size_t *ends, size_t count)
{
    struct demux demux = {0};
    auto_buf struct buf out;
    auto_buf struct buf complaint;
    size_t at = 0;

    buf_init(&out, OUT_MAX);
    buf_init(&complaint, OUT_MAX);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(feed(&demux, good + at, ends[i] - at, &out, &complaint, NULL), 0);
        at = ends[i];
    }
    assert_int_equal(at, sizeof(good) - 1);
    assert_int_equal(out.len, sizeof(good_out) - 1);
    assert_memory_equal(out.data, good_out, out.len);
    assert_string_equal(complaint.data, good_complaint);
    assert_int_equal(demux.left, 0);
    assert_int_equal(demux.header_len, 0);
}

static void every_split_gives_the_same(void **state)
{
    const size_t len = sizeof(good) - 1;
    size_t each[sizeof(good) - 1];

    (void)state;
    for (size_t i = 0; i < len; i++)
        each[i] = i + 1;
    feed_good_in_parts(each, len);
    for (size_t first = 0; first <= len; first++) {
        for (size_t second = first; second <= len; second++) {
            const size_t ends[] = {first, second, len};

            feed_good_in_parts(ends, COUNT(ends));
        }
    }
}

static const struct bad {
    const char *why;
    const char *bytes;
    size_t len;
    const char *named; /* the four bytes that the error quotes */
} bad_input[] = {
    {"stream 0, which is stdin", BYTES("\0\0\0\0\0\0\0\1x"), "00 00 00 00"},
    {"stream 3", BYTES("\3\0\0\0\0\0\0\1x"), "03 00 00 00"},
    {"stream 255", BYTES("\xff\0\0\0\0\0\0\1x"), "ff 00 00 00"},
    {"padding, second byte", BYTES("\1\1\0\0\0\0\0\1x"), "01 01 00 00"},
    {"padding, third byte", BYTES("\1\0\x80\0\0\0\0\1x"), "01 00 80 00"},
    {"padding, fourth byte", BYTES("\2\0\0\2\0\0\0\1x"), "02 00 00 02"},
    {"bad after an empty frame", BYTES("\1\0\0\0\0\0\0\0\4\0\0\0\0\0\0\1x"), "04 00 00 00"},
    {"bad after a full frame", BYTES("\2\0\0\0\0\0\0\1x\1\0\0\1\0\0\0\1"), "01 00 00 01"},
    {"the stream of a terminal, which has no frames", BYTES("Hello, world\r\n"), "48 65 6c 6c"},
    {"a page of a proxy", BYTES("<html><body>"), "3c 68 74 6d"},
};

static void bad_input_is_refused_at_every_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad_input); i++) {
        const struct bad *bad = &bad_input[i];

        for (size_t split = 0; split <= bad->len; split++) {
            struct demux demux = {0};
            auto_buf struct buf out;
            auto_buf struct buf complaint;
            struct error err = {""};

            buf_init(&out, OUT_MAX);
            buf_init(&complaint, OUT_MAX);
            if (feed(&demux, bad->bytes, split, &out, &complaint, &err) == 0 &&
                feed(&demux, bad->bytes + split, bad->len - split, &out, &complaint, &err) == 0)
                fail_msg("accepted with a split at %zu: %s", split, bad->why);
            if (!strstr(err.text, bad->named))
                fail_msg("%s: the error lacks %s: %s", bad->why, bad->named, err.text);
        }
    }
}

static void full_output_is_an_error(void **state)
{
    for (size_t room = 0; room < sizeof(good_out) + 1; room++) {
        struct demux demux = {0};
        auto_buf struct buf out;
        auto_buf struct buf complaint;
        struct error err = {""};
        int r;

        (void)state;
        buf_init(&out, room);
        buf_init(&complaint, OUT_MAX);
        r = feed(&demux, good, sizeof(good) - 1, &out, &complaint, &err);
        assert_int_equal(r, room < sizeof(good_out) - 1 ? -1 : 0);
        assert_int_equal(*err.text != '\0', r < 0);
        assert_true(out.len <= room);
    }
}

static void a_full_complaint_keeps_its_end(void **state)
{
    struct demux demux = {0};
    auto_buf struct buf out;
    auto_buf struct buf all;
    auto_buf struct buf complaint;

    (void)state;
    buf_init(&out, OUT_MAX);
    buf_init(&all, OUT_MAX);
    assert_int_equal(feed(&demux, good, sizeof(good) - 1, &out, &all, NULL), 0);
    buf_drop(&out, out.len);
    buf_init(&complaint, 4);
    assert_int_equal(feed(&demux, good, sizeof(good) - 1, &out, &complaint, NULL), 0);
    assert_string_equal(complaint.data, all.data + all.len - 4);
    assert_int_equal(out.len, sizeof(good_out) - 1);
}

static void a_length_of_four_gigabytes_takes_what_comes(void **state)
{
    struct demux demux = {0};
    auto_buf struct buf out;
    auto_buf struct buf complaint;
    struct error err = {""};

    (void)state;
    buf_init(&out, 10);
    buf_init(&complaint, 10);
    assert_int_equal(feed(&demux, BYTES("\1\0\0\0\xff\xff\xff\xff"), &out, &complaint, &err), 0);
    assert_int_equal(demux.left, UINT32_MAX);
    assert_int_equal(feed(&demux, BYTES("0123456789"), &out, &complaint, &err), 0);
    assert_string_equal(out.data, "0123456789");
    assert_int_equal(feed(&demux, BYTES("x"), &out, &complaint, &err), -1);
    assert_int_equal(out.len, 10);
}

static void nothing_is_nothing(void **state)
{
    struct demux demux = {0};
    auto_buf struct buf out;
    auto_buf struct buf complaint;

    (void)state;
    buf_init(&out, 0);
    buf_init(&complaint, 0);
    assert_int_equal(demux_feed(&demux, NULL, 0, &out, &complaint, NULL), 0);
    assert_int_equal(feed(&demux, BYTES("\1\0\0\0\0\0\0\0"), &out, &complaint, NULL), 0);
    assert_int_equal(out.len + complaint.len, 0);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void mutations_do_no_harm(void **state)
{
    uint32_t seed = 1;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct demux demux = {0};
        auto_buf struct buf out;
        auto_buf struct buf complaint;
        struct error err = {""};
        char copy[sizeof(good) - 1];
        size_t split = next_random(&seed) % sizeof(copy);
        int r;

        memcpy(copy, good, sizeof(copy));
        for (uint32_t n = next_random(&seed) % 4 + 1; n > 0; n--)
            copy[next_random(&seed) % sizeof(copy)] = (char)next_random(&seed);
        buf_init(&out, 16);
        buf_init(&complaint, 16);
        r = feed(&demux, copy, split, &out, &complaint, &err);
        if (r == 0)
            r = feed(&demux, copy + split, sizeof(copy) - split, &out, &complaint, &err);
        assert_int_equal(*err.text != '\0', r < 0);
        assert_true(out.len <= 16 && complaint.len <= 16);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_split_gives_the_same),
        cmocka_unit_test(bad_input_is_refused_at_every_split),
        cmocka_unit_test(full_output_is_an_error),
        cmocka_unit_test(a_full_complaint_keeps_its_end),
        cmocka_unit_test(a_length_of_four_gigabytes_takes_what_comes),
        cmocka_unit_test(nothing_is_nothing),
        cmocka_unit_test(mutations_do_no_harm),
    };

    return cmocka_run_group_tests_name("demux", tests, NULL, NULL);
}
