/* files: what the argument may be, and that every refusal names the file and what is accepted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "front/files.h"
#include "front/options.h"
#include "front/tool.h"

static const struct front_options options = {
    .timeout_ms = 30000,
    .timeout_max_ms = 300000,
    .workspace = 1u << 20,
    .code_max = 1u << 20,
    .files_max = 3,
    .files_bytes_max = 10000,
    .text_max = 50000,
    .error_text_max = 10000,
    .artifacts_max = 64,
    .image_max = 500000,
    .resource_max = 32768,
    .reply_max = 900000,
};

static void good_files(void **state)
{
    static const struct {
        const char *json;
        size_t count;
        const char *path; /* of the last */
        const char *bytes;
        size_t len;
    } good[] = {
        {"null", 0, NULL, NULL, 0},
        {"[]", 0, NULL, NULL, 0},
        {"\"[]\"", 0, NULL, NULL, 0},
        {"[{\"path\":\"a.csv\",\"text\":\"x,y\\n\"}]", 1, "a.csv", "x,y\n", 4},
        {"[{\"path\":\"a\",\"text\":\"\"}]", 1, "a", "", 0},
        {"[{\"path\":\"a\",\"base64\":\"\"}]", 1, "a", "", 0},
        {"[{\"path\":\"a\",\"base64\":\"AP8K\"}]", 1, "a", "\0\xff\n", 3},
        {"[{\"path\":\"a\",\"base64\":\"AP\\n8K\\n\"}]", 1, "a", "\0\xff\n", 3},
        {"[{\"path\":\"a\",\"text\":null,\"base64\":\"AA==\"}]", 1, "a", "\0", 1},
        {"[{\"path\":\"a\",\"text\":\"\\u00e9\",\"base64\":null,\"name\":1}]", 1, "a", "\xc3\xa9",
         2},
        {"[{\"path\":\"d/a\",\"base64\":\"AAA=\"},{\"path\":\"d/b\",\"text\":\"t\"},"
         "{\"path\":\"\\u58f2/x y\",\"base64\":\"YWJj\"}]",
         3, "\xe5\xa3\xb2/x y", "abc", 3},
        {"\"[{\\\"path\\\":\\\"a\\\",\\\"text\\\":\\\"t\\\"}]\"", 1, "a", "t", 1},
        {"[{\"path\":\"outputs/seed.txt\",\"text\":\"t\"}]", 1, "outputs/seed.txt", "t", 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        auto_json cJSON *argument = json_parse(good[i].json, strlen(good[i].json), NULL);
        struct error err = {""};
        struct files files;

        assert_non_null(argument);
        if (files_read(&files, argument, &options, &err) < 0)
            fail_msg("%s: %s", good[i].json, err.text);
        assert_int_equal(files.count, good[i].count);
        if (good[i].count > 0) {
            const struct file *last = &files.list[files.count - 1];

            assert_int_equal(last->path_len, strlen(good[i].path));
            assert_memory_equal(last->path, good[i].path, last->path_len);
            assert_int_equal(last->len, good[i].len);
            assert_memory_equal(last->bytes, good[i].bytes, last->len);
        }
        files_done(&files);
    }
}

#define TEXT(path) "{\"path\":\"" path "\",\"text\":\"t\"}"

