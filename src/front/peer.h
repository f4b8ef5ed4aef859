/* The one who sent a request, as far as an answer is concerned: the whole of a stdio connection, or
 * one exchange of a transport that has many. Transports embed it and hand it over with every
 * message. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/limits.h"

/* The MCP headers of an HTTP request, blanks around the values taken away; NULL where absent. */
struct peer_headers {
    const char *protocol_version; /* MCP-Protocol-Version */
    const char *method;           /* Mcp-Method */
    const char *name;             /* Mcp-Name, still encoded */
    const char *user_agent;       /* User-Agent */
#ifdef CONFORMANCE_FIXTURES
    const char *param; /* Mcp-Param-Text, of a fixture tool; still encoded */
#endif
};

/* What a transport leaves zero, unless it says otherwise: skip, outer, reply_max. */
struct peer {
    /* Sends one JSON text without a newline. status is the HTTP status that an answer has there
     * (200, 400, 404, ...), and PEER_NOTIFICATION for anything else, which a transport may leave
     * out where its reader is slow. After the answer to its last request a peer of one exchange may
     * be gone. */
    void (*send)(struct peer *peer, int status, const char *json, size_t len);

    /* Tells that a request gets no answer: it was cancelled, or the peer is gone. NULL where nobody
     * waits for that. */
    void (*skip)(struct peer *peer, bool gone);

    struct peer *outer;                 /* the peer that this one is a batch of; NULL mostly */
    const struct peer_headers *headers; /* NULL: not over HTTP */
    size_t reply_max;                   /* ceiling of an answer; 0: the setting */
    char label[LIMIT_LABEL_MAX + 1];    /* the client's name for the log, "" where unknown */
};

#define PEER_NOTIFICATION 0
