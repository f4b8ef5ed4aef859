#include "executor/run.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "executor/collect.h"
#include "executor/container.h"
#include "sandbox/frame.h"

/* The supervisor keeps the deadline itself, but shares CPU and memory with the script and may be
 * late. */
#define GRACE_MS 2000

/* For what the script left behind, from the first word of it on, and then a second more for so many
 * bytes. The supervisor takes three seconds less, beside the time that its reader takes. */
#define COLLECT_MS   8000
#define COLLECT_PACE (8 * 1024 * 1024)

#define SEND_MS      10000 /* from the hand-over of the script to its start */
#define GONE_MS      5000
#define WORD_MS      200 /* from the end of a container to the engine's word on it */
#define YOUNG_MS     100
#define HEADER_MAX   (1024 * 1024)
#define PENDING_MAX  (HEADER_MAX + LIMIT_CODE_MAX + LIMIT_FILES_BYTES_MAX + LIMIT_STDIN_MAX)
#define INPUT_WINDOW (256 * 1024)

/* Where the supervisor could not speak any more. */
#define LOSS ": what it printed last, and its files, may be lost"

struct run {
    enum run_state state;
    const struct run_ops *ops;
    void *arg;
    struct buf job; /* header line, script and input; emptied once sent */
    uint32_t timeout_ms;
    bool streamed; /* input comes through run_input() */
    bool input_over;
    struct container *container;
    enum run_reason reason; /* 0: nobody stopped it */
    enum wire_phase phase;
    uint32_t phase_value;
    int64_t queue_deadline;
    int64_t deadline;
    int64_t sent_ms;
    int64_t started_ms; /* 0: the script has not started */
    struct collect collect;
    bool collecting;
    struct outcome outcome;
};

struct run *run_new(const struct run_request *request, int64_t queue_timeout_ms,
                    const struct run_ops *ops, void *arg)
{
    struct frame_file files[LIMIT_FILES_MAX];
    struct run *run;
    struct frame_start start = {
        .timeout_ms = request->timeout_ms,
        .name = request->name,
        .argv = request->argv,
        .argc = request->argc,
        .code_len = (int64_t)request->code_len,
        .stdin_len = request->stdin_len,
        .head = request->keep_head,
        .tail = request->keep_tail,
        .files = files,
        .file_count = request->file_count,
        .outputs = {.files = request->artifacts.count,
                    .file = request->artifacts.one,
                    .total = request->artifacts.all,
                    .figures = request->artifacts.figures},
    };

    for (size_t i = 0; i < request->file_count; i++)
        files[i] = (struct frame_file){request->files[i].path, request->files[i].path_len,
                                       (int64_t)request->files[i].len};
    run = mem_alloc(sizeof(*run));
    run->ops = ops;
    run->arg = arg;
    run->timeout_ms = request->timeout_ms;
    run->streamed = request->stdin_len < 0;
    run->queue_deadline = clock_ms() + queue_timeout_ms;
    run->deadline = CLOCK_NEVER;
    run->outcome.exit_code = -1;
    collect_init(&run->collect, &request->artifacts);
    buf_init(&run->job, PENDING_MAX);
    if (frame_put_start(&run->job, &start) < 0 || run->job.len > HEADER_MAX) {
        run_free(run);
        return NULL;
    }
    (void)buf_add(&run->job, request->code, request->code_len);
    for (size_t i = 0; i < request->file_count; i++)
        (void)buf_add(&run->job, request->files[i].bytes, request->files[i].len);
    if (request->stdin_len > 0)
        (void)buf_add(&run->job, request->stdin_bytes, (size_t)request->stdin_len);
    return run;
}

void run_free(struct run *run)
{
    if (!run)
        return;
    buf_done(&run->job);
    outcome_done(&run->outcome);
    free(run);
}

enum run_state run_state(const struct run *run)
{
    return run->state;
}

void run_admit(struct run *run)
{
    run->state = RUN_WAITING;
}

void run_phase(struct run *run, enum wire_phase phase, uint32_t value)
{
    if (run->phase == phase && run->phase_value == value)
        return;
    run->phase = phase;
    run->phase_value = value;
    run->ops->phase(run->arg, phase, value);
}

