#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void test_adds_and_terminates(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } parts[] = {{"a", 1}, {"", 0}, {"b\0c", 3}, {"\xFF", 1}, {"tail", 4}};
    auto_buf struct buf buf;

    (void)state;
    buf_init(&buf, 9);
    for (size_t i = 0; i < COUNT(parts); i++) {
        assert_int_equal(buf_add(&buf, parts[i].bytes, parts[i].len), 0);
        assert_int_equal(buf.data[buf.len], '\0');
    }
    assert_int_equal(buf.len, 9);
    assert_memory_equal(buf.data, "ab\0c\xFFtail", 10);
}

static void test_nothing_added_still_gives_text(void **state)
{
    auto_buf struct buf buf;

    (void)state;
    buf_init(&buf, 0);
    assert_int_equal(buf_add_text(&buf, ""), 0);
    assert_string_equal(buf.data, "");
    assert_int_equal(buf_add(&buf, NULL, 0), 0);
}

static void test_bad_input_leaves_content(void **state)
{
    static const struct {
        size_t max;
        const char *before;
        const char *more;
    } cases[] = {{0, "", "x"}, {3, "abc", "d"}, {3, "ab", "cd"}, {100, "", NULL}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_buf struct buf buf;
        size_t len = cases[i].more == NULL ? SIZE_MAX : strlen(cases[i].more);

        buf_init(&buf, cases[i].max);
        assert_int_equal(buf_add_text(&buf, cases[i].before), 0);
        assert_int_equal(buf_add(&buf, cases[i].more, len), -1);
        if (cases[i].more != NULL) {
            assert_int_equal(buf_add_text(&buf, cases[i].more), -1);
            assert_int_equal(buf_addf(&buf, "%s", cases[i].more), -1);
        }
        assert_int_equal(buf.len, strlen(cases[i].before));
        assert_string_equal(buf.data, cases[i].before);
    }
}

static void test_addf(void **state)
{
    auto_buf struct buf buf;

    (void)state;
    buf_init(&buf, 1000);
    assert_int_equal(buf_addf(&buf, "%d-%s", 7, "x"), 0);
    assert_int_equal(buf_addf(&buf, "%0500d", 1), 0);
    assert_int_equal(buf.len, 503);
    assert_memory_equal(buf.data, "7-x000", 6);
    assert_int_equal(buf_addf(&buf, "%0500d", 1), -1);
    assert_int_equal(buf.len, 503);
    assert_int_equal(buf.data[503], '\0');
}

static void test_drop(void **state)
{
    static const struct {
        size_t drop;
        const char *rest;
    } cases[] = {{0, "abcdef"}, {1, "bcdef"}, {5, "f"}, {6, ""}, {7, ""}, {SIZE_MAX, ""}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_buf struct buf buf;

        buf_init(&buf, 8);
        buf_drop(&buf, cases[i].drop);
        assert_int_equal(buf.len, 0);
        assert_int_equal(buf_add_text(&buf, "abcdef"), 0);
        buf_drop(&buf, cases[i].drop);
        assert_int_equal(buf.len, strlen(cases[i].rest));
        assert_string_equal(buf.data, cases[i].rest);
        assert_int_equal(buf_add_text(&buf, "gh"), 0);
        assert_memory_equal(buf.data + buf.len - 2, "gh", 3);
    }
}

