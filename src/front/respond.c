#include "front/respond.h"

#include <string.h>

#define PREFLIGHT_HEADERS                                                                          \
    "authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, "            \
    "mcp-session-id, last-event-id"

/* How long a browser may remember the answer to its question, seconds. */
#define PREFLIGHT_AGE "7200"

#define RETRY_SECONDS "1"

static void add(struct MHD_Response *response, const char *name, const char *value)
{
    if (value)
        (void)MHD_add_response_header(response, name, value);
}

static void add_cors(struct MHD_Response *response, const struct respond_headers *headers)
{
    if (headers->origins)
        add(response, "Vary", "Origin");
    if (!headers->origin)
        return;
    add(response, "Access-Control-Allow-Origin", headers->origin);
    if (headers->preflight) {
        add(response, "Access-Control-Allow-Methods", "POST");
        add(response, "Access-Control-Allow-Headers", PREFLIGHT_HEADERS);
        add(response, "Access-Control-Max-Age", PREFLIGHT_AGE);
    } else {
        add(response, "Access-Control-Expose-Headers", "WWW-Authenticate");
    }
}

enum MHD_Result respond_with(struct MHD_Connection *connection, unsigned status,
                             const struct respond_headers *headers, struct MHD_Response *response)
{
    enum MHD_Result result;

    add(response, "Content-Type", headers->type);
    add(response, "Allow", headers->allow);
    add(response, "WWW-Authenticate", headers->challenge);
    add(response, "Cache-Control", headers->stream ? "no-cache, no-transform" : "no-store");
    if (headers->stream)
        add(response, "X-Accel-Buffering", "no");
    if (headers->retry)
        add(response, "Retry-After", RETRY_SECONDS);
    add_cors(response, headers);
    result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

enum MHD_Result respond(struct MHD_Connection *connection, unsigned status,
                        const struct respond_headers *headers, const char *bytes, size_t len)
{
    struct MHD_Response *response;
    char *copy;

    /* The library's interface wants bytes that it could write to. */
    memcpy(&copy, &bytes, sizeof(copy));
    response = MHD_create_response_from_buffer(len, copy, MHD_RESPMEM_MUST_COPY);
    return response ? respond_with(connection, status, headers, response) : MHD_NO;
}
