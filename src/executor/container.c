#include "executor/container.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "executor/demux.h"
#include "executor/engine.h"
#include "executor/hello.h"
#include "executor/url.h"

#define CREATE_TIMEOUT_MS  30000
#define ATTACH_TIMEOUT_MS  10000
#define START_TIMEOUT_MS   60000
#define REMOVE_TIMEOUT_MS  30000
#define REMOVE_RETRY_MS    30
#define REMOVE_TRIES       200
#define LOST_TRIES         5
#define HELLO_TIMEOUT_MS   15000 /* from the start to the hello: less than a call waits */
#define PRELOAD_TIMEOUT_MS 60000 /* more, as the supervisor has it: it says what took so long */
#define NAME_TRIES         256
#define COMPLAINT_MAX      2048
#define STREAM_MAX         (8 * 1024 * 1024)

struct container {
    struct engine *engine;
    const struct spec_profile *profile;
    struct spec_instance instance; /* points to the four copies that follow, and to the owner */
    char *image_id, *seccomp;
    cJSON *image_env, *image_volumes;
    enum container_state state;
    struct container_facts facts;
    unsigned name_tries;
    unsigned remove_tries;
    struct engine_call *request; /* create, start or remove: one at a time */
    struct engine_call *stream;
    struct demux demux;
    struct buf frames;    /* the supervisor's bytes */
    struct buf complaint; /* what came on the container's stderr */
    bool remove_wanted;
    bool exit_seen;
    int64_t deadline; /* STARTING: to say hello by then. REMOVING: when to ask again */
    const struct container_ops *ops;
    void *arg;
};

static void create(struct container *container);
static void request_remove(struct container *container);

static void end(struct container *container)
{
    const struct container_ops *ops = container->ops;

    if (container->state >= CONTAINER_ENDED)
        return;
    engine_cancel(container->stream);
    container->stream = NULL;
    container->ops = NULL;
    container->state = CONTAINER_ENDED;
    if (ops && !container->exit_seen)
        ops->ended(container->arg);
}

static void take_hello(struct container *container, const struct frame *frame)
{
    if (hello_take(frame->bytes, frame->len, container->profile, &container->instance,
                   &container->facts) < 0) {
        end(container);
        return;
    }
    container->deadline = CLOCK_NEVER;
    container->state = CONTAINER_READY;
}

static void take_frame(struct container *container, const struct frame *frame)
{
    if (container->state == CONTAINER_STARTING && frame->type == FRAME_HELLO) {
        take_hello(container, frame);
    } else if (container->state == CONTAINER_BUSY && frame->type != FRAME_HELLO &&
               !container->exit_seen) {
        container->exit_seen = frame->type == FRAME_EXIT;
        container->ops->frame(container->arg, frame);
    } else {
        error_set(&container->facts.error, "the supervisor spoke out of turn (frame 0x%02x)",
                  frame->type);
        end(container);
    }
}

static void take_frames(struct container *container)
{
    size_t done = 0, used;
    struct frame frame;
    int r = 1;

    while (container->state < CONTAINER_ENDED) {
        r = frame_decode(container->frames.data + done, container->frames.len - done, &frame, &used,
                         &container->facts.error);
        if (r <= 0)
            break;
        done += used;
        take_frame(container, &frame);
    }
    buf_drop(&container->frames, done);
    if (r < 0)
        end(container);
}

static void on_stream_data(void *arg, const char *bytes, size_t len)
{
    struct container *container = arg;
    struct error err;
    int r;

    if (container->state >= CONTAINER_ENDED)
        return;
    r = demux_feed(&container->demux, bytes, len, &container->frames, &container->complaint, &err);
    if (container->frames.len)
        take_frames(container);
    if (r < 0 && container->state < CONTAINER_ENDED) {
        container->facts.error = err;
        end(container);
    }
}