static void finish(struct run *run, enum outcome_status status, const char *message)
{
    run->state = RUN_DONE;
    run->deadline = CLOCK_NEVER;
    run->outcome.status = status;
    if (message)
        run->outcome.message = mem_strdup(message);
    if (run->outcome.duration_us == 0 && run->started_ms)
        run->outcome.duration_us = (uint64_t)(clock_ms() - run->started_ms) * 1000;
    run->ops->done(run->arg, &run->outcome);
}

void run_refuse(struct run *run, enum outcome_status status, const char *message)
{
    finish(run, status, message);
}

static void finish_stopped(struct run *run)
{
    if (run->reason == RUN_DEADLINE) {
        run->outcome.exit_code = 128 + SIGKILL;
        finish(run, OUTCOME_TIMED_OUT, "its container had to be removed by force" LOSS);
    } else {
        finish(run, OUTCOME_CANCELLED,
               run->reason == RUN_SHUTDOWN
                   ? "the server was stopped, or its client closed the server's stdin"
                   : "the client cancelled it");
    }
}

/* The supervisor's word on how the script ended, which only it can give. */
static void finish_exit(struct run *run, const struct frame_exit *x)
{
    struct outcome *o = &run->outcome;
    enum outcome_status status;

    o->exit_code = (int32_t)(x->signal ? 128 + x->signal : x->exit_code);
    o->oom_kills =
        x->oom_kills > 0 ? (uint32_t)x->oom_kills : container_facts(run->container)->had_oom;
    o->duration_us = (uint64_t)x->duration_us;
    o->cpu_us = (uint64_t)x->cpu_us;
    o->peak_memory_bytes = (uint64_t)x->peak_memory_bytes;
    o->total[OUTCOME_STDOUT].bytes = (uint64_t)x->stdout_bytes;
    o->total[OUTCOME_STDOUT].chars = (uint64_t)x->stdout_chars;
    o->total[OUTCOME_STDERR].bytes = (uint64_t)x->stderr_bytes;
    o->total[OUTCOME_STDERR].chars = (uint64_t)x->stderr_chars;
    if (x->timed_out)
        status = OUTCOME_TIMED_OUT;
    else if (x->signal == SIGKILL && o->oom_kills)
        status = OUTCOME_OUT_OF_MEMORY;
    else if (x->signal)
        status = OUTCOME_KILLED;
    else
        status = x->exit_code ? OUTCOME_ERROR : OUTCOME_OK;
    finish(run, status, NULL);
}

static void take_exit(struct run *run, const struct frame *frame)
{
    struct frame_exit x;
    struct error err;

    if (collect_end(&run->collect, &err) < 0 ||
        frame_decode_exit(frame->bytes, frame->len, &x, &err) < 0)
        finish(run, OUTCOME_SANDBOX_ERROR, err.text);
    else
        finish_exit(run, &x);
}

static void take_value(struct run *run, const struct frame *frame)
{
    free(run->outcome.value);
    run->outcome.value_len = frame->len < LIMIT_VALUE_MAX ? frame->len : LIMIT_VALUE_MAX;
    run->outcome.value = mem_strndup(frame->bytes, run->outcome.value_len);
}

/* The script has ended; its deadline is met. */
static void give_time(struct run *run)
{
    int64_t enough =
        clock_ms() + COLLECT_MS + (int64_t)run->collect.limits.all / COLLECT_PACE * 1000;

    if (!run->collecting && enough > run->deadline)
        run->deadline = enough;
    run->collecting = true;
}

static void take_artifact(struct run *run, const struct frame *frame)
{
    struct error err;

    give_time(run);
    if (collect_take(&run->collect, frame, run->ops, run->arg, &err) < 0)
        finish(run, OUTCOME_SANDBOX_ERROR, err.text);
}

static void on_frame(void *arg, const struct frame *frame)
{
    struct run *run = arg;

    if (run->state != RUN_BUSY)
        return;
    switch (frame->type) {
    case FRAME_STARTED:
        run->started_ms = clock_ms();
        run->deadline = run->started_ms + run->timeout_ms + GRACE_MS;
        run_phase(run, WIRE_RUNNING, 0);
        break;
    case FRAME_STDOUT:
    case FRAME_STDOUT_TAIL:
        run->ops->output(run->arg, OUTCOME_STDOUT, frame->type == FRAME_STDOUT_TAIL, frame->bytes,
                         frame->len);
        break;
    case FRAME_STDERR:
    case FRAME_STDERR_TAIL:
        run->ops->output(run->arg, OUTCOME_STDERR, frame->type == FRAME_STDERR_TAIL, frame->bytes,
                         frame->len);
        break;
    case FRAME_COLLECTING:
        give_time(run);
        break;
    case FRAME_ARTIFACT:
    case FRAME_ARTIFACT_BYTES:
    case FRAME_ARTIFACT_REST:
        take_artifact(run, frame);
        break;
    case FRAME_VALUE:
        take_value(run, frame);
        break;
    case FRAME_EXIT:
        take_exit(run, frame);
        break;
    case FRAME_HELLO:
        break;
    }
}

