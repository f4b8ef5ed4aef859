/* rpc: classified messages, ids echoed letter by letter, bad input, replies. */
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
#include "front/rpc.h"

static void test_ids_are_kept_as_written(void **state)
{
    static const char *const ids[] = {
        "0",    "\"0\"",        "-1", "9007199254740993", "123456789012345678901234567890",
        "\"\"", "\"a\\u0062\"", "7",  "\"\xC3\xA9\"",     "\"x y\"",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        auto_free char *text =
            mem_printf("{\"jsonrpc\":\"2.0\", \"id\" : %s ,\"method\":\"ping\"}", ids[i]);
        struct rpc_message message;

        rpc_read(&message, text, strlen(text));
        assert_int_equal(message.kind, RPC_REQUEST);
        assert_string_equal(message.method, "ping");
        assert_null(message.params);
        assert_int_equal(message.id_len, strlen(ids[i]));
        assert_memory_equal(message.id, ids[i], message.id_len);
        rpc_done(&message);
    }
}

static const struct {
    const char *text;
    int code;
    const char *id; /* echoed, or NULL */
} bad[] = {
    {"", RPC_PARSE_ERROR, NULL},
    {"x", RPC_PARSE_ERROR, NULL},
    {"{", RPC_PARSE_ERROR, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} x", RPC_PARSE_ERROR, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", RPC_PARSE_ERROR, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":\"\\ud800\",\"method\":\"ping\"}", RPC_PARSE_ERROR, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":01,\"method\":\"ping\"}", RPC_PARSE_ERROR, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":NaN,\"method\":\"ping\"}", RPC_PARSE_ERROR, NULL},
    {"null", RPC_INVALID_REQUEST, NULL},
    {"3", RPC_INVALID_REQUEST, NULL},
    {"\"x\"", RPC_INVALID_REQUEST, NULL},
    {"[]", RPC_INVALID_REQUEST, NULL},
    {"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", RPC_INVALID_REQUEST, NULL},
    {"{}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"id\":1,\"method\":\"ping\"}", RPC_INVALID_REQUEST, "1"},
    {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", RPC_INVALID_REQUEST, "1"},
    {"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"ping\"}", RPC_INVALID_REQUEST, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1}", RPC_INVALID_REQUEST, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", RPC_INVALID_REQUEST, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":null,\"result\":{}}", RPC_INVALID_REQUEST, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1e2,\"method\":\"ping\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"meth\\u006fd\":\"b\"}", RPC_INVALID_REQUEST,
     NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", RPC_INVALID_PARAMS, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":\"x\"}", RPC_INVALID_PARAMS,
     "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"a\":1,\"b\":1,\"a\":2}}",
     RPC_INVALID_PARAMS, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"_meta\":{\"a\":1,"
     "\"\\u0061\":2}}}",
     RPC_INVALID_PARAMS, "1"},
    {"{\"jsonrpc\":\"2.0\",\"ID\":1,\"Method\":\"ping\"}", RPC_INVALID_REQUEST, NULL},
    {"{\"JSONRPC\":\"2.0\",\"id\":1,\"method\":\"ping\"}", RPC_INVALID_REQUEST, "1"},
};

static void test_bad_messages(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rpc_message message;

        rpc_read(&message, bad[i].text, strlen(bad[i].text));
        assert_int_equal(message.kind, RPC_INVALID);
        assert_int_equal(message.code, bad[i].code);
        assert_true(message.error.text[0] != '\0');
        if (bad[i].id == NULL) {
            assert_null(message.id);
        } else {
            assert_int_equal(message.id_len, strlen(bad[i].id));
            assert_memory_equal(message.id, bad[i].id, message.id_len);
        }
        rpc_done(&message);
    }
}

static void test_damage_leaves_the_id(void **state)
{
    static const char text[] =
        "{\"jsonrpc\":\"2.0\",\"id\":\"c\",\"method\":\"ping\",\"params\":{\"x\":\"a\\u0000b\"}}";
    struct rpc_message message;

    (void)state;
    rpc_read(&message, text, strlen(text));
    assert_int_equal(message.kind, RPC_REQUEST);
    assert_int_equal(message.id_len, 3);
    assert_memory_equal(message.id, "\"c\"", 3);
    assert_string_equal(json_get_text(message.params, "x"), "a\xEF\xBF\xBD"
                                                            "b");
    assert_non_null(strstr(message.damage.text, "u0000"));
    rpc_done(&message);
    assert_null(message.mended);
}

