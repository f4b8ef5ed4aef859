#include "executor/queue.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "executor/container.h"
#include "executor/fleet.h"
#include "executor/image.h"
#include "executor/pool.h"
#include "executor/profile.h"

struct entry {
    TAILQ_ENTRY(entry) link;
    struct run *run;
    size_t profile;
};

struct queue {
    struct queue_options options;
    TAILQ_HEAD(, entry) entries;
    unsigned waiting[LIMIT_PROFILES_MAX];
};

struct queue *queue_new(const struct queue_options *options)
{
    struct queue *queue = mem_alloc(sizeof(*queue));

    queue->options = *options;
    TAILQ_INIT(&queue->entries);
    return queue;
}

static void forget(struct queue *queue, struct entry *entry)
{
    TAILQ_REMOVE(&queue->entries, entry, link);
    run_free(entry->run);
    free(entry);
}

void queue_free(struct queue *queue)
{
    if (!queue)
        return;
    while (!TAILQ_EMPTY(&queue->entries))
        forget(queue, TAILQ_FIRST(&queue->entries));
    free(queue);
}

static struct image *image_of(const struct queue *queue, const struct entry *entry)
{
    return fleet_image(queue->options.fleet, entry->profile);
}

static struct pool *pool_of(const struct queue *queue, const struct entry *entry)
{
    return fleet_pool(queue->options.fleet, entry->profile);
}

struct run *queue_add(struct queue *queue, const struct run_request *request,
                      const struct run_ops *ops, void *arg)
{
    struct run_request clamped = *request;
    int64_t timeout_max_ms;
    struct entry *entry;
    struct run *run;

    if (request->profile >= queue->options.profile_count)
        return NULL;
    timeout_max_ms = queue->options.profiles[request->profile].timeout_max_ms;
    if (clamped.timeout_ms > timeout_max_ms)
        clamped.timeout_ms = (uint32_t)timeout_max_ms;
    if (clamped.timeout_ms == 0)
        clamped.timeout_ms = 1;
    run = run_new(&clamped, queue->options.timeout_ms, ops, arg);
    if (!run)
        return NULL;
    entry = mem_alloc(sizeof(*entry));
    entry->run = run;
    entry->profile = request->profile;
    TAILQ_INSERT_TAIL(&queue->entries, entry, link);
    return run;
}

unsigned queue_count(const struct queue *queue, enum run_state state)
{
    const struct entry *entry;
    unsigned count = 0;

    TAILQ_FOREACH(entry, &queue->entries, link)
    count += run_state(entry->run) == state;
    return count;
}

/* Why a profile cannot serve at present; NULL where there is hope. */
static const char *obstacle(const struct queue *queue, const struct entry *entry)
{
    if (image_state(image_of(queue, entry)) == IMAGE_FAILED)
        return image_reason(image_of(queue, entry));
    if (pool_ready(pool_of(queue, entry)) == 0)
        return pool_reason(pool_of(queue, entry));
    return NULL;
}

static void refuse_waited_out(struct queue *queue, const struct entry *entry)
{
    auto_free char *text = NULL;

    if (image_state(image_of(queue, entry)) == IMAGE_PULLING)
        text = image_progress_text(image_of(queue, entry));
    else if (run_state(entry->run) == RUN_QUEUED)
        text = mem_printf("%u scripts are running and no place became free within %" PRId64
                          " s; try again in a moment",
                          queue_count(queue, RUN_BUSY), queue->options.timeout_ms / 1000);
    else
        text = mem_printf("no container was ready within %" PRId64 " s; try again in a moment",
                          queue->options.timeout_ms / 1000);
    run_refuse(entry->run, OUTCOME_BUSY, text);
}

static void tell_phase(struct queue *queue, const struct entry *entry, uint32_t place)
{
    const struct image *image = image_of(queue, entry);

    if (run_state(entry->run) == RUN_QUEUED)
        run_phase(entry->run, WIRE_QUEUED, place);
    else if (image_state(image) == IMAGE_PULLING)
        run_phase(entry->run, WIRE_PULLING, image_percent(image));
    else
        run_phase(entry->run, WIRE_STARTING, 0);
}

/* What is left for the runs, in the order of arrival. */
struct places {
    int64_t runs;
    int64_t memory;
    int64_t pending[LIMIT_PROFILES_MAX]; /* of runs whose image is not there yet */
};

static void count_places(const struct queue *queue, struct places *ret)
{
    ret->runs = queue->options.max_running;
    ret->memory = fleet_budget(queue->options.fleet);
    for (size_t i = 0; i < queue->options.profile_count; i++)
        ret->pending[i] = queue->options.max_running;
}

