/* The two eras of the protocol: the revisions that begin with initialize, and 2026-07-28, where
 * every request says for itself what it needs. Decided for each message alone. Pure. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "front/rpc.h"

struct buf;
struct peer_headers;

/* The one revision without initialize that is served. */
#define ERA_VERSION "2026-07-28"

/* The newest of those with it. */
#define ERA_LEGACY_VERSION "2025-11-25"

/* The server as it names itself to clients. */
#define ERA_SERVER_INFO                                                                            \
    "{\"name\":\"python-sandbox\",\"title\":\"Python sandbox\",\"version\":\"" VERSION "\"}"

enum era_kind {
    ERA_LEGACY,  /* 2024-11-05 to 2025-11-25 */
    ERA_MODERN,  /* ERA_VERSION, and everything it demands of the request is there */
    ERA_REFUSED, /* to be answered with an error */
};

struct era {
    enum era_kind kind;
    const char *client; /* of ERA_MODERN: what clientInfo says; NULL where it says nothing */

    /* Of ERA_REFUSED. */
    enum rpc_code code;
    int status;            /* over HTTP */
    const char *requested; /* the version that is not served; NULL where that is not the reason */
    struct error error;
};

/* Decides about a request; the result points into message and headers. headers is NULL where the
 * message did not come over HTTP. */
void era_of_request(struct era *era, const struct rpc_message *message,
                    const struct peer_headers *headers);

/* Whether this is a revision with initialize that is served. */
bool era_is_legacy_version(const char *version);

/* Whether the headers say that a message without an era of its own is of ERA_VERSION. */
bool era_is_modern_header(const struct peer_headers *headers);

/* Whether a request carries a claim to be modern, right or wrong. */
bool era_has_claim(const cJSON *params);

/* Whether a header's value stands for text: itself, or in base64 as "=?base64?...?=". */
bool era_header_is(const char *header, const char *text);

/* Appends the members that every modern result has, with a comma after them. -1 where out is full.
 */
int era_put_members(struct buf *out);
