/* era: every combination of claim, headers and method, with its code, data and status. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "front/era.h"
#include "front/peer.h"
#include "front/rpc.h"

#define VERSION_KEY "\"io.modelcontextprotocol/protocolVersion\":"
#define CAPS        "\"io.modelcontextprotocol/clientCapabilities\":{}"

/* Parameters: none, right, and wrong in each way. */
#define NONE    "{}"
#define RIGHT   "{\"_meta\":{" VERSION_KEY "\"2026-07-28\"," CAPS "}}"
#define NO_CAPS "{\"_meta\":{" VERSION_KEY "\"2026-07-28\"}}"
#define BAD_CAPS                                                                                   \
    "{\"_meta\":{" VERSION_KEY "\"2026-07-28\","                                                   \
    "\"io.modelcontextprotocol/clientCapabilities\":[]}}"
#define BAD_VERSION "{\"_meta\":{" VERSION_KEY "20260728," CAPS "}}"
#define NULL_CLAIM  "{\"_meta\":{" VERSION_KEY "null," CAPS "}}"
#define OTHER       "{\"_meta\":{" VERSION_KEY "\"v999\"," CAPS "}}"
#define OLD         "{\"_meta\":{" VERSION_KEY "\"2025-11-25\"," CAPS "}}"
#define ONLY_CAPS   "{\"_meta\":{" CAPS "}}"
#define BAD_META    "{\"_meta\":\"x\"}"
#define WRONG_CASE                                                                                 \
    "{\"_meta\":{\"io.modelcontextprotocol/ProtocolVersion\":\"2026-07-28\"," CAPS "}}"
#define CALL      "{\"name\":\"run_python\",\"_meta\":{" VERSION_KEY "\"2026-07-28\"," CAPS "}}"
#define CALL_5    "{\"name\":5,\"_meta\":{" VERSION_KEY "\"2026-07-28\"," CAPS "}}"
#define CALL_UTF8 "{\"name\":\"\xC3\xA9\",\"_meta\":{" VERSION_KEY "\"2026-07-28\"," CAPS "}}"

#define NEW "2026-07-28"

