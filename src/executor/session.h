/* The link to one engine: finds it, negotiates the API version, watches its events, and comes back
 * by itself when the engine went away. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct about;
struct endpoint;
struct engine;
struct session;

/* Oldest and newest API version that this client speaks; the engine's own range must meet it. */
#define SESSION_API_MIN 140 /* 1.40, Engine 19.03 */
#define SESSION_API_MAX 151 /* 1.51 */

struct session_ops {
    void (*up)(void *arg);                  /* the engine answers */
    void (*down)(void *arg);                /* it does no longer */
    void (*oom)(void *arg, const char *id); /* the kernel killed a process of this container */
};

/* The endpoint is borrowed, and is the one of the engine. Ops are called from session_step() and
 * engine_step(). */
struct session *session_new(struct engine *engine, struct endpoint *endpoint,
                            const struct session_ops *ops, void *arg);
void session_free(struct session *session);

/* Tries to connect where that is due. session_deadline() is when it wants to be called next. */
void session_step(struct session *session);
int64_t session_deadline(const struct session *session);

/* Makes the next try due at once. */
void session_hurry(struct session *session);

bool session_is_up(const struct session *session);

/* Whether a try is under way, or has not been made since the start or since session_hurry(). */
bool session_is_trying(const struct session *session);

/* Down: why, in words. */
const char *session_reason(const struct session *session);

/* Up: facts of the engine. */
const char *session_version(const struct session *session); /* "20.10.24" */
const char *session_api(const struct session *session);     /* "1.41" */
const char *session_arch(const struct session *session);    /* "amd64" */
int64_t session_memory(const struct session *session);      /* bytes of the engine's host */
int64_t session_skew(const struct session *session); /* seconds that its clock is ahead of ours */
const struct about *session_about(const struct session *session);
