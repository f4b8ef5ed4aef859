#include "front/era.h"

#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/json.h"
#include "front/peer.h"

#define META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_CLIENT       "io.modelcontextprotocol/clientInfo"
#define META_SERVER       "io.modelcontextprotocol/serverInfo"

#define SENTINEL_START "=?base64?"
#define SENTINEL_END   "?="

static const char *const legacy[] = {ERA_LEGACY_VERSION, "2025-06-18", "2025-03-26", "2024-11-05"};

static void refuse(struct era *era, enum rpc_code code, const char *text)
{
    era->kind = ERA_REFUSED;
    era->code = code;
    era->status = 400;
    error_set(&era->error, "%s", text);
}

static void refuse_version(struct era *era, const char *requested)
{
    refuse(era, RPC_UNSUPPORTED_VERSION,
           "this protocol version is not served; use " ERA_VERSION ", or begin with initialize");
    era->requested = requested;
}

/* Whether the len bytes of code are text in base64, padded, in its one right spelling. */
static bool is_base64_of(const char *code, size_t len, const char *text)
{
    auto_buf struct buf right;

    buf_init(&right, len);
    if (base64_size(strlen(text)) != len || base64_put(&right, text, strlen(text)) < 0)
        return false;
    return len == 0 || memcmp(code, right.data, len) == 0;
}

bool era_header_is(const char *header, const char *text)
{
    size_t len = strlen(header);
    size_t start = strlen(SENTINEL_START);
    size_t end = strlen(SENTINEL_END);

    if (len < start + end || strncmp(header, SENTINEL_START, start) != 0 ||
        strcmp(header + len - end, SENTINEL_END) != 0)
        return strcmp(header, text) == 0;
    return is_base64_of(header + start, len - start - end, text);
}

bool era_is_legacy_version(const char *version)
{
    for (size_t i = 0; i < sizeof(legacy) / sizeof(legacy[0]); i++) {
        if (strcmp(version, legacy[i]) == 0)
            return true;
    }
    return false;
}

bool era_is_modern_header(const struct peer_headers *headers)
{
    return headers != NULL && headers->protocol_version != NULL &&
           strcmp(headers->protocol_version, ERA_VERSION) == 0;
}

bool era_has_claim(const cJSON *params)
{
    return json_get(json_get_object(params, "_meta"), META_VERSION) != NULL;
}

/* The headers repeat the body, so that what stands between need not read it. */
static void check_headers(struct era *era, const struct rpc_message *message,
                          const struct peer_headers *headers, const char *version)
{
    bool is_call = strcmp(message->method, "tools/call") == 0;
    const char *name = is_call ? json_get_text(message->params, "name") : NULL;

    if (headers->protocol_version == NULL || strcmp(headers->protocol_version, version) != 0)
        refuse(era, RPC_HEADER_MISMATCH,
               "header MCP-Protocol-Version must be the version in _meta: " META_VERSION);
    else if (strcmp(version, ERA_VERSION) != 0)
        refuse_version(era, version);
    else if (headers->method == NULL || strcmp(headers->method, message->method) != 0)
        refuse(era, RPC_HEADER_MISMATCH, "header Mcp-Method must be the message's method");
    else if (is_call &&
             (name == NULL ? headers->name != NULL
                           : headers->name == NULL || !era_header_is(headers->name, name)))
        refuse(era, RPC_HEADER_MISMATCH, "header Mcp-Name must be the message's params.name");
}

static void check_claim(struct era *era, const struct rpc_message *message,
                        const struct peer_headers *headers)
{
    const cJSON *meta = json_get_object(message->params, "_meta");
    const char *version = json_get_text(meta, META_VERSION);

    era->kind = ERA_MODERN;
    era->client = json_get_text(json_get_object(meta, META_CLIENT), "name");
    if (version == NULL)
        refuse(era, RPC_INVALID_PARAMS, "_meta: " META_VERSION " must be a string");
    else if (json_get_object(meta, META_CAPABILITIES) == NULL)
        refuse(era, RPC_INVALID_PARAMS, "_meta: " META_CAPABILITIES " must be an object");
    else if (headers != NULL)
        check_headers(era, message, headers, version);
    else if (strcmp(version, ERA_VERSION) != 0)
        refuse_version(era, version);
}

void era_of_request(struct era *era, const struct rpc_message *message,
                    const struct peer_headers *headers)
{
    const char *version = headers != NULL ? headers->protocol_version : NULL;

    *era = (struct era){.kind = ERA_LEGACY};
    if (era_has_claim(message->params)) {
        check_claim(era, message, headers);
    } else if (era_is_modern_header(headers)) {
        if (strcmp(message->method, "initialize") == 0)
            refuse(era, RPC_HEADER_MISMATCH,
                   "header MCP-Protocol-Version names a version that has no initialize");
        else
            refuse(era, RPC_INVALID_PARAMS,
                   "_meta is missing, or " META_VERSION " and " META_CAPABILITIES " in it");
    } else if (version != NULL && !era_is_legacy_version(version)) {
        refuse_version(era, version);
    } else if (headers == NULL && strcmp(message->method, "server/discover") == 0) {
        refuse(era, RPC_INVALID_PARAMS,
               "_meta is missing, or " META_VERSION " and " META_CAPABILITIES " in it");
    }
}

int era_put_members(struct buf *out)
{
    return buf_add_text(out, "\"resultType\":\"complete\",\"_meta\":{\"" META_SERVER
                             "\":" ERA_SERVER_INFO "},");
}
