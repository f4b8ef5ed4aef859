/* tool: the description and schemas, and a table of arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "front/options.h"
#include "front/tool.h"

static const struct front_options options = {
    .timeout_ms = 30000,
    .timeout_max_ms = 300000,
    .memory = 512u << 20,
    .workspace = 256u << 20,
    .tmp = 64u << 20,
    .cpus_milli = 1000,
    .pids = 128,
    .code_max = 1u << 20,
    .stdin_max = 1000,
    .files_max = 3,
    .files_bytes_max = 10000,
    .artifacts_max = 64,
    .image_max = 512u << 10,
    .resource_max = 32u << 10,
    .side_max = 2000,
    .text_max = 50000,
    .error_text_max = 10000,
    .reply_max = 900000,
    .calls_max = 10,
};

static void test_good_arguments(void **state)
{
    static const struct {
        const char *json;
        const char *code;
        uint32_t timeout_ms;
        const char *input;
        const char *note;
    } good[] = {
        {"{\"code\":\"print(1)\"}", "print(1)", 30000, "", ""},
        {"{\"code\":\" 1 \\n\"}", " 1 \n", 30000, "", ""},
        {"{\"code\":\"1\",\"timeout_seconds\":5}", "1", 5000, "", ""},
        {"{\"code\":\"1\",\"timeout_seconds\":1.5}", "1", 1500, "", ""},
        {"{\"code\":\"1\",\"timeout_seconds\":0.0001}", "1", 1, "", ""},
        {"{\"code\":\"1\",\"timeout_seconds\":300}", "1", 300000, "", ""},
        {"{\"code\":\"1\",\"timeout_seconds\":\"30\"}", "1", 30000, "", ""},
        {"{\"code\":\"1\",\"timeout_seconds\":\" 2.5 \"}", "1", 2500, "", ""},
        {"{\"code\":\"1\",\"timeout_seconds\":null,\"stdin\":null}", "1", 30000, "", ""},
        {"{\"code\":\"1\",\"stdin\":\"a\\nb\"}", "1", 30000, "a\nb", ""},
        {"\"{\\\"code\\\":\\\"print(1)\\\"}\"", "print(1)", 30000, "", ""},
        {"{\"toolCallId\":\"x\",\"code\":\"1\",\"session\\nId\":3}", "1", 30000, "",
         "arguments that were ignored: toolCallId, session?Id"},
        {"{\"code\":\"1\",\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,"
         "\"i\":1,\"j\":1}",
         "1", 30000, "", "arguments that were ignored: a, b, c, d, e, f, g, h and 2 more"},
        {"{\"code\":\"1\",\"x\":1,\"files\":[{\"path\":\"a\",\"text\":\"\"},{\"path\":\"b\","
         "\"text\":\"eA==\",\"encoding\":\"base64\",\"mode\":1}]}",
         "1", 30000, "", "arguments that were ignored: x, files[1].encoding"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        auto_json cJSON *arguments = json_parse(good[i].json, strlen(good[i].json), NULL);
        struct tool_call call;
        struct error err;

        assert_non_null(arguments);
        assert_int_equal(tool_read(&call, arguments, &options, &err), 0);
        assert_string_equal(call.run.code, good[i].code);
        assert_int_equal(call.run.code_len, strlen(good[i].code));
        assert_int_equal(call.run.timeout_ms, good[i].timeout_ms);
        assert_string_equal(call.run.stdin_bytes, good[i].input);
        assert_int_equal(call.run.stdin_len, strlen(good[i].input));
        assert_string_equal(call.note, good[i].note);
        assert_int_equal(call.run.keep_head + call.run.keep_tail, 4 * options.text_max);
        tool_done(&call);
    }
}

static void test_bad_arguments(void **state)
{
    static const struct {
        const char *json; /* NULL: none */
        const char *says;
    } bad[] = {
        {NULL, "code is missing"},
        {"null", "code is missing"},
        {"{}", "code is missing"},
        {"{\"code\":null}", "code is missing"},
        {"{\"Code\":\"1\"}", "code is missing"},
        {"{\"code\":5}", "code must be a string"},
        {"{\"code\":[\"1\"]}", "code must be a string"},
        {"{\"code\":\"\"}", "code is empty"},
        {"{\"code\":\" \\n\\t\"}", "code is empty"},
        {"[]", "arguments must be an object"},
        {"3", "arguments must be an object"},
        {"true", "arguments must be an object"},
        {"\"x\"", "arguments must be an object"},
        {"\"[]\"", "arguments must be an object"},
        {"\"\"", "arguments must be an object"},
        {"\"\\\"{}\\\"\"", "arguments must be an object"},
        {"{\"code\":\"1\",\"code\":\"2\"}", "more than once"},
        {"{\"code\":\"1\",\"timeout_seconds\":0}", "timeout_seconds must be a number above 0 and"},
        {"{\"code\":\"1\",\"timeout_seconds\":-1}", "at most 300"},
        {"{\"code\":\"1\",\"timeout_seconds\":300.1}", "at most 300"},
        {"{\"code\":\"1\",\"timeout_seconds\":1e308}", "timeout_seconds"},
        {"{\"code\":\"1\",\"timeout_seconds\":true}", "timeout_seconds"},
        {"{\"code\":\"1\",\"timeout_seconds\":[5]}", "timeout_seconds"},
        {"{\"code\":\"1\",\"timeout_seconds\":{}}", "timeout_seconds"},
        {"{\"code\":\"1\",\"timeout_seconds\":\"\"}", "timeout_seconds"},
        {"{\"code\":\"1\",\"timeout_seconds\":\"5s\"}", "timeout_seconds"},
        {"{\"code\":\"1\",\"timeout_seconds\":\"nan\"}", "timeout_seconds"},
        {"{\"code\":\"1\",\"timeout_seconds\":\"inf\"}", "timeout_seconds"},
        {"{\"code\":\"1\",\"timeout_seconds\":\"0x10\"}", "timeout_seconds"},
        {"{\"code\":\"1\",\"timeout_seconds\":\"1 2\"}", "timeout_seconds"},
        {"{\"code\":\"1\",\"stdin\":5}", "stdin must be a string"},
        {"{\"code\":\"1\",\"stdin\":{}}", "stdin must be a string"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        auto_json cJSON *arguments =
            bad[i].json != NULL ? json_parse(bad[i].json, strlen(bad[i].json), NULL) : NULL;
        struct tool_call call;
        struct error err = {""};

        assert_int_equal(tool_read(&call, arguments, &options, &err), -1);
        assert_non_null(strstr(err.text, bad[i].says));
        tool_done(&call);
    }
}

