/* batch: arrays of messages, one array of answers, and what may not be in them. */
#include "front/batch.h"
#include "mcp_fixture.h"

#define PING(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"ping\"}"
#define CALL(id)                                                                                   \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":"           \
    "\"run_python\",\"arguments\":{\"code\":\"1\"},\"_meta\":{\"progressToken\":7}}}"
#define CANCEL(id)                                                                                 \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":" id "}}"
#define NOTE "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"

#define PONG(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{}}"

static bool take_text(struct fixture *f, const char *text)
{
    return mcp_take(&f->mcp, &f->one.peer, text, strlen(text), 0);
}

static void test_simple(void **state)
{
    struct fixture *f = *state;

    assert_string_equal(ask(f, "[" PING("1") "]"), "[" PONG("1") "]\n");
    assert_string_equal(ask(f, " [ " PING("1") " , " NOTE "," PING("\"],[\\\"\\\\\"") " ] "),
                        "[" PONG("1") "," PONG("\"],[\\\"\\\\\"") "]\n");
    assert_int_equal(f->one.status, 200);
    assert_string_equal(ask(f, "[" NOTE ",{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]"), "");
    assert_false(take_text(f, "[" NOTE "]"));
    assert_non_null(strstr(ask(f, "[5,[" PING("1") "]," PING("2") "]"), "," PONG("2") "]\n"));
    assert_int_equal(f->one.answers, 3);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text;
        const char *says;
    } bad[] = {
        {"[", "-32700"},
        {"[1,]", "-32700"},
        {"[" PING("1") "] x", "-32700"},
        {"[]", "-32600"},
        {"[" PING("1") ",{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"initialize\"}]", "-32600"},
        {"[{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
         "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}]",
         "-32600"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *reply = ask(f, bad[i].text);
        assert_non_null(strstr(reply, bad[i].says));
        assert_null(strstr(reply, "\"id\""));
        assert_int_equal(reply[0], '{');
        assert_int_equal(f->one.status, 400);
    }
}

static void test_count(void **state)
{
    struct fixture *f = *state;
    auto_buf struct buf text;

    buf_init(&text, 1 << 20);
    buf_add_text(&text, "[");
    for (int i = 0; i < BATCH_MAX; i++)
        buf_add_text(&text, i == 0 ? PING("1") : "," PING("1"));
    buf_add_text(&text, "]");
    assert_non_null(strstr(ask(f, text.data), "," PONG("1") "]"));
    f->options.reply_max = 61440;
    assert_non_null(strstr(ask(f, text.data), "more than 3 messages"));
    f->options.reply_max = 16384;
    assert_non_null(strstr(ask(f, text.data), "more than 1 messages"));
    f->options.reply_max = 8000000;
    text.len--;
    buf_add_text(&text, "," PING("1") "]");
    assert_non_null(strstr(ask(f, text.data), "more than 50 messages"));
}

static void test_headers(void **state)
{
    struct peer_headers headers = {NULL};
    struct fixture *f = *state;

    f->one.peer.headers = &headers;
    assert_string_equal(ask(f, "[" PING("1") "]"), "[" PONG("1") "]\n");
    headers.protocol_version = "2025-03-26";
    assert_string_equal(ask(f, "[" PING("1") "]"), "[" PONG("1") "]\n");
    headers.protocol_version = "2025-06-18";
    assert_non_null(strstr(ask(f, "[" PING("1") "]"), "-32600"));
    headers.protocol_version = "2026-07-28";
    assert_non_null(strstr(ask(f, "[" PING("1") "]"), "-32600"));
    assert_int_equal(f->one.status, 400);
}

