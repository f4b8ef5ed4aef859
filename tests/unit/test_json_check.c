/* json: strict reading, and every refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/json_check.h"
#include "base/mem.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Parses a copy of exactly len bytes, so that the sanitizer sees a read past the end. */
static cJSON *parse(const char *text, size_t len, struct error *err)
{
    auto_free char *copy = mem_alloc(len);

    memcpy(copy, text, len);
    return json_parse(copy, len, err);
}

static void test_good_input(void **state)
{
    static const struct {
        const char *text;
        const char *compact;
    } cases[] = {
        {"null", "null"},
        {" true\r\n\t", "true"},
        {"false", "false"},
        {"0", "0"},
        {"-0.5e+1", "-5"},
        {"12E2", "1200"},
        {"1e-2", "0.01"},
        {"999999999999999", "999999999999999"},
        {"\"\"", "\"\""},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\""},
        {"\"\\u0041\\u00e9\\u20AC\"", "\"A\xC3\xA9\xE2\x82\xAC\""},
        {"\"\\ud83d\\uDE00\"", "\"\xF0\x9F\x98\x80\""},
        {"\"\\ud800\\udc00\\uDBFF\\uDFFF\"", "\"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\""},
        {"\"\xE2\x82\xAC\x7F\"", "\"\xE2\x82\xAC\x7F\""},
        {"[ ]", "[]"},
        {"[1 , [ ] ,{}]", "[1,[],{}]"},
        {"{ }", "{}"},
        {"{\"a\" : {\"\" : [null]} , \"a\":2}", "{\"a\":{\"\":[null]},\"a\":2}"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct error err = {""};
        auto_json cJSON *json = parse(cases[i].text, strlen(cases[i].text), &err);
        auto_buf struct buf out;

        buf_init(&out, 1000);
        assert_string_equal(err.text, "");
        assert_non_null(json);
        assert_int_equal(json_put_value(&out, json), 0);
        assert_string_equal(out.data, cases[i].compact);
    }
}

struct refusal {
    const char *text;
    size_t offset;
    const char *reason;
};

static const struct refusal refused_strings[] = {
    {"\"a\xFF\"", 2, "invalid UTF-8"},
    {"\"\xC0\xAF\"", 1, "invalid UTF-8"},
    {"\"\xED\xA0\x80\"", 1, "invalid UTF-8"},
    {"\"\xE2\x82\"", 1, "invalid UTF-8"},
    {"\"\xE2\x82", 1, "invalid UTF-8"},
    {"{\"\xFF\":1}", 2, "invalid UTF-8"},
    {"\"a\nb\"", 2, "raw control character"},
    {"\"\x1F\"", 1, "raw control character"},
    {"{\"\t\":1}", 2, "raw control character"},
    {"\"\\u0000\"", 1, "\\u0000"},
    {"{\"a\\u0000\":1}", 3, "\\u0000"},
    {"\"\\ud83d\"", 1, "lone surrogate"},
    {"\"\\ud83dx\"", 1, "lone surrogate"},
    {"\"\\ud83d\\n\"", 1, "lone surrogate"},
    {"\"\\ud83d\\u0041\"", 1, "lone surrogate"},
    {"\"\\ud83d\\ud83d\"", 1, "lone surrogate"},
    {"\"\\uDE00\"", 1, "lone surrogate"},
    {"\"\\ud83d\\ude0", 1, "lone surrogate"},
    {"\"\\x41\"", 1, "unknown escape"},
    {"\"\\'\"", 1, "unknown escape"},
    {"\"\\u12\"", 1, "incomplete escape"},
    {"\"\\u12g4\"", 1, "incomplete escape"},
    {"\"\\u-123\"", 1, "incomplete escape"},
    {"\"\\", 1, "incomplete escape"},
    {"\"\\u", 1, "incomplete escape"},
    {"\"\\\"", 3, "the text ends"},
    {"\"abc", 4, "the text ends"},
    {"\"", 1, "the text ends"},
};

static const struct refusal refused_structure[] = {
    {"", 0, "the text ends"},
    {"  \n", 3, "the text ends"},
    {"[", 1, "the text ends"},
    {"[1,", 3, "the text ends"},
    {"{\"a\":", 5, "the text ends"},
    {"{", 1, "name in double quotes"},
    {"{a:1}", 1, "name in double quotes"},
    {"{'a':1}", 1, "name in double quotes"},
    {"{1:1}", 1, "name in double quotes"},
    {"{\"a\":1,}", 7, "leave it out"},
    {"{\"a\":1,]", 7, "name in double quotes"},
    {"{,}", 1, "name in double quotes"},
    {"{\"a\"}", 4, "colon"},
    {"{\"a\" 1}", 5, "colon"},
    {"{\"a\":}", 5, "no JSON value"},
    {"{\"a\":1 \"b\":2}", 7, "comma or }"},
    {"{\"a\":1", 6, "comma or }"},
    {"{\"a\":1]", 6, "comma or }"},
    {"[1 2]", 3, "comma or ]"},
    {"[1", 2, "comma or ]"},
    {"[1}", 2, "comma or ]"},
    {"[1,]", 3, "leave it out"},
    {"[1,}", 3, "no JSON value"},
    {"[,1]", 1, "no JSON value"},
    {"[1,,2]", 3, "no JSON value"},
    {"]", 0, "no JSON value"},
    {"\xEF\xBB\xBF{}", 0, "byte order mark"},
    {"\xFF", 0, "no JSON value"},
    {"/* c */ 1", 0, "no JSON value"},
    {"{} {}", 3, "something follows"},
    {"1 x", 2, "something follows"},
    {"[]]", 2, "something follows"},
    {"null\f", 4, "something follows"},
    {"1\v", 1, "something follows"},
    {"\xC2\xA0"
     "1",
     0, "no JSON value"},
};