static void test_sizes(void **state)
{
    struct front_options small = options;
    struct tool_call call;
    struct error err;

    (void)state;
    small.code_max = 3;
    small.stdin_max = 0;
    auto_json cJSON *three = json_parse("{\"code\":\"123\"}", 14, NULL);
    auto_json cJSON *four = json_parse("{\"code\":\"1234\"}", 15, NULL);
    auto_json cJSON *input = json_parse("{\"code\":\"1\",\"stdin\":\"x\"}", 24, NULL);

    assert_int_equal(tool_read(&call, three, &small, &err), 0);
    tool_done(&call);
    assert_int_equal(tool_read(&call, four, &small, &err), -1);
    assert_string_equal(err.text, "code is too large: 4 bytes, where at most 3 are accepted");
    tool_done(&call);
    assert_int_equal(tool_read(&call, input, &small, &err), -1);
    assert_string_equal(err.text, "stdin is too large: 1 bytes, where at most 0 are accepted");
    tool_done(&call);
}

/* However large the text cap, no more is asked for than may be kept. */
static void test_keep_is_bounded(void **state)
{
    struct front_options large = options;
    struct tool_call call;
    struct error err;
    auto_json cJSON *arguments = json_parse("{\"code\":\"1\"}", 12, NULL);

    (void)state;
    large.text_max = 100000000;
    assert_int_equal(tool_read(&call, arguments, &large, &err), 0);
    assert_int_equal(call.run.keep_head + call.run.keep_tail, LIMIT_KEEP_MAX);
    tool_done(&call);
}

static void check_schema(const cJSON *schema)
{
    const cJSON *properties = json_get_object(schema, "properties");
    const cJSON *name;

    assert_string_equal(json_get_text(schema, "type"), "object");
    assert_non_null(properties);
    cJSON_ArrayForEach(name, json_get_array(schema, "required"))
    {
        assert_true(cJSON_IsString(name));
        assert_non_null(json_get_object(properties, name->valuestring));
    }
}

