#include "executor/engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "executor/endpoint.h"
#include "executor/engine_call.h"
#include "executor/fault.h"
#include "executor/transport.h"

struct engine *engine_new(const struct endpoint *endpoint, struct error *err)
{
    struct curl_api curl;
    struct engine *engine;
    CURLM *multi;

    if (curl_api_load(&curl, err) < 0 || transport_start(&curl, endpoint, err) < 0)
        return NULL;
    multi = curl.multi_init();
    if (!multi) {
        error_set(err, "libcurl cannot be initialised");
        return NULL;
    }
    engine = mem_alloc(sizeof(*engine));
    engine->curl = curl;
    engine->multi = multi;
    engine->endpoint = endpoint;
    LIST_INIT(&engine->calls);
    return engine;
}

void engine_free(struct engine *engine)
{
    while (!LIST_EMPTY(&engine->calls))
        engine_call_free(LIST_FIRST(&engine->calls));
    engine->curl.multi_cleanup(engine->multi);
    engine->curl.global_cleanup();
    free(engine->api_version);
    free(engine);
}

void engine_speak(struct engine *engine, const char *api_version)
{
    free(engine->api_version);
    engine->api_version = api_version ? mem_strdup(api_version) : NULL;
}

/* libcurl does not end a transfer whose upload is paused, whatever the other side does. */
static bool was_closed(const struct engine_call *call)
{
    return call->send_paused && !call->receive_paused && !call->finished &&
           fd_is_over(engine_call_socket(call));
}

static void call_start(struct engine_call *call)
{
    const struct curl_api *curl = &call->engine->curl;

    curl->easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
    call->finished = curl->multi_add_handle(call->engine->multi, call->easy) != CURLM_OK;
    call->result = CURLE_FAILED_INIT;
}

struct engine_call *engine_send(struct engine *engine, const char *method, const char *path,
                                const char *json, int64_t timeout_ms, const struct engine_ops *ops,
                                void *arg)
{
    const struct curl_api *curl = &engine->curl;
    struct engine_call *call = engine_call_new(engine, method, path, timeout_ms, ops, arg);

    engine_call_add_header(call, "Expect:");
    if (strcmp(method, "POST") == 0) {
        /* On a connection that breaks as it is used again, libcurl would send a request twice. */
        curl->easy_setopt(call->easy, CURLOPT_FRESH_CONNECT, 1L);
        engine_call_add_header(call, "Content-Type: application/json");
        curl->easy_setopt(call->easy, CURLOPT_POSTFIELDSIZE, json ? (long)strlen(json) : 0L);
        curl->easy_setopt(call->easy, CURLOPT_COPYPOSTFIELDS, json ? json : "");
    }
    call_start(call);
    return call;
}

struct engine_call *engine_attach(struct engine *engine, const char *path, int64_t timeout_ms,
                                  const struct engine_ops *ops, void *arg)
{
    struct engine_call *call = engine_call_new(engine, "POST", path, 0, ops, arg);

    engine_call_upgrade(call);
    call->open_deadline = clock_ms() + timeout_ms;
    call_start(call);
    return call;
}

static void resume(struct engine_call *call)
{
    call->send_paused = call->receive_paused = false;
    call->engine->curl.easy_pause(call->easy, CURLPAUSE_CONT);
}

int engine_write(struct engine_call *call, const char *bytes, size_t len, size_t max_pending)
{
    if (call->out.len + len > max_pending || buf_add(&call->out, bytes, len) < 0)
        return -1;
    if (call->send_paused && call->switched && !call->finished)
        resume(call);
    return 0;
}

size_t engine_pending(const struct engine_call *call)
{
    return call->out.len;
}

void engine_hold(struct engine_call *call, bool hold)
{
    call->hold = hold;
}

void engine_cancel(struct engine_call *call)
{
    if (!call || call->dead)
        return;
    call->dead = true;
    if (call->easy) {
        call->engine->curl.multi_remove_handle(call->engine->multi, call->easy);
        call->engine->curl.easy_cleanup(call->easy);
        call->easy = NULL;
    }
}

