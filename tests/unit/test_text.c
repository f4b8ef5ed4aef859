#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/text.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define R            TEXT_REPLACEMENT
#define EURO         "\xE2\x82\xAC"
#define FACE         "\xF0\x9F\x98\x80"

static void test_valid(void **state)
{
    static const char *const cases[] = {
        "",
        "plain",
        "\x7F",
        "\xC2\x80",
        "\xDF\xBF",
        "\xE0\xA0\x80",
        "\xED\x9F\xBF",
        "\xEE\x80\x80",
        "\xEF\xBF\xBF",
        "\xF0\x90\x80\x80",
        "\xF4\x8F\xBF\xBF",
        "\xE2\x82\xAC\xF0\x9F\x98\x80",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_buf struct buf out;

        buf_init(&out, 100);
        assert_true(text_is_utf8(cases[i], strlen(cases[i])));
        assert_int_equal(text_repair(&out, cases[i], strlen(cases[i])), 0);
        assert_int_equal(out.len, strlen(cases[i]));
        assert_int_equal(text_whole_end(cases[i], strlen(cases[i])), strlen(cases[i]));
        if (out.len > 0)
            assert_string_equal(out.data, cases[i]);
    }
    assert_true(text_is_utf8("a\0b", 3));
}

/* The maximal subparts of the Unicode Standard, chapter 3, as Python decodes them. */
static void test_bad_input_is_repaired(void **state)
{
    static const struct {
        const char *bytes;
        const char *text;
    } cases[] = {
        {"\x80", R},
        {"\xBF\x80", R R},
        {"\xC0\xAF", R R},
        {"\xC1\xBF", R R},
        {"\xC2", R},
        {"\xC2z", R "z"},
        {"\xE0\x80", R R},
        {"\xE0\x80\xAF", R R R},
        {"\xE0\xA0", R},
        {"\xE2\x82", R},
        {"\xE2\x82z", R "z"},
        {"\xE2\x82\xE2\x82\xAC", R EURO},
        {"\xED\xA0\x80", R R R},
        {"\xED\xBF\xBF", R R R},
        {"\xED\xA0\x80\xED\xB0\x80", R R R R R R},
        {"\xF0\x80\x80", R R R},
        {"\xF0\x80\x80\x80", R R R R},
        {"\xF0\x9F\x98", R},
        {"\xF0\x9F\x98z", R "z"},
        {"\xF0\x9F", R},
        {"\xF0", R},
        {"\xF4\x90\x80\x80", R R R R},
        {"\xF5\x80\x80\x80", R R R R},
        {"\xF8\x88\x80\x80\x80", R R R R R},
        {"\xFE\xFF", R R},
        {"a\xF1\x80\x80\xE1\x80\xC2"
         "b\x80"
         "c\x80\xBF"
         "d",
         "a" R R R "b" R "c" R R "d"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t len = strlen(cases[i].bytes);
        auto_buf struct buf out;

        buf_init(&out, 100);
        assert_false(text_is_utf8(cases[i].bytes, len));
        assert_int_equal(text_repair(&out, cases[i].bytes, len), 0);
        assert_string_equal(out.data, cases[i].text);
    }
}

static void test_repair_into_a_full_buffer(void **state)
{
    static const char *const cases[] = {"abcdef", "abcd\xFF", "ab\xFF\xFF", "\xFF\xFF"};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_buf struct buf out;

        buf_init(&out, 5);
        assert_int_equal(text_repair(&out, cases[i], strlen(cases[i])), -1);
        assert_true(out.len <= 5);
    }
}

static void test_lines(void **state)
{
    static const struct {
        const char *bytes;
        const char *line;
    } cases[] = {
        {"plain \xC3\xA9 " FACE, NULL},
        {"\xC2\xA0", NULL},
        {"a\nb", "a" R "b"},
        {"\x1b[1m\x7F", R "[1m" R},
        {"\xC2\x80\xC2\x9F\xC2\xA0", R R "\xC2\xA0"},
        {"\xFF\xE2\x82", R R},
        {"\xE2\x82\xAC\r", EURO R},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *line = cases[i].line ? cases[i].line : cases[i].bytes;
        auto_buf struct buf out;

        buf_init(&out, 100);
        assert_int_equal(text_is_line(cases[i].bytes, strlen(cases[i].bytes)), !cases[i].line);
        assert_int_equal(text_put_line(&out, cases[i].bytes, strlen(cases[i].bytes)), 0);
        assert_string_equal(out.data, line);
        assert_true(text_is_line(out.data, out.len));
    }
    assert_false(text_is_line("a\0b", 3));
    assert_true(text_is_line("", 0));
}

