#include "executor/fleet.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "executor/container.h"
#include "executor/image.h"
#include "executor/pool.h"
#include "executor/profile.h"

#define STARTS_MAX 2 /* more in flight make each of them slower */

struct bay {
    const struct executor_profile *profile;
    struct image *image;
    struct pool *pool;
};

struct fleet {
    struct bay bays[LIMIT_PROFILES_MAX];
    size_t count;
    int64_t budget;
    int64_t next_uid;
    size_t turn; /* whose start is next */
};

struct fleet *fleet_new(struct engine *engine, const struct executor_profile *profiles,
                        size_t count, const char *owner)
{
    struct fleet *fleet = mem_alloc(sizeof(*fleet));

    fleet->count = count;
    for (size_t i = 0; i < count; i++) {
        struct pool_options pool = {
            .profile = profiles[i].spec, .warm = profiles[i].warm, .owner = owner};
        struct bay *bay = &fleet->bays[i];

        bay->profile = &profiles[i];
        bay->image = image_new(engine, &profiles[i].image);
        bay->pool = pool_new(engine, bay->image, &pool);
    }
    /* Servers that share an engine begin at different places, so that they seldom propose the same
     * id. */
    fleet->next_uid = LIMIT_UID_FIRST + (getpid() * 61) % (LIMIT_UID_LAST - LIMIT_UID_FIRST + 1);
    return fleet;
}

void fleet_free(struct fleet *fleet)
{
    if (!fleet)
        return;
    for (size_t i = 0; i < fleet->count; i++) {
        pool_free(fleet->bays[i].pool);
        image_free(fleet->bays[i].image);
    }
    free(fleet);
}

void fleet_open(struct fleet *fleet, const struct about *about, int64_t budget, const char *seccomp)
{
    fleet->budget = budget;
    for (size_t i = 0; i < fleet->count; i++) {
        const struct bay *bay = &fleet->bays[i];

        if (budget < bay->profile->spec.memory)
            log_warn("the memory budget (%" PRId64 " bytes) does not hold one container of %" PRId64
                     " bytes; one is run at a time all the same",
                     budget, bay->profile->spec.memory);
        pool_open(bay->pool, about, seccomp);
        image_reset(bay->image);
        image_look(bay->image);
    }
}

void fleet_close(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->count; i++) {
        pool_close(fleet->bays[i].pool);
        image_reset(fleet->bays[i].image);
    }
}

void fleet_drain(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->count; i++)
        pool_drain(fleet->bays[i].pool);
}

void fleet_step(struct fleet *fleet, bool quiet)
{
    for (size_t i = 0; i < fleet->count; i++)
        pool_step(fleet->bays[i].pool, quiet);
}

/* Stock leaves what runs that wait for a start will need. */
static bool has_room(const struct fleet *fleet, const struct bay *bay, const unsigned *waiting,
                     bool stock)
{
    int64_t used = 0;

    for (size_t i = 0; i < fleet->count; i++) {
        const struct bay *other = &fleet->bays[i];
        int64_t count = pool_count(other->pool);

        if (stock && waiting[i] > pool_coming(other->pool))
            count += waiting[i] - pool_coming(other->pool);
        used += count * other->profile->spec.memory;
    }
    return used == 0 || used + bay->profile->spec.memory <= fleet->budget;
}

/* A run waits for a container of this bay: stock of others must not be in the way. */
static void make_room(const struct fleet *fleet, const struct bay *bay, const unsigned *waiting)
{
    const struct bay *richest = NULL;
    int64_t used = 0;
    size_t of = 0;

    for (size_t i = 0; i < fleet->count; i++) {
        const struct bay *other = &fleet->bays[i];

        used += (pool_count(other->pool) - pool_leaving(other->pool)) * other->profile->spec.memory;
        if (other != bay && pool_ready(other->pool) > waiting[i] &&
            (!richest || pool_ready(other->pool) > pool_ready(richest->pool))) {
            richest = other;
            of = i;
        }
    }
    if (richest && used + bay->profile->spec.memory > fleet->budget)
        (void)pool_shed(richest->pool, waiting[of]);
}

static unsigned in_flight(const struct fleet *fleet)
{
    unsigned count = 0;

    for (size_t i = 0; i < fleet->count; i++)
        count += pool_hurried(fleet->bays[i].pool);
    return count;
}

/* One start for the next bay that lacks one; false where none does, or none may. */
static bool start_one(struct fleet *fleet, const unsigned *waiting, bool stock)
{
    if (in_flight(fleet) >= STARTS_MAX)
        return false;
    for (size_t i = 0; i < fleet->count; i++) {
        size_t at = (fleet->turn + i) % fleet->count;
        const struct bay *bay = &fleet->bays[at];
        int64_t wanted = waiting[at] + (stock ? bay->profile->warm : 0);

        if (!pool_lacks(bay->pool, wanted))
            continue;
        if (!has_room(fleet, bay, waiting, stock)) {
            if (!stock)
                make_room(fleet, bay, waiting);
            continue;
        }
        pool_start(bay->pool, fleet->next_uid);
        fleet->next_uid = fleet->next_uid == LIMIT_UID_LAST ? LIMIT_UID_FIRST : fleet->next_uid + 1;
        fleet->turn = (at + 1) % fleet->count;
        return true;
    }
    return false;
}

void fleet_refill(struct fleet *fleet, const unsigned *waiting, bool quiet)
{
    while (start_one(fleet, waiting, false))
        ;
    while (quiet && start_one(fleet, waiting, true))
        ;
    /* Calls that were given up leave containers behind that nobody waits for. */
    for (size_t i = 0; i < fleet->count; i++)
        while (pool_shed(fleet->bays[i].pool, waiting[i] + fleet->bays[i].profile->warm))
            ;
}

int64_t fleet_deadline(const struct fleet *fleet)
{
    int64_t deadline = CLOCK_NEVER;

    for (size_t i = 0; i < fleet->count; i++)
        deadline = clock_earlier(deadline, pool_deadline(fleet->bays[i].pool));
    return deadline;
}

struct pool *fleet_pool(const struct fleet *fleet, size_t profile)
{
    return fleet->bays[profile].pool;
}

struct image *fleet_image(const struct fleet *fleet, size_t profile)
{
    return fleet->bays[profile].image;
}

struct container *fleet_find(const struct fleet *fleet, const char *id)
{
    struct container *found = NULL;

    for (size_t i = 0; !found && i < fleet->count; i++)
        found = pool_find(fleet->bays[i].pool, id);
    return found;
}

bool fleet_take_stray(struct fleet *fleet)
{
    bool stray = false;

    for (size_t i = 0; i < fleet->count; i++)
        stray = pool_take_stray(fleet->bays[i].pool) || stray;
    return stray;
}

bool fleet_is_creating(const struct fleet *fleet)
{
    bool creating = false;

    for (size_t i = 0; i < fleet->count; i++)
        creating = creating || pool_is_creating(fleet->bays[i].pool);
    return creating;
}

unsigned fleet_count(const struct fleet *fleet)
{
    unsigned count = 0;

    for (size_t i = 0; i < fleet->count; i++)
        count += pool_count(fleet->bays[i].pool);
    return count;
}

int64_t fleet_budget(const struct fleet *fleet)
{
    return fleet->budget;
}