static void finish(struct engine_call *call)
{
    struct engine_reply reply = {.body = call->in.data ? call->in.data : "", .len = call->in.len};

    /* A stream that broke after it was opened has simply ended; a reply that broke is no reply. */
    reply.status = call->result == CURLE_OK || call->switched ? call->status : 0;
    if (reply.status == 0)
        transport_explain(&call->engine->curl, call->engine->endpoint, call->easy, call->result,
                          call->curl_text, &reply.error);
    else if (reply.status >= 400)
        fault_text(reply.status, reply.body, reply.len, &reply.error);
    call->dead = true;
    call->ops->done(call->arg, &reply);
}

/* Hands over what came, unless the owner has had enough. */
static void deliver(struct engine_call *call)
{
    size_t len = call->in.len;

    if (len && !call->hold && engine_call_is_stream(call)) {
        call->ops->data(call->arg, call->in.data, len);
        if (!call->dead)
            buf_drop(&call->in, len);
    }
    if (!call->dead && !call->finished && call->receive_paused && call->in.len < ENGINE_CALL_WINDOW)
        resume(call);
}

static void act(struct engine_call *call)
{
    if (call->switched && !call->opened) {
        call->opened = true;
        call->open_deadline = CLOCK_NEVER;
        call->ops->opened(call->arg);
    }
    if (!call->dead)
        deliver(call);
    if (call->dead)
        return;
    if (engine_call_is_refused(call) && call->send_paused && !call->finished)
        resume(call);
    if (was_closed(call)) {
        call->finished = true;
        call->result = call->status ? CURLE_OK : CURLE_GOT_NOTHING;
    } else if (!call->finished && clock_ms() >= call->open_deadline) {
        call->finished = true;
        call->result = CURLE_OPERATION_TIMEDOUT;
    } else if (call->stirred && call->send_paused && !call->finished) {
        resume(call);
    }
    call->stirred = false;
    if (call->finished && (!call->hold || call->in.len == 0))
        finish(call);
}

void engine_step(struct engine *engine)
{
    const struct curl_api *curl = &engine->curl;
    struct engine_call *call, *next;
    CURLMsg *message;
    int running, left;
    int64_t until;

    curl->multi_perform(engine->multi, &running);
    while ((message = curl->multi_info_read(engine->multi, &left))) {
        curl->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
        call->result = message->data.result;
        curl->easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &call->status);
        call->finished = true;
        until = transport_peer_until(curl, call->easy);
        if (until)
            engine->peer_until = until;
    }
    LIST_FOREACH(call, &engine->calls, link)
    {
        if (!call->dead)
            act(call);
    }
    for (call = LIST_FIRST(&engine->calls); call; call = next) {
        next = LIST_NEXT(call, link);
        if (call->dead)
            engine_call_free(call);
    }
}

int64_t engine_peer_until(const struct engine *engine)
{
    return engine->peer_until;
}

static bool is_watched(const struct engine_call *call)
{
    return call->attach && endpoint_remote(call->engine->endpoint) && !call->receive_paused &&
           !call->finished && !call->dead && engine_call_socket(call) != CURL_SOCKET_BAD;
}

void engine_wait(struct engine *engine, struct curl_waitfd *extra, unsigned count, int timeout_ms)
{
    struct engine_call *call;
    int64_t deadline = CLOCK_NEVER;
    auto_free struct curl_waitfd *all = NULL;
    unsigned total = count;

    LIST_FOREACH(call, &engine->calls, link)
    {
        deadline = call->finished ? 0 : clock_earlier(deadline, call->open_deadline);
        total += is_watched(call);
    }
    all = mem_alloc((total + 1) * sizeof(*all));
    for (unsigned i = 0; i < count; i++)
        all[i] = extra[i];
    total = count;
    LIST_FOREACH(call, &engine->calls, link)
    {
        if (is_watched(call))
            all[total++] =
                (struct curl_waitfd){.fd = engine_call_socket(call), .events = CURL_WAIT_POLLIN};
    }
    engine->curl.multi_poll(engine->multi, all, total, clock_timeout(deadline, timeout_ms), NULL);
    for (unsigned i = 0; i < count; i++)
        extra[i] = all[i];
    total = count;
    LIST_FOREACH(call, &engine->calls, link)
    {
        if (is_watched(call))
            call->stirred = all[total++].revents != 0;
    }
}
