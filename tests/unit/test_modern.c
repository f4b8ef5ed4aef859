/* The two eras as a client sees them: answers, statuses, mixed on one peer, and client quirks. */
#include "front/quirk.h"
#include "mcp_fixture.h"

#define CAPS "\"io.modelcontextprotocol/clientCapabilities\":{}"
#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," CAPS                  \
    ",\"io.modelcontextprotocol/clientInfo\":{\"name\":\"modern\"}}"
#define META_OF(client)                                                                            \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," CAPS                  \
    ",\"io.modelcontextprotocol/clientInfo\":{\"name\":\"" client "\"}}"

static cJSON *ask_json(struct fixture *f, const char *method, const char *params)
{
    const char *reply = ask_method(f, method, params);

    return json_parse(reply, strlen(reply), NULL);
}

/* The code of the error, 0 where there is a result, 1 where there is nothing. */
static int code_of(struct fixture *f, const char *method, const char *params)
{
    auto_json cJSON *reply = ask_json(f, method, params);
    int64_t code = 0;

    if (reply == NULL)
        return 1;
    assert_true((json_get(reply, "error") == NULL) != (json_get(reply, "result") == NULL));
    json_get_int(json_get_object(reply, "error"), "code", &code);
    return (int)code;
}

static void check_modern(const cJSON *result)
{
    const cJSON *server =
        json_get_object(json_get_object(result, "_meta"), "io.modelcontextprotocol/serverInfo");

    assert_string_equal(json_get_text(result, "resultType"), "complete");
    assert_string_equal(json_get_text(server, "name"), "python-sandbox");
    assert_string_equal(json_get_text(server, "version"), VERSION);
}

static void check_legacy(const cJSON *result)
{
    assert_non_null(result);
    assert_null(json_get(result, "resultType"));
    assert_null(json_get(result, "ttlMs"));
    assert_null(json_get(result, "cacheScope"));
    assert_null(json_get(result, "_meta"));
}

static void check_cache(const cJSON *result, const char *scope)
{
    int64_t ttl;

    assert_true(json_get_int(result, "ttlMs", &ttl));
    assert_true(ttl >= 0);
    assert_string_equal(json_get_text(result, "cacheScope"), scope);
}

static void test_discover(void **state)
{
    struct fixture *f = *state;
    auto_json cJSON *reply = ask_json(f, "server/discover", "{" META "}");
    const cJSON *result = json_get_object(reply, "result");
    const cJSON *versions = json_get_array(result, "supportedVersions");

    check_modern(result);
    check_cache(result, "public");
    assert_int_equal(cJSON_GetArraySize(versions), 1);
    assert_string_equal(cJSON_GetArrayItem(versions, 0)->valuestring, "2026-07-28");
    assert_non_null(json_get_object(json_get_object(result, "capabilities"), "tools"));
    assert_null(json_get(result, "serverInfo"));
    assert_non_null(json_get_text(result, "instructions"));
}

static void test_lists(void **state)
{
    struct fixture *f = *state;
    auto_json cJSON *modern = ask_json(f, "tools/list", "{" META "}");
    auto_json cJSON *legacy = ask_json(f, "tools/list", "{}");

    check_modern(json_get_object(modern, "result"));
    check_cache(json_get_object(modern, "result"), "private");
    check_legacy(json_get_object(legacy, "result"));
    assert_true(cJSON_Compare(json_get_array(json_get_object(modern, "result"), "tools"),
                              json_get_array(json_get_object(legacy, "result"), "tools"), true));
}

static void test_statuses(void **state)
{
    static const char *const unknown[] = {"initialize",           "ping",
                                          "logging/setLevel",     "resources/list",
                                          "subscriptions/listen", "notifications/cancelled",
                                          "Tools/list",           ""};
    static const char version[] =
        "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2027-01-01\"," CAPS "}}";
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        assert_int_equal(code_of(f, unknown[i], "{" META "}"), -32601);
        assert_int_equal(f->one.status, 404);
    }
    assert_int_equal(code_of(f, "resources/list", "{}"), -32601);
    assert_int_equal(f->one.status, 200);
    assert_int_equal(code_of(f, "tools/list", "{\"cursor\":\"x\"," META "}"), -32602);
    assert_int_equal(f->one.status, 200);
    assert_int_equal(code_of(f, "tools/call", "{\"name\":\"x\"," META "}"), -32602);
    assert_int_equal(f->one.status, 200);
    assert_int_equal(code_of(f, "tools/call", "{" META "}"), -32602);
    assert_int_equal(f->one.status, 200);
    assert_int_equal(code_of(f, "server/discover", "{}"), -32602);
    assert_int_equal(f->one.status, 400);
    assert_int_equal(code_of(f, "ping", "[]"), -32602);
    assert_int_equal(f->one.status, 400);
    assert_non_null(strstr(ask(f, "{"), "-32700"));
    assert_int_equal(f->one.status, 400);
    assert_non_null(strstr(ask(f, "5"), "-32600"));
    assert_int_equal(f->one.status, 400);
    assert_non_null(strstr(ask_method(f, "tools/list", version),
                           "\"data\":{\"supported\":[\"2026-07-28\"],"
                           "\"requested\":\"2027-01-01\"}}}"));
    assert_int_equal(f->one.status, 400);
}