static void test_add_tail(void **state)
{
    static const struct {
        size_t max;
        const char *parts[4];
        const char *rest;
    } cases[] = {
        {0, {"", "a", "bcd"}, ""},
        {1, {"a", "b", "cd"}, "d"},
        {4, {"", ""}, ""},
        {4, {"abcd"}, "abcd"},
        {4, {"abcde"}, "bcde"},
        {4, {"ab", "cd"}, "abcd"},
        {4, {"ab", "cd", ""}, "abcd"},
        {4, {"abc", "de"}, "bcde"},
        {4, {"abcd", "e", "f"}, "cdef"},
        {4, {"ab", "cdef"}, "cdef"},
        {4, {"ab", "cdefghij", "k"}, "hijk"},
        {1000, {"short", " ", "text"}, "short text"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_buf struct buf buf;

        buf_init(&buf, cases[i].max);
        for (size_t j = 0; j < COUNT(cases[i].parts) && cases[i].parts[j]; j++) {
            buf_add_tail(&buf, cases[i].parts[j], strlen(cases[i].parts[j]));
            assert_true(buf.len <= buf.max);
            assert_int_equal(buf.data[buf.len], '\0');
        }
        assert_int_equal(buf.len, strlen(cases[i].rest));
        assert_string_equal(buf.data, cases[i].rest);
    }
}

/* Any lengths, many times: always the last bytes, in a block within twice the ceiling. */
static void test_add_tail_keeps_the_last(void **state)
{
    enum { MAX = 1000, PART_MAX = 2500 };
    auto_buf struct buf buf;
    unsigned char part[PART_MAX];
    unsigned int count = 0;

    (void)state;
    buf_init(&buf, MAX);
    for (unsigned int turn = 0; turn < 5000; turn++) {
        size_t len = turn % 50 == 49 ? turn % PART_MAX : (turn * 7919) % 97;

        for (size_t i = 0; i < len; i++)
            part[i] = (unsigned char)(count++ * 31 / 7);
        buf_add_tail(&buf, part, len);
        assert_int_equal(buf.len, count < MAX ? count : MAX);
        assert_true(buf.size <= 2 * (MAX + 1));
        for (unsigned int i = 0; i < buf.len; i++)
            assert_int_equal((unsigned char)buf.data[buf.len - 1 - i],
                             (unsigned char)((count - 1 - i) * 31 / 7));
    }
}

/* A queue that never empties: the bytes stay right and the block stays within twice the ceiling. */
static void test_runs_as_a_queue(void **state)
{
    enum { MAX = 1000 };
    auto_buf struct buf buf;
    unsigned int in = 0;
    unsigned int out = 0;

    (void)state;
    buf_init(&buf, MAX);
    for (int turn = 0; turn < 20000; turn++) {
        size_t add = (size_t)(turn * 7919) % 97;
        size_t drop = (size_t)(turn * 104729) % 97;

        for (size_t i = 0; i < add; i++) {
            unsigned char byte = (unsigned char)in;

            if (buf_add(&buf, &byte, 1) < 0)
                break;
            in++;
        }
        assert_true(buf.len <= MAX);
        assert_true(buf.size <= 2 * (MAX + 1));
        for (size_t i = 0; i < drop && buf.len > 0; i++) {
            assert_int_equal((unsigned char)buf.data[0], out & 0xFF);
            buf_drop(&buf, 1);
            out++;
        }
    }
    assert_int_equal(in - out, buf.len);
}

static void test_take(void **state)
{
    struct buf buf;
    size_t len = 99;

    (void)state;
    buf_init(&buf, 10);
    {
        auto_free char *empty = buf_take(&buf, &len);

        assert_int_equal(len, 0);
        assert_string_equal(empty, "");
    }
    assert_int_equal(buf_add(&buf, "abc\0d", 5), 0);
    buf_drop(&buf, 1);
    {
        auto_free char *bytes = buf_take(&buf, &len);

        assert_int_equal(len, 4);
        assert_memory_equal(bytes, "bc\0d", 5);
    }
    assert_int_equal(buf.len, 0);
    assert_int_equal(buf_add_text(&buf, "0123456789"), 0);
    assert_int_equal(buf_add_text(&buf, "x"), -1);
    buf_drop(&buf, 10);
    free(buf_take(&buf, NULL));
    buf_done(&buf);
}

static void test_done_can_be_used_again(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, 3);
    buf_done(&buf);
    assert_int_equal(buf_add_text(&buf, "abc"), 0);
    buf_done(&buf);
    assert_int_equal(buf.len, 0);
    assert_int_equal(buf.max, 3);
    assert_int_equal(buf_add_text(&buf, "abcd"), -1);
    buf_done(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adds_and_terminates),
        cmocka_unit_test(test_nothing_added_still_gives_text),
        cmocka_unit_test(test_bad_input_leaves_content),
        cmocka_unit_test(test_addf),
        cmocka_unit_test(test_drop),
        cmocka_unit_test(test_add_tail),
        cmocka_unit_test(test_add_tail_keeps_the_last),
        cmocka_unit_test(test_runs_as_a_queue),
        cmocka_unit_test(test_take),
        cmocka_unit_test(test_done_can_be_used_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