static void bad_files(void **state)
{
    static const struct {
        const char *json;
        const char *says;
    } bad[] = {
        {"5", "files must be a list of objects"},
        {"{}", "files must be a list of objects"},
        {TEXT("a"), "files must be a list of objects"},
        {"\"x\"", "files must be a list of objects"},
        {"\"{}\"", "files must be a list of objects"},
        {"\"\"", "files must be a list of objects"},
        {"[5]", "files[0]: it must have a string \"path\""},
        {"[\"a\"]", "files[0]: it must have a string \"path\""},
        {"[{\"text\":\"t\"}]", "files[0]: it must have a string \"path\""},
        {"[{\"path\":5,\"text\":\"t\"}]", "files[0]: it must have a string \"path\""},
        {"[" TEXT("a") ",{\"path\":\"b\"}]", "files[1] (\"b\") has neither text nor base64"},
        {"[{\"path\":\"b\",\"content\":\"t\"}]", "has neither text nor base64"},
        {"[{\"path\":\"a\",\"text\":\"t\",\"base64\":\"\"}]", "has both text and base64"},
        {"[{\"path\":\"a\",\"text\":5}]", "has a text that is not a string"},
        {"[{\"path\":\"a\",\"base64\":[]}]", "has a base64 that is not a string"},
        {"[{\"path\":\"a\",\"text\":\"t\",\"path\":\"b\"}]", "has the member path more than once"},
        {"[" TEXT("") "]", "files[0] (\"\") is empty"},
        {"[" TEXT("/etc/passwd") "]", "(\"/etc/passwd\") must be relative"},
        {"[" TEXT("/workspace/a") "]", "must be relative"},
        {"[" TEXT("../a") "]", "has a part \"..\""},
        {"[" TEXT("a/../../b") "]", "has a part \"..\""},
        {"[" TEXT("a//b") "]", "has an empty part"},
        {"[" TEXT("script.py") "]", "is where the script itself lies"},
        {"[" TEXT("script.py/x") "]", "is where the script itself lies"},
        {"[" TEXT(".figures/x") "]", "is kept for the sandbox"},
        {"[" TEXT("outputs") "]", "is the folder for what the script leaves"},
        {"[" TEXT("a") "," TEXT("a") "]", "files[1] (\"a\") is there twice"},
        {"[" TEXT("a/b") "," TEXT("a") "]", "(\"a\") and \"a/b\" cannot both be"},
        {"[" TEXT("a") "," TEXT("a/b") "]", "(\"a/b\") and \"a\" cannot both be"},
        {"[" TEXT("a") "," TEXT("b") "," TEXT("c") "," TEXT("d") "]",
         "files are too many: 4, where at most 3 are accepted"},
        {"[{\"path\":\"a\",\"base64\":\"AAA\"}]", "(\"a\") has base64 that does not end"},
        {"[{\"path\":\"a\",\"base64\":\"data:text/plain;base64,AAAA\"}]", "begins with \"data:\""},
        {"[{\"path\":\"a\\nb\",\"base64\":\"*\"}]", "(\"a\xef\xbf\xbd"
                                                    "b\") has base64 that has, at character 0"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        auto_json cJSON *argument = json_parse(bad[i].json, strlen(bad[i].json), NULL);
        struct error err = {""};
        struct files files;

        assert_non_null(argument);
        assert_int_equal(files_read(&files, argument, &options, &err), -1);
        if (!strstr(err.text, bad[i].says))
            fail_msg("%s: %s", bad[i].json, err.text);
        files_done(&files);
    }
}

/* {"code": "1", "files": [...]}, with a file of len bytes, as text or as that much base64. */
static cJSON *arguments_of(size_t len, bool base64)
{
    auto_free char *text = mem_alloc(len + 1);
    static const char json[] = "{\"code\":\"1\",\"files\":[{\"path\":\"a\"}]}";
    cJSON *arguments = json_parse(json, strlen(json), NULL);

    memset(text, 'A', len);
    cJSON_AddStringToObject(cJSON_GetArrayItem(json_get(arguments, "files"), 0),
                            base64 ? "base64" : "text", text);
    return arguments;
}

static void sizes(void **state)
{
    static const struct {
        size_t len;
        bool base64;
        const char *says; /* NULL: accepted */
    } cases[] = {
        {10000, false, NULL},
        {10001, false, "files are too large: 10,001 bytes together, where at most 10,000"},
        {13332, true, NULL},
        {13336, true, "files are too large: 10,002 bytes together"},
        {1000000, true, "files are too large: 750,000 bytes together"},
    };
    struct front_options small = options;
    struct tool_call call;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        auto_json cJSON *arguments = arguments_of(cases[i].len, cases[i].base64);
        struct error err = {""};

        assert_int_equal(tool_read(&call, arguments, &options, &err), cases[i].says ? -1 : 0);
        if (cases[i].says)
            assert_non_null(strstr(err.text, cases[i].says));
        else
            assert_int_equal(call.run.file_count, 1);
        tool_done(&call);
    }

    /* A page for the script, two for the file. */
    small.workspace = 12288;
    for (size_t len = 8192; len <= 8193; len++) {
        auto_json cJSON *arguments = arguments_of(len, false);
        struct error err = {""};

        assert_int_equal(tool_read(&call, arguments, &small, &err), len == 8192 ? 0 : -1);
        if (len > 8192)
            assert_string_equal(err.text,
                                "files do not fit: with the script they take 16,384 bytes "
                                "of /workspace, which has 12 KB");
        tool_done(&call);
    }
}

static void artifact_limits(void **state)
{
    auto_json cJSON *arguments = json_parse("{\"code\":\"1\"}", 12, NULL);
    struct front_options large = options;
    struct tool_call call;
    struct error err;

    (void)state;
    assert_int_equal(tool_read(&call, arguments, &options, &err), 0);
    assert_int_equal(call.run.artifacts.count, 64);
    assert_int_equal(call.run.artifacts.one, 500000);
    assert_int_equal(call.run.artifacts.all, 3600000);
    assert_int_equal(call.run.artifacts.figures, 506250);
    tool_done(&call);
    large.reply_max = 100u << 20;
    large.resource_max = 600000;
    assert_int_equal(tool_read(&call, arguments, &large, &err), 0);
    assert_int_equal(call.run.artifacts.one, 600000);
    assert_int_equal(call.run.artifacts.all, LIMIT_ARTIFACTS_BYTES_MAX);
    tool_done(&call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_files),
        cmocka_unit_test(bad_files),
        cmocka_unit_test(sizes),
        cmocka_unit_test(artifact_limits),
    };

    return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
