#include "front/calls.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "front/artifacts.h"
#include "front/hint.h"
#include "front/options.h"
#include "front/peer.h"
#include "front/progress.h"
#include "front/quirk.h"
#include "front/result.h"
#include "front/rpc.h"
#include "front/tool.h"
#include "front/words.h"
#include "wire/wire.h"

/* A progress notification: the token and a short text. */
#define NOTIFICATION_MAX (RPC_ID_MAX + 4096)

struct call {
    LIST_ENTRY(call) entry;
    uint32_t number; /* on the wire */
    uint32_t profile;
    struct peer *peer; /* NULL: STOP was sent, nothing more goes to anyone */
    char *id;          /* raw JSON, owned */
    size_t id_len;
    struct progress progress;
    struct buf head[OUTCOME_STREAM_COUNT];
    struct buf tail[OUTCOME_STREAM_COUNT];
    struct artifacts artifacts;
    unsigned code; /* hint_of_code() */
    bool without_stdin;
    bool can_wait;
    bool modern;
    bool structured;
    enum quirk_blocks blocks;
    bool runs;  /* its script has started */
    char *note; /* owned; NULL where there is none */
};

struct calls {
    const struct front_options *options;
    struct buf *to_executor;
    LIST_HEAD(, call) open;
    size_t count;
    uint32_t last_number;
};

struct calls *calls_new(const struct front_options *options, struct buf *to_executor)
{
    struct calls *calls = mem_alloc(sizeof(*calls));

    calls->options = options;
    calls->to_executor = to_executor;
    LIST_INIT(&calls->open);
    return calls;
}

static void drop_output(struct call *call)
{
    for (int i = 0; i < OUTCOME_STREAM_COUNT; i++) {
        buf_done(&call->head[i]);
        buf_done(&call->tail[i]);
    }
    artifacts_done(&call->artifacts);
}

static void call_free(struct calls *calls, struct call *call)
{
    LIST_REMOVE(call, entry);
    calls->count--;
    drop_output(call);
    progress_done(&call->progress);
    free(call->id);
    free(call->note);
    free(call);
}

/* No answer will go to the peer; it may be gone after this. */
static void skip(struct call *call, bool gone)
{
    struct peer *peer = call->peer;

    call->peer = NULL;
    if (peer != NULL && peer->skip != NULL)
        peer->skip(peer, gone);
}

void calls_free(struct calls *calls)
{
    struct call *call;

    if (calls == NULL)
        return;
    while ((call = LIST_FIRST(&calls->open)) != NULL) {
        skip(call, true);
        call_free(calls, call);
    }
    free(calls);
}

static struct call *find(const struct calls *calls, uint32_t number)
{
    struct call *call;

    LIST_FOREACH(call, &calls->open, entry)
    {
        if (call->number == number)
            return call;
    }
    return NULL;
}

static uint32_t next_number(struct calls *calls)
{
    do {
        calls->last_number++;
    } while (calls->last_number == 0 || find(calls, calls->last_number) != NULL);
    return calls->last_number;
}

/* A script that did not run, or that harmed nothing but its container, may run again elsewhere. */
static int http_status(const struct front_options *options, const struct outcome *outcome)
{
    bool found_none = outcome->status == OUTCOME_BUSY || outcome->status == OUTCOME_SANDBOX_ERROR;

    return options->retry_elsewhere && found_none ? 503 : 200;
}

static void answer(const struct calls *calls, struct call *call, const struct outcome *outcome)
{
    struct result result = {
        .outcome = outcome,
        .profile = call->profile,
        .artifacts = &call->artifacts,
        .code = call->code,
        .without_stdin = call->without_stdin,
        .can_wait = call->can_wait,
        .note = call->note,
        .modern = call->modern,
        .structured = call->structured,
        .blocks = call->blocks,
    };
    struct front_options options = options_of_profile(calls->options, call->profile);
    auto_buf struct buf reply;

    for (int i = 0; i < OUTCOME_STREAM_COUNT; i++) {
        result.head[i] = &call->head[i];
        result.tail[i] = &call->tail[i];
    }
    artifacts_settle(&call->artifacts);
    if (call->peer->reply_max > 0)
        options.reply_max = call->peer->reply_max;
    buf_init(&reply, options.reply_max);
    result_put(&reply, call->id, call->id_len, &result, &options);
    call->peer->send(call->peer, http_status(&options, outcome), reply.data, reply.len);
}