/* What PID 1 said on its way out tells more than that it went. */
static void explain_end(struct container *container)
{
    size_t len;
    const char *line = text_last_line(container->complaint.data, container->complaint.len, &len);

    if (*container->facts.error.text)
        return;
    if (len)
        error_set(&container->facts.error, "the container ended by itself: %.*s", (int)len, line);
    else if (container->state == CONTAINER_STARTING)
        error_set(&container->facts.error, "the container ended before its supervisor said hello; "
                                           "did image or engine replace its command?");
    else
        error_set(&container->facts.error,
                  "the container ended by itself; was the engine stopped?");
}

static void on_stream_done(void *arg, const struct engine_reply *reply)
{
    struct container *container = arg;

    container->stream = NULL;
    /* The start's own answer, which is on its way, tells more. */
    if (container->state == CONTAINER_STARTING && container->request && reply->status == 101)
        return;
    if (reply->status == 200)
        error_set(&container->facts.error,
                  "the engine answered the attach with 200 in place of 101: a proxy in "
                  "between strips the upgrade; let it pass Connection and Upgrade");
    else if (reply->status != 101)
        error_set(&container->facts.error, "attach: %s", reply->error.text);
    else
        explain_end(container);
    end(container);
}

static int64_t hello_timeout(const struct container *container)
{
    return HELLO_TIMEOUT_MS + (container->profile->preload_count ? PRELOAD_TIMEOUT_MS : 0);
}

static void on_started(void *arg, const struct engine_reply *reply)
{
    struct container *container = arg;

    container->request = NULL;
    if (container->remove_wanted) {
        request_remove(container);
    } else if (reply->status != 204 && container->state < CONTAINER_ENDED) {
        error_set(&container->facts.error, "the container does not start: %s", reply->error.text);
        end(container);
    } else if (container->state == CONTAINER_STARTING && !container->stream) {
        explain_end(container);
        end(container);
    } else if (container->state == CONTAINER_STARTING) {
        container->deadline = clock_ms() + hello_timeout(container);
    }
}

static void on_attached(void *arg)
{
    static const struct engine_ops ops = {.done = on_started};
    struct container *container = arg;
    auto_free char *path = mem_printf("/containers/%s/start", container->facts.id);

    container->request =
        engine_send(container->engine, "POST", path, NULL, START_TIMEOUT_MS, &ops, container);
}

static void attach(struct container *container)
{
    static const struct engine_ops ops = {
        .opened = on_attached, .data = on_stream_data, .done = on_stream_done};
    auto_free char *path =
        mem_printf("/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1", container->facts.id);

    container->stream = engine_attach(container->engine, path, ATTACH_TIMEOUT_MS, &ops, container);
}

static void on_created(void *arg, const struct engine_reply *reply)
{
    struct container *container = arg;
    auto_json cJSON *json = json_parse(reply->body, reply->len, NULL);
    const char *id = json_get_text(json, "Id");

    container->request = NULL;
    container->facts.stray = reply->status == 0;
    if (reply->status == 201 && id && url_is_id(id) && strlen(id) < sizeof(container->facts.id)) {
        snprintf(container->facts.id, sizeof(container->facts.id), "%s", id);
        if (container->remove_wanted)
            request_remove(container);
        else
            attach(container);
        return;
    }
    if (container->remove_wanted) {
        container->state = CONTAINER_GONE;
        return;
    }
    if (reply->status == 409 && ++container->name_tries < NAME_TRIES) {
        container->instance.uid = container->instance.uid == LIMIT_UID_LAST
                                      ? LIMIT_UID_FIRST
                                      : container->instance.uid + 1;
        create(container);
        return;
    }
    container->facts.image_missing = reply->status == 404;
    error_set(&container->facts.error, "no container: %s",
              reply->status == 201 ? "the engine sent no id" : reply->error.text);
    end(container);
}

static void create(struct container *container)
{
    static const struct engine_ops ops = {.done = on_created};
    auto_free char *body = spec_body(container->profile, &container->instance);
    char name[SPEC_NAME_MAX];
    auto_free char *path = NULL;

    spec_name(container->instance.uid, name);
    path = mem_printf("/containers/create?name=%s", name);
    container->request =
        engine_send(container->engine, "POST", path, body, CREATE_TIMEOUT_MS, &ops, container);
}