static void test_characters(void **state)
{
    static const struct {
        const char *text;
        size_t chars;
        size_t head;
        size_t tail;
    } cases[] = {
        {"", 0, 0, 0},
        {"abc", 0, 0, 3},
        {"abc", 2, 2, 1},
        {"abc", 3, 3, 0},
        {"abc", 9, 3, 0},
        {"a" EURO FACE "z", 0, 0, 9},
        {"a" EURO FACE "z", 1, 1, 8},
        {"a" EURO FACE "z", 2, 4, 4},
        {"a" EURO FACE "z", 3, 8, 1},
        {"a" EURO FACE "z", 4, 9, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t len = strlen(cases[i].text);

        assert_int_equal(text_head(cases[i].text, len, cases[i].chars), cases[i].head);
        assert_int_equal(text_tail(cases[i].text, len, cases[i].chars), cases[i].tail);
    }
    assert_int_equal(text_count("", 0), 0);
    assert_int_equal(text_count("abc", 3), 3);
    assert_int_equal(text_count("a" EURO FACE "z", 9), 4);
}

static void test_whole_end(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        size_t whole;
    } cases[] = {
        {"", 0, 0},
        {"abc", 3, 3},
        {"a" EURO, 4, 4},
        {"a" EURO, 3, 1},
        {"a" EURO, 2, 1},
        {FACE, 3, 0},
        {FACE, 2, 0},
        {FACE, 1, 0},
        {"a\xC3", 2, 1},
        /* No character goes on after these. */
        {"a\xFF", 2, 2},
        {"\x80\x80\x80", 3, 3},
        {"\x80\x80\x80\x80", 4, 4},
        {"a\xE0\x80", 3, 3},
        {"a\xF4\x90", 3, 3},
        {"a\xC3\xA9\xA9", 4, 4},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(text_whole_end(cases[i].bytes, cases[i].len), cases[i].whole);
}

static void test_whole_start(void **state)
{
    static const struct {
        const char *bytes;
        size_t cut;
    } cases[] = {
        {"", 0},
        {"abc", 0},
        {EURO, 0},
        {"\xAC", 1},
        {"\x82\xACz", 2},
        {"\x9F\x98\x80" FACE, 3},
        {"\xC3\xA9\x80", 0},
        {"\x80\x80\x80\x80", 3},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(text_whole_start(cases[i].bytes, strlen(cases[i].bytes)), cases[i].cut);
}

static void test_to_int(void **state)
{
    static const struct {
        const char *text;
        int64_t min;
        int64_t max;
        int64_t value;
    } cases[] = {
        {"0", 0, 0, 0},
        {"-0", 0, 0, 0},
        {"007", 0, 10, 7},
        {" 42\n", 0, 100, 42},
        {"\t-5 ", -5, 5, -5},
        {"9223372036854775807", INT64_MIN, INT64_MAX, INT64_MAX},
        {"-9223372036854775808", INT64_MIN, INT64_MAX, INT64_MIN},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct error err;
        int64_t value = 99;

        assert_int_equal(text_to_int(cases[i].text, cases[i].min, cases[i].max, &value, &err), 0);
        assert_true(value == cases[i].value);
    }
}

static void test_to_int_bad_input(void **state)
{
    static const char *const cases[] = {
        "",
        " ",
        "-",
        "--1",
        "+1",
        "1.0",
        "1e3",
        "0x10",
        "1 2",
        "abc",
        "12a",
        "a12",
        "- 1",
        "\xFF",
        "0",
        "11",
        "-1",
        "9223372036854775808",
        "1_0",
        "1\v2",
        "99999999999999999999999999",
        "-9223372036854775809",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct error err;
        int64_t value = 99;

        assert_int_equal(text_to_int(cases[i], 1, 10, &value, &err), -1);
        assert_int_equal(value, 99);
        assert_non_null(strstr(err.text, "is not a whole number from 1 to 10"));
        assert_int_equal(text_to_int(cases[i], 1, 10, &value, NULL), -1);
    }
}

static void test_last_line(void **state)
{
    static const struct {
        const char *text, *line;
    } rows[] = {
        {"", ""},
        {"\n \n", ""},
        {"one", "one"},
        {"one\ntwo", "two"},
        {"one\ntwo\n\n", "two"},
        {"a\r\n", "a"},
        {"\n\nx y \n", "x y"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t len;
        const char *line = text_last_line(rows[i].text, strlen(rows[i].text), &len);

        assert_int_equal(len, strlen(rows[i].line));
        assert_memory_equal(line, rows[i].line, len);
    }
}

static void test_ports(void **state)
{
    static const char *const good[] = {":1", ":80", ":080", ":65535"};
    static const char *const bad[] = {"",     ":",     "80",   ":0",   ":65536", ":4294967297",
                                      ": 80", ":80 x", ":80/", ":+80", ":-1",    "x80"};

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++)
        assert_true(text_is_port(good[i], strlen(good[i])));
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(text_is_port(bad[i], strlen(bad[i])));
    assert_false(text_is_port(": 80", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_last_line),
        cmocka_unit_test(test_valid),
        cmocka_unit_test(test_bad_input_is_repaired),
        cmocka_unit_test(test_repair_into_a_full_buffer),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_whole_end),
        cmocka_unit_test(test_whole_start),
        cmocka_unit_test(test_to_int),
        cmocka_unit_test(test_to_int_bad_input),
        cmocka_unit_test(test_ports),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
