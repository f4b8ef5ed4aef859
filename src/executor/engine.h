/* HTTP to the Docker Engine: many calls at once on one curl multi handle.
 * Callbacks of ops run inside engine_step() only, never inside curl, and may start and cancel
 * calls. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct curl_waitfd;
struct endpoint;
struct engine;
struct engine_call;

/* Ceiling of a collected reply body, in bytes. */
#define ENGINE_BODY_MAX (8 * 1024 * 1024)

struct engine_reply {
    long status; /* HTTP status; 0 where the engine did not answer */
    const char
        *body; /* NUL-terminated; empty for calls with a data op; holds during the callback */
    size_t len;
    struct error error; /* in one line, where status is 0 or >= 400; else empty */
};

struct engine_ops {
    void (*opened)(void *arg);                              /* attach only: bytes may flow */
    void (*data)(void *arg, const char *bytes, size_t len); /* body as it comes; NULL: collect it */
    void (*done)(void *arg, const struct engine_reply *reply); /* exactly once unless cancelled */
};

/* NULL with err only where libcurl cannot be loaded, initialised, or made to do what the endpoint
 * needs. The endpoint is borrowed, and must have been found before a call is started. */
struct engine *engine_new(const struct endpoint *endpoint, struct error *err);

/* Cancels what is under way, without callbacks. */
void engine_free(struct engine *engine);

/* Sets the API version of later calls, such as "1.41"; NULL: none in the URL. */
void engine_speak(struct engine *engine, const char *api_version);

/* When the certificate ends that the engine showed last, in seconds since 1970; 0 where it showed
 * none. */
int64_t engine_peer_until(const struct engine *engine);

/* Starts a call. path begins with '/', percent-encoded by the caller; json may be NULL (both are
 * copied). timeout_ms bounds the whole call, and then at most two minutes pass without a byte; 0
 * means no bound. The call is valid until done or engine_cancel. */
struct engine_call *engine_send(struct engine *engine, const char *method, const char *path,
                                const char *json, int64_t timeout_ms, const struct engine_ops *ops,
                                void *arg);

/* Starts a hijacked attach (POST path, upgraded to a raw stream). timeout_ms bounds the time to
 * `opened`. The stream's end is `done` with status 101; anything else is a refusal. */
struct engine_call *engine_attach(struct engine *engine, const char *path, int64_t timeout_ms,
                                  const struct engine_ops *ops, void *arg);

/* Queues bytes for an attached stream; -1 where more than max_pending bytes would wait. */
int engine_write(struct engine_call *call, const char *bytes, size_t len, size_t max_pending);

/* Bytes that wait to be written. */
size_t engine_pending(const struct engine_call *call);

/* Keeps what comes from the data op and, after about a megabyte, stops reading; or goes on. Also to
 * be called from the data op itself. */
void engine_hold(struct engine_call *call, bool hold);

/* Ends a call and its connection at once; no callback follows. NULL is fine. */
void engine_cancel(struct engine_call *call);

/* Lets curl work, then runs the callbacks of what happened. */
void engine_step(struct engine *engine);

/* Waits up to timeout_ms for the engine's sockets, or for extra[0..count). */
void engine_wait(struct engine *engine, struct curl_waitfd *extra, unsigned count, int timeout_ms);
