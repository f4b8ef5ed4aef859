#include "front/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "front/calls.h"
#include "front/mcp.h"
#include "front/metrics.h"
#include "front/respond.h"
#include "front/sse.h"

/* The slowest pace of a body that is not cut, bytes in a second. */
#define BODY_PACE 65536

/* A notification is left out when its reader is this far behind. */
#define NOTIFY_BACKLOG_MAX ((size_t)65536)

/* Answers are bounded by those who make them; this is above them all. */
#define ANSWER_MAX ((size_t)64 * 1024 * 1024)

/* What the library asks for at a time. */
#define STREAM_BLOCK 16384

#define METRICS_MAX    65536
#define READY_TEXT_MAX 1024
#define METRICS_TYPE   "text/plain; version=0.0.4; charset=utf-8"

static void send_json(struct peer *peer, int status, const char *json, size_t len);

struct exchange *exchange_new(struct exchange_host *host, struct MHD_Connection *connection, int fd,
                              const char *target, int64_t deadline)
{
    struct exchange *exchange = mem_alloc(sizeof(*exchange));

    exchange->peer.send = send_json;
    exchange->peer.headers = &exchange->headers;
    exchange->host = host;
    exchange->connection = connection;
    exchange->fd = fd;
    exchange->target = mem_strdup(target);
    exchange->deadline = deadline;
    exchange->next_event = CLOCK_NEVER;
    buf_init(&exchange->body, (size_t)host->gate.body_max);
    buf_init(&exchange->out, ANSWER_MAX);
    return exchange;
}

static void drop_body(struct exchange *exchange)
{
    exchange->host->held -= exchange->body.len;
    buf_done(&exchange->body);
}

/* Nobody waits for what its calls bring. */
static void drop_calls(struct exchange *exchange)
{
    if (exchange->taken && !exchange->ended)
        calls_drop(exchange->host->mcp->calls, &exchange->peer);
}

void exchange_free(struct exchange *exchange)
{
    drop_calls(exchange);
    metrics_request(exchange->host->metrics, (unsigned)exchange->status, exchange->received,
                    exchange->sent);
    drop_body(exchange);
    buf_done(&exchange->out);
    for (size_t i = 0; i < sizeof(exchange->header_values) / sizeof(exchange->header_values[0]);
         i++)
        free(exchange->header_values[i]);
    free(exchange->origin);
    free(exchange->target);
    free(exchange);
}

static struct respond_headers common_headers(const struct exchange *exchange)
{
    return (struct respond_headers){.origin = exchange->origin,
                                    .origins = exchange->host->gate.origins != NULL};
}

/* An answer that is whole, and needs no copy of its own. */
static enum MHD_Result finish(struct exchange *exchange, unsigned status,
                              const struct respond_headers *headers, const char *bytes, size_t len)
{
    exchange->status = (int)status;
    exchange->ended = true;
    exchange->queued = true;
    exchange->sent = len;
    exchange->deadline = clock_ms() + EXCHANGE_SEND_MS;
    return respond(exchange->connection, status, headers, bytes, len);
}

static enum MHD_Result finish_text(struct exchange *exchange, unsigned status, const char *text)
{
    struct respond_headers headers = common_headers(exchange);

    if (*text == '{')
        headers.type = "application/json";
    else if (*text != '\0')
        headers.type = "text/plain; charset=utf-8";
    headers.allow = exchange->verdict.allow;
    headers.challenge = exchange->verdict.challenge;
    headers.retry = status == MHD_HTTP_SERVICE_UNAVAILABLE;
    return finish(exchange, status, &headers, text, strlen(text));
}

static enum MHD_Result take_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                   size_t name_len, const char *value, size_t value_len)
{
    (void)kind;
    (void)name_len;
    gate_take_header(arg, name, value ? value : "", value_len);
    return MHD_YES;
}

/* Copies a header for the one behind the gate, without the blanks around it. */
static const char *keep(struct exchange *exchange, size_t index, const char *value)
{
    size_t len;

    if (!value)
        return NULL;
    value += strspn(value, " \t");
    len = strlen(value);
    while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t'))
        len--;
    exchange->header_values[index] = mem_strndup(value, len);
    return exchange->header_values[index];
}