/* An outcome that the front came to by itself: no script ran to its end. */
static void answer_without_run(const struct calls *calls, struct call *call,
                               enum outcome_status status, const char *message)
{
    struct outcome outcome = {.status = status, .exit_code = -1, .message = mem_strdup(message)};

    for (int i = 0; i < OUTCOME_STREAM_COUNT; i++)
        outcome.total[i].bytes = call->head[i].len + call->tail[i].len;
    answer(calls, call, &outcome);
    outcome_done(&outcome);
}

static struct call *call_new(struct calls *calls, const struct calls_request *request, int64_t now)
{
    struct call *call = mem_alloc(sizeof(*call));
    const struct wire_run *run = &request->tool->run;

    call->number = next_number(calls);
    call->peer = request->peer;
    call->id = mem_strndup(request->id, request->id_len);
    call->id_len = request->id_len;
    call->code = hint_of_code(run->code, run->code_len);
    call->without_stdin = run->stdin_len == 0;
    call->profile = run->profile;
    call->can_wait =
        run->timeout_ms < options_of_profile(calls->options, run->profile).timeout_max_ms;
    call->modern = request->modern;
    call->structured = request->structured;
    call->blocks = quirk_blocks(request->client);
    if (request->tool->note[0] != '\0')
        call->note = mem_strdup(request->tool->note);
    artifacts_init(&call->artifacts, &run->artifacts);
    progress_init(&call->progress, request->token, request->token_len, now);
    for (int i = 0; i < OUTCOME_STREAM_COUNT; i++) {
        buf_init(&call->head[i], run->keep_head);
        buf_init(&call->tail[i], run->keep_tail);
    }
    LIST_INSERT_HEAD(&calls->open, call, entry);
    calls->count++;
    return call;
}

void calls_open(struct calls *calls, const struct calls_request *request, int64_t now)
{
    struct wire_run run = request->tool->run;
    bool full = calls->count >= calls->options->calls_max;
    struct call *call = call_new(calls, request, now);

    run.label = request->client;
    run.label_len = strlen(request->client);
    if (run.label_len > LIMIT_LABEL_MAX)
        run.label_len = text_whole_end(request->client, LIMIT_LABEL_MAX);
    if (!full && wire_put_run(calls->to_executor, call->number, &run) == 0)
        return;
    answer_without_run(calls, call, OUTCOME_BUSY,
                       "too many calls are open at this server; nothing was run; try again when "
                       "some have ended");
    call_free(calls, call);
}

static bool belongs_to(const struct call *call, const struct peer *peer)
{
    return call->peer != NULL && (call->peer == peer || call->peer->outer == peer);
}

/* The entry stays until DONE, since its number is in use until then. */
static void stop(struct calls *calls, struct call *call, bool gone)
{
    skip(call, gone);
    drop_output(call);
    progress_done(&call->progress);
    wire_put_stop(calls->to_executor, call->number);
}

void calls_cancel(struct calls *calls, const struct peer *peer, const char *id, size_t id_len)
{
    struct call *call;

    LIST_FOREACH(call, &calls->open, entry)
    {
        if (belongs_to(call, peer) && rpc_same_id(call->id, call->id_len, id, id_len))
            stop(calls, call, false);
    }
}

void calls_drop(struct calls *calls, const struct peer *peer)
{
    struct call *call;

    LIST_FOREACH(call, &calls->open, entry)
    {
        if (belongs_to(call, peer))
            stop(calls, call, true);
    }
}

