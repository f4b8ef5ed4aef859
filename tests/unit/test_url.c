/* url: text for paths and queries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "executor/url.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void texts_are_escaped(void **state)
{
    static const struct {
        const char *text;
        const char *escaped;
    } cases[] = {
        {"", ""},
        {"python:3.12-slim", "python:3.12-slim"},
        {"registry.example:5000/team/python@sha256:01",
         "registry.example:5000/team/python@sha256:01"},
        {"a_b~c.d-e/f", "a_b~c.d-e/f"},
        {"../../containers/x", "../../containers/x"},
        {"a b", "a%20b"},
        {"a+b", "a%2Bb"},
        {"?all=1&x#y", "%3Fall%3D1%26x%23y"},
        {"100%", "100%25"},
        {"%2e%2e", "%252e%252e"},
        {"{\"label\":[\"python-sandbox.owner\"]}",
         "%7B%22label%22:%5B%22python-sandbox.owner%22%5D%7D"},
        {"a\r\nHost: b", "a%0D%0AHost:%20b"},
        {"\t\x01\x1f\x7f", "%09%01%1F%7F"},
        {"\xc3\xa9", "%C3%A9"},
        {"\xff\x80", "%FF%80"},
        {"!$'()*,;=<>[]\\^`|", "%21%24%27%28%29%2A%2C%3B%3D%3C%3E%5B%5D%5C%5E%60%7C"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_free char *escaped = url_escape(cases[i].text);

        assert_string_equal(escaped, cases[i].escaped);
    }
}

/* Every byte, by the rule alone. */
static void bytes_stay_or_become_three(void **state)
{
    static const char kept[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/:@";

    (void)state;
    for (int byte = 1; byte < 256; byte++) {
        const char text[2] = {(char)byte, '\0'};
        auto_free char *escaped = url_escape(text);
        auto_free char *expected = mem_printf("%%%02X", (unsigned)byte);

        assert_string_equal(escaped, strchr(kept, byte) ? text : expected);
    }
}

static void long_texts_fit(void **state)
{
    enum { LEN = 1000000 };
    auto_free char *text = mem_alloc(LEN + 1);
    auto_free char *escaped = NULL;

    (void)state;
    memset(text, 0xff, LEN);
    escaped = url_escape(text);
    assert_int_equal(strlen(escaped), 3 * LEN);
    assert_string_equal(escaped + 3 * (LEN - 2), "%FF%FF");
}

static void ids_are_letters_and_digits(void **state)
{
    static const char *const bad[] = {"", "a/b", "../x", "a b", "a?b", "a%2f", "\xC3\xA9", "a\n"};

    (void)state;
    assert_true(url_is_id("04d1b71c611aF"));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(url_is_id(bad[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_letters_and_digits),
        cmocka_unit_test(texts_are_escaped),
        cmocka_unit_test(bytes_stay_or_become_three),
        cmocka_unit_test(long_texts_fit),
    };

    return cmocka_run_group_tests_name("url", tests, NULL, NULL);
}
