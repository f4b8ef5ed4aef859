#include "executor/pool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "executor/container.h"
#include "executor/image.h"

#define STARTS_MAX     2
#define PAUSE_MS       100
#define BACKOFF_MS     1000
#define BACKOFF_MAX_MS 30000

/* A start that takes longer does not hold up those of other pools. */
#define HURRY_MS 3000

/* Removals that wait for quiet wait no longer than this. */
#define LEAVE_MS 1000

struct member {
    TAILQ_ENTRY(member) link;
    struct container *container;
    int64_t started_at;
    int64_t leave_at; /* CLOCK_NEVER until it was returned */
    bool lent;
    bool excused; /* its end is nobody's fault: its walls stood, or its engine is gone */
};

TAILQ_HEAD(members, member);

struct pool {
    struct engine *engine;
    struct image *image;
    struct pool_options options;
    struct members members;
    char *seccomp;
    bool open;
    bool unfit; /* the engine has not got what the profile needs */
    enum gpus_way gpus;
    unsigned failures; /* starts that failed since the last that did not */
    uint64_t starts, start_failures;
    bool sound;
    bool stray;
    int64_t retry_at;
    struct error reason;
    char *python, *modules; /* NULL until a container came up */
    uint64_t version;
};

struct pool *pool_new(struct engine *engine, struct image *image,
                      const struct pool_options *options)
{
    struct pool *pool = mem_alloc(sizeof(*pool));

    pool->engine = engine;
    pool->image = image;
    pool->options = *options;
    TAILQ_INIT(&pool->members);
    return pool;
}

static void forget(struct pool *pool, struct member *member)
{
    pool->stray = pool->stray || container_facts(member->container)->stray;
    TAILQ_REMOVE(&pool->members, member, link);
    container_free(member->container);
    free(member);
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    while (!TAILQ_EMPTY(&pool->members))
        forget(pool, TAILQ_FIRST(&pool->members));
    free(pool->seccomp);
    free(pool->python);
    free(pool->modules);
    free(pool);
}

void pool_open(struct pool *pool, const struct about *about, const char *seccomp)
{
    pool->unfit = gpus_find_way(about, &pool->options.profile.gpus, &pool->gpus, &pool->reason) < 0;
    if (pool->unfit)
        log_error("sandbox: %s", pool->reason.text);
    free(pool->seccomp);
    pool->seccomp = mem_strdup(seccomp);
    pool->open = true;
}

void pool_close(struct pool *pool)
{
    struct member *member;

    pool->open = pool->unfit = pool->sound = false;
    pool->retry_at = pool->failures = 0;
    TAILQ_FOREACH(member, &pool->members, link)
    member->excused = true;
}

void pool_drain(struct pool *pool)
{
    struct member *member;

    pool->open = false;
    TAILQ_FOREACH(member, &pool->members, link)
    container_remove(member->container);
}

static unsigned count_state(const struct pool *pool, enum container_state state)
{
    const struct member *member;
    unsigned count = 0;

    TAILQ_FOREACH(member, &pool->members, link)
    count += container_state(member->container) == state;
    return count;
}

void pool_start(struct pool *pool, int64_t uid)
{
    struct member *member = mem_alloc(sizeof(*member));
    struct spec_instance instance = {
        .image_id = image_id(pool->image),
        .image_env = image_env(pool->image),
        .image_volumes = image_volumes(pool->image),
        .seccomp = pool->seccomp,
        .owner = pool->options.owner,
        .uid = uid,
        .gpus = pool->gpus,
    };

    member->started_at = clock_ms();
    member->leave_at = CLOCK_NEVER;
    member->container = container_start(pool->engine, &pool->options.profile, &instance);
    TAILQ_INSERT_TAIL(&pool->members, member, link);
    pool->starts++;
}

bool pool_lacks(const struct pool *pool, int64_t wanted)
{
    return pool->open && !pool->unfit && image_state(pool->image) == IMAGE_READY &&
           clock_ms() >= pool->retry_at && pool_coming(pool) < wanted &&
           count_state(pool, CONTAINER_STARTING) < (pool->failures ? 1 : STARTS_MAX);
}

bool pool_shed(struct pool *pool, int64_t wanted)
{
    struct member *member;

    if (pool_coming(pool) <= wanted)
        return false;
    TAILQ_FOREACH(member, &pool->members, link)
    {
        if (container_state(member->container) == CONTAINER_READY && !member->lent) {
            container_remove(member->container);
            return true;
        }
    }
    return false;
}

/* A container that nobody had yet and that ended. The next start waits, longer each time; but one
 * that was ready was removed by somebody, or went with its engine, and calls wait for the next. */
static void note_end(struct pool *pool, const struct container *container, bool excused)
{
    error_set(&pool->reason, "image %s: %s", image_reference(pool->image),
              container_facts(container)->error.text);
    if (container_facts(container)->image_missing) {
        image_reset(pool->image);
        image_look(pool->image);
    }
    pool->sound = false;
    if (!pool->open)
        return;
    pool->retry_at = clock_ms() + PAUSE_MS;
    if (!excused) {
        pool->failures++;
        pool->start_failures++;
        pool->retry_at += pool->failures < 5 ? BACKOFF_MS << pool->failures : BACKOFF_MAX_MS;
    }
    log_error("sandbox: %s", pool->reason.text);
}

