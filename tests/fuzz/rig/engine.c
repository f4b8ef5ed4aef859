/* In place of executor/engine.c: no sockets, and what it is asked for is checked. */
#include "executor/engine.h"

#include <string.h>

#include "../../unit/profile_sample.h"
#include "base/limits.h"
#include "base/mem.h"
#include "rig.h"

#define CREATE "/containers/create?name=python-sandbox-"

struct engine {
    LIST_HEAD(, engine_call) calls;
    unsigned last; /* number of a call */
    unsigned turn;
};

static void check_body(const char *path, const char *json)
{
    struct spec_instance instance = {.image_id = RIG_IMAGE, .seccomp = "{}", .owner = "rig"};
    auto_free char *expected = NULL;
    char name[SPEC_NAME_MAX];

    rig.uid = instance.uid = strtol(path + strlen(CREATE), NULL, 10);
    MUST(instance.uid >= LIMIT_UID_FIRST && instance.uid <= LIMIT_UID_LAST);
    spec_name(instance.uid, name);
    MUST(strcmp(path + strlen("/containers/create?name="), name) == 0);
    expected = spec_body(&profile, &instance);
    MUST(rig.any_image || strcmp(json, expected) == 0);
}

static void check_call(const char *method, const char *path, const char *json)
{
    static const char *const gets[] = {"/version", "/info",
                                       "/events?filters=", "/containers/json?all=1", "/images/"};

    if (strcmp(method, "GET") == 0) {
        for (size_t i = 0; i < sizeof(gets) / sizeof(gets[0]); i++)
            if (strncmp(path, gets[i], strlen(gets[i])) == 0)
                return;
    }
    if (strcmp(method, "POST") == 0 && strncmp(path, CREATE, strlen(CREATE)) == 0) {
        check_body(path, json);
        return;
    }
    MUST(!json);
    if (strcmp(method, "POST") == 0 && strncmp(path, "/images/create?fromImage=", 25) == 0)
        return;
    MUST(strncmp(path, "/containers/", 12) == 0);
    if (strcmp(method, "DELETE") == 0)
        MUST(strstr(path, "?force=1&v=1"));
    else
        MUST(strcmp(method, "POST") == 0 && (strstr(path, "/start") || strstr(path, "/attach?")));
}

struct engine *engine_new(const struct endpoint *endpoint, struct error *err)
{
    struct engine *engine = mem_alloc(sizeof(*engine));

    (void)endpoint;
    (void)err;
    LIST_INIT(&engine->calls);
    return engine;
}

void engine_cancel(struct engine_call *call)
{
    if (!call)
        return;
    LIST_REMOVE(call, entry);
    buf_done(&call->down);
    free(call->method);
    free(call->path);
    free(call);
}

void engine_free(struct engine *engine)
{
    if (!engine)
        return;
    while (!LIST_EMPTY(&engine->calls))
        engine_cancel(LIST_FIRST(&engine->calls));
    free(engine);
}

void engine_speak(struct engine *engine, const char *api_version)
{
    (void)engine;
    (void)api_version;
}

int64_t engine_peer_until(const struct engine *engine)
{
    (void)engine;
    return 0;
}

struct engine_call *engine_send(struct engine *engine, const char *method, const char *path,
                                const char *json, int64_t timeout_ms, const struct engine_ops *ops,
                                void *arg)
{
    struct engine_call *call = mem_alloc(sizeof(*call));

    (void)timeout_ms;
    check_call(method, path, json);
    call->number = ++engine->last;
    call->turn = engine->turn; /* its first is the next */
    call->method = mem_strdup(method);
    call->path = mem_strdup(path);
    call->ops = ops;
    call->arg = arg;
    call->uid = rig.uid;
    buf_init(&call->down, RIG_BUFFER);
    LIST_INSERT_HEAD(&engine->calls, call, entry);
    return call;
}

struct engine_call *engine_attach(struct engine *engine, const char *path, int64_t timeout_ms,
                                  const struct engine_ops *ops, void *arg)
{
    struct engine_call *call = engine_send(engine, "POST", path, NULL, timeout_ms, ops, arg);

    call->attached = true;
    return call;
}

int engine_write(struct engine_call *call, const char *bytes, size_t len, size_t max_pending)
{
    MUST(call->open);
    return len > max_pending ? -1 : buf_add(&call->down, bytes, len);
}

size_t engine_pending(const struct engine_call *call)
{
    (void)call;
    return 0;
}

void engine_hold(struct engine_call *call, bool hold)
{
    call->held = hold;
}

void rig_end(struct engine_call *call, long status, const char *body)
{
    const struct engine_ops *ops = call->ops;
    void *arg = call->arg;
    struct engine_reply reply = {.status = status, .body = body ? body : ""};

    reply.len = ops->data ? 0 : strlen(reply.body);
    if (status == 0 || status >= 400)
        error_set(&reply.error, "HTTP %ld: %.100s", status, reply.body);
    engine_cancel(call);
    ops->done(arg, &reply);
}

static void look(struct engine_call *call)
{
    auto_free char *body = NULL;
    long status;

    if (call->open) {
        rig_speak(call);
        return;
    }
    status = rig_answer(call, &body);
    if (status == 0)
        return;
    if (call->attached && status == 101) {
        call->open = true;
        call->ops->opened(call->arg);
        return;
    }
    rig_end(call, status < 0 ? 0 : status, body);
}

void engine_step(struct engine *engine)
{
    struct engine_call *call = LIST_FIRST(&engine->calls);

    engine->turn++;
    while (call) {
        if (call->turn == engine->turn || call->number > engine->last) {
            call = LIST_NEXT(call, entry);
            continue;
        }
        call->turn = engine->turn;
        look(call);
        call = LIST_FIRST(&engine->calls); /* the list may be another by now */
    }
}

void engine_wait(struct engine *engine, struct curl_waitfd *extra, unsigned count, int timeout_ms)
{
    (void)engine;
    (void)extra;
    (void)count;
    (void)timeout_ms;
}
