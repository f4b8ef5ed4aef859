#include "front/request.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "front/era.h"
#include "front/peer.h"

/* Bytes of a foreign name that are repeated in an error. */
#define NAME_MAX_SHOWN 100

void request_fail(const struct request *request, int status, enum rpc_code code, const char *text,
                  const char *data)
{
    const struct rpc_message *message = request->message;
    auto_buf struct buf reply;

    buf_init(&reply, REQUEST_ANSWER_MAX);
    rpc_put_error(&reply, message->id, message->id_len, code, text, data);
    request->peer->send(request->peer, status, reply.data, reply.len);
}

void request_fail_about(const struct request *request, int status, enum rpc_code code,
                        const char *what, const char *name)
{
    struct error err;
    size_t len = strlen(name);

    if (len > NAME_MAX_SHOWN)
        len = text_whole_end(name, NAME_MAX_SHOWN);
    error_set(&err, "%s: %.*s", what, (int)len, name);
    request_fail(request, status, code, err.text, NULL);
}

void request_start(const struct request *request, struct buf *reply)
{
    buf_init(reply, REQUEST_ANSWER_MAX);
    rpc_put_result_start(reply, request->message->id, request->message->id_len);
    buf_add_text(reply, "{");
    if (request->modern)
        era_put_members(reply);
}

void request_finish(const struct request *request, struct buf *reply)
{
    buf_add_text(reply, "}}");
    request->peer->send(request->peer, 200, reply->data, reply->len);
    buf_done(reply);
}

bool request_token(const struct request *request, const char **ret, size_t *ret_len)
{
    const struct rpc_message *message = request->message;
    const char *meta;
    const char *token;
    size_t meta_len;
    size_t token_len;

    if (json_get_object(message->params, "_meta") == NULL ||
        !json_raw_member(message->params_text, message->params_len, "_meta", &meta, &meta_len) ||
        !json_raw_member(meta, meta_len, "progressToken", &token, &token_len) ||
        !rpc_is_id(token, token_len))
        return false;
    *ret = token;
    *ret_len = token_len;
    return true;
}