static void test_description(void **state)
{
    auto_buf struct buf out;
    struct error err = {""};
    int64_t size;

    (void)state;
    buf_init(&out, 16384);
    tool_put(&out, &options, true);
    auto_json cJSON *tool = json_parse(out.data, out.len, &err);
    assert_string_equal(err.text, "");
    assert_string_equal(json_get_text(tool, "name"), "run_python");

    const char *text = json_get_text(tool, "description");
    assert_true(strlen(text) < 2048);
    assert_non_null(strstr(text, "30 s per script"));
    assert_non_null(strstr(text, "up to 300 s"));
    assert_non_null(strstr(text, "512 MB of memory, 1 CPU, 128 processes"));
    assert_non_null(strstr(text, "256 MB in /workspace and 64 MB in /tmp"));
    assert_non_null(strstr(text, "50,000 characters"));
    assert_non_null(strstr(text, "fault)."));

    check_schema(json_get_object(tool, "inputSchema"));
    check_schema(json_get_object(tool, "outputSchema"));
    assert_true(cJSON_IsFalse(json_get(json_get_object(tool, "annotations"), "openWorldHint")));
    assert_true(cJSON_IsFalse(json_get(json_get_object(tool, "annotations"), "destructiveHint")));
    assert_true(
        json_get_int(json_get_object(tool, "_meta"), "anthropic/maxResultSizeChars", &size));
    assert_int_equal(size, 100000);

    buf_done(&out);
    tool_put(&out, &options, false);
    auto_json cJSON *plain = json_parse(out.data, out.len, &err);
    assert_non_null(plain);
    assert_null(json_get(plain, "outputSchema"));
}

static const struct front_profile profiles[] = {
    {.name = "small",
     .description = "Standard library.",
     .timeout_ms = 5000,
     .timeout_max_ms = 10000,
     .memory = 256u << 20,
     .cpus_milli = 500},
    {.name = "data",
     .description = "pandas; \xC3\xA9l\xC3\xA9gance",
     .timeout_ms = 30000,
     .timeout_max_ms = 600000,
     .memory = 2048u << 20,
     .cpus_milli = 2000},
};

static struct front_options options_with(size_t count)
{
    struct front_options own = options;

    own.profiles = profiles;
    own.profile_count = count;
    own.profile_default = count - 1;
    return own;
}

static void test_profile_argument(void **state)
{
    static const struct {
        const char *json;
        uint32_t profile;
        uint32_t timeout_ms;
        const char *error; /* NULL: it is accepted */
    } cases[] = {
        {"{\"code\":\"1\"}", 1, 30000, NULL},
        {"{\"code\":\"1\",\"profile\":null}", 1, 30000, NULL},
        {"{\"code\":\"1\",\"profile\":\"data\"}", 1, 30000, NULL},
        {"{\"code\":\"1\",\"profile\":\"small\"}", 0, 5000, NULL},
        {"{\"code\":\"1\",\"profile\":\"small\",\"timeout_seconds\":10}", 0, 10000, NULL},
        {"{\"code\":\"1\",\"profile\":\"data\",\"timeout_seconds\":600}", 1, 600000, NULL},
        {"{\"code\":\"1\",\"profile\":\"small\",\"timeout_seconds\":11}", 0, 0, "at most 10"},
        {"{\"code\":\"1\",\"profile\":\"gpu\"}", 0, 0,
         "profile must be one of \"small\", \"data\""},
        {"{\"code\":\"1\",\"profile\":\"\"}", 0, 0, "profile must be one of"},
        {"{\"code\":\"1\",\"profile\":\"Data\"}", 0, 0, "profile must be one of"},
        {"{\"code\":\"1\",\"profile\":1}", 0, 0, "profile must be one of"},
        {"{\"code\":\"1\",\"profile\":[\"data\"]}", 0, 0, "profile must be one of"},
    };
    const struct front_options several = options_with(2);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        auto_json cJSON *json = json_parse(cases[i].json, strlen(cases[i].json), NULL);
        struct tool_call call;
        struct error err = {""};
        int r = tool_read(&call, json, &several, &err);

        if (cases[i].error) {
            assert_int_equal(r, -1);
            if (!strstr(err.text, cases[i].error))
                fail_msg("%s: %s", cases[i].json, err.text);
        } else {
            assert_string_equal(err.text, "");
            assert_int_equal(call.run.profile, cases[i].profile);
            assert_int_equal(call.run.timeout_ms, cases[i].timeout_ms);
            assert_string_equal(call.note, "");
        }
        tool_done(&call);
    }
}