static void on_ended(void *arg)
{
    struct run *run = arg;

    if (run->state != RUN_BUSY)
        return;
    run->state = RUN_ENDED;
    run->deadline = clock_ms() + WORD_MS;
}

static void finish_ended(struct run *run)
{
    const struct container *container = run->container;

    if (container_facts(container)->had_oom) {
        run->outcome.oom_kills = 1;
        run->outcome.exit_code = 128 + SIGKILL;
        finish(run, OUTCOME_OUT_OF_MEMORY, "memory ran out for the whole container" LOSS);
    } else if (clock_ms() >= run->deadline) {
        finish(run, OUTCOME_SANDBOX_ERROR, container_facts(container)->error.text);
    }
}

void run_begin(struct run *run, struct container *container, const char *image)
{
    static const struct container_ops ops = {.frame = on_frame, .ended = on_ended};

    run->state = RUN_BUSY;
    run->container = container;
    run->sent_ms = clock_ms();
    run->deadline = run->sent_ms + run->timeout_ms + SEND_MS;
    run->outcome.image = mem_strndup(image, strnlen(image, LIMIT_IMAGE_MAX));
    run->outcome.python = mem_strdup(container_facts(container)->python);
    container_lend(container, &ops, run);
    if (container_write(container, run->job.data, run->job.len, PENDING_MAX) < 0)
        on_ended(run);
    buf_done(&run->job);
}

struct container *run_container(const struct run *run)
{
    return run->container;
}

void run_stop(struct run *run, enum run_reason reason)
{
    if (run->reason || run->state == RUN_DONE)
        return;
    run->reason = reason;
    if (run->state != RUN_BUSY) {
        finish_stopped(run);
        return;
    }
    run->state = RUN_STOPPING;
    run->deadline = clock_ms() + GONE_MS;
    container_remove(run->container);
}

void run_gone(struct run *run)
{
    if (run->state == RUN_STOPPING)
        finish_stopped(run);
}

void run_step(struct run *run)
{
    if (run->state == RUN_ENDED)
        finish_ended(run);
    if (clock_ms() < run->deadline)
        return;
    if (run->state == RUN_BUSY) {
        run_stop(run, RUN_DEADLINE);
    } else if (run->state == RUN_STOPPING) {
        log_warn("a container is still there %d s after its run was stopped", GONE_MS / 1000);
        finish_stopped(run);
    }
}

int64_t run_deadline(const struct run *run)
{
    return run->state < RUN_BUSY ? run->queue_deadline : run->deadline;
}

bool run_waited_out(const struct run *run)
{
    return run->state < RUN_BUSY && clock_ms() >= run->queue_deadline;
}

bool run_is_young(const struct run *run)
{
    return run->state == RUN_BUSY && clock_ms() < run->sent_ms + YOUNG_MS;
}

int64_t run_grows_old(const struct run *run)
{
    return run_is_young(run) ? run->sent_ms + YOUNG_MS : CLOCK_NEVER;
}

bool run_takes_input(const struct run *run)
{
    return run->streamed && !run->input_over && run->state == RUN_BUSY &&
           container_pending(run->container) < INPUT_WINDOW;
}

int run_input(struct run *run, const char *bytes, size_t len)
{
    struct buf chunk;
    int r = -1;

    if (!run_takes_input(run))
        return -1;
    buf_init(&chunk, PENDING_MAX);
    if (frame_put_input(&chunk, bytes, len) == 0)
        r = container_write(run->container, chunk.data, chunk.len, PENDING_MAX);
    buf_done(&chunk);
    run->input_over = len == 0;
    return r;
}

void run_hold(struct run *run, bool hold)
{
    if (run->state == RUN_BUSY)
        container_hold(run->container, hold);
}