struct container *container_start(struct engine *engine, const struct spec_profile *profile,
                                  const struct spec_instance *instance)
{
    struct container *container = mem_alloc(sizeof(*container));

    container->engine = engine;
    container->profile = profile;
    container->instance = *instance;
    container->instance.image_id = container->image_id = mem_strdup(instance->image_id);
    container->instance.seccomp = container->seccomp = mem_strdup(instance->seccomp);
    container->instance.image_env = container->image_env =
        cJSON_Duplicate(instance->image_env, true);
    container->instance.image_volumes = container->image_volumes =
        cJSON_Duplicate(instance->image_volumes, true);
    container->deadline = CLOCK_NEVER;
    buf_init(&container->frames, STREAM_MAX);
    buf_init(&container->complaint, COMPLAINT_MAX);
    create(container);
    return container;
}

static void on_removed(void *arg, const struct engine_reply *reply)
{
    struct container *container = arg;

    container->request = NULL;
    if (reply->status == 404 || reply->status == 204) {
        container->state = CONTAINER_GONE;
    } else if (++container->remove_tries < (reply->status ? REMOVE_TRIES : LOST_TRIES)) {
        /* 409: the engine is removing it by itself. 0: the answer was lost. */
        container->deadline = clock_ms() + REMOVE_RETRY_MS;
    } else {
        container->facts.stray = true;
        if (reply->status)
            log_warn("container %.12s could not be removed: %s", container->facts.id,
                     reply->error.text);
        container->state = CONTAINER_GONE;
    }
}

static void request_remove(struct container *container)
{
    static const struct engine_ops ops = {.done = on_removed};
    auto_free char *path = mem_printf("/containers/%s?force=1&v=1", container->facts.id);

    container->request =
        engine_send(container->engine, "DELETE", path, NULL, REMOVE_TIMEOUT_MS, &ops, container);
}

void container_remove(struct container *container)
{
    if (container->state >= CONTAINER_REMOVING)
        return;
    engine_cancel(container->stream);
    container->stream = NULL;
    container->ops = NULL;
    container->remove_wanted = true;
    container->state = CONTAINER_REMOVING;
    container->deadline = CLOCK_NEVER;
    if (container->request)
        return; /* its answer comes first: a create cannot be taken back half-way */
    if (container->facts.id[0])
        request_remove(container);
    else
        container->state = CONTAINER_GONE;
}

void container_step(struct container *container)
{
    if (clock_ms() < container->deadline)
        return;
    container->deadline = CLOCK_NEVER;
    if (container->state == CONTAINER_STARTING) {
        error_set(&container->facts.error,
                  "the container's supervisor said no hello within %d s; did image or engine "
                  "replace its command?",
                  (int)(hello_timeout(container) / 1000));
        end(container);
    } else if (container->state == CONTAINER_REMOVING && !container->request) {
        request_remove(container);
    }
}

int64_t container_deadline(const struct container *container)
{
    return container->deadline;
}

void container_free(struct container *container)
{
    engine_cancel(container->request);
    engine_cancel(container->stream);
    buf_done(&container->frames);
    buf_done(&container->complaint);
    free(container->image_id);
    free(container->seccomp);
    cJSON_Delete(container->image_env);
    cJSON_Delete(container->image_volumes);
    cJSON_Delete(container->facts.walls);
    free(container->facts.modules);
    free(container);
}

const struct container_facts *container_facts(const struct container *container)
{
    return &container->facts;
}

enum container_state container_state(const struct container *container)
{
    return container->state;
}

void container_lend(struct container *container, const struct container_ops *ops, void *arg)
{
    container->state = CONTAINER_BUSY;
    container->ops = ops;
    container->arg = arg;
}

int container_write(struct container *container, const char *bytes, size_t len, size_t max_pending)
{
    if (!container->stream)
        return -1;
    return engine_write(container->stream, bytes, len, max_pending);
}

size_t container_pending(const struct container *container)
{
    return container->stream ? engine_pending(container->stream) : 0;
}

void container_hold(struct container *container, bool hold)
{
    if (container->stream)
        engine_hold(container->stream, hold);
}

void container_note_oom(struct container *container)
{
    container->facts.had_oom = true;
}
