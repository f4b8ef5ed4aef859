/* Answers over HTTP: the headers that each kind has, and the call that queues it. */
#pragma once

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

/* Static or borrowed; NULL where there is none. */
struct respond_headers {
    const char *type;      /* Content-Type */
    const char *allow;     /* Allow */
    const char *challenge; /* WWW-Authenticate */
    const char *origin;    /* the page that may read the answer */
    bool origins;          /* some pages may: the answer differs by Origin */
    bool preflight;        /* this is the answer to a browser's question */
    bool stream;           /* events, to be passed on as they come */
    bool retry;            /* Retry-After */
};

/* Queues an answer with the bytes, which are copied. */
enum MHD_Result respond(struct MHD_Connection *connection, unsigned status,
                        const struct respond_headers *headers, const char *bytes, size_t len);

/* The same with a response of the caller's, which is taken. */
enum MHD_Result respond_with(struct MHD_Connection *connection, unsigned status,
                             const struct respond_headers *headers, struct MHD_Response *response);
