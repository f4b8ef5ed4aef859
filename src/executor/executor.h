/* The half that holds the Docker socket: turns requests into containers and containers into
 * outcomes. One thread: the owner calls executor_step() and executor_wait() in turn. */
#pragma once

#include "base/limits.h"
#include "executor/image.h"
#include "executor/profile.h"
#include "executor/run.h"

#include <stdbool.h>
#include <stdint.h>

struct about;
struct curl_waitfd;
struct endpoint;
struct error;
struct executor;

/* Pointers are borrowed. Sizes in bytes. */
struct executor_options {
    struct endpoint *endpoint;
    const char *owner; /* owner_self() */
    struct executor_profile profiles[LIMIT_PROFILES_MAX];
    size_t profile_count; /* 1 or more */
    int64_t max_running;
    int64_t memory_budget; /* for containers that run or are warm; 0: 75 % of the engine host's
                              memory */
    int64_t queue;         /* runs that may wait */
    int64_t queue_timeout_ms;
};

/* NULL with err where libcurl cannot be loaded. Connects by itself, from the first step on. */
struct executor *executor_new(const struct executor_options *options, struct error *err);

/* Frees everything; runs that are still open get no done. */
void executor_free(struct executor *executor);

/* Takes a run, which run_stop() ends early. done comes from a later executor_step(), or from
 * run_stop(), always, also for what is refused; the run is gone after it. NULL where the arguments
 * are too long or there is no such profile. */
struct run *executor_run(struct executor *executor, const struct run_request *request,
                         const struct run_ops *ops, void *arg);

void executor_step(struct executor *executor);

/* Sleeps until something happens, until extra[0..count) is ready, or for timeout_ms. */
void executor_wait(struct executor *executor, struct curl_waitfd *extra, unsigned count,
                   int timeout_ms);

/* Stops every run and removes every container. Over when executor_is_empty(). */
void executor_shutdown(struct executor *executor);
bool executor_is_empty(const struct executor *executor);

/* For those who watch the server. */
void executor_status(const struct executor *executor, struct wire_status *ret);

/* What doctor tells. Pointers hold until the next step. */
struct executor_facts {
    bool up;
    bool trying;        /* whether it is up will be known soon */
    const char *reason; /* not up: why */
    const char *version, *api, *arch;
    const struct endpoint *endpoint; /* where it is, or was looked for */
    int64_t peer_until;              /* engine_peer_until() */
    int64_t memory;
    const struct about *about;
};
void executor_tell(const struct executor *executor, struct executor_facts *ret);

/* The same of one profile. */
struct executor_profile_facts {
    enum image_state image;
    const char *image_reference;
    const char *image_id; /* IMAGE_READY */
    const char *image_reason;
    const char *python;  /* of the last container that came up; NULL before */
    const char *modules; /* importable, beside the standard library; likewise */
    uint64_t version;    /* counts the changes of these two */
    const cJSON *walls;  /* of a container that was measured, walls.h; or NULL */
    const char *reason;  /* why it cannot be served at present, the engine apart; or NULL */
    int64_t slots;       /* containers that fit the memory budget; one may run even where it is 0 */
};
void executor_tell_profile(const struct executor *executor, size_t profile,
                           struct executor_profile_facts *ret);

const struct executor_profile *executor_profile(const struct executor *executor, size_t profile);
size_t executor_profile_count(const struct executor *executor);
