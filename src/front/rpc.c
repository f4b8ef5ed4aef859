#include "front/rpc.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/json_mend.h"
#include "base/mem.h"

bool rpc_is_id(const char *raw, size_t len)
{
    size_t digits = len > 0 && raw[0] == '-' ? 1 : 0;

    if (len == 0 || len > RPC_ID_MAX)
        return false;
    if (raw[0] == '"')
        return true;
    for (size_t i = digits; i < len; i++) {
        if (raw[i] < '0' || raw[i] > '9')
            return false;
    }
    return len > digits;
}

bool rpc_same_id(const char *a, size_t a_len, const char *b, size_t b_len)
{
    auto_json cJSON *left = NULL;
    auto_json cJSON *right = NULL;

    if (a_len == b_len && memcmp(a, b, a_len) == 0)
        return true;
    if (a_len == 0 || b_len == 0 || a[0] != '"' || b[0] != '"')
        return false;

    /* The same string may be written with other escapes. */
    left = json_parse(a, a_len, NULL);
    right = json_parse(b, b_len, NULL);
    return left != NULL && right != NULL && strcmp(left->valuestring, right->valuestring) == 0;
}

static void invalid(struct rpc_message *message, enum rpc_code code, const char *text)
{
    message->kind = RPC_INVALID;
    message->code = code;
    error_set(&message->error, "%s", text);
}

/* The id of an object; false where it has one that is none. */
static bool read_id(struct rpc_message *message, const char *text, size_t len)
{
    const char *id;
    size_t id_len;

    if (!json_raw_member(text, len, "id", &id, &id_len))
        return true;
    if (!rpc_is_id(id, id_len)) {
        invalid(message, RPC_INVALID_REQUEST,
                "id must be a string or an integer (not null), at most 1024 bytes long");
        return false;
    }
    message->id = id;
    message->id_len = id_len;
    return true;
}

/* -1 where these are no parameters: that makes a request invalid; of a notification they are left
 * out. */
static int check_params(struct rpc_message *message, const cJSON *params)
{
    const cJSON *meta = json_get(params, "_meta");
    const char *twice = json_duplicate(params);
    const char *where = "params";
    struct error err;

    if (twice == NULL) {
        twice = json_duplicate(meta);
        where = "_meta";
    }
    if (!cJSON_IsObject(params))
        error_set(&err, "params must be an object");
    else if (twice != NULL)
        error_set(&err, "member \"%.60s\" is in %s more than once", twice, where);
    else
        return 0;
    if (message->kind == RPC_REQUEST)
        invalid(message, RPC_INVALID_PARAMS, err.text);
    return -1;
}

/* An object of one kind or another; anything wrong makes it invalid. */
static void read_object(struct rpc_message *message, const char *text, size_t len)
{
    const char *version = json_get_text(message->root, "jsonrpc");
    const cJSON *params = json_get(message->root, "params");

    if (version == NULL || strcmp(version, "2.0") != 0) {
        invalid(message, RPC_INVALID_REQUEST, "member jsonrpc must be \"2.0\"");
        return;
    }
    message->method = json_get_text(message->root, "method");
    if (message->method == NULL) {
        if (json_get(message->root, "method") == NULL &&
            (json_get(message->root, "result") != NULL || json_get(message->root, "error") != NULL))
            message->kind = RPC_RESPONSE;
        else
            invalid(message, RPC_INVALID_REQUEST, "member method must be a string");
        return;
    }
    message->kind = message->id != NULL ? RPC_REQUEST : RPC_NOTIFICATION;
    if (params == NULL || cJSON_IsNull(params))
        return;
    if (check_params(message, params) == 0) {
        json_raw_member(text, len, "params", &message->params_text, &message->params_len);
        message->params = params;
    }
}

/* A text that failed only for what it holds can still be answered: its id is readable. */
static bool read_mended(struct rpc_message *message, const char **text, size_t len)
{
    const char *id;
    size_t id_len;

    message->mended = mem_strndup(*text, len);
    if (json_mend(message->mended, len) == 0)
        return false;
    message->root = json_parse(message->mended, len, NULL);
    if (message->root == NULL)
        return false;
    if (json_raw_member(message->mended, len, "id", &id, &id_len) &&
        memcmp(id, *text + (id - message->mended), id_len) != 0)
        return false;
    *text = message->mended;
    return true;
}

void rpc_read(struct rpc_message *message, const char *text, size_t len)
{
    const char *twice;
    struct error err;

    *message = (struct rpc_message){.kind = RPC_INVALID};
    message->root = json_parse(text, len, &err);
    if (message->root == NULL && read_mended(message, &text, len))
        message->damage = err;
    else if (message->root == NULL || message->mended != NULL) {
        message->code = RPC_PARSE_ERROR;
        error_set(&message->error, "not a JSON message: %s", err.text);
        return;
    }
    if (!cJSON_IsObject(message->root)) {
        invalid(message, RPC_INVALID_REQUEST, "a message must be a JSON object");
        return;
    }
    twice = json_duplicate(message->root);
    if (twice != NULL) {
        /* The id may be the member in doubt. */
        message->code = RPC_INVALID_REQUEST;
        error_set(&message->error, "member \"%.40s\" is there more than once", twice);
        return;
    }
    if (read_id(message, text, len))
        read_object(message, text, len);
}

void rpc_done(struct rpc_message *message)
{
    json_free_at(&message->root);
    free(message->mended);
    *message = (struct rpc_message){.kind = RPC_INVALID};
}

static int put_start(struct buf *out, const char *id, size_t id_len)
{
    if (buf_add_text(out, "{\"jsonrpc\":\"2.0\"") < 0)
        return -1;
    if (id == NULL)
        return 0;
    return buf_add_text(out, ",\"id\":") < 0 ? -1 : buf_add(out, id, id_len);
}

int rpc_put_error(struct buf *out, const char *id, size_t id_len, enum rpc_code code,
                  const char *text, const char *data)
{
    if (put_start(out, id, id_len) < 0 ||
        buf_addf(out, ",\"error\":{\"code\":%d,\"message\":", (int)code) < 0 ||
        json_put_text(out, text) < 0)
        return -1;
    if (data != NULL && buf_addf(out, ",\"data\":%s", data) < 0)
        return -1;
    return buf_add_text(out, "}}");
}

int rpc_put_result_start(struct buf *out, const char *id, size_t id_len)
{
    return put_start(out, id, id_len) < 0 ? -1 : buf_add_text(out, ",\"result\":");
}