static const struct {
    const char *method;
    const char *params;
    bool http;
    struct peer_headers headers;
    enum era_kind kind;
    int code;
    const char *requested;
} cases[] = {
    /* stdio: the claim alone decides */
    {"initialize", NONE, false, {NULL}, ERA_LEGACY, 0, NULL},
    {"tools/list", NONE, false, {NULL}, ERA_LEGACY, 0, NULL},
    {"tools/call", BAD_META, false, {NULL}, ERA_LEGACY, 0, NULL},
    {"tools/list", ONLY_CAPS, false, {NULL}, ERA_LEGACY, 0, NULL},
    {"tools/list", WRONG_CASE, false, {NULL}, ERA_LEGACY, 0, NULL},
    {"server/discover", NONE, false, {NULL}, ERA_REFUSED, -32602, NULL},
    {"server/discover", ONLY_CAPS, false, {NULL}, ERA_REFUSED, -32602, NULL},
    {"server/discover", RIGHT, false, {NULL}, ERA_MODERN, 0, NULL},
    {"initialize", RIGHT, false, {NULL}, ERA_MODERN, 0, NULL},
    {"tools/call", CALL_5, false, {NULL}, ERA_MODERN, 0, NULL},
    {"tools/list", NO_CAPS, false, {NULL}, ERA_REFUSED, -32602, NULL},
    {"tools/list", BAD_CAPS, false, {NULL}, ERA_REFUSED, -32602, NULL},
    {"tools/list", BAD_VERSION, false, {NULL}, ERA_REFUSED, -32602, NULL},
    {"tools/list", NULL_CLAIM, false, {NULL}, ERA_REFUSED, -32602, NULL},
    {"tools/list", OTHER, false, {NULL}, ERA_REFUSED, -32022, "v999"},
    {"tools/list", OLD, false, {NULL}, ERA_REFUSED, -32022, "2025-11-25"},

    /* HTTP without a claim: the header decides */
    {"initialize", NONE, true, {NULL}, ERA_LEGACY, 0, NULL},
    {"server/discover", NONE, true, {NULL}, ERA_LEGACY, 0, NULL},
    {"tools/list", NONE, true, {"2024-11-05", NULL, NULL, NULL}, ERA_LEGACY, 0, NULL},
    {"tools/list", NONE, true, {"2025-03-26", NULL, NULL, NULL}, ERA_LEGACY, 0, NULL},
    {"tools/list", NONE, true, {"2025-06-18", NULL, NULL, NULL}, ERA_LEGACY, 0, NULL},
    {"tools/list", NONE, true, {"2025-11-25", "x", "y", NULL}, ERA_LEGACY, 0, NULL},
    {"initialize", NONE, true, {"2025-11-25", NULL, NULL, NULL}, ERA_LEGACY, 0, NULL},
    {"tools/list", NONE, true, {NEW, "tools/list", NULL, NULL}, ERA_REFUSED, -32602, NULL},
    {"tools/list", ONLY_CAPS, true, {NEW, "tools/list", NULL, NULL}, ERA_REFUSED, -32602, NULL},
    {"tools/list", BAD_META, true, {NEW, "tools/list", NULL, NULL}, ERA_REFUSED, -32602, NULL},
    {"server/discover", NONE, true, {NEW, NULL, NULL, NULL}, ERA_REFUSED, -32602, NULL},
    {"initialize", NONE, true, {NEW, "initialize", NULL, NULL}, ERA_REFUSED, -32020, NULL},
    {"tools/list", NONE, true, {"2030-01-01", NULL, NULL, NULL}, ERA_REFUSED, -32022, "2030-01-01"},
    {"initialize", NONE, true, {"", NULL, NULL, NULL}, ERA_REFUSED, -32022, ""},
    {"initialize", NONE, true, {"2024-10-07", NULL, NULL, NULL}, ERA_REFUSED, -32022, "2024-10-07"},

    /* HTTP with a claim: the headers must repeat it */
    {"tools/list", RIGHT, true, {NEW, "tools/list", NULL, NULL}, ERA_MODERN, 0, NULL},
    {"tools/list", RIGHT, true, {NEW, "tools/list", "stray", NULL}, ERA_MODERN, 0, NULL},
    {"initialize", RIGHT, true, {NEW, "initialize", NULL, NULL}, ERA_MODERN, 0, NULL},
    {"no/such", RIGHT, true, {NEW, "no/such", NULL, NULL}, ERA_MODERN, 0, NULL},
    {"tools/list", NO_CAPS, true, {NEW, "tools/list", NULL, NULL}, ERA_REFUSED, -32602, NULL},
    {"tools/list", BAD_CAPS, true, {NEW, NULL, NULL, NULL}, ERA_REFUSED, -32602, NULL},
    {"tools/list", BAD_VERSION, true, {NEW, NULL, NULL, NULL}, ERA_REFUSED, -32602, NULL},
    {"tools/list", RIGHT, true, {NULL, "tools/list", NULL, NULL}, ERA_REFUSED, -32020, NULL},
    {"tools/list", RIGHT, true, {"2025-11-25", NULL, NULL, NULL}, ERA_REFUSED, -32020, NULL},
    {"tools/list", OTHER, true, {NEW, "tools/list", NULL, NULL}, ERA_REFUSED, -32020, NULL},
    {"tools/list", OTHER, true, {"v999", "tools/list", NULL, NULL}, ERA_REFUSED, -32022, "v999"},
    {"tools/list", OLD, true, {"2025-11-25", NULL, NULL, NULL}, ERA_REFUSED, -32022, "2025-11-25"},
    {"tools/list", RIGHT, true, {NEW, NULL, NULL, NULL}, ERA_REFUSED, -32020, NULL},
    {"tools/list", RIGHT, true, {NEW, "TOOLS/LIST", NULL, NULL}, ERA_REFUSED, -32020, NULL},
    {"tools/list", RIGHT, true, {NEW, "tools/call", NULL, NULL}, ERA_REFUSED, -32020, NULL},
    {"tools/call", CALL, true, {NEW, "tools/call", "run_python", NULL}, ERA_MODERN, 0, NULL},
    {"tools/call", CALL, true, {NEW, "tools/call", NULL, NULL}, ERA_REFUSED, -32020, NULL},
    {"tools/call", CALL, true, {NEW, "tools/call", "Run_python", NULL}, ERA_REFUSED, -32020, NULL},
    {"tools/call",
     CALL,
     true,
     {NEW, "tools/call", "=?base64?cnVuX3B5dGhvbg==?=", NULL},
     ERA_MODERN,
     0,
     NULL},
    {"tools/call",
     CALL,
     true,
     {NEW, "tools/call", "=?base64?cnVuX3B5dGhvbg?=", NULL},
     ERA_REFUSED,
     -32020,
     NULL},
    {"tools/call",
     CALL_UTF8,
     true,
     {NEW, "tools/call", "=?base64?w6k=?=", NULL},
     ERA_MODERN,
     0,
     NULL},
    {"tools/call", CALL_5, true, {NEW, "tools/call", NULL, NULL}, ERA_MODERN, 0, NULL},
    {"tools/call", CALL_5, true, {NEW, "tools/call", "5", NULL}, ERA_REFUSED, -32020, NULL},
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        auto_free char *text =
            mem_printf("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}",
                       cases[i].method, cases[i].params);
        struct rpc_message message;
        struct era era;

        rpc_read(&message, text, strlen(text));
        assert_int_equal(message.kind, RPC_REQUEST);
        era_of_request(&era, &message, cases[i].http ? &cases[i].headers : NULL);
        assert_int_equal(era.kind, cases[i].kind);
        if (era.kind == ERA_REFUSED) {
            assert_int_equal(era.code, cases[i].code);
            assert_int_equal(era.status, 400);
            assert_true(era.error.text[0] != '\0');
        }
        if (cases[i].requested == NULL)
            assert_null(era.requested);
        else
            assert_string_equal(era.requested, cases[i].requested);
        rpc_done(&message);
    }
}