/* Takes a place; false where none was left. Whom an image keeps waiting is in nobody's way. */
static bool take_place(const struct queue *queue, const struct entry *entry, struct places *places)
{
    bool first = places->runs == queue->options.max_running;

    if (run_state(entry->run) == RUN_DONE)
        return false;
    if (run_state(entry->run) < RUN_BUSY && image_state(image_of(queue, entry)) != IMAGE_READY)
        return places->pending[entry->profile]-- > 0;
    places->memory -= queue->options.profiles[entry->profile].spec.memory;
    return places->runs-- > 0 && (first || places->memory >= 0);
}

/* QUEUED or WAITING, nothing in the way. Whether it goes on waiting, and for a container. */
static bool serve_one(struct queue *queue, struct entry *entry, bool has_place)
{
    struct run *run = entry->run;
    struct container *container = NULL;

    if (run_state(run) == RUN_QUEUED || !has_place)
        return false;
    container = pool_take(pool_of(queue, entry));
    if (container)
        run_begin(run, container, image_reference(image_of(queue, entry)));
    return !container && image_state(image_of(queue, entry)) == IMAGE_READY;
}

void queue_serve(struct queue *queue, const char *hindrance)
{
    struct places places;
    uint32_t queued = 0;
    struct entry *entry;

    count_places(queue, &places);
    memset(queue->waiting, 0, sizeof(queue->waiting));
    TAILQ_FOREACH(entry, &queue->entries, link)
    {
        struct run *run = entry->run;
        bool has_place = take_place(queue, entry, &places);
        const char *reason;

        if (run_state(run) >= RUN_BUSY)
            continue;
        if (run_state(run) == RUN_QUEUED && has_place)
            run_admit(run);
        reason = hindrance ? hindrance : obstacle(queue, entry);
        if (reason)
            run_refuse(run, OUTCOME_SANDBOX_ERROR, reason);
        else if (run_waited_out(run))
            refuse_waited_out(queue, entry);
        else if (run_state(run) == RUN_QUEUED && ++queued > queue->options.waiting_max)
            run_refuse(run, OUTCOME_BUSY,
                       "as many scripts as may run are running, and the queue is full; "
                       "try again in a moment");
        else if (serve_one(queue, entry, has_place))
            queue->waiting[entry->profile]++;
        if (run_state(run) < RUN_BUSY)
            tell_phase(queue, entry, queued);
    }
}

bool queue_has_room(const struct queue *queue)
{
    struct places places;
    int64_t queued = 0, least = INT64_MAX;
    const struct entry *entry;

    count_places(queue, &places);
    TAILQ_FOREACH(entry, &queue->entries, link)
    queued += !take_place(queue, entry, &places) && run_state(entry->run) == RUN_QUEUED;
    for (size_t i = 0; i < queue->options.profile_count; i++) {
        if (image_state(fleet_image(queue->options.fleet, i)) != IMAGE_FAILED &&
            queue->options.profiles[i].spec.memory < least)
            least = queue->options.profiles[i].spec.memory;
    }
    return queued < queue->options.waiting_max || places.runs == queue->options.max_running ||
           (places.runs > 0 && places.memory >= least);
}

const unsigned *queue_waiting(const struct queue *queue)
{
    return queue->waiting;
}

void queue_step(struct queue *queue)
{
    struct entry *entry, *next;

    for (entry = TAILQ_FIRST(&queue->entries); entry; entry = next) {
        struct run *run = entry->run;
        struct container *container = run_container(run);

        next = TAILQ_NEXT(entry, link);
        run_step(run);
        if (run_state(run) == RUN_STOPPING && container_state(container) == CONTAINER_GONE)
            run_gone(run);
        if (run_state(run) == RUN_DONE) {
            if (container)
                pool_return(pool_of(queue, entry), container);
            forget(queue, entry);
        }
    }
}

bool queue_is_quiet(const struct queue *queue, int64_t *ret_until)
{
    const struct entry *entry;

    *ret_until = CLOCK_NEVER;
    TAILQ_FOREACH(entry, &queue->entries, link)
    *ret_until = clock_earlier(*ret_until, run_grows_old(entry->run));
    return *ret_until == CLOCK_NEVER;
}

void queue_stop(struct queue *queue, enum run_reason reason)
{
    struct entry *entry;

    TAILQ_FOREACH(entry, &queue->entries, link)
    run_stop(entry->run, reason);
}

int64_t queue_deadline(const struct queue *queue)
{
    const struct entry *entry;
    int64_t deadline;

    (void)queue_is_quiet(queue, &deadline);
    TAILQ_FOREACH(entry, &queue->entries, link)
    deadline = clock_earlier(deadline, run_deadline(entry->run));
    return deadline;
}

bool queue_is_empty(const struct queue *queue)
{
    return TAILQ_EMPTY(&queue->entries);
}
