#include "executor/strays.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "executor/fleet.h"
#include "executor/owner.h"
#include "executor/sweep.h"

#define PAUSE_MS 300

struct strays {
    struct engine *engine;
    struct fleet *fleet;
    const char *owner;
    struct sweep *sweep;
    bool wanted;
    int64_t skew_s;
    int64_t not_before;
    int64_t
        again_at; /* when one that was too young to judge is old enough; CLOCK_NEVER: none was */
};

struct strays *strays_new(struct engine *engine, struct fleet *fleet, const char *owner)
{
    struct strays *strays = mem_alloc(sizeof(*strays));

    strays->engine = engine;
    strays->fleet = fleet;
    strays->owner = owner;
    strays->again_at = CLOCK_NEVER;
    return strays;
}

void strays_free(struct strays *strays)
{
    if (!strays)
        return;
    sweep_free(strays->sweep);
    free(strays);
}

bool strays_is_stale(bool runs, int64_t created_s, int64_t now_s)
{
    return !runs && created_s > 0 && now_s - created_s > STRAYS_UNSURE_S;
}

static bool is_unwanted_of_unsure(struct strays *strays, const struct sweep_item *item)
{
    if (strays_is_stale(item->runs, item->created_s, time(NULL) + strays->skew_s))
        return true;
    if (!item->runs)
        strays->again_at =
            clock_earlier(strays->again_at, clock_ms() + (STRAYS_UNSURE_S + 1) * INT64_C(1000));
    return false;
}

static bool is_unwanted_of_ours(struct strays *strays, const struct sweep_item *item)
{
    if (fleet_find(strays->fleet, item->id))
        return false;
    if (!fleet_is_creating(strays->fleet))
        return true;
    strays->wanted = true; /* it may be the one whose id is still on its way */
    return false;
}

static bool is_unwanted(void *arg, const struct sweep_item *item)
{
    struct strays *strays = arg;

    if (strcmp(item->owner, strays->owner) == 0)
        return is_unwanted_of_ours(strays, item);
    switch (owner_fate(item->owner)) {
    case OWNER_GONE:
        return true;
    case OWNER_UNSURE:
        return is_unwanted_of_unsure(strays, item);
    case OWNER_ALIVE:
        break;
    }
    return false;
}

void strays_look(struct strays *strays, int64_t skew_s)
{
    strays->skew_s = skew_s;
    strays->wanted = true;
}

void strays_step(struct strays *strays, bool up)
{
    if (strays->sweep && sweep_is_over(strays->sweep)) {
        sweep_free(strays->sweep);
        strays->sweep = NULL;
    }
    if (fleet_take_stray(strays->fleet))
        strays->wanted = true;
    if (clock_ms() >= strays->again_at) {
        strays->again_at = CLOCK_NEVER;
        strays->wanted = true;
    }
    if (strays->sweep || !strays->wanted || !up || clock_ms() < strays->not_before)
        return;
    strays->wanted = false;
    strays->not_before = clock_ms() + PAUSE_MS;
    strays->sweep = sweep_start(strays->engine, is_unwanted, strays);
}

int64_t strays_deadline(const struct strays *strays, bool up)
{
    if (strays->wanted && !strays->sweep && up)
        return clock_earlier(strays->not_before, strays->again_at);
    return strays->again_at;
}

bool strays_are_settled(const struct strays *strays)
{
    return !strays->sweep && !strays->wanted;
}
