#include "executor/executor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "executor/container.h"
#include "executor/engine.h"
#include "executor/fleet.h"
#include "executor/pool.h"
#include "executor/queue.h"
#include "executor/seccomp.h"
#include "executor/session.h"
#include "executor/strays.h"

#define WAIT_MAX_MS   60000
#define BUDGET_OF_100 75

struct executor {
    struct executor_options options;
    struct engine *engine;
    struct session *session;
    struct fleet *fleet;
    struct queue *queue;
    struct strays *strays;
    uint64_t engine_losses;
    struct error unfit; /* why no container may be started although the engine is up */
};

static void on_up(void *arg)
{
    struct executor *executor = arg;
    int64_t budget = executor->options.memory_budget;
    auto_free char *seccomp = seccomp_profile(session_arch(executor->session), &executor->unfit);

    if (!seccomp) {
        log_error("%s", executor->unfit.text);
        return;
    }
    executor->unfit.text[0] = '\0';
    if (budget == 0)
        budget = session_memory(executor->session) / 100 * BUDGET_OF_100;
    fleet_open(executor->fleet, session_about(executor->session), budget, seccomp);
    strays_look(executor->strays, session_skew(executor->session));
}

static void on_down(void *arg)
{
    struct executor *executor = arg;

    executor->engine_losses++;
    fleet_close(executor->fleet);
}

static void on_oom(void *arg, const char *id)
{
    const struct executor *executor = arg;
    struct container *container = fleet_find(executor->fleet, id);

    if (container)
        container_note_oom(container);
}

struct executor *executor_new(const struct executor_options *options, struct error *err)
{
    static const struct session_ops ops = {.up = on_up, .down = on_down, .oom = on_oom};
    struct engine *engine = engine_new(options->endpoint, err);
    struct executor *executor;
    struct queue_options queue = {
        .profile_count = options->profile_count,
        .max_running = options->max_running,
        .waiting_max = options->queue,
        .timeout_ms = options->queue_timeout_ms,
    };

    if (!engine)
        return NULL;
    executor = mem_alloc(sizeof(*executor));
    executor->options = *options;
    executor->engine = engine;
    executor->session = session_new(engine, options->endpoint, &ops, executor);
    executor->fleet =
        fleet_new(engine, executor->options.profiles, options->profile_count, options->owner);
    queue.profiles = executor->options.profiles;
    queue.fleet = executor->fleet;
    executor->queue = queue_new(&queue);
    executor->strays = strays_new(engine, executor->fleet, options->owner);
    return executor;
}

void executor_free(struct executor *executor)
{
    if (!executor)
        return;
    queue_free(executor->queue);
    fleet_free(executor->fleet);
    session_free(executor->session);
    engine_free(executor->engine);
    strays_free(executor->strays);
    free(executor);
}

struct run *executor_run(struct executor *executor, const struct run_request *request,
                         const struct run_ops *ops, void *arg)
{
    struct run *run = queue_add(executor->queue, request, ops, arg);

    if (!run)
        return NULL;
    if (!session_is_up(executor->session))
        session_hurry(executor->session);
    else if (image_state(fleet_image(executor->fleet, request->profile)) == IMAGE_FAILED)
        image_look(fleet_image(executor->fleet, request->profile));
    return run;
}

/* Why nothing can run at present; NULL where there is hope. */
static const char *hindrance(const struct executor *executor)
{
    if (!session_is_up(executor->session))
        return session_is_trying(executor->session) ? NULL : session_reason(executor->session);
    return *executor->unfit.text ? executor->unfit.text : NULL;
}

void executor_step(struct executor *executor)
{
    int64_t until;

    session_step(executor->session);
    engine_step(executor->engine);
    queue_step(executor->queue);
    fleet_step(executor->fleet, queue_is_quiet(executor->queue, &until));
    queue_serve(executor->queue, hindrance(executor));
    queue_step(executor->queue);
    fleet_refill(executor->fleet, queue_waiting(executor->queue),
                 queue_is_quiet(executor->queue, &until));
    strays_step(executor->strays, session_is_up(executor->session));
}

