/* A whole executor between two strangers: the real service, pool, containers and runs, with a stub
 * in place of the engine's sockets and of the clock. Targets say what the engine answers and what
 * a container's stream says; what must hold whatever they say is checked here. One rig at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "wire/outcome.h"

struct engine_ops;
struct executor;
struct service;

#define RIG_TIMEOUT_MS 5000
#define RIG_STEPS_MAX  5000
#define RIG_STEP_MS    100
#define RIG_BUFFER     (128 * 1024 * 1024)
#define RIG_IMAGE      "sha256:0123"

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: must hold: %s\n", __FILE__, __LINE__, #condition);             \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

struct engine_call {
    LIST_ENTRY(engine_call) entry;
    unsigned number;
    unsigned turn; /* of the engine, in which it was looked at last */
    char *method, *path;
    const struct engine_ops *ops;
    void *arg;
    bool attached;
    bool open; /* attached, and bytes flow */
    bool held;
    int64_t uid;     /* of the container */
    struct buf down; /* attached: what was written */
    unsigned said;   /* for the target: how far its supervisor is */
};

extern struct rig {
    int64_t now;
    struct executor *executor;
    struct service *service;
    int front; /* the front's end of the socketpair */
    struct buf told;
    bool any_image;   /* the image's own variables and volumes change the body */
    int64_t uid;      /* of the container that was created last */
    unsigned created; /* number of its call, which is its id */
    unsigned runs;    /* that the target has sent */
    unsigned done, outputs;
    size_t output_bytes;
    unsigned artifacts;
    uint64_t artifact_left; /* bytes of the last one that are still to come */
    uint64_t artifact_bytes;
    bool rested; /* an ARTIFACT_REST has come */
    enum outcome_status last_status;
} rig;

/* What a target must have. The answer to a call: 0 is none yet, else the status, and *ret_body,
 * which the rig frees. What a container's stream says, once in each turn. */
long rig_answer(struct engine_call *call, char **ret_body);
void rig_speak(struct engine_call *call);

/* Starts an executor and its service, and ends them as serve does: whatever was said, nothing is
 * left then. */
void rig_start(void);
void rig_stop(void);

/* One turn of the server, ms later. Whether the front is still there for it. */
bool rig_turn(int64_t ms);

/* Whether this is the method, and the path begins so. */
bool rig_is(const struct engine_call *call, const char *method, const char *path);

/* As rig_answer(), of an engine that does well. */
long rig_good_answer(struct engine_call *call, char **ret_body);

/* Says the bytes, which may end the call. */
void rig_say(struct engine_call *call, const char *bytes, size_t len);

/* The hello of a container whose walls stand, which may end the call. */
void rig_say_hello(struct engine_call *call);

/* Puts a supervisor's frame inside one of the engine's. */
void rig_put_frame(struct buf *out, char type, const char *bytes, size_t len);

/* Whether the job is there as a whole; it must be one that the template allows. */
bool rig_has_job(const struct engine_call *call);

/* Ends the call: status 0 is no answer. The body may be NULL, and stays the caller's. */
void rig_end(struct engine_call *call, long status, const char *body);
