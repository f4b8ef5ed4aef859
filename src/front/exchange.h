/* One request over HTTP and its answer: JSON where nothing precedes the result, a stream of events
 * where progress does or the result takes long. While it waits its connection is suspended. */
#pragma once

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "front/gate.h"
#include "front/peer.h"

struct mcp;
struct metrics;

/* Milliseconds: for the headers, for the body on top of what its length takes at a slow pace, for
 * the client to fetch its answer, and between two requests. */
#define EXCHANGE_HEAD_MS 20000
#define EXCHANGE_BODY_MS 20000
#define EXCHANGE_SEND_MS 60000
#define EXCHANGE_IDLE_MS 90000

/* A result that takes longer comes as a stream, which never stays silent longer. */
#define EXCHANGE_STREAM_MS 5000
#define EXCHANGE_BEAT_MS   15000

/* What all exchanges share. */
struct exchange_host {
    const struct mcp *mcp;
    struct metrics *metrics;
    struct gate_options gate;
    size_t held_max;    /* bytes of bodies that may be collected at a time, all together */
    size_t held;        /* and that are */
    size_t connections; /* open ones */
};

struct exchange {
    struct peer peer; /* first: send() gets its address */
    LIST_ENTRY(exchange) entry;
    struct exchange_host *host;
    struct MHD_Connection *connection;
    int fd; /* of the connection, borrowed */
    char *target;
    char *origin; /* the page's that gets CORS headers, or NULL */
    struct gate_verdict verdict;
    struct peer_headers headers;
    char *header_values[5];
    struct buf body;
    struct buf out;     /* the answer, or events on their way */
    uint64_t received;  /* bytes of the body */
    uint64_t sent;      /* bytes of the answer's body */
    int status;         /* of the answer; 0 before there is one */
    int64_t deadline;   /* for the client's next step; CLOCK_NEVER while it is our turn */
    int64_t next_event; /* when the stream is to begin, or to break its silence */
    bool judged;
    bool too_long;   /* the body is over the ceiling */
    bool overloaded; /* it is over what may be held at a time */
    bool taken;      /* the message has been handed over */
    bool silent;     /* and gets no answer */
    bool ended;      /* the answer is complete, as far as this side goes */
    bool streams;    /* it comes as events */
    bool queued;     /* the response has begun */
    bool suspended;
    bool gone; /* the client has hung up */
};

/* A request whose first line has come. fd is borrowed; deadline is that of the headers. */
struct exchange *exchange_new(struct exchange_host *host, struct MHD_Connection *connection, int fd,
                              const char *target, int64_t deadline);

/* Cancels what it still waits for, and counts it. */
void exchange_free(struct exchange *exchange);

/* The library's word that headers, a part of the body, or the end of it have come. */
enum MHD_Result exchange_handle(struct exchange *exchange, const char *method, const char *version,
                                const char *data, size_t *size);

/* The client has hung up: nothing more is done for it. */
void exchange_hang_up(struct exchange *exchange);

/* Lets a suspended exchange go on where there is something to be done. */
void exchange_step(struct exchange *exchange, int64_t now);

/* When exchange_step() is to be called although nothing came. */
int64_t exchange_due(const struct exchange *exchange);
