/* The profiles side by side. Each has an image and a pool of its own, so that one that cannot be
 * served leaves the others alone; what they share is dealt out here: memory, starts in flight, user
 * ids. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct about;
struct container;
struct engine;
struct executor_profile;
struct fleet;
struct image;
struct pool;

/* Borrows the profiles (1 to LIMIT_PROFILES_MAX) and owner. */
struct fleet *fleet_new(struct engine *engine, const struct executor_profile *profiles,
                        size_t count, const char *owner);

/* Frees everything without telling the engine: at the very end. */
void fleet_free(struct fleet *fleet);

/* The engine is there: looks for every image, and lets containers start whose memory together stays
 * within the budget; a single one may always. seccomp is copied. */
void fleet_open(struct fleet *fleet, const struct about *about, int64_t budget,
                const char *seccomp);

/* The engine is not there: nothing more is started. */
void fleet_close(struct fleet *fleet);

/* Removes every container; fleet_count() 0 is the end of it. */
void fleet_drain(struct fleet *fleet);

/* See pool_step(). */
void fleet_step(struct fleet *fleet, bool quiet);

/* Starts what is missing: for runs that wait, so many of each profile, and, when it is quiet, for
 * the warm stock. Stock of one profile goes where its memory is in the way of another's run. */
void fleet_refill(struct fleet *fleet, const unsigned *waiting, bool quiet);

int64_t fleet_deadline(const struct fleet *fleet);

/* By index. */
struct pool *fleet_pool(const struct fleet *fleet, size_t profile);
struct image *fleet_image(const struct fleet *fleet, size_t profile);

/* By the engine's id; NULL where it is none of these. */
struct container *fleet_find(const struct fleet *fleet, const char *id);

/* See pool_take_stray(), pool_is_creating(), pool_count(): of any, of all. */
bool fleet_take_stray(struct fleet *fleet);
bool fleet_is_creating(const struct fleet *fleet);
unsigned fleet_count(const struct fleet *fleet);

/* Bytes for containers; 0 before fleet_open(). */
int64_t fleet_budget(const struct fleet *fleet);
