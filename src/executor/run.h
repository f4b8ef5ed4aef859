/* One run of one script, from the request to the outcome. */
#pragma once

#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct container;
struct run;

struct run_request {
    size_t profile; /* index */
    uint32_t timeout_ms;
    int64_t
        keep_head; /* bytes per stream that come as they are written; -1: all, with back-pressure */
    int64_t keep_tail;
    const char *name; /* file name of the script, no slash */
    const char *const *argv;
    size_t argc;
    const char *code;
    size_t code_len;
    const char *stdin_bytes;
    int64_t stdin_len;                /* -1: streamed through run_input() */
    const struct file *files;         /* below /workspace when it starts; file_check() likes each */
    size_t file_count;                /* <= LIMIT_FILES_MAX, <= LIMIT_FILES_BYTES_MAX together */
    struct artifact_limits artifacts; /* of what the script leaves behind; 0: it is only counted */
};

struct run_ops {
    void (*phase)(void *arg, enum wire_phase phase, uint32_t value);
    void (*output)(void *arg, enum outcome_stream stream, bool tail, const char *bytes, size_t len);

    /* What the script left behind, after its end; each may be NULL. Where the reason is
     * ARTIFACT_WHOLE, exactly `size` bytes follow before the next call of artifact, artifact_rest
     * or done; fewer only where the run was cut off. */
    void (*artifact)(void *arg, const struct artifact *artifact);
    void (*artifact_bytes)(void *arg, const char *bytes, size_t len);
    void (*artifact_rest)(void *arg, uint64_t count, bool at_least); /* more, which have no names */

    void (*done)(void *arg, struct outcome *outcome); /* once, last; may empty the outcome */
};

enum run_state {
    RUN_QUEUED,   /* waits for a place */
    RUN_WAITING,  /* has a place, waits for a container */
    RUN_BUSY,     /* the container has the script */
    RUN_ENDED,    /* the container is over without a verdict; the engine may say why */
    RUN_STOPPING, /* waits for the container to be gone */
    RUN_DONE,     /* ops->done was called */
};

enum run_reason { RUN_CANCELLED = 1, RUN_DEADLINE, RUN_SHUTDOWN };

/* Copies the request; NULL where its arguments and paths are over a megabyte. queue_timeout_ms
 * bounds the time until a container has the script. */
struct run *run_new(const struct run_request *request, int64_t queue_timeout_ms,
                    const struct run_ops *ops, void *arg);
void run_free(struct run *run);

enum run_state run_state(const struct run *run);

/* QUEUED -> WAITING. */
void run_admit(struct run *run);

/* Tells the client; the same news twice is told once. */
void run_phase(struct run *run, enum wire_phase phase, uint32_t value);

/* WAITING -> BUSY: sends the script. image is the reference to be told. The container stays the
 * caller's. */
void run_begin(struct run *run, struct container *container, const char *image);

/* The container of a run that has begun; NULL before. */
struct container *run_container(const struct run *run);

/* QUEUED or WAITING -> DONE, with a sentence that says why. */
void run_refuse(struct run *run, enum outcome_status status, const char *message);

/* Ends the run: idempotent, the first reason wins. What nothing has started for is done at once,
 * here; what runs loses its container, and is STOPPING until run_gone(), or until 5 s have passed.
 */
void run_stop(struct run *run, enum run_reason reason);
void run_gone(struct run *run);

/* Acts on deadlines; run_deadline() is when it wants to be called next. */
void run_step(struct run *run);
int64_t run_deadline(const struct run *run);

/* Whether the queue deadline of a QUEUED or WAITING run has passed. */
bool run_waited_out(const struct run *run);

/* BUSY, and the script was sent less than 100 ms ago. */
bool run_is_young(const struct run *run);
int64_t run_grows_old(const struct run *run); /* when that ends; CLOCK_NEVER where it has */

/* Streamed input: -1 where more than a little would wait. len 0 is the end of the input. */
int run_input(struct run *run, const char *bytes, size_t len);
bool run_takes_input(const struct run *run);

/* Stops the output of a run with keep_head -1, or lets it go on. */
void run_hold(struct run *run, bool hold);
