#include "front/batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "front/era.h"
#include "front/mcp.h"
#include "front/options.h"
#include "front/peer.h"
#include "front/request.h"
#include "front/rpc.h"

/* The revision that has batches. */
#define BATCH_VERSION "2025-03-26"

/* Room in the reply for each answer, brackets and newline aside. */
#define ANSWER_MIN 17000
#define FRAME_MAX  4

/* The peer of the messages in it. It ends with its last answer. */
struct batch {
    struct peer peer;   /* first: send() gets its address */
    size_t waiting;     /* answers to come, and one while the messages are being taken */
    bool gone;          /* the outer peer is */
    struct buf answers; /* each with a comma before it, or the opening bracket */
};

static void batch_free(struct batch *batch)
{
    buf_done(&batch->answers);
    free(batch);
}

static void count_down(struct batch *batch)
{
    struct peer *outer = batch->peer.outer;

    if (--batch->waiting > 0)
        return;
    if (batch->answers.len > 0 && !batch->gone) {
        buf_add_text(&batch->answers, "]");
        outer->send(outer, 200, batch->answers.data, batch->answers.len);
    }
    batch_free(batch);
}

static void collect(struct peer *peer, int status, const char *json, size_t len)
{
    struct batch *batch = (struct batch *)peer;

    if (status == PEER_NOTIFICATION) {
        peer->outer->send(peer->outer, status, json, len);
        return;
    }
    buf_add_text(&batch->answers, batch->answers.len == 0 ? "[" : ",");
    buf_add(&batch->answers, json, len);
    count_down(batch);
}

/* Where the outer peer is gone, all calls of the batch are told so, one after the other. */
static void skip(struct peer *peer, bool gone)
{
    struct batch *batch = (struct batch *)peer;

    batch->gone = batch->gone || gone;
    count_down(batch);
}

static struct batch *batch_new(struct peer *outer, size_t reply_max, size_t count)
{
    struct batch *batch = mem_alloc(sizeof(*batch));

    batch->peer.send = collect;
    batch->peer.skip = skip;
    batch->peer.outer = outer;
    batch->peer.headers = outer->headers;
    batch->peer.reply_max = (reply_max - FRAME_MAX) / count;
    memcpy(batch->peer.label, outer->label, sizeof(batch->peer.label));
    batch->waiting = 1;
    buf_init(&batch->answers, reply_max + count * REQUEST_ANSWER_MAX);
    return batch;
}

static size_t most_messages(const struct front_options *options)
{
    size_t fit = options->reply_max / ANSWER_MIN;

    if (fit > BATCH_MAX)
        return BATCH_MAX;
    return fit > 0 ? fit : 1;
}

/* The end of a value in an array that was found good: its comma, or the closing bracket. */
static const char *end_of_value(const char *at)
{
    size_t depth = 0;

    for (;; at++) {
        if (*at == '"') {
            for (at++; *at != '"'; at++)
                at += *at == '\\';
        } else if (depth == 0 && (*at == ',' || *at == ']')) {
            return at;
        } else if (*at == '[' || *at == '{') {
            depth++;
        } else if (*at == ']' || *at == '}') {
            depth--;
        }
    }
}

bool batch_is(const char *text, size_t len)
{
    size_t at = 0;

    while (at < len && memchr(" \t\r\n", text[at], 4) != NULL)
        at++;
    return at < len && text[at] == '[';
}

/* Why an array cannot be taken; 0 where it can. */
static int check(const struct mcp *mcp, const struct peer *peer, const cJSON *array,
                 struct error *err)
{
    const char *version = peer->headers != NULL ? peer->headers->protocol_version : NULL;
    size_t max = most_messages(mcp->options);
    const cJSON *message;
    size_t count = 0;

    if (version != NULL && strcmp(version, BATCH_VERSION) != 0)
        return error_set(err, "this protocol version has no batches; send one message at a time");
    cJSON_ArrayForEach(message, array)
    {
        const char *method = json_get_text(message, "method");

        if (++count > max)
            return error_set(err, "the batch has more than %zu messages; send fewer", max);
        if (method != NULL && strcmp(method, "initialize") == 0)
            return error_set(err, "initialize must not be in a batch; send it alone");
        if (era_has_claim(json_get_object(message, "params")))
            return error_set(err, "protocol version " ERA_VERSION
                                  " has no batches; send one message at a time");
    }
    return count > 0 ? 0 : error_set(err, "the batch is empty; send at least one message");
}

static bool refuse(const struct mcp *mcp, struct peer *peer, enum rpc_code code, const char *text)
{
    struct rpc_message message = {.kind = RPC_INVALID};
    struct request request = {.mcp = mcp, .peer = peer, .message = &message, .client = ""};

    request_fail(&request, 400, code, text, NULL);
    return true;
}

bool batch_take(const struct mcp *mcp, struct peer *peer, const char *text, size_t len, int64_t now)
{
    auto_json cJSON *array = NULL;
    struct batch *batch;
    const char *at;
    struct error err;
    bool answered;

    array = json_parse(text, len, &err);
    if (array == NULL) {
        error_wrap(&err, "not a JSON message");
        return refuse(mcp, peer, RPC_PARSE_ERROR, err.text);
    }
    if (check(mcp, peer, array, &err) < 0)
        return refuse(mcp, peer, RPC_INVALID_REQUEST, err.text);

    batch = batch_new(peer, mcp->options->reply_max, (size_t)cJSON_GetArraySize(array));
    at = memchr(text, '[', len);
    do {
        const char *start = ++at;

        at = end_of_value(start);
        batch->waiting++;
        if (!mcp_take(mcp, &batch->peer, start, (size_t)(at - start), now))
            batch->waiting--;
    } while (*at == ',');
    answered = batch->waiting > 1 || batch->answers.len > 0;
    count_down(batch);
    return answered;
}
