/* Containers that are started ahead of time, each for one script. */
#pragma once

#include "executor/spec.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

struct about;
struct container;
struct engine;
struct image;
struct pool;

struct pool_options {
    struct spec_profile profile;
    int64_t warm;      /* containers that are kept ready */
    const char *owner; /* borrowed */
};

struct pool *pool_new(struct engine *engine, struct image *image,
                      const struct pool_options *options);

/* Frees everything without telling the engine: at the very end. */
void pool_free(struct pool *pool);

/* Lets a closed pool start containers, with this seccomp profile (copied), if the engine, which
 * says that about itself, has what the profile needs; else pool_reason() says what is missing. */
void pool_open(struct pool *pool, const struct about *about, const char *seccomp);

/* Starts no more containers; those that exist stay. What was found, good or bad, is forgotten: it
 * says nothing of the engine for which the pool is opened next. */
void pool_close(struct pool *pool);

/* Removes every container; those that are lent stay the borrower's until pool_return().
 * pool_count() 0 is the end of it. */
void pool_drain(struct pool *pool);

/* Takes notice of what became of the containers, and removes what is over. quiet: no call is young,
 * so that work which can wait may be done. */
void pool_step(struct pool *pool, bool quiet);

/* Whether a start is due, so that `wanted` containers are ready or on their way; never where the
 * pool is closed, has no image, or waits after a failure. */
bool pool_lacks(const struct pool *pool, int64_t wanted);
void pool_start(struct pool *pool, int64_t uid);

/* Removes a ready container where more than `wanted` are ready or on their way; whether it did. */
bool pool_shed(struct pool *pool, int64_t wanted);

int64_t pool_deadline(const struct pool *pool);

/* A ready container, which is the caller's until pool_return(); NULL where there is none. */
struct container *pool_take(struct pool *pool);

/* Hands a container back: it is removed as soon as it is quiet, after a second at the latest. The
 * pointer is not to be used again. */
void pool_return(struct pool *pool, struct container *container);

/* Why starts fail at present; NULL where they do not, or where another try is due or under way. */
const char *pool_reason(const struct pool *pool);

/* Why the last start failed; NULL where it did not, or where none has ended yet. */
const char *pool_failure(const struct pool *pool);

/* By the engine's id; NULL where it is none of this pool's. */
struct container *pool_find(const struct pool *pool, const char *id);

/* Whether the engine may hold a container that this pool has lost sight of, since an answer was
 * lost: true once for each time. */
bool pool_take_stray(struct pool *pool);

/* Whether the engine may have a container of this pool whose id is not known yet. */
bool pool_is_creating(const struct pool *pool);

/* Whether the last container that came up, or failed to, since pool_open() proved its walls; where
 * none is kept warm, whether none has failed to. */
bool pool_is_sound(const struct pool *pool);

/* Containers that were started since pool_new(), and those of them that were never ready. */
uint64_t pool_starts(const struct pool *pool);
uint64_t pool_start_failures(const struct pool *pool);

unsigned pool_count(const struct pool *pool); /* alive in any state */
unsigned pool_ready(const struct pool *pool);
unsigned pool_coming(const struct pool *pool);  /* ready or on their way */
unsigned pool_hurried(const struct pool *pool); /* on their way, and not for long */
unsigned pool_leaving(const struct pool *pool); /* over; soon removed */

/* What was measured of the walls of the oldest container that is alive and was measured, walls.h;
 * NULL where there is none. Holds until the next pool_step(). */
const cJSON *pool_walls(const struct pool *pool);

/* Of the last container that came up: the version of its Python, its modules (container_facts);
 * NULL before. version counts how often they changed. They hold until the next pool_step(). */
struct pool_known {
    const char *python, *modules;
    uint64_t version;
};
struct pool_known pool_known(const struct pool *pool);