static void test_client(void **state)
{
    static const char *const texts[][2] = {
        {"{\"name\":\"a\",\"version\":\"1\"}", "a"},
        {"{}", NULL},
        {"\"a\"", NULL},
        {"{\"name\":5}", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        auto_free char *text = mem_printf(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"_meta\":{" VERSION_KEY
            "\"2026-07-28\"," CAPS ",\"io.modelcontextprotocol/clientInfo\":%s}}}",
            texts[i][0]);
        struct rpc_message message;
        struct era era;

        rpc_read(&message, text, strlen(text));
        era_of_request(&era, &message, NULL);
        assert_int_equal(era.kind, ERA_MODERN);
        if (texts[i][1] == NULL)
            assert_null(era.client);
        else
            assert_string_equal(era.client, texts[i][1]);
        rpc_done(&message);
    }
}

static void test_header_values(void **state)
{
    static const struct {
        const char *header, *text;
        bool same;
    } values[] = {
        {"", "", true},
        {"Hello", "Hello", true},
        {"hello", "Hello", false},
        {"=?base64?"
         "?=",
         "", true},
        {"=?base64?SA==?=", "H", true},
        {"=?base64?SGU=?=", "He", true},
        {"=?base64?SGVsbG8=?=", "Hello", true},
        {"=?base64?SGVsbG8=?=", "=?base64?SGVsbG8=?=", false},
        {"=?base64?SGVsbG8=?=", "Hellp", false},
        {"=?base64?SGVsbG8?=", "Hello", false},
        {"=?base64?SGVsbG8==?=", "Hello", false},
        {"=?base64?SGVs!!!bG8=?=", "Hello", false},
        {"=?base64?SGVsbG9=?=", "Hello", false}, /* bits left over that are not zero */
        {"=?base64?SGVs bG8=?=", "Hello", false},
        {"=?BASE64?SGVsbG8=?=", "Hello", false},
        {"=?base64?/+8=?=", "\xFF\xEF", true},
        {"=?base64?_-8=?=", "\xFF\xEF", false},
        {"SGVsbG8=", "SGVsbG8=", true},
        {"=?base64?SGVsbG8=", "=?base64?SGVsbG8=", true},
        {"=?base64?=", "=?base64?=", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        assert_int_equal(era_header_is(values[i].header, values[i].text), values[i].same);
}

static void test_versions(void **state)
{
    static const struct peer_headers modern = {.protocol_version = NEW};
    static const struct peer_headers old = {.protocol_version = "2025-11-25"};
    static const struct peer_headers none = {NULL};

    (void)state;
    assert_true(era_is_legacy_version("2025-11-25"));
    assert_false(era_is_legacy_version(NEW));
    assert_true(era_is_modern_header(&modern));
    assert_false(era_is_modern_header(&old));
    assert_false(era_is_modern_header(&none));
    assert_false(era_is_modern_header(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_client),
        cmocka_unit_test(test_header_values),
        cmocka_unit_test(test_versions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