static const struct refusal refused_scalars[] = {
    {"nul", 0, "no JSON value"},
    {"True", 0, "no JSON value"},
    {"TRUE", 0, "no JSON value"},
    {"NaN", 0, "no JSON value"},
    {"Infinity", 0, "no JSON value"},
    {"nullx", 4, "something follows"},
    {"truefalse", 4, "something follows"},
    {"+1", 0, "no JSON value"},
    {".5", 0, "no JSON value"},
    {"-", 1, "digit is missing"},
    {"-Infinity", 1, "digit is missing"},
    {"--1", 1, "digit is missing"},
    {"1.", 2, "digit is missing"},
    {"1.e1", 2, "digit is missing"},
    {"1e", 2, "digit is missing"},
    {"1e+", 3, "digit is missing"},
    {"1e1.5", 3, "something follows"},
    {"01", 1, "something follows"},
    {"-01", 2, "something follows"},
    {"0x10", 1, "something follows"},
    {"1_000", 1, "something follows"},
    {"[1234567890123456789012345678901234567890123456789012345678901234]", 1,
     "more than 63 characters in a number"},
};

static void assert_refused_at(const char *text, const char *place)
{
    struct error err = {""};

    assert_null(parse(text, strlen(text), &err));
    assert_non_null(strstr(err.text, place));
}

static void assert_refused(const char *text, size_t len, size_t offset, const char *reason)
{
    struct error err = {""};
    char start[64];

    snprintf(start, sizeof(start), "JSON refused at byte %zu", offset);
    assert_null(parse(text, len, &err));
    assert_memory_equal(err.text, start, strlen(start));
    assert_non_null(strstr(err.text, reason));
    assert_null(parse(text, len, NULL));
}

static void test_bad_input(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refused_strings); i++)
        assert_refused(refused_strings[i].text, strlen(refused_strings[i].text),
                       refused_strings[i].offset, refused_strings[i].reason);
    for (size_t i = 0; i < COUNT(refused_structure); i++)
        assert_refused(refused_structure[i].text, strlen(refused_structure[i].text),
                       refused_structure[i].offset, refused_structure[i].reason);
    for (size_t i = 0; i < COUNT(refused_scalars); i++)
        assert_refused(refused_scalars[i].text, strlen(refused_scalars[i].text),
                       refused_scalars[i].offset, refused_scalars[i].reason);
    assert_refused_at("{\n\"a\": 1,\n\n}", "byte 11, line 4: ");
    assert_refused("1\0", 2, 1, "something follows");
    assert_refused("[\0]", 3, 1, "no JSON value");
    assert_refused("\"\0\"", 3, 1, "raw control character");
    assert_refused("\"\\\0\"", 4, 1, "unknown escape");
}

/* Every start of a good text is refused: the end is never taken for granted. */
static void test_cut_input(void **state)
{
    static const char text[] =
        "{\"a\":[1,-2.5e3,\"\\ud83d\\ude00\xE2\x82\xAC\",true,null],\"b\\n\":{}}";

    (void)state;
    for (size_t len = 0; len < sizeof(text) - 1; len++)
        assert_null(parse(text, len, NULL));
}

static void test_depth(void **state)
{
    char text[2 * JSON_DEPTH_MAX + 2];

    (void)state;
    memset(text, '[', JSON_DEPTH_MAX);
    memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    {
        auto_json cJSON *json = parse(text, 2 * (size_t)JSON_DEPTH_MAX, NULL);

        assert_non_null(json);
    }
    memset(text, '[', JSON_DEPTH_MAX + 1);
    memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
    assert_refused(text, sizeof(text), JSON_DEPTH_MAX, "more than 64 levels");
}

static void test_values(void **state)
{
    auto_buf struct buf text;

    (void)state;
    buf_init(&text, 4 * (size_t)JSON_VALUES_MAX);
    assert_int_equal(buf_add_text(&text, "[0"), 0);
    for (int i = 2; i < JSON_VALUES_MAX; i++)
        assert_int_equal(buf_add_text(&text, ",0"), 0);
    assert_int_equal(json_check(text.data, text.len, NULL), -1);
    assert_int_equal(buf_add_text(&text, "]"), 0);
    assert_int_equal(json_check(text.data, text.len, NULL), 0);
    text.data[text.len - 1] = ',';
    assert_int_equal(buf_add_text(&text, "0]"), 0);
    assert_refused(text.data, text.len, text.len - 2, "more than 200000 values");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_input), cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_cut_input),  cmocka_unit_test(test_depth),
        cmocka_unit_test(test_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
