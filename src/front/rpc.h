/* JSON-RPC 2.0 as MCP uses it. Pure: one JSON text in, a classified message out; and the frame of
 * replies. Ids and tokens are kept as the raw JSON that the client wrote, and echoed letter by
 * letter. */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct buf;

/* Longest id or progress token, as raw JSON. */
#define RPC_ID_MAX 1024

enum rpc_code {
    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_METHOD_NOT_FOUND = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_HEADER_MISMATCH = -32020,
    RPC_MISSING_CAPABILITY = -32021,
    RPC_UNSUPPORTED_VERSION = -32022,
};

enum rpc_kind {
    RPC_INVALID,      /* code and error say why; id where it could be read */
    RPC_REQUEST,      /* to be answered, once */
    RPC_NOTIFICATION, /* never answered */
    RPC_RESPONSE,     /* to a request that nobody made */
};

struct rpc_message {
    enum rpc_kind kind;
    const char *method;
    const cJSON *params;     /* an object; NULL where there are none */
    const char *params_text; /* the same as raw JSON */
    size_t params_len;
    const char *id; /* raw JSON; NULL where there is none */
    size_t id_len;
    enum rpc_code code; /* of RPC_INVALID */
    struct error error;
    struct error
        damage;  /* why a string of it is not what was sent: it held what text cannot; else empty */
    cJSON *root; /* owns what method and params point to */
    char *mended; /* owns what the rest points to, where something was damaged */
};

/* Reads one JSON text. The message points into text, and ends with rpc_done(). Escapes that text
 * cannot hold (NUL, half of a surrogate pair) are replaced, and damage says so. */
void rpc_read(struct rpc_message *message, const char *text, size_t len);
void rpc_done(struct rpc_message *message);

/* Whether raw JSON is a string or an integer that can serve as an id. */
bool rpc_is_id(const char *raw, size_t len);

/* Whether two raw ids are the same JSON value. */
bool rpc_same_id(const char *a, size_t a_len, const char *b, size_t b_len);

/* Each appends to out, -1 where out is full. An error without an id has id NULL, one without data
 * (raw JSON) has data NULL. A result is started, then written by the caller, and ended with "}". */
int rpc_put_error(struct buf *out, const char *id, size_t id_len, enum rpc_code code,
                  const char *text, const char *data);
int rpc_put_result_start(struct buf *out, const char *id, size_t id_len);
