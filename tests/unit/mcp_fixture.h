/* A server without its processes: peers that keep what they are sent, and the wire. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "front/calls.h"
#include "front/mcp.h"
#include "front/options.h"
#include "front/peer.h"
#include "wire/wire.h"

#define SENT_MAX (4 * 1024 * 1024)

static const struct front_options mcp_options = {
    .timeout_ms = 30000,
    .timeout_max_ms = 300000,
    .memory = 512u << 20,
    .code_max = 1000,
    .stdin_max = 1000,
    .workspace = 1u << 20,
    .files_max = 3,
    .files_bytes_max = 1000,
    .artifacts_max = 3,
    .image_max = 1000,
    .resource_max = 1000,
    .side_max = 2000,
    .text_max = 50000,
    .error_text_max = 10000,
    .reply_max = 900000,
    .calls_max = 3,
};

/* A peer that keeps what it is sent, line by line. */
struct recorder {
    struct peer peer;
    struct buf sent;
    int answers;
    int status; /* of the last answer */
};

struct fixture {
    struct front_options options;
    struct recorder one;
    struct recorder two;
    struct buf wire;
    struct calls *calls;
    struct mcp mcp;
};

static inline void record(struct peer *peer, int status, const char *json, size_t len)
{
    struct recorder *recorder = (struct recorder *)peer;

    assert_null(memchr(json, '\n', len));
    buf_add(&recorder->sent, json, len);
    buf_add(&recorder->sent, "\n", 1);
    if (status != PEER_NOTIFICATION) {
        recorder->answers++;
        recorder->status = status;
    }
}

static inline int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->one.peer.send = record;
    f->two.peer.send = record;
    buf_init(&f->one.sent, SENT_MAX);
    buf_init(&f->two.sent, SENT_MAX);
    buf_init(&f->wire, SENT_MAX);
    f->options = mcp_options;
    f->calls = calls_new(&f->options, &f->wire);
    f->mcp = (struct mcp){.options = &f->options, .calls = f->calls};
    *state = f;
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;

    calls_free(f->calls);
    buf_done(&f->one.sent);
    buf_done(&f->two.sent);
    buf_done(&f->wire);
    free(f);
    return 0;
}

static inline void take(struct fixture *f, const char *text)
{
    mcp_take(&f->mcp, &f->one.peer, text, strlen(text), 0);
}

/* What the last message was answered with, as one JSON text; "" for nothing. */
static inline const char *ask(struct fixture *f, const char *text)
{
    buf_done(&f->one.sent);
    take(f, text);
    return f->one.sent.len > 0 ? f->one.sent.data : "";
}

static inline const char *ask_method(struct fixture *f, const char *method, const char *params)
{
    auto_free char *text = mem_printf(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}", method, params);

    return ask(f, text);
}

/* The next message to the executor. */
static inline struct wire_message next_wire(struct fixture *f)
{
    struct wire_message message;
    size_t used;

    assert_int_equal(wire_decode(f->wire.data, f->wire.len, &message, &used, NULL), 1);
    f->wire.len -= used;
    memmove(f->wire.data, f->wire.data + used, f->wire.len);
    return message;
}

static inline void call(struct fixture *f, struct recorder *from, const char *id, const char *token)
{
    auto_free char *text = mem_printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\","
                                      "\"params\":{\"name\":\"run_python\",\"arguments\":{\"code\":"
                                      "\"print(1)\"},\"_meta\":{\"progressToken\":%s}}}",
                                      id, token);

    mcp_take(&f->mcp, &from->peer, text, strlen(text), 0);
}

static inline int done(struct fixture *f, uint32_t number, struct error *err)
{
    struct wire_message message = {.type = WIRE_DONE, .call = number, .done.status = OUTCOME_OK};

    return calls_take(f->calls, &message, 1000, err);
}

static inline void cancel(struct fixture *f, struct recorder *from, const char *id)
{
    auto_free char *text =
        mem_printf("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                   "\"requestId\":%s,\"reason\":\"r\"}}",
                   id);

    mcp_take(&f->mcp, &from->peer, text, strlen(text), 0);
}

#define with_fixture(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
