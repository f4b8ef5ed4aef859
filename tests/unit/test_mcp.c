/* mcp and calls: methods, open calls, cancellation, what the executor may say. */
#include "base/limits.h"
#include "mcp_fixture.h"

static void test_initialize(void **state)
{
    static const struct {
        const char *asked, *answered;
    } versions[] = {
        {"\"2025-11-25\"", "2025-11-25"}, {"\"2025-06-18\"", "2025-06-18"},
        {"\"2025-03-26\"", "2025-03-26"}, {"\"2024-11-05\"", "2024-11-05"},
        {"\"2026-07-28\"", "2025-11-25"}, {"\"2030-01-01\"", "2025-11-25"},
        {"\"\"", "2025-11-25"},           {"5", "2025-11-25"},
        {"null", "2025-11-25"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        auto_free char *params = mem_printf(
            "{\"protocolVersion\":%s,\"capabilities\":{},\"clientInfo\":{\"name\":\"t\"}}",
            versions[i].asked);
        const char *reply = ask_method(f, "initialize", params);
        auto_json cJSON *json = json_parse(reply, strlen(reply), NULL);
        const cJSON *result = json_get_object(json, "result");

        assert_string_equal(json_get_text(result, "protocolVersion"), versions[i].answered);
        assert_non_null(json_get_object(json_get_object(result, "capabilities"), "tools"));
        assert_string_equal(json_get_text(json_get_object(result, "serverInfo"), "version"),
                            VERSION);
        assert_true(strlen(json_get_text(result, "instructions")) < 1024);
        assert_string_equal(f->one.peer.label, "t");
    }
}

static void test_long_client_name(void **state)
{
    struct fixture *f = *state;
    char name[400];

    for (size_t i = 0; i + 2 < sizeof(name); i += 2)
        memcpy(name + i, "\xC3\xA9", 3);
    auto_free char *params = mem_printf("{\"clientInfo\":{\"name\":\"x%s\"}}", name);
    ask_method(f, "initialize", params);
    assert_int_equal(strlen(f->one.peer.label), LIMIT_LABEL_MAX - 1);
}

static void test_methods(void **state)
{
    struct fixture *f = *state;

    assert_string_equal(ask(f, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}"),
                        "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{}}\n");
    assert_non_null(strstr(ask_method(f, "tools/list", "{}"), "\"name\":\"run_python\""));
    assert_null(strstr(ask_method(f, "tools/list", "{\"cursor\":null}"), "nextCursor"));
    assert_non_null(strstr(ask_method(f, "tools/list", "{\"cursor\":\"\"}"), "-32602"));
    assert_non_null(strstr(ask_method(f, "tools/list", "{\"cursor\":5}"), "-32602"));
    assert_non_null(strstr(ask_method(f, "resources/list", "null"),
                           "\"code\":-32601,\"message\":\"unknown method: resources/list\""));
    assert_non_null(strstr(ask_method(f, "tools/call", "{}"), "-32602"));
    assert_non_null(strstr(ask_method(f, "tools/call", "{\"name\":5}"), "-32602"));
    assert_non_null(strstr(ask_method(f, "tools/call", "{\"name\":\"rm\"}"), "only): rm\"}}"));
    assert_non_null(
        strstr(ask_method(f, "tools/call", "{\"name\":\"run_python\",\"arguments\":[]}"),
               "nothing was run: arguments must be an object"));
    assert_string_equal(ask(f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"),
                        "");
    assert_string_equal(ask(f, "{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":3}"), "");
    assert_string_equal(ask(f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"), "");
    assert_int_equal(calls_count(f->calls), 0);
    assert_int_equal(f->wire.len, 0);
}

static void test_call_runs_to_its_result(void **state)
{
    struct fixture *f = *state;
    struct error err;

    call(f, &f->one, "\"a\"", "null");
    struct wire_message run = next_wire(f);
    assert_int_equal(run.type, WIRE_RUN);
    assert_true(run.call != 0);
    assert_int_equal(run.run.timeout_ms, 30000);
    assert_memory_equal(run.run.code, "print(1)", run.run.code_len);

    struct wire_message output = {.type = WIRE_OUTPUT, .call = run.call};
    output.output.bytes = "1\n";
    output.output.len = 2;
    assert_int_equal(calls_take(f->calls, &output, 0, &err), 0);
    assert_int_equal(f->one.sent.len, 0);
    assert_int_equal(done(f, run.call, &err), 0);
    assert_int_equal(f->one.answers, 1);
    assert_non_null(strstr(f->one.sent.data, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":"));
    assert_non_null(strstr(f->one.sent.data, "\"stdout\":\"1\\n\""));
    assert_int_equal(calls_count(f->calls), 0);
}

static int leave(struct fixture *f, uint32_t number, uint64_t size)
{
    struct wire_message message = {.type = WIRE_ARTIFACT, .call = number};

    message.artifact =
        (struct artifact){.kind = ARTIFACT_FILE, .size = size, .name = "a.csv", .name_len = 5};
    return calls_take(f->calls, &message, 0, NULL);
}

static int leave_bytes(struct fixture *f, uint32_t number, const char *bytes)
{
    struct wire_message message = {.type = WIRE_ARTIFACT_BYTES, .call = number};

    message.artifact_bytes.bytes = bytes;
    message.artifact_bytes.len = strlen(bytes);
    return calls_take(f->calls, &message, 0, NULL);
}

static void test_files_and_artifacts(void **state)
{
    struct fixture *f = *state;
    struct wire_message rest = {.type = WIRE_ARTIFACT_REST};

    take(f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
            "\"run_python\",\"arguments\":{\"code\":\"1\",\"files\":[{\"path\":\"d/a\",\"base64\":"
            "\"AAEC\"}]}}}");
    struct wire_message run = next_wire(f);
    assert_int_equal(run.run.file_count, 1);
    assert_memory_equal(run.run.files[0].path, "d/a", 3);
    assert_int_equal(run.run.files[0].len, 3);
    assert_memory_equal(run.run.files[0].bytes, "\0\1\2", 3);
    assert_int_equal(run.run.artifacts.count, 3);
    wire_end(&run);

    assert_int_equal(leave(f, run.call, 4), 0);
    assert_int_equal(leave_bytes(f, run.call, "x,"), 0);
    assert_int_equal(leave_bytes(f, run.call, "y\n"), 0);
    rest.call = run.call;
    rest.artifact_rest.count = 7;
    assert_int_equal(calls_take(f->calls, &rest, 0, NULL), 0);
    assert_int_equal(done(f, run.call, NULL), 0);
    assert_non_null(strstr(f->one.sent.data, "\"uri\":\"sandbox:///outputs/a.csv\",\"mimeType\":"
                                             "\"text/csv\",\"text\":\"x,y\\n\""));
    assert_non_null(strstr(f->one.sent.data, "\"artifacts_left_out\":7"));
}

/* More than was asked for, or bytes of nothing; of a cancelled call, nothing is kept. */
static void test_artifacts_that_may_not_be(void **state)
{
    struct fixture *f = *state;
    uint32_t number, other;

    call(f, &f->one, "1", "null");
    number = next_wire(f).call;
    assert_int_equal(leave_bytes(f, number, "x"), -1);
    assert_int_equal(leave(f, number, 1001), -1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(leave(f, number, 0), 0);
    assert_int_equal(leave(f, number, 0), -1);

    call(f, &f->one, "2", "null");
    other = next_wire(f).call;
    assert_int_equal(leave(f, other, 10), 0);
    assert_int_equal(leave_bytes(f, other, "1234"), 0);
    cancel(f, &f->one, "2");
    assert_int_equal(leave_bytes(f, other, "567890"), 0);
    assert_int_equal(done(f, other, NULL), 0);
    assert_int_equal(f->one.answers, 0);
}

static void test_cancelled_calls_are_silent(void **state)
{
    struct fixture *f = *state;
    struct error err;

    /* twice the same id, and once more from elsewhere */
    call(f, &f->one, "1", "0");
    call(f, &f->one, "1", "1");
    call(f, &f->two, "1", "2");
    uint32_t first = next_wire(f).call;
    uint32_t second = next_wire(f).call;
    uint32_t other = next_wire(f).call;
    assert_true(first != second && second != other && first != other);

    cancel(f, &f->one, "\"1\"");
    cancel(f, &f->one, "2");
    cancel(f, &f->one, "{}");
    assert_int_equal(f->wire.len, 0);
    cancel(f, &f->one, "1");
    cancel(f, &f->one, "1");
    assert_int_equal(next_wire(f).type, WIRE_STOP);
    assert_int_equal(next_wire(f).type, WIRE_STOP);
    assert_int_equal(f->wire.len, 0);

    struct wire_message phase = {.type = WIRE_PHASE, .call = first};
    phase.phase.phase = WIRE_RUNNING;
    assert_int_equal(calls_take(f->calls, &phase, 0, &err), 0);
    calls_step(f->calls, 0);
    assert_int_equal(done(f, first, &err), 0);
    assert_int_equal(done(f, second, &err), 0);
    assert_int_equal(f->one.sent.len, 0);
    assert_int_equal(done(f, other, &err), 0);
    assert_int_equal(f->two.answers, 1);
    assert_int_equal(calls_count(f->calls), 0);
}

static void test_too_many_calls(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 3; i++)
        call(f, &f->one, "1", "null");
    assert_int_equal(f->one.sent.len, 0);
    call(f, &f->one, "9", "null");
    assert_non_null(strstr(f->one.sent.data, "\"id\":9,"));
    assert_non_null(strstr(f->one.sent.data, "\"status\":\"busy\""));
    assert_int_equal(calls_count(f->calls), 3);
}

static void test_progress(void **state)
{
    struct fixture *f = *state;
    struct error err;

    call(f, &f->one, "1", "\"\"");
    call(f, &f->two, "1", "1.5");
    struct wire_message phase = {.type = WIRE_PHASE, .call = next_wire(f).call};
    phase.phase.phase = WIRE_QUEUED;
    phase.phase.value = 2;
    assert_int_equal(calls_take(f->calls, &phase, 0, &err), 0);
    calls_step(f->calls, 0);
    assert_string_equal(f->one.sent.data,
                        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                        "\"progressToken\":\"\",\"progress\":1,\"message\":\"queued, 2nd in "
                        "line\"}}\n");
    assert_int_equal(f->one.answers, 0);
    assert_int_equal(calls_due(f->calls), 5000);
    phase.call = next_wire(f).call;
    assert_int_equal(calls_take(f->calls, &phase, 0, &err), 0);
    calls_step(f->calls, 60000);
    assert_int_equal(f->two.sent.len, 0);
}

static void test_executor_may_not(void **state)
{
    struct fixture *f = *state;
    struct error err;
    struct wire_message stop = {.type = WIRE_STOP};

    call(f, &f->one, "1", "null");
    stop.call = next_wire(f).call;
    assert_int_equal(calls_take(f->calls, &stop, 0, &err), -1);
    assert_int_equal(done(f, stop.call + 1, &err), -1);
    assert_int_equal(done(f, stop.call, &err), 0);
    assert_int_equal(done(f, stop.call, &err), -1);
}

static void test_abandoned_calls_are_answered(void **state)
{
    struct fixture *f = *state;

    call(f, &f->one, "1", "null");
    call(f, &f->one, "2", "null");
    cancel(f, &f->one, "2");
    calls_abandon(f->calls, OUTCOME_SANDBOX_ERROR, "gone");
    assert_int_equal(f->one.answers, 1);
    assert_non_null(strstr(f->one.sent.data, "\"status\":\"sandbox_error\""));
    assert_int_equal(calls_count(f->calls), 0);
    assert_true(calls_due(f->calls) == CLOCK_NEVER);
}

static void test_long_message(void **state)
{
    struct fixture *f = *state;

    mcp_refuse_long(&f->one.peer, 12345);
    assert_string_equal(f->one.sent.data,
                        "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"the message "
                        "is too long: at most 12,345 bytes are accepted; it was left out\"}}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_fixture(test_initialize),
        with_fixture(test_long_client_name),
        with_fixture(test_methods),
        with_fixture(test_call_runs_to_its_result),
        with_fixture(test_files_and_artifacts),
        with_fixture(test_artifacts_that_may_not_be),
        with_fixture(test_cancelled_calls_are_silent),
        with_fixture(test_too_many_calls),
        with_fixture(test_progress),
        with_fixture(test_executor_may_not),
        with_fixture(test_abandoned_calls_are_answered),
        with_fixture(test_long_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
