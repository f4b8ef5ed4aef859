/* Any lines from two clients into the front, and between them what the executor says. A line that
 * begins with "!" is of the executor's: "!d" ends the oldest call, "!o" is output for it, "!a" an
 * artifact with the rest of the line, which is its name, for bytes, "!i" a small image of that
 * name,
 * "!n" one that does not come along, "!r" more that have no names, "!p" a phase, "!t" a second that
 * passes; one with "#" is of the second client, with HTTP headers.
 * Whatever they are, what is sent is JSON of one line below its ceiling, and what goes to the
 * executor is a RUN or a STOP within the limits. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"
#include "front/calls.h"
#include "front/mcp.h"
#include "front/options.h"
#include "front/peer.h"
#include "front/rpc.h"
#include "wire/wire.h"

#define CALLS_MAX     3
#define ARTIFACTS_MAX 4
#define SENT_MAX      (64 * 1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct front_options options = {
    .timeout_ms = 30000,
    .timeout_max_ms = 300000,
    .memory = 512u << 20,
    .code_max = 1000,
    .stdin_max = 1000,
    .workspace = 1 << 20,
    .files_max = 3,
    .files_bytes_max = 1000,
    .artifacts_max = ARTIFACTS_MAX,
    .image_max = 500,
    .resource_max = 300,
    .side_max = 100,
    .text_max = 5000,
    .error_text_max = 1000,
    .reply_max = 65536,
    .calls_max = CALLS_MAX,
};

static const char GIF[] = "GIF89a\1\0\1\0\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;";

struct server {
    struct buf wire;
    struct calls *calls;
    struct mcp mcp;
    struct peer stdio, http;
    uint32_t open[CALLS_MAX]; /* in the order of arrival */
    size_t open_count;
    int64_t now;
};

static void check_sent(struct peer *peer, int status, const char *json, size_t len)
{
    auto_json cJSON *parsed = json_parse(json, len, NULL);

    (void)peer;
    /* A NUL of the script's is sent on as an escape, which json_parse() refuses on purpose. */
    if ((!parsed && !memmem(json, len, "\\u0000", 6)) || len >= options.reply_max ||
        memchr(json, '\n', len) || status < 0 || status > 599)
        abort();
}

static void take_run(struct server *server, const struct wire_message *message)
{
    const struct wire_run *run = &message->run;

    if (server->open_count == CALLS_MAX || run->timeout_ms > options.timeout_max_ms ||
        run->code_len > options.code_max || run->stdin_len > options.stdin_max ||
        run->file_count > options.files_max || run->artifacts.count > options.artifacts_max)
        abort();
    server->open[server->open_count++] = message->call;
}

static void take_wire(struct server *server)
{
    struct wire_message message;
    size_t used;
    int r;

    while ((r = wire_decode(server->wire.data, server->wire.len, &message, &used, NULL)) > 0) {
        if (message.type == WIRE_RUN)
            take_run(server, &message);
        else if (message.type != WIRE_STOP)
            abort();
        wire_end(&message);
        buf_drop(&server->wire, used);
    }
    if (r < 0 || server->wire.len > 0)
        abort();
}

/* Over HTTP and stdio alike, a call may get no more than it asked for: what is too much is refused
 * by the front, which the executor, being checked by itself, never sends. */
static void tell_artifact(struct server *server, const char *name, size_t len, char what)
{
    struct wire_message message = {.type = WIRE_ARTIFACT, .call = server->open[0]};
    const char *bytes = what == 'i' ? GIF : name;

    message.artifact = (struct artifact){
        .kind = what == 'i' ? ARTIFACT_FIGURE : ARTIFACT_FILE,
        .reason = what == 'n' ? ARTIFACT_SPARSE : ARTIFACT_WHOLE,
        .size = what == 'i' ? sizeof(GIF) - 1 : len,
        .name = name,
        .name_len = len,
    };
    if (calls_take(server->calls, &message, server->now, NULL) < 0 || what == 'n')
        return;
    message = (struct wire_message){.type = WIRE_ARTIFACT_BYTES, .call = server->open[0]};
    message.artifact_bytes.bytes = bytes;
    message.artifact_bytes.len = what == 'i' ? sizeof(GIF) - 1 : len;
    if (calls_take(server->calls, &message, server->now, NULL) < 0)
        abort();
}

static void tell(struct server *server, const char *bytes, size_t len)
{
    struct wire_message message = {.call = server->open_count ? server->open[0] : 1};
    struct error err;

    if (len == 0)
        return;
    switch (bytes[0]) {
    case 'd':
        message.type = WIRE_DONE;
        message.done = (struct outcome){.status = (unsigned char)bytes[len - 1] % 8};
        message.done.total[OUTCOME_STDOUT].bytes = len;
        break;
    case 'o':
        message.type = WIRE_OUTPUT;
        message.output.stream = bytes[len - 1] & 1;
        message.output.bytes = bytes;
        message.output.len = len;
        break;
    case 'a':
    case 'i':
    case 'n':
        if (server->open_count > 0 && len > 1 && len <= LIMIT_ARTIFACT_NAME_MAX &&
            text_is_line(bytes + 1, len - 1))
            tell_artifact(server, bytes + 1, len - 1, bytes[0]);
        return;
    case 'r':
        message.type = WIRE_ARTIFACT_REST;
        message.artifact_rest.count = len;
        break;
    case 'p':
        message.type = WIRE_PHASE;
        message.phase.phase = WIRE_QUEUED + (bytes[len - 1] & 3);
        break;
    default:
        server->now += 1000;
        calls_step(server->calls, server->now);
        return;
    }
    if ((calls_take(server->calls, &message, server->now, &err) < 0) != (server->open_count == 0))
        abort();
    if (message.type == WIRE_DONE && server->open_count > 0)
        memmove(server->open, server->open + 1, --server->open_count * sizeof(server->open[0]));
}

static void take_line(struct server *server, const char *line, size_t len)
{
    if (len > 0 && line[0] == '!')
        tell(server, line + 1, len - 1);
    else if (len > 0 && line[0] == '#')
        (void)mcp_take(&server->mcp, &server->http, line + 1, len - 1, server->now);
    else
        (void)mcp_take(&server->mcp, &server->stdio, line, len, server->now);
    take_wire(server);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct peer_headers headers = {
        .protocol_version = "2026-07-28", .method = "tools/call", .name = "run_python"};
    struct server server = {.stdio.send = check_sent, .http.send = check_sent};
    const char *at = (const char *)data;

    buf_init(&server.wire, SENT_MAX);
    server.calls = calls_new(&options, &server.wire);
    server.mcp = (struct mcp){.options = &options, .calls = server.calls};
    server.http.headers = &headers;
    while (size > 0) {
        const char *end = memchr(at, '\n', size);
        size_t len = end ? (size_t)(end - at) : size;

        take_line(&server, at, len);
        at += len + (end ? 1 : 0);
        size -= len + (end ? 1 : 0);
    }
    calls_drop(server.calls, &server.http);
    calls_abandon(server.calls, OUTCOME_CANCELLED, "the end");
    if (calls_count(server.calls) != 0)
        abort();
    calls_free(server.calls);
    buf_done(&server.wire);
    return 0;
}