static enum MHD_Result judge(struct exchange *exchange, const char *method, const char *version)
{
    struct gate_request request = {
        .method = method, .target = exchange->target, .version = version};
    struct gate_verdict *verdict = &exchange->verdict;

    exchange->judged = true;
    exchange->deadline = clock_ms() + EXCHANGE_BODY_MS;
    (void)MHD_get_connection_values_n(exchange->connection, MHD_HEADER_KIND, take_header, &request);
    gate_judge(verdict, &request, &exchange->host->gate);
    if (verdict->origin)
        exchange->origin = mem_strdup(verdict->origin);
    exchange->headers = (struct peer_headers){
        .protocol_version = keep(exchange, 0, request.headers[GATE_PROTOCOL_VERSION]),
        .method = keep(exchange, 1, request.headers[GATE_METHOD]),
        .name = keep(exchange, 2, request.headers[GATE_NAME]),
        .user_agent = keep(exchange, 3, request.headers[GATE_USER_AGENT]),
#ifdef CONFORMANCE_FIXTURES
        .param = keep(exchange, 4, request.headers[GATE_PARAM]),
#endif
    };
    /* Only a refusal is answered now: the library ends the connection after it. */
    if (verdict->route == GATE_REFUSED)
        return finish_text(exchange, verdict->status, verdict->reason);
    return MHD_YES;
}

static void collect(struct exchange *exchange, const char *data, size_t len)
{
    struct exchange_host *host = exchange->host;

    exchange->received += len;
    if (exchange->verdict.route != GATE_MCP || exchange->too_long || exchange->overloaded)
        return;
    exchange->deadline += (int64_t)len * 1000 / BODY_PACE;
    if (len > host->held_max - host->held)
        exchange->overloaded = true;
    else if (buf_add(&exchange->body, data, len) < 0)
        exchange->too_long = true;
    else
        host->held += len;
    if (!exchange->too_long && !exchange->overloaded)
        return;
    /* The rest is read, so that the client gets to the answer, but not for long. */
    exchange->deadline = clock_ms() + EXCHANGE_BODY_MS;
    drop_body(exchange);
}

static enum MHD_Result answer_metrics(struct exchange *exchange)
{
    struct respond_headers headers = common_headers(exchange);
    auto_buf struct buf text;

    buf_init(&text, METRICS_MAX);
    metrics_put(exchange->host->metrics, &text, exchange->host->connections);
    headers.type = METRICS_TYPE;
    return finish(exchange, MHD_HTTP_OK, &headers, text.data, text.len);
}

static enum MHD_Result answer_preflight(struct exchange *exchange)
{
    struct respond_headers headers = common_headers(exchange);

    headers.preflight = true;
    return finish(exchange, MHD_HTTP_NO_CONTENT, &headers, "", 0);
}

/* The library wants the next bytes of a stream. */
static ssize_t read_stream(void *arg, uint64_t position, char *bytes, size_t max)
{
    struct exchange *exchange = arg;
    size_t len = exchange->out.len < max ? exchange->out.len : max;

    (void)position;
    if (exchange->gone)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (len > 0) {
        memcpy(bytes, exchange->out.data, len);
        buf_drop(&exchange->out, len);
        exchange->sent += len;
        return (ssize_t)len;
    }
    if (exchange->ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    exchange->suspended = true;
    MHD_suspend_connection(exchange->connection);
    return 0;
}

static enum MHD_Result start_stream(struct exchange *exchange)
{
    struct respond_headers headers = common_headers(exchange);
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, exchange, NULL);

    if (!response)
        return MHD_NO;
    exchange->queued = true;
    exchange->status = MHD_HTTP_OK;
    headers.type = "text/event-stream";
    headers.stream = true;
    return respond_with(exchange->connection, MHD_HTTP_OK, &headers, response);
}

static enum MHD_Result answer_message(struct exchange *exchange)
{
    struct respond_headers headers = common_headers(exchange);

    if (exchange->gone)
        return MHD_NO;
    if (exchange->streams)
        return start_stream(exchange);
    if (exchange->silent)
        return finish(exchange, MHD_HTTP_ACCEPTED, &headers, "", 0);
    if (exchange->ended) {
        headers.type = "application/json";
        headers.retry = exchange->status == MHD_HTTP_SERVICE_UNAVAILABLE;
        return finish(exchange, (unsigned)exchange->status, &headers, exchange->out.data,
                      exchange->out.len);
    }
    exchange->suspended = true;
    MHD_suspend_connection(exchange->connection);
    return MHD_YES;
}

