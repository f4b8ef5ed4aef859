#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/text.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void test_set_and_wrap(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(error_set(&err, "%s is %d", "port", 0), -1);
    assert_string_equal(err.text, "port is 0");
    assert_int_equal(error_wrap(&err, "read %s", "a.json"), -1);
    assert_string_equal(err.text, "read a.json: port is 0");
    assert_int_equal(error_set(&err, "again: %s", err.text), -1);
    assert_string_equal(err.text, "again: read a.json: port is 0");
}

static void test_no_error_wanted(void **state)
{
    (void)state;
    assert_int_equal(error_set(NULL, "%d", 1), -1);
    assert_int_equal(error_wrap(NULL, "%d", 1), -1);
}

static void test_bad_input_becomes_utf8(void **state)
{
    static const struct {
        const char *given;
        const char *text;
    } cases[] = {
        {"", ""},
        {"a\xFFz", "a\xEF\xBF\xBDz"},
        {"\xE2\x82", "\xEF\xBF\xBD"},
        {"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct error err;

        error_set(&err, "%s", cases[i].given);
        assert_string_equal(err.text, cases[i].text);
    }
}

/* Characters of 1 to 4 bytes, and an invalid byte that grows, at every distance from the end. */
static void test_cut(void **state)
{
    static const char *const units[] = {"a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
                                        "\xFF"};

    (void)state;
    for (size_t i = 0; i < COUNT(units); i++) {
        for (size_t lead = 0; lead < 8; lead++) {
            size_t unit = strlen(units[i]);
            size_t shown = units[i][0] == '\xFF' ? 3 : unit;
            char given[2 * ERROR_TEXT_MAX] = "";
            struct error err;
            size_t len;

            memset(given, '.', lead);
            for (size_t at = lead; at + unit < sizeof(given); at += unit)
                memcpy(given + at, units[i], unit);
            error_set(&err, "%s", given);
            len = strlen(err.text);
            assert_true(len < ERROR_TEXT_MAX && len > ERROR_TEXT_MAX - 1 - shown);
            assert_string_equal(err.text + len - 3, "...");
            assert_true(text_is_utf8(err.text, len));
        }
    }
}

static void test_just_fits(void **state)
{
    char given[ERROR_TEXT_MAX + 1];
    struct error err;

    (void)state;
    memset(given, 'x', ERROR_TEXT_MAX);
    given[ERROR_TEXT_MAX] = '\0';
    error_set(&err, "%s", given);
    assert_string_equal(err.text + ERROR_TEXT_MAX - 5, "x...");
    given[ERROR_TEXT_MAX - 1] = '\0';
    error_set(&err, "%s", given);
    assert_string_equal(err.text, given);
    error_wrap(&err, "%s", "context");
    assert_memory_equal(err.text, "context: xxx", 12);
    assert_string_equal(err.text + ERROR_TEXT_MAX - 5, "x...");
    error_wrap(&err, "%s%s%s", given, given, given);
    assert_string_equal(err.text + ERROR_TEXT_MAX - 5, "x...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_and_wrap),
        cmocka_unit_test(test_no_error_wanted),
        cmocka_unit_test(test_bad_input_becomes_utf8),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_just_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