/* Where there is nothing to choose, the argument is one that is not known. */
static void test_profile_argument_of_one(void **state)
{
    static const char text[] = "{\"code\":\"1\",\"profile\":\"data\"}";
    auto_json cJSON *json = json_parse(text, strlen(text), NULL);
    const struct front_options one = options_with(1);
    struct tool_call call;
    struct error err = {""};

    (void)state;
    assert_int_equal(tool_read(&call, json, &one, &err), 0);
    assert_int_equal(call.run.profile, 0);
    assert_string_equal(call.note, "arguments that were ignored: profile");
    tool_done(&call);
}

static const cJSON *profile_schema(const struct front_options *own, cJSON **ret_tool)
{
    auto_buf struct buf out;

    buf_init(&out, 65536);
    tool_put(&out, own, true);
    *ret_tool = json_parse(out.data, out.len, NULL);
    assert_non_null(*ret_tool);
    check_schema(json_get_object(*ret_tool, "inputSchema"));
    return json_get_object(json_get_object(json_get_object(*ret_tool, "inputSchema"), "properties"),
                           "profile");
}

static void test_profiles_are_described(void **state)
{
    struct front_options own = options_with(2);
    auto_json cJSON *tool = NULL, *single = NULL;
    const cJSON *schema = profile_schema(&own, &tool);
    const char *text = json_get_text(tool, "description");

    (void)state;
    assert_true(strlen(text) < 2048);
    assert_non_null(strstr(text, "There are 2 profiles"));
    assert_non_null(strstr(text, "\"data\", which is taken where none is named. Limits: "));
    assert_non_null(strstr(text, "fault)."));
    assert_string_equal(json_get_text(schema, "default"), "data");
    assert_int_equal(cJSON_GetArraySize(json_get_array(schema, "enum")), 2);
    assert_string_equal(
        json_get_text(schema, "description"),
        "What the script has and may use:\n"
        "- small: Standard library. (256 MB, 0.5 CPUs, up to 10 s)\n"
        "- data (the default): pandas; \xC3\xA9l\xC3\xA9gance (2 GB, 2 CPUs, up to 600 s)");

    own = options_with(1);
    assert_null(profile_schema(&own, &single));
    assert_non_null(strstr(json_get_text(single, "description"), "Standard library.\n\nLimits: "));
}

/* As many as there may be, with descriptions as long as they may be. */
static void test_many_profiles_are_cut(void **state)
{
    struct front_profile many[LIMIT_PROFILES_MAX];
    char description[LIMIT_DESCRIPTION_MAX + 1];
    struct front_options own = options;
    auto_json cJSON *tool = NULL, *single = NULL;
    const cJSON *schema;

    (void)state;
    for (size_t i = 0; i + 1 < sizeof(description); i += 2)
        memcpy(description + i, "\xC3\xA9", 3);
    for (size_t i = 0; i < LIMIT_PROFILES_MAX; i++) {
        many[i] = profiles[1];
        many[i].description = description;
        many[i].name = "profile-with-a-name-of-32-bytes-";
    }
    own.profiles = many;
    own.profile_count = LIMIT_PROFILES_MAX;
    schema = profile_schema(&own, &tool);
    assert_true(strlen(json_get_text(tool, "description")) < 2048);
    assert_non_null(strstr(json_get_text(tool, "description"), "fault)."));
    assert_true(strlen(json_get_text(schema, "description")) < 8192);
    assert_non_null(strstr(json_get_text(schema, "description"), "... (2 GB"));

    own.profile_count = 1;
    assert_null(profile_schema(&own, &single));
    assert_true(strlen(json_get_text(single, "description")) < 2048);
    assert_non_null(strstr(json_get_text(single, "description"), "fault)."));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_arguments),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_keep_is_bounded),
        cmocka_unit_test(test_description),
        cmocka_unit_test(test_profile_argument),
        cmocka_unit_test(test_profile_argument_of_one),
        cmocka_unit_test(test_profiles_are_described),
        cmocka_unit_test(test_many_profiles_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