/* Hands the message over, once; its answer may come before this returns. */
static void take(struct exchange *exchange)
{
    int64_t now = clock_ms();

    exchange->taken = true;
    exchange->deadline = CLOCK_NEVER;
    if (exchange->verdict.accept.stream)
        exchange->next_event = now + EXCHANGE_STREAM_MS;
    exchange->silent =
        !mcp_take(exchange->host->mcp, &exchange->peer,
                  exchange->body.data ? exchange->body.data : "", exchange->body.len, now);
    drop_body(exchange);
}

static enum MHD_Result answer_ready(struct exchange *exchange)
{
    const char *lack = metrics_lack(exchange->host->metrics);
    auto_buf struct buf text;

    buf_init(&text, READY_TEXT_MAX);
    buf_add_text(&text, lack ? "not ready: " : "ok");
    if (lack)
        buf_add_text(&text, lack);
    else
        metrics_put_closed(exchange->host->metrics, &text);
    buf_add_text(&text, "\n");
    return finish_text(exchange, lack ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK, text.data);
}

enum MHD_Result exchange_handle(struct exchange *exchange, const char *method, const char *version,
                                const char *data, size_t *size)
{
    if (!exchange->judged)
        return judge(exchange, method, version);
    if (*size > 0) {
        collect(exchange, data, *size);
        *size = 0;
        return MHD_YES;
    }
    switch (exchange->verdict.route) {
    case GATE_MCP:
        break;
    case GATE_PREFLIGHT:
        return answer_preflight(exchange);
    case GATE_METRICS:
        return answer_metrics(exchange);
    case GATE_HEALTH:
        return finish_text(exchange, MHD_HTTP_OK, "ok\n");
    case GATE_READY:
        return answer_ready(exchange);
    case GATE_REFUSED:
        return MHD_NO;
    }
    if (exchange->too_long)
        return finish_text(exchange, MHD_HTTP_CONTENT_TOO_LARGE, GATE_TOO_LONG);
    if (exchange->overloaded)
        return finish_text(exchange, MHD_HTTP_SERVICE_UNAVAILABLE,
                           "Too many long messages at a time; try again.\n");
    if (!exchange->taken)
        take(exchange);
    return answer_message(exchange);
}

static void add_event(struct exchange *exchange, const char *json, size_t len)
{
    exchange->streams = true;
    exchange->next_event = clock_ms() + EXCHANGE_BEAT_MS;
    if (sse_put_message(&exchange->out, json, len) < 0)
        exchange->gone = true;
}

static void send_json(struct peer *peer, int status, const char *json, size_t len)
{
    struct exchange *exchange = (struct exchange *)peer;
    const struct media_accept *accept = &exchange->verdict.accept;

    if (exchange->ended || exchange->gone)
        return;
    if (status == PEER_NOTIFICATION) {
        if (accept->stream && exchange->out.len <= NOTIFY_BACKLOG_MAX)
            add_event(exchange, json, len);
        return;
    }
    exchange->ended = true;
    exchange->deadline = clock_ms() + EXCHANGE_SEND_MS;
    /* Refusals are JSON for everyone; a result is what the client wants to have. */
    if (exchange->streams || (status == (int)MHD_HTTP_OK && !accept->json)) {
        add_event(exchange, json, len);
        exchange->next_event = CLOCK_NEVER;
    } else {
        exchange->status = status;
        exchange->gone = buf_add(&exchange->out, json, len) < 0;
    }
}

void exchange_hang_up(struct exchange *exchange)
{
    drop_calls(exchange);
    exchange->gone = true;
}

void exchange_step(struct exchange *exchange, int64_t now)
{
    if (!exchange->suspended)
        return;
    if (!exchange->ended && now >= exchange->next_event) {
        exchange->streams = true;
        exchange->next_event = now + EXCHANGE_BEAT_MS;
        (void)sse_put_comment(&exchange->out);
    }
    if (!exchange->gone && !exchange->ended && exchange->out.len == 0)
        return;
    exchange->suspended = false;
    MHD_resume_connection(exchange->connection);
}

int64_t exchange_due(const struct exchange *exchange)
{
    return exchange->suspended ? exchange->next_event : CLOCK_NEVER;
}
