/* json: members, raw members, writing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/json_check.h"
#include "base/json_mend.h"
#include "base/mem.h"
#include "base/text.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void test_members(void **state)
{
    static const char text[] = "{\"n\":1,\"t\":\"x\",\"o\":{},\"a\":[],\"N\":2,\"z\":null}";
    auto_json cJSON *json = json_parse(text, strlen(text), NULL);

    (void)state;
    assert_non_null(json_get(json, "z"));
    assert_int_equal(json_get(json, "N")->valueint, 2);
    assert_null(json_get(json, "Z"));
    assert_null(json_get(NULL, "n"));
    assert_null(json_get(json_get(json, "a"), "n"));
    assert_non_null(json_get_object(json, "o"));
    assert_null(json_get_object(json, "a"));
    assert_non_null(json_get_array(json, "a"));
    assert_null(json_get_array(json, "o"));
    assert_string_equal(json_get_text(json, "t"), "x");
    assert_null(json_get_text(json, "n"));
    assert_null(json_get_text(json, "missing"));
}

static void test_integers(void **state)
{
    static const struct {
        const char *text;
        bool good;
        int64_t value;
    } cases[] = {
        {"{\"i\":0}", true, 0},
        {"{\"i\":-0}", true, 0},
        {"{\"i\":-7}", true, -7},
        {"{\"i\":1.0}", true, 1},
        {"{\"i\":1e3}", true, 1000},
        {"{\"i\":4294967296}", true, 4294967296},
        {"{\"i\":9007199254740992}", true, 9007199254740992},
        {"{\"i\":-9007199254740992}", true, -9007199254740992},
        {"{\"i\":9007199254740994}", false, 99},
        {"{\"i\":-9007199254740994}", false, 99},
        {"{\"i\":1.5}", false, 99},
        {"{\"i\":1e999}", false, 99},
        {"{\"i\":-1e999}", false, 99},
        {"{\"i\":\"1\"}", false, 99},
        {"{\"i\":null}", false, 99},
        {"{\"i\":true}", false, 99},
        {"{\"j\":1}", false, 99},
        {"[1]", false, 99},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_json cJSON *json = json_parse(cases[i].text, strlen(cases[i].text), NULL);
        int64_t value = 99;

        assert_non_null(json);
        assert_int_equal(json_get_int(json, "i", &value), cases[i].good);
        assert_true(value == cases[i].value);
    }
}

static void test_duplicates(void **state)
{
    static const struct {
        const char *text;
        const char *name;
    } cases[] = {
        {"{}", NULL},
        {"[1,1]", NULL},
        {"{\"a\":1}", NULL},
        {"{\"a\":1,\"A\":1,\"b\":{\"a\":1}}", NULL},
        {"{\"a\":{\"x\":1,\"x\":1}}", NULL},
        {"{\"a\":1,\"b\":1,\"a\":2}", "a"},
        {"{\"a\":1,\"\\u0061\":2}", "a"},
        {"{\"z\":1,\"a\":1,\"z\":1,\"a\":1,\"a\":1}", "z"},
        {"{\"\":1,\"\":1}", ""},
    };

    (void)state;
    assert_null(json_duplicate(NULL));
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_json cJSON *json = json_parse(cases[i].text, strlen(cases[i].text), NULL);
        const char *name = json_duplicate(json);

        assert_int_equal(name == NULL, cases[i].name == NULL);
        if (name != NULL)
            assert_string_equal(name, cases[i].name);
    }
}

static void test_raw_members(void **state)
{
    static const struct {
        const char *text;
        const char *raw; /* NULL: absent */
    } cases[] = {
        {"{\"id\":1}", "1"},
        {" { \"x\" : 1 , \"id\" : 12345678901234567890.50 } ", "12345678901234567890.50"},
        {"{\"id\":\"a\\\"},\\\\\",\"x\":1}", "\"a\\\"},\\\\\""},
        {"{\"x\":{\"id\":2,\"y\":[\"}\",{\"id\":3}]},\"id\":4}", "4"},
        {"{\"\\u0069\\u0064\":5}", "5"},
        {"{\"id\":6,\"id\":7}", "6"},
        {"{\"id\":[1, {\"a\": \"]\"} ]\n}", "[1, {\"a\": \"]\"} ]"},
        {"{\"id\":null}", "null"},
        {"{\"ID\":1,\"id \":2,\"i\":3,\"\\\"id\":4}", NULL},
        {"{\"a\":\"id\",\"b\":{\"id\":1}}", NULL},
        {"{}", NULL},
        {"[{\"id\":1}]", NULL},
        {"\"id\"", NULL},
        {"1", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *raw = NULL;
        size_t len = 99;
        bool found = json_raw_member(cases[i].text, strlen(cases[i].text), "id", &raw, &len);

        assert_int_equal(json_check(cases[i].text, strlen(cases[i].text), NULL), 0);
        assert_int_equal(found, cases[i].raw != NULL);
        if (found) {
            assert_int_equal(len, strlen(cases[i].raw));
            assert_memory_equal(raw, cases[i].raw, len);
        } else {
            assert_null(raw);
            assert_int_equal(len, 99);
        }
    }
}