static void test_calls(void **state)
{
    struct wire_message phase = {.type = WIRE_PHASE};
    struct fixture *f = *state;
    struct error err;

    assert_true(take_text(f, "[" CALL("1") "," PING("2") "," CALL("3") "]"));
    uint32_t first = next_wire(f).call;
    uint32_t second = next_wire(f).call;
    assert_int_equal(f->one.sent.len, 0);

    phase.call = first;
    phase.phase.phase = WIRE_RUNNING;
    assert_int_equal(calls_take(f->calls, &phase, 0, &err), 0);
    calls_step(f->calls, 0);
    assert_non_null(strstr(f->one.sent.data, "notifications/progress"));
    assert_int_equal(f->one.answers, 0);
    buf_done(&f->one.sent);

    assert_int_equal(done(f, second, &err), 0);
    assert_int_equal(f->one.sent.len, 0);
    assert_int_equal(done(f, first, &err), 0);
    assert_int_equal(f->one.answers, 1);
    auto_json cJSON *array = json_parse(f->one.sent.data, f->one.sent.len - 1, NULL);
    static const int ids[] = {2, 3, 1};
    for (int i = 0; i < 3; i++) {
        int64_t id;
        assert_true(json_get_int(cJSON_GetArrayItem(array, i), "id", &id));
        assert_int_equal(id, ids[i]);
    }
    assert_int_equal(cJSON_GetArraySize(array), 3);
}

/* The ceiling of a reply holds for the array, however much each call has to say. */
static void test_share_of_the_reply(void **state)
{
    struct fixture *f = *state;
    char chunk[20000];
    struct error err;

    f->options.reply_max = 61440;
    memset(chunk, 'x', sizeof(chunk));
    assert_true(take_text(f, "[" CALL("1") "," CALL("2") "," CALL("3") "]"));
    for (int i = 0; i < 3; i++) {
        struct wire_message output = {.type = WIRE_OUTPUT, .call = next_wire(f).call};
        output.output.bytes = chunk;
        output.output.len = sizeof(chunk);
        assert_int_equal(calls_take(f->calls, &output, 0, &err), 0);
        struct wire_message end = {.type = WIRE_DONE, .call = output.call};
        end.done.total[OUTCOME_STDOUT] = (struct outcome_total){sizeof(chunk), sizeof(chunk)};
        assert_int_equal(calls_take(f->calls, &end, 0, &err), 0);
    }
    assert_true(f->one.sent.len > 30000 && f->one.sent.len < 61440);
    assert_non_null(strstr(f->one.sent.data, "left out of 20,000"));
}

static void test_cancel(void **state)
{
    struct fixture *f = *state;
    struct error err;

    assert_true(take_text(f, "[" CALL("1") "," CALL("2") "]"));
    uint32_t first = next_wire(f).call;
    uint32_t second = next_wire(f).call;
    cancel(f, &f->two, "1");
    assert_int_equal(f->wire.len, 0);
    cancel(f, &f->one, "1");
    assert_int_equal(next_wire(f).type, WIRE_STOP);
    assert_int_equal(done(f, second, &err), 0);
    assert_int_equal(f->one.answers, 1);
    assert_null(strstr(f->one.sent.data, "\"id\":1,"));
    assert_int_equal(done(f, first, &err), 0);
    assert_int_equal(f->one.answers, 1);

    /* all of it, from outside and from within */
    assert_true(take_text(f, "[" CALL("1") "]"));
    cancel(f, &f->one, "1");
    assert_false(take_text(f, "[" CALL("2") "," CANCEL("2") "]"));
    assert_int_equal(f->one.answers, 1);
}

static void test_hang_up(void **state)
{
    struct fixture *f = *state;

    assert_true(take_text(f, "[" CALL("1") "," CALL("2") "]"));
    calls_drop(f->calls, &f->one.peer);
    for (int i = 0; i < 2; i++)
        assert_int_equal(next_wire(f).type, WIRE_RUN);
    for (int i = 0; i < 2; i++)
        assert_int_equal(next_wire(f).type, WIRE_STOP);
    calls_abandon(f->calls, OUTCOME_SANDBOX_ERROR, "gone");
    assert_int_equal(f->one.answers, 0);

    assert_true(take_text(f, "[" CALL("1") "," CALL("2") "]"));
    calls_abandon(f->calls, OUTCOME_SANDBOX_ERROR, "gone");
    assert_int_equal(f->one.answers, 1);

    /* left open: calls_free() in the teardown ends them */
    assert_true(take_text(f, "[" CALL("1") "," CALL("2") "]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_fixture(test_simple), with_fixture(test_refused),
        with_fixture(test_count),  with_fixture(test_headers),
        with_fixture(test_calls),  with_fixture(test_share_of_the_reply),
        with_fixture(test_cancel), with_fixture(test_hang_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