void executor_wait(struct executor *executor, struct curl_waitfd *extra, unsigned count,
                   int timeout_ms)
{
    int64_t deadline =
        clock_earlier(session_deadline(executor->session), fleet_deadline(executor->fleet));

    deadline = clock_earlier(deadline, queue_deadline(executor->queue));
    deadline = clock_earlier(deadline,
                             strays_deadline(executor->strays, session_is_up(executor->session)));
    if (timeout_ms < 0 || timeout_ms > WAIT_MAX_MS)
        timeout_ms = WAIT_MAX_MS;
    engine_wait(executor->engine, extra, count, clock_timeout(deadline, timeout_ms));
}

void executor_shutdown(struct executor *executor)
{
    queue_stop(executor->queue, RUN_SHUTDOWN);
    fleet_drain(executor->fleet);
}

bool executor_is_empty(const struct executor *executor)
{
    return queue_is_empty(executor->queue) && fleet_count(executor->fleet) == 0 &&
           strays_are_settled(executor->strays);
}

void executor_status(const struct executor *executor, struct wire_status *ret)
{
    const struct queue *queue = executor->queue;

    *ret = (struct wire_status){
        .engine = session_is_up(executor->session),
        .room = queue_has_room(queue),
        .running = queue_count(queue, RUN_BUSY) + queue_count(queue, RUN_ENDED) +
                   queue_count(queue, RUN_STOPPING),
        .queued = queue_count(queue, RUN_QUEUED) + queue_count(queue, RUN_WAITING),
        .engine_losses = executor->engine_losses,
        .profile_count = (uint32_t)executor->options.profile_count,
    };
    for (size_t i = 0; i < ret->profile_count; i++) {
        const struct pool *pool = fleet_pool(executor->fleet, i);

        ret->pools[i] = (struct wire_pool){
            .image = image_state(fleet_image(executor->fleet, i)) == IMAGE_READY,
            .walls = pool_is_sound(pool),
            .warm = pool_ready(pool),
            .alive = pool_count(pool),
            .starts = pool_starts(pool),
            .start_failures = pool_start_failures(pool),
        };
    }
}

void executor_tell(const struct executor *executor, struct executor_facts *ret)
{
    const struct session *session = executor->session;

    *ret = (struct executor_facts){
        .up = session_is_up(session),
        .trying = session_is_trying(session),
        .reason = session_reason(session),
        .version = session_version(session),
        .api = session_api(session),
        .arch = session_arch(session),
        .memory = session_is_up(session) ? session_memory(session) : 0,
        .endpoint = executor->options.endpoint,
        .peer_until = engine_peer_until(executor->engine),
        .about = session_about(session),
    };
}

void executor_tell_profile(const struct executor *executor, size_t profile,
                           struct executor_profile_facts *ret)
{
    const struct executor_profile *options = &executor->options.profiles[profile];
    const struct image *image = fleet_image(executor->fleet, profile);
    const struct pool *pool = fleet_pool(executor->fleet, profile);
    struct pool_known known = pool_known(pool);

    *ret = (struct executor_profile_facts){
        .image = image_state(image),
        .image_reference = image_reference(image),
        .image_id = image_id(image),
        .image_reason = image_reason(image),
        .python = known.python,
        .modules = known.modules,
        .version = known.version,
        .walls = pool_walls(pool),
        .reason = image_state(image) == IMAGE_FAILED ? image_reason(image) : pool_failure(pool),
        .slots = fleet_budget(executor->fleet) / options->spec.memory,
    };
}

const struct executor_profile *executor_profile(const struct executor *executor, size_t profile)
{
    return &executor->options.profiles[profile];
}

size_t executor_profile_count(const struct executor *executor)
{
    return executor->options.profile_count;
}