/* A long or strange version is echoed in part, and the answer stays JSON. */
static void test_strange_version(void **state)
{
    struct fixture *f = *state;
    char name[1000];

    memset(name, '"', sizeof(name));
    for (size_t i = 0; i < sizeof(name); i += 2)
        name[i] = '\\';
    name[sizeof(name) - 2] = '\0';
    auto_free char *params = mem_printf(
        "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"%s\"," CAPS "}}", name);
    auto_json cJSON *reply = ask_json(f, "tools/list", params);
    const cJSON *error = json_get_object(reply, "error");
    assert_int_equal(strlen(json_get_text(json_get_object(error, "data"), "requested")), 100);
}

static void modern_call(struct fixture *f, struct recorder *from, const char *meta)
{
    auto_free char *text = mem_printf("{\"jsonrpc\":\"2.0\",\"id\":\"m\",\"method\":\"tools/call\","
                                      "\"params\":{\"name\":\"run_python\",\"arguments\":{\"code\":"
                                      "\"print(1)\"},%s,\"inputResponses\":[],\"requestState\":1}}",
                                      meta);

    mcp_take(&f->mcp, &from->peer, text, strlen(text), 0);
}

/* discover, initialize, then calls of both eras on one peer: none leaves a trace in the next. */
static void test_mixed(void **state)
{
    struct fixture *f = *state;
    struct error err;
    uint32_t numbers[3];
    size_t at = 0;

    assert_int_equal(code_of(f, "server/discover", "{" META "}"), 0);
    assert_int_equal(code_of(f, "initialize",
                             "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                             "\"clientInfo\":{\"name\":\"old\",\"version\":\"1\"}}"),
                     0);
    assert_int_equal(code_of(f, "ping", "{}"), 0);
    assert_int_equal(code_of(f, "ping", "{" META "}"), -32601);
    assert_int_equal(code_of(f, "server/discover", "{" META "}"), 0);
    assert_int_equal(code_of(f, "initialize", "{" META "}"), -32601);

    buf_done(&f->one.sent);
    modern_call(f, &f->one, META);
    call(f, &f->one, "\"l\"", "null");
    modern_call(f, &f->one,
                "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
                "\"2026-07-28\"," CAPS "}");
    for (int i = 0; i < 3; i++) {
        static const char *const labels[] = {"modern", "old", ""};
        struct wire_message run;
        size_t used;

        assert_int_equal(wire_decode(f->wire.data + at, f->wire.len - at, &run, &used, &err), 1);
        assert_int_equal(run.run.label_len, strlen(labels[i]));
        assert_memory_equal(run.run.label, labels[i], run.run.label_len);
        numbers[i] = run.call;
        at += used;
    }
    for (int i = 0; i < 3; i++) {
        buf_done(&f->one.sent);
        assert_int_equal(done(f, numbers[i], &err), 0);
        auto_json cJSON *reply = json_parse(f->one.sent.data, f->one.sent.len - 1, NULL);
        const cJSON *result = json_get_object(reply, "result");
        if (i == 1)
            check_legacy(result);
        else
            check_modern(result);
        assert_non_null(json_get_object(result, "structuredContent"));
    }
}

static void test_refused_arguments(void **state)
{
    struct fixture *f = *state;
    auto_json cJSON *modern =
        ask_json(f, "tools/call", "{\"name\":\"run_python\",\"arguments\":{}," META "}");
    auto_json cJSON *legacy =
        ask_json(f, "tools/call", "{\"name\":\"run_python\",\"arguments\":{}}");

    check_modern(json_get_object(modern, "result"));
    check_legacy(json_get_object(legacy, "result"));
    assert_true(cJSON_IsTrue(json_get(json_get_object(modern, "result"), "isError")));
    assert_int_equal(f->one.status, 200);
}

/* Whether a client is told of an output schema, and gets a structured copy. They go together. */
static bool is_structured(struct fixture *f, const char *meta)
{
    auto_free char *params = mem_printf("{%s}", meta);
    auto_json cJSON *list = ask_json(f, "tools/list", params);
    const cJSON *tools = json_get_array(json_get_object(list, "result"), "tools");
    bool declared = json_get(cJSON_GetArrayItem(tools, 0), "outputSchema") != NULL;
    auto_free char *text = mem_printf("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\","
                                      "\"params\":{\"name\":\"run_python\",\"arguments\":{\"code\":"
                                      "\"1\"}%s%s}}",
                                      meta[0] != '\0' ? "," : "", meta);
    struct error err;

    ask(f, text);
    assert_int_equal(done(f, next_wire(f).call, &err), 0);
    auto_json cJSON *reply = json_parse(f->one.sent.data, f->one.sent.len - 1, NULL);
    bool copied = json_get(json_get_object(reply, "result"), "structuredContent") != NULL;
    assert_int_equal(copied, declared);
    return copied;
}

