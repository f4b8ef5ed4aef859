/* The calls of run_python that are open: from RUN to DONE. Does no I/O: requests go to a buffer for
 * the executor, replies to the peer that asked. A peer outlives its calls, or cancels them first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/outcome.h"

struct buf;
struct calls;
struct error;
struct front_options;
struct peer;
struct tool_call;
struct wire_message;

/* Who asked, and how. All borrowed; copied where it must last. */
struct calls_request {
    struct peer *peer;
    const char *id; /* raw JSON */
    size_t id_len;
    const char *token; /* raw JSON; NULL where no progress was asked for */
    size_t token_len;
    const char *client; /* for the log, where it is cut, and for its quirks */
    bool modern;        /* the result has the members of the modern era */
    bool structured;    /* and a structured copy */
    struct tool_call *tool;
};

/* Borrows options and to_executor. */
struct calls *calls_new(const struct front_options *options, struct buf *to_executor);
void calls_free(struct calls *calls);

/* Sends the script to the executor; answers "busy" at once where too many calls are open. */
void calls_open(struct calls *calls, const struct calls_request *request, int64_t now);

/* Stops the calls of this peer and of its batches with this id, if there are any; they get no
 * answer. */
void calls_cancel(struct calls *calls, const struct peer *peer, const char *id, size_t id_len);

/* Stops every open call of this peer and of its batches; they get no answer, and the peer may go
 * away at once. Not to be called by send(). */
void calls_drop(struct calls *calls, const struct peer *peer);

/* Takes one message from the executor, and ends it. -1 where it is none that the executor may
 * send. */
int calls_take(struct calls *calls, struct wire_message *message, int64_t now, struct error *err);

/* Sends the progress notifications that are due; the next time it should be called. */
void calls_step(struct calls *calls, int64_t now);
int64_t calls_due(const struct calls *calls);

/* Answers every open call with this outcome: the executor is gone. With OUTCOME_CANCELLED, a call
 * whose script had not started yet is answered with OUTCOME_BUSY: it may be tried again. */
void calls_abandon(struct calls *calls, enum outcome_status status, const char *message);

size_t calls_count(const struct calls *calls);
