#include "front/mcp.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/text.h"
#include "front/batch.h"
#include "front/calls.h"
#include "front/era.h"
#include "front/fixture.h"
#include "front/options.h"
#include "front/peer.h"
#include "front/quirk.h"
#include "front/request.h"
#include "front/result.h"
#include "front/rpc.h"
#include "front/tool.h"
#include "front/words.h"

/* How long a client may keep what discover and tools/list say. What is listed depends on who asks,
 * so that no cache may share it. */
#define DISCOVER_CACHE ",\"ttlMs\":300000,\"cacheScope\":\"public\""
#define LIST_CACHE     ",\"ttlMs\":300000,\"cacheScope\":\"private\""

/* Room for an escaped version of the longest that is repeated. */
#define DATA_MAX 1024

/* Bytes of a version that is not served that are repeated. */
#define VERSION_MAX_SHOWN 100

static const char instructions[] = "run_python runs a Python script in a fresh container without "
                                   "network and without state between "
                                   "calls, and returns its output, exit code and the reason where "
                                   "it failed. Send whole scripts, and "
                                   "print() what you want to see.";

static void put_capabilities(struct buf *reply)
{
    buf_add_text(reply, "\"capabilities\":{\"tools\":{}},\"instructions\":");
    json_put_text(reply, instructions);
}

/* What a stdio client says here is good for all that it asks in this era: there is nowhere else to
 * say it. Only how answers look depends on it. */
static void remember_client(struct peer *peer, const cJSON *params)
{
    const char *name = json_get_text(json_get_object(params, "clientInfo"), "name");
    size_t len;

    if (name == NULL)
        return;
    len = strlen(name);
    if (len >= sizeof(peer->label))
        len = text_whole_end(name, sizeof(peer->label) - 1);
    memcpy(peer->label, name, len);
    peer->label[len] = '\0';
}

/* Answers with the revision that was asked for where it is served, else the newest. */
static void do_initialize(const struct request *request)
{
    const cJSON *params = request->message->params;
    const char *asked = json_get_text(params, "protocolVersion");
    const char *version =
        asked != NULL && era_is_legacy_version(asked) ? asked : ERA_LEGACY_VERSION;
    struct buf reply;

    remember_client(request->peer, params);
    request_start(request, &reply);
    buf_addf(&reply, "\"protocolVersion\":\"%s\",\"serverInfo\":" ERA_SERVER_INFO ",", version);
    put_capabilities(&reply);
    request_finish(request, &reply);
}

static void do_discover(const struct request *request)
{
    struct buf reply;

    request_start(request, &reply);
    buf_add_text(&reply, "\"supportedVersions\":[\"" ERA_VERSION "\"],");
    put_capabilities(&reply);
    buf_add_text(&reply, DISCOVER_CACHE);
    request_finish(request, &reply);
}

static void do_ping(const struct request *request)
{
    struct buf reply;

    request_start(request, &reply);
    request_finish(request, &reply);
}

static void do_tools_list(const struct request *request)
{
    const cJSON *cursor = json_get(request->message->params, "cursor");
    struct buf reply;

    if (cursor != NULL && !cJSON_IsNull(cursor)) {
        request_fail(request, 200, RPC_INVALID_PARAMS,
                     "cursor is not valid: the list has one page, ask for it without a cursor",
                     NULL);
        return;
    }
    request_start(request, &reply);
    buf_add_text(&reply, "\"tools\":[");
    tool_put(&reply, request->mcp->options, request->structured);
    fixture_put(&reply);
    buf_add_text(&reply, "]");
    if (request->modern)
        buf_add_text(&reply, LIST_CACHE);
    request_finish(request, &reply);
}

/* A script is run as it was sent, or not at all. */
static bool damaged(const struct rpc_message *message, struct error *err)
{
    if (*message->damage.text)
        error_set(err, "%s", message->damage.text);
    return *message->damage.text != '\0';
}

static void run_tool(const struct request *request)
{
    const struct rpc_message *message = request->message;
    struct calls_request call = {.peer = request->peer,
                                 .id = message->id,
                                 .id_len = message->id_len,
                                 .client = request->client,
                                 .modern = request->modern,
                                 .structured = request->structured};
    struct tool_call tool;
    struct error err;

    if (tool_read(&tool, json_get(message->params, "arguments"), request->mcp->options, &err) < 0 ||
        damaged(message, &err)) {
        struct buf reply;

        error_wrap(&err, "nothing was run");
        request_start(request, &reply);
        result_put_refusal(&reply, err.text);
        request_finish(request, &reply);
    } else {
        call.tool = &tool;
        request_token(request, &call.token, &call.token_len);
        calls_open(request->mcp->calls, &call, request->now);
    }
    tool_done(&tool);
}

static void do_tools_call(const struct request *request)
{
    const char *name = json_get_text(request->message->params, "name");

    if (name == NULL)
        request_fail(request, 200, RPC_INVALID_PARAMS,
                     "name is missing: the name of the tool to call, " TOOL_NAME, NULL);
    else if (strcmp(name, TOOL_NAME) == 0)
        run_tool(request);
    else if (!fixture_call(request, name))
        request_fail_about(request, 200, RPC_INVALID_PARAMS,
                           "unknown tool (there is " TOOL_NAME " only)", name);
}