static void set_client(struct fixture *f, const char *name)
{
    auto_free char *params =
        mem_printf("{\"protocolVersion\":\"2025-11-25\",\"clientInfo\":{\"name\":\"%s\"}}", name);

    assert_int_equal(code_of(f, "initialize", params), 0);
}

static void test_structured_for_whom(void **state)
{
    struct peer_headers headers = {NULL};
    struct fixture *f = *state;

    assert_true(is_structured(f, ""));
    assert_false(is_structured(f, META_OF("claude-code")));
    assert_true(is_structured(f, META_OF("other")));
    set_client(f, "claude-code");
    assert_false(is_structured(f, ""));
    assert_true(is_structured(f, META_OF("other")));
    set_client(f, "other");
    assert_true(is_structured(f, ""));

    f->options.structured = STRUCTURED_NEVER;
    assert_false(is_structured(f, ""));
    assert_false(is_structured(f, META_OF("other")));
    f->options.structured = STRUCTURED_ALWAYS;
    assert_true(is_structured(f, META_OF("claude-code")));

    f->options.structured = STRUCTURED_AUTO;
    f->one.peer.label[0] = '\0';
    f->one.peer.headers = &headers;
    assert_true(is_structured(f, ""));
    headers.user_agent = "claude-code/2.1.204 (cli)";
    assert_false(is_structured(f, ""));
}

static void test_quirk_names(void **state)
{
    (void)state;
    assert_true(quirk_hides_content("claude-code"));
    assert_true(quirk_hides_content("claude-code/2.1.204 (cli)"));
    assert_true(quirk_hides_content("codex-mcp-client"));
    assert_false(quirk_hides_content("claude-code-action"));
    assert_false(quirk_hides_content("Claude-Code"));
    assert_false(quirk_hides_content("claude-ai"));
    assert_false(quirk_hides_content(""));

    assert_int_equal(quirk_blocks("Anthropic/ClaudeAI"), QUIRK_BLOCKS_NO_BYTES);
    assert_int_equal(quirk_blocks("Claude-User (x)"), QUIRK_BLOCKS_NO_BYTES);
    assert_int_equal(quirk_blocks("claude-ai"), QUIRK_BLOCKS_NO_BYTES);
    assert_int_equal(quirk_blocks("langchain4j"), QUIRK_BLOCKS_NONE);
    assert_int_equal(quirk_blocks("claude-code"), QUIRK_BLOCKS_ALL);
    assert_int_equal(quirk_blocks("langchain4j-x"), QUIRK_BLOCKS_ALL);
    assert_int_equal(quirk_blocks(""), QUIRK_BLOCKS_ALL);
}

/* Over HTTP a cancellation is nobody's, a response is refused where the era has none, and a peer
 * that hangs up ends its calls. */
static void test_http(void **state)
{
    static const char response[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}";
    struct peer_headers headers = {.protocol_version = "2025-11-25"};
    struct fixture *f = *state;
    struct error err;

    f->one.peer.headers = &headers;
    call(f, &f->one, "1", "null");
    call(f, &f->two, "1", "null");
    cancel(f, &f->one, "1");
    uint32_t first = next_wire(f).call;
    uint32_t second = next_wire(f).call;
    assert_int_equal(f->wire.len, 0);
    calls_drop(f->calls, &f->one.peer);
    assert_int_equal(next_wire(f).type, WIRE_STOP);
    assert_int_equal(f->wire.len, 0);
    calls_drop(f->calls, &f->one.peer);
    assert_int_equal(f->wire.len, 0);
    assert_int_equal(done(f, first, &err), 0);
    assert_int_equal(f->one.answers, 0);
    assert_int_equal(done(f, second, &err), 0);
    assert_int_equal(f->two.answers, 1);

    assert_false(mcp_take(&f->mcp, &f->one.peer, response, strlen(response), 0));
    headers.protocol_version = "2026-07-28";
    assert_true(mcp_take(&f->mcp, &f->one.peer, response, strlen(response), 0));
    assert_int_equal(f->one.status, 400);
    assert_non_null(strstr(f->one.sent.data, "-32600"));
    assert_string_equal(ask(f, "{\"jsonrpc\":\"2.0\",\"method\":\"whatever\"}"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_fixture(test_discover),
        with_fixture(test_lists),
        with_fixture(test_statuses),
        with_fixture(test_strange_version),
        with_fixture(test_mixed),
        with_fixture(test_refused_arguments),
        with_fixture(test_structured_for_whom),
        cmocka_unit_test(test_quirk_names),
        with_fixture(test_http),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
