/* What may come in over HTTP, judged from the request line and the headers alone, before a byte of
 * the body is read. Pure.
 *
 * Order: framing, path, Host, Origin, preflight, token, method, content type, size, Accept. A
 * refused request ends its connection, so that nothing after it can be taken for a request. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "front/media.h"

struct bearer;

#define GATE_TOO_LONG                                                                              \
    "The message is too long: the server's settings code-max, stdin-max and files-bytes-max say "  \
    "how much it may carry.\n"

struct gate_options {
    bool loopback;               /* the listeners are: only loopback names and origins are served */
    const char *hosts;           /* further names of the server, as in host.h */
    const char *origins;         /* pages that may call it, and get CORS headers */
    const struct bearer *bearer; /* borrowed */
    uint64_t body_max;
};

/* Headers that the gate, or those behind it, read. Each may come once, Accept and User-Agent
 * aside. */
enum gate_header {
    GATE_HOST,
    GATE_ORIGIN,
    GATE_AUTHORIZATION,
    GATE_CONTENT_LENGTH,
    GATE_TRANSFER_ENCODING,
    GATE_CONTENT_TYPE,
    GATE_CONTENT_ENCODING,
    GATE_PROTOCOL_VERSION,
    GATE_METHOD,
    GATE_NAME,
    GATE_USER_AGENT,
#ifdef CONFORMANCE_FIXTURES
    GATE_PARAM,
#endif
    GATE_HEADER_COUNT
};

struct gate_request {
    const char *method;
    const char *target;  /* as sent, query included */
    const char *version; /* "HTTP/1.1" */
    const char *headers[GATE_HEADER_COUNT];
    struct media_accept accept;
    bool has_accept;
    bool malformed; /* a header that may not come twice did, or has bytes that none may have */
};

/* Takes one header; value is borrowed until the request is judged. */
void gate_take_header(struct gate_request *request, const char *name, const char *value,
                      size_t value_len);

enum gate_route {
    GATE_REFUSED,
    GATE_MCP,
    GATE_PREFLIGHT,
    GATE_HEALTH,
    GATE_READY,
    GATE_METRICS,
};

struct gate_verdict {
    enum gate_route route;
    unsigned status;       /* of a refusal; all texts are static, NULL where there is none */
    const char *reason;    /* its body, plain text or JSON */
    const char *allow;     /* Allow */
    const char *challenge; /* WWW-Authenticate */
    const char *origin;    /* the page's, where it gets CORS headers; borrowed from the request */
    bool has_body;
    struct media_accept accept; /* GATE_MCP */
};

void gate_judge(struct gate_verdict *verdict, const struct gate_request *request,
                const struct gate_options *options);