/* The executor keeps to the sizes it was given; whatever it sends, no more than those is kept. */
static void keep(struct buf *kept, const char *bytes, size_t len)
{
    size_t room = kept->max - kept->len;

    buf_add(kept, bytes, len < room ? len : room);
}

static void take_output(struct call *call, const struct wire_message *message)
{
    struct buf *kept = message->output.tail ? call->tail : call->head;

    if (call->peer == NULL)
        return;
    keep(&kept[message->output.stream], message->output.bytes, message->output.len);
    progress_output(&call->progress, message->output.bytes, message->output.len);
}

/* An artifact, bytes of one, or how many more there are. */
static int take_artifacts(struct call *call, const struct wire_message *message, struct error *err)
{
    struct artifacts *artifacts = &call->artifacts;

    if (call->peer == NULL)
        return 0;
    if (message->type == WIRE_ARTIFACT)
        return artifacts_add(artifacts, &message->artifact, err);
    if (message->type == WIRE_ARTIFACT_BYTES)
        return artifacts_add_bytes(artifacts, message->artifact_bytes.bytes,
                                   message->artifact_bytes.len, err);
    return artifacts_add_rest(artifacts, message->artifact_rest.count,
                              message->artifact_rest.at_least, err);
}

static int take(struct calls *calls, struct call *call, const struct wire_message *message,
                int64_t now, struct error *err)
{
    switch (message->type) {
    case WIRE_PHASE:
        call->runs = call->runs || message->phase.phase == WIRE_RUNNING;
        if (call->peer != NULL)
            progress_phase(&call->progress, message->phase.phase, message->phase.value, now);
        return 0;
    case WIRE_OUTPUT:
        take_output(call, message);
        return 0;
    case WIRE_ARTIFACT:
    case WIRE_ARTIFACT_BYTES:
    case WIRE_ARTIFACT_REST:
        return take_artifacts(call, message, err);
    case WIRE_DONE:
        if (call->peer != NULL)
            answer(calls, call, &message->done);
        call_free(calls, call);
        return 0;
    case WIRE_RUN:
    case WIRE_STOP:
    case WIRE_STATUS:
    case WIRE_PROFILE:
        break;
    }
    return error_set(err, "a message that only the front may send");
}

int calls_take(struct calls *calls, struct wire_message *message, int64_t now, struct error *err)
{
    struct call *call = find(calls, message->call);
    int r;

    if (call == NULL)
        r = error_set(err, "a message about call %" PRIu32 ", which is not open", message->call);
    else
        r = take(calls, call, message, now, err);
    wire_end(message);
    return r;
}

void calls_step(struct calls *calls, int64_t now)
{
    struct call *call;

    LIST_FOREACH(call, &calls->open, entry)
    {
        auto_buf struct buf line;

        buf_init(&line, NOTIFICATION_MAX);
        if (progress_step(&call->progress, &line, now))
            call->peer->send(call->peer, PEER_NOTIFICATION, line.data, line.len);
    }
}

int64_t calls_due(const struct calls *calls)
{
    int64_t due = CLOCK_NEVER;
    const struct call *call;

    LIST_FOREACH(call, &calls->open, entry)
    due = clock_earlier(due, call->progress.due);
    return due;
}

void calls_abandon(struct calls *calls, enum outcome_status status, const char *message)
{
    struct call *call;

    while ((call = LIST_FIRST(&calls->open)) != NULL) {
        if (call->peer != NULL && status == OUTCOME_CANCELLED && !call->runs)
            answer_without_run(calls, call, OUTCOME_BUSY,
                               "the server has been stopped; nothing was run; try again when it, "
                               "or another, is there");
        else if (call->peer != NULL)
            answer_without_run(calls, call, status, message);
        call_free(calls, call);
    }
}

size_t calls_count(const struct calls *calls)
{
    return calls->count;
}
