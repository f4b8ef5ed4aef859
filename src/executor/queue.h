/* The runs, in the order of arrival: who gets a place, and who a container. */
#pragma once

#include "executor/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct executor_profile;
struct fleet;
struct queue;

/* Everything is borrowed. */
struct queue_options {
    struct fleet *fleet;
    const struct executor_profile *profiles;
    size_t profile_count;
    int64_t max_running;
    int64_t waiting_max; /* runs that may wait for a place */
    int64_t timeout_ms;  /* that a run waits */
};

struct queue *queue_new(const struct queue_options *options);

/* Frees the runs too; those that are open get no done. */
void queue_free(struct queue *queue);

/* Takes a run, clamped to its profile's limits. NULL where the arguments are too long or there is
 * no such profile. */
struct run *queue_add(struct queue *queue, const struct run_request *request,
                      const struct run_ops *ops, void *arg);

/* Lets every run act, and forgets those that are over. */
void queue_step(struct queue *queue);

/* Gives places and containers to those who wait. hindrance: why nothing can run at present, or
 * NULL. Then queue_waiting() has, for each profile, the runs that need a container to be started.
 */
void queue_serve(struct queue *queue, const char *hindrance);
const unsigned *queue_waiting(const struct queue *queue);

/* Whether one more run would find a place, if only of the profile with the least memory that can
 * be served, or could wait for one. */
bool queue_has_room(const struct queue *queue);

/* Whether no run is young, run_is_young(); *ret_until is when that ends. */
bool queue_is_quiet(const struct queue *queue, int64_t *ret_until);

void queue_stop(struct queue *queue, enum run_reason reason); /* every run */

int64_t queue_deadline(const struct queue *queue);
unsigned queue_count(const struct queue *queue, enum run_state state);
bool queue_is_empty(const struct queue *queue);
