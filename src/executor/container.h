/* One container, from its creation to its removal: it serves one script, never two. */
#pragma once

#include "base/error.h"
#include "executor/spec.h"
#include "sandbox/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct container;
struct engine;

enum container_state {
    CONTAINER_STARTING, /* created, attached, started, and not yet ready */
    CONTAINER_READY,    /* attested, waits for a script */
    CONTAINER_BUSY,     /* has been handed to a run */
    CONTAINER_ENDED, /* over, or failed: container_error() says why; container_remove() is next */
    CONTAINER_REMOVING,
    CONTAINER_GONE, /* the engine has it no more; container_free() is next */
};

/* What a busy container tells its run. */
struct container_ops {
    void (*frame)(void *arg, const struct frame *frame);
    void (*ended)(void *arg); /* the stream ended without an X */
};

/* The engine does the rest from one call on: create (with the first user id from uid on that no
 * live container has), attach, start, wait for the hello, attest. The instance is copied; profile
 * and owner are borrowed. */
struct container *container_start(struct engine *engine, const struct spec_profile *profile,
                                  const struct spec_instance *instance);

/* Acts on deadlines; container_deadline() is when it wants to be called next. */
void container_step(struct container *container);
int64_t container_deadline(const struct container *container);

/* Cancels what is under way without telling the engine; only for a container that is gone, or at
 * the very end. */
void container_free(struct container *container);

enum container_state container_state(const struct container *container);

/* What is known of it. */
struct container_facts {
    char id[80];                   /* the engine's, "" before it is known */
    char python[LIMIT_PYTHON_MAX]; /* "3.12.4", from the hello */
    char *modules;      /* importable, beside the standard library; likewise; the container's */
    cJSON *walls;       /* attest_walls(), from the hello on; the container's */
    struct error error; /* why it ended */
    bool image_missing; /* that was because the engine no longer has the image */
    bool stray;   /* an answer was lost: the engine may still have it although it counts as gone */
    bool had_oom; /* the kernel has ended one of its processes for want of memory */
};
const struct container_facts *container_facts(const struct container *container);

/* READY -> BUSY: frames go to ops from now on. */
void container_lend(struct container *container, const struct container_ops *ops, void *arg);

/* BUSY: bytes for the supervisor; -1 where the stream is over or more than max_pending bytes would
 * wait. */
int container_write(struct container *container, const char *bytes, size_t len, size_t max_pending);
size_t container_pending(const struct container *container);

/* BUSY: stops reading what the container says, or goes on. */
void container_hold(struct container *container, bool hold);

/* Closes the stream first (an undrained attach blocks the engine's kill and remove), then removes
 * by force. In every state, once or more often; ops are forgotten. */
void container_remove(struct container *container);

/* The engine's event stream told of an oom. */
void container_note_oom(struct container *container);