static void test_long_ids_and_depth(void **state)
{
    auto_buf struct buf text;
    struct rpc_message message;

    (void)state;
    buf_init(&text, 1 << 20);
    buf_add_text(&text, "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":\"");
    for (int i = 0; i < RPC_ID_MAX - 2; i++)
        buf_add(&text, "x", 1);
    buf_add_text(&text, "\"}");
    rpc_read(&message, text.data, text.len);
    assert_int_equal(message.kind, RPC_REQUEST);
    rpc_done(&message);

    text.len -= 2;
    buf_add_text(&text, "x\"}");
    rpc_read(&message, text.data, text.len);
    assert_int_equal(message.code, RPC_INVALID_REQUEST);
    assert_null(message.id);
    rpc_done(&message);

    buf_done(&text);
    for (int i = 0; i < 100000; i++)
        buf_add(&text, "[", 1);
    rpc_read(&message, text.data, text.len);
    assert_int_equal(message.code, RPC_PARSE_ERROR);
    rpc_done(&message);
}

static enum rpc_kind kind_of(const char *text)
{
    struct rpc_message message;
    enum rpc_kind kind;

    rpc_read(&message, text, strlen(text));
    kind = message.kind;
    rpc_done(&message);
    return kind;
}

static void test_kinds(void **state)
{
    (void)state;
    assert_int_equal(kind_of("{\"jsonrpc\":\"2.0\",\"method\":\"x\"}"), RPC_NOTIFICATION);
    assert_int_equal(kind_of("{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[1]}"),
                     RPC_NOTIFICATION);
    assert_int_equal(kind_of("{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"a\":1,\"a\":2}}"),
                     RPC_NOTIFICATION);
    assert_int_equal(kind_of("{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"Id\":1}"), RPC_NOTIFICATION);
    assert_int_equal(kind_of("{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":null,\"id\":0}"),
                     RPC_REQUEST);
    assert_int_equal(kind_of("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}"), RPC_RESPONSE);
    assert_int_equal(kind_of("{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":1}}"),
                     RPC_RESPONSE);
    assert_int_equal(kind_of("{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1}}"), RPC_RESPONSE);
}

static void test_params_as_written(void **state)
{
    static const char text[] = "{\"params\": {\"a\" : 1} ,\"jsonrpc\":\"2.0\",\"method\":\"x\"}";
    struct rpc_message message;

    (void)state;
    rpc_read(&message, text, strlen(text));
    assert_non_null(message.params);
    assert_int_equal(message.params_len, strlen("{\"a\" : 1}"));
    assert_memory_equal(message.params_text, "{\"a\" : 1}", message.params_len);
    rpc_done(&message);
}

static bool same(const char *a, const char *b)
{
    return rpc_same_id(a, strlen(a), b, strlen(b));
}

static void test_same_id(void **state)
{
    (void)state;
    assert_true(same("1", "1"));
    assert_false(same("1", "\"1\""));
    assert_false(same("1", "11"));
    assert_true(same("\"a\"", "\"\\u0061\""));
    assert_false(same("\"a\"", "\"b\""));
    assert_false(same("\"a\"", "null"));
    assert_false(same("1", "{}"));
}

static void test_replies(void **state)
{
    auto_buf struct buf out;

    (void)state;
    buf_init(&out, 1000);
    assert_int_equal(rpc_put_error(&out, NULL, 0, RPC_PARSE_ERROR, "a\"b\n", NULL), 0);
    assert_string_equal(out.data, "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,"
                                  "\"message\":\"a\\\"b\\n\"}}");
    buf_done(&out);
    assert_int_equal(rpc_put_error(&out, "\"x\"", 3, RPC_METHOD_NOT_FOUND, "m", "{\"a\":[1]}"), 0);
    assert_string_equal(out.data, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":-32601,"
                                  "\"message\":\"m\",\"data\":{\"a\":[1]}}}");
    buf_done(&out);
    assert_int_equal(rpc_put_result_start(&out, "1", 1), 0);
    assert_string_equal(out.data, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_are_kept_as_written),
        cmocka_unit_test(test_bad_messages),
        cmocka_unit_test(test_damage_leaves_the_id),
        cmocka_unit_test(test_long_ids_and_depth),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_params_as_written),
        cmocka_unit_test(test_same_id),
        cmocka_unit_test(test_replies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