static void note_ready(struct pool *pool, struct member *member)
{
    const struct container_facts *facts = container_facts(member->container);

    pool->failures = 0;
    pool->sound = member->excused = true;
    if (pool->python && strcmp(pool->python, facts->python) == 0 &&
        strcmp(pool->modules, facts->modules) == 0)
        return;
    free(pool->python);
    free(pool->modules);
    pool->python = mem_strdup(facts->python);
    pool->modules = mem_strdup(facts->modules);
    pool->version++;
}

static void step_member(struct pool *pool, struct member *member, bool quiet)
{
    struct container *container = member->container;
    int64_t now = clock_ms();

    container_step(container);
    if (container_state(container) == CONTAINER_ENDED && !member->lent) {
        if (member->leave_at == CLOCK_NEVER)
            note_end(pool, container, member->excused);
        container_remove(container);
    }
    if (member->leave_at != CLOCK_NEVER && (quiet || now >= member->leave_at))
        container_remove(container);
    if (container_state(container) == CONTAINER_GONE && !member->lent)
        forget(pool, member);
}

void pool_step(struct pool *pool, bool quiet)
{
    struct member *member, *next;

    for (member = TAILQ_FIRST(&pool->members); member; member = next) {
        next = TAILQ_NEXT(member, link);
        if (container_state(member->container) == CONTAINER_READY)
            note_ready(pool, member);
        step_member(pool, member, quiet);
    }
}

int64_t pool_deadline(const struct pool *pool)
{
    const struct member *member;
    int64_t now = clock_ms();
    int64_t deadline = pool->open && pool->retry_at > now ? pool->retry_at : CLOCK_NEVER;

    TAILQ_FOREACH(member, &pool->members, link)
    {
        enum container_state state = container_state(member->container);

        deadline = clock_earlier(deadline, container_deadline(member->container));
        if (state < CONTAINER_REMOVING)
            deadline = clock_earlier(deadline, member->leave_at);
        if (state == CONTAINER_STARTING && member->started_at + HURRY_MS > now)
            deadline = clock_earlier(deadline, member->started_at + HURRY_MS);
    }
    return deadline;
}

struct container *pool_take(struct pool *pool)
{
    struct member *member;

    TAILQ_FOREACH(member, &pool->members, link)
    {
        if (container_state(member->container) == CONTAINER_READY && !member->lent) {
            member->lent = true;
            return member->container;
        }
    }
    return NULL;
}

void pool_return(struct pool *pool, struct container *container)
{
    struct member *member;

    TAILQ_FOREACH(member, &pool->members, link)
    {
        if (member->container != container)
            continue;
        member->lent = false;
        member->leave_at = clock_ms() + LEAVE_MS;
    }
}

bool pool_take_stray(struct pool *pool)
{
    bool stray = pool->stray;

    pool->stray = false;
    return stray;
}

const char *pool_reason(const struct pool *pool)
{
    bool waits =
        pool->failures && clock_ms() < pool->retry_at && !count_state(pool, CONTAINER_STARTING);

    return pool->unfit || waits ? pool->reason.text : NULL;
}

const char *pool_failure(const struct pool *pool)
{
    return pool->failures || pool->unfit ? pool->reason.text : NULL;
}

struct container *pool_find(const struct pool *pool, const char *id)
{
    const struct member *member;

    TAILQ_FOREACH(member, &pool->members, link)
    {
        if (strcmp(container_facts(member->container)->id, id) == 0)
            return member->container;
    }
    return NULL;
}

bool pool_is_creating(const struct pool *pool)
{
    const struct member *member;

    TAILQ_FOREACH(member, &pool->members, link)
    {
        if (!*container_facts(member->container)->id)
            return true;
    }
    return false;
}

bool pool_is_sound(const struct pool *pool)
{
    return !pool->unfit && (pool->sound || (pool->options.warm == 0 && !pool->failures));
}

uint64_t pool_starts(const struct pool *pool)
{
    return pool->starts;
}

uint64_t pool_start_failures(const struct pool *pool)
{
    return pool->start_failures;
}

unsigned pool_count(const struct pool *pool)
{
    const struct member *member;
    unsigned count = 0;

    TAILQ_FOREACH(member, &pool->members, link)
    count++;
    return count;
}

unsigned pool_ready(const struct pool *pool)
{
    return count_state(pool, CONTAINER_READY);
}

unsigned pool_coming(const struct pool *pool)
{
    return count_state(pool, CONTAINER_STARTING) + count_state(pool, CONTAINER_READY);
}

unsigned pool_hurried(const struct pool *pool)
{
    const struct member *member;
    unsigned count = 0;

    TAILQ_FOREACH(member, &pool->members, link)
    count += container_state(member->container) == CONTAINER_STARTING &&
             clock_ms() < member->started_at + HURRY_MS;
    return count;
}

unsigned pool_leaving(const struct pool *pool)
{
    const struct member *member;
    unsigned count = 0;

    TAILQ_FOREACH(member, &pool->members, link)
    count +=
        container_state(member->container) >= CONTAINER_REMOVING || member->leave_at != CLOCK_NEVER;
    return count;
}

const cJSON *pool_walls(const struct pool *pool)
{
    const struct member *member;

    TAILQ_FOREACH(member, &pool->members, link)
    {
        if (container_facts(member->container)->walls)
            return container_facts(member->container)->walls;
    }
    return NULL;
}

struct pool_known pool_known(const struct pool *pool)
{
    return (struct pool_known){
        .python = pool->python, .modules = pool->modules, .version = pool->version};
}
