/* One request under way, and the ways to answer it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "front/rpc.h"

struct buf;
struct mcp;
struct peer;

/* Answers other than results of a run: tools/list is the longest, and of fixed size. */
#define REQUEST_ANSWER_MAX 32768

struct request {
    const struct mcp *mcp;
    struct peer *peer;
    const struct rpc_message *message;
    int64_t now;
    bool modern;        /* of the era without initialize */
    const char *client; /* the name that the client gives itself, "" where unknown */
    bool structured;    /* results may have a structured copy */
};

/* Sends an error; status is the one over HTTP, data raw JSON or NULL. */
void request_fail(const struct request *request, int status, enum rpc_code code, const char *text,
                  const char *data);

/* Sends an error that repeats a name of the client's, shortened: "what: name". */
void request_fail_about(const struct request *request, int status, enum rpc_code code,
                        const char *what, const char *name);

/* Starts a result in reply; its members follow; request_finish() ends and sends it. */
void request_start(const struct request *request, struct buf *reply);
void request_finish(const struct request *request, struct buf *reply);

/* The progress token as raw JSON; false where there is none that can be echoed. */
bool request_token(const struct request *request, const char **ret, size_t *ret_len);