static void test_put_bytes(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *json;
    } cases[] = {
        {"", 0, "\"\""},
        {"plain", 5, "\"plain\""},
        {"a\0b", 3, "\"a\\u0000b\""},
        {"\"\\/", 3, "\"\\\"\\\\/\""},
        {"\n\r\t\b\f\x1B", 6, "\"\\n\\r\\t\\u0008\\u000c\\u001b\""},
        {"~\x7F", 2, "\"~\\u007f\""},
        {"\xE2\x80\xA7\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xBA", 12,
         "\"\xE2\x80\xA7\\u2028\\u2029\xE2\x80\xBA\""},
        {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 9, "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""},
        {"\xFF", 1, "\"" TEXT_REPLACEMENT "\""},
        {"\xE2\x80", 2, "\"" TEXT_REPLACEMENT "\""},
        {"\xE2\"", 2, "\"" TEXT_REPLACEMENT "\\\"\""},
        {"\xED\xA0\x80", 3, "\"" TEXT_REPLACEMENT TEXT_REPLACEMENT TEXT_REPLACEMENT "\""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t need = strlen(cases[i].json);

        for (size_t max = 0; max <= need; max++) {
            auto_buf struct buf out;

            buf_init(&out, max);
            assert_int_equal(json_put_bytes(&out, cases[i].bytes, cases[i].len),
                             max == need ? 0 : -1);
            if (max == need)
                assert_string_equal(out.data, cases[i].json);
        }
    }
}

static void test_put_object(void **state)
{
    static const char expected[] = "{\"a\":\"x\",\"b\\n\":[{\"c\":{\"n\":[1,2.5]}}]}";
    static const char given[] = "{ \"n\": [1, 2.5] }";
    auto_json cJSON *value = json_parse(given, strlen(given), NULL);

    (void)state;
    for (size_t max = 0; max < sizeof(expected); max++) {
        auto_buf struct buf out;
        bool full;

        buf_init(&out, max);
        full = buf_add_text(&out, "{") < 0 || json_put_name(&out, "a") < 0 ||
               json_put_text(&out, "x") < 0 || json_put_name(&out, "b\n") < 0 ||
               buf_add_text(&out, "[{") < 0 || json_put_name(&out, "c") < 0 ||
               json_put_value(&out, value) < 0 || buf_add_text(&out, "}]}") < 0;
        assert_int_equal(full, max < sizeof(expected) - 1);
        if (!full)
            assert_string_equal(out.data, expected);
    }
}

static void escapes_that_text_cannot_hold_are_replaced(void **state)
{
    static const struct {
        const char *text, *mended;
        size_t count;
    } rows[] = {
        {"", "", 0},
        {"\"plain \\n \\u0041\"", "\"plain \\n \\u0041\"", 0},
        {"\"\\u0000\"", "\"\\ufffd\"", 1},
        {"\"\\\\u0000\"", "\"\\\\u0000\"", 0},
        {"\"\\ud83d\\ude00\"", "\"\\ud83d\\ude00\"", 0},
        {"\"\\uD83D\"", "\"\\ufffd\"", 1},
        {"\"\\ude00\\ud83d\"", "\"\\ufffd\\ufffd\"", 2},
        {"\"\\ud83d\\ud83d\\ude00\"", "\"\\ufffd\\ud83d\\ude00\"", 1},
        {"\"\\u00", "\"\\u00", 0},
        {"\"\\ud83d\\u", "\"\\ufffd\\u", 1},
        {"\\", "\\", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        auto_free char *text = mem_strdup(rows[i].text);

        assert_int_equal(json_mend(text, strlen(text)), rows[i].count);
        assert_string_equal(text, rows[i].mended);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes_that_text_cannot_hold_are_replaced),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_raw_members),
        cmocka_unit_test(test_put_bytes),
        cmocka_unit_test(test_put_object),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