enum served { SERVED_LEGACY = 1, SERVED_MODERN = 2, SERVED_BOTH = 3 };

static const struct {
    const char *name;
    enum served served;
    void (*run)(const struct request *request);
} methods[] = {
    {"initialize", SERVED_LEGACY, do_initialize},    {"ping", SERVED_LEGACY, do_ping},
    {"server/discover", SERVED_MODERN, do_discover}, {"tools/list", SERVED_BOTH, do_tools_list},
    {"tools/call", SERVED_BOTH, do_tools_call},
};

static void run_method(const struct request *request)
{
    const char *name = request->message->method;
    unsigned served = request->modern ? SERVED_MODERN : SERVED_LEGACY;

    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        if ((methods[i].served & served) != 0 && strcmp(name, methods[i].name) == 0) {
            methods[i].run(request);
            return;
        }
    }
    request_fail_about(request, request->modern ? 404 : 200, RPC_METHOD_NOT_FOUND, "unknown method",
                       name);
}

static void refuse(const struct request *request, const struct era *era)
{
    auto_buf struct buf data;

    buf_init(&data, DATA_MAX);
    if (era->requested != NULL) {
        size_t len = strlen(era->requested);

        if (len > VERSION_MAX_SHOWN)
            len = text_whole_end(era->requested, VERSION_MAX_SHOWN);
        buf_add_text(&data, "{\"supported\":[\"" ERA_VERSION "\"],\"requested\":");
        json_put_bytes(&data, era->requested, len);
        buf_add_text(&data, "}");
    }
    request_fail(request, era->status, era->code, era->error.text, data.data);
}

/* Who asks: modern requests say it themselves. Of the others, a stdio connection has said it in
 * initialize, and over HTTP, where no request knows of another, User-Agent is all there is. */
static const char *client_of(const struct peer *peer, const struct era *era)
{
    if (era->kind == ERA_MODERN)
        return era->client != NULL ? era->client : "";
    if (peer->label[0] == '\0' && peer->headers != NULL && peer->headers->user_agent != NULL)
        return peer->headers->user_agent;
    return peer->label;
}

static bool has_structured_copy(const struct front_options *options, const char *client)
{
    if (options->structured == STRUCTURED_AUTO)
        return !quirk_hides_content(client);
    return options->structured == STRUCTURED_ALWAYS;
}

static void take_request(struct request *request)
{
    struct era era;

    era_of_request(&era, request->message, request->peer->headers);
    if (era.kind == ERA_REFUSED) {
        refuse(request, &era);
        return;
    }
    request->modern = era.kind == ERA_MODERN;
    request->client = client_of(request->peer, &era);
    request->structured = has_structured_copy(request->mcp->options, request->client);
    run_method(request);
}

/* Over HTTP a cancellation comes from nobody in particular: ids of different clients are the same,
 * so it is left alone. Hanging up is what cancels there. */
static void take_notification(const struct request *request)
{
    const struct rpc_message *message = request->message;
    const struct peer *peer = request->peer;
    const char *id;
    size_t id_len;

    if (peer->headers == NULL && strcmp(message->method, "notifications/cancelled") == 0 &&
        message->params != NULL &&
        json_raw_member(message->params_text, message->params_len, "requestId", &id, &id_len))
        calls_cancel(request->mcp->calls, peer->outer != NULL ? peer->outer : peer, id, id_len);
}

/* The modern era over HTTP knows no responses to a server. */
static bool take_response(const struct request *request)
{
    if (!era_is_modern_header(request->peer->headers))
        return false;
    request_fail(request, 400, RPC_INVALID_REQUEST,
                 "a response to a request that was not made; send requests and notifications only",
                 NULL);
    return true;
}

bool mcp_take(const struct mcp *mcp, struct peer *peer, const char *text, size_t len, int64_t now)
{
    struct rpc_message message;
    struct request request = {
        .mcp = mcp, .peer = peer, .message = &message, .now = now, .client = ""};
    bool answered = true;

    if (peer->outer == NULL && batch_is(text, len))
        return batch_take(mcp, peer, text, len, now);
    rpc_read(&message, text, len);
    switch (message.kind) {
    case RPC_REQUEST:
        take_request(&request);
        break;
    case RPC_NOTIFICATION:
        take_notification(&request);
        answered = false;
        break;
    case RPC_RESPONSE:
        answered = take_response(&request);
        break;
    case RPC_INVALID:
        request_fail(&request, 400, message.code, message.error.text, NULL);
        break;
    }
    rpc_done(&message);
    return answered;
}

void mcp_refuse_long(struct peer *peer, size_t max)
{
    struct rpc_message message = {.kind = RPC_INVALID};
    struct request request = {.peer = peer, .message = &message, .client = ""};
    struct error err;

    error_set(&err, "the message is too long: at most %s bytes are accepted; it was left out",
              words_count(max).text);
    request_fail(&request, 413, RPC_INVALID_REQUEST, err.text, NULL);
}
