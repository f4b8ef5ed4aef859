/* One look at all containers with the owner label, and the removal of those that are unwanted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct sweep;

/* A container as the engine lists it; strings are borrowed. */
struct sweep_item {
    const char *id;
    const char *owner; /* its label */
    bool runs;         /* or is paused, or is being removed: anything but created or ended */
    int64_t created_s; /* since 1970, by the engine's clock; 0 where it does not tell */
};

/* Those for which unwanted() says so are removed by force. */
struct sweep *sweep_start(struct engine *engine,
                          bool (*unwanted)(void *arg, const struct sweep_item *item), void *arg);

/* Whether everything asked for was answered. */
bool sweep_is_over(const struct sweep *sweep);

/* How many were unwanted; -1 where the engine did not list them. */
int sweep_count(const struct sweep *sweep);

/* Only when it is over, or when the engine is freed without another step. NULL is fine. */
void sweep_free(struct sweep *sweep);
