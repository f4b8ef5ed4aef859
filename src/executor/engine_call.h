/* One transfer to the engine: what libcurl calls back, and the bytes on their way. For engine.c
 * alone. */
#pragma once

#include "base/buf.h"
#include "executor/curl_api.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

/* A stream that nobody has taken more than this from is not read any further. */
#define ENGINE_CALL_WINDOW (1024 * 1024)

/* An address of either family is tried at a time; one socket is left once there is a connection. */
#define ENGINE_CALL_SOCKETS 2

struct endpoint;
struct engine_ops;

struct engine {
    struct curl_api curl;
    CURLM *multi;
    const struct endpoint *endpoint;
    char *api_version;
    int64_t peer_until; /* when the certificate ends that the engine showed last; 0: none */
    LIST_HEAD(, engine_call) calls;
};

struct engine_call {
    LIST_ENTRY(engine_call) link;
    struct engine *engine;
    const struct engine_ops *ops;
    void *arg;
    CURL *easy;
    struct curl_slist *headers, *route;
    struct buf in;  /* body, or bytes not yet handed to ops->data */
    struct buf out; /* attach: bytes not yet taken by curl */
    int64_t open_deadline;
    long status;
    curl_socket_t fds[ENGINE_CALL_SOCKETS]; /* that libcurl made for it, and has open */
    bool attach;
    bool switched;    /* the blank line after a 101 was seen */
    bool opened;      /* ops->opened was called */
    bool send_paused; /* curl waits for engine_write */
    bool receive_paused;
    /* There was something to read. It may have been TLS saying goodbye, which libcurl keeps to
     * itself until the upload is resumed, and after which it no longer watches for the connection's
     * end. */
    bool stirred;
    bool hold; /* the owner wants no more for now */
    bool finished;
    bool dead;
    CURLcode result;
    char curl_text[CURL_ERROR_SIZE];
};

/* A call that is not started: the request, without headers and a body. */
struct engine_call *engine_call_new(struct engine *engine, const char *method, const char *path,
                                    int64_t timeout_ms, const struct engine_ops *ops, void *arg);

/* Makes it an attach: it is upgraded, and sends what is in out. */
void engine_call_upgrade(struct engine_call *call);
void engine_call_add_header(struct engine_call *call, const char *header);
void engine_call_free(struct engine_call *call);

/* The socket of a connection that was made for this call. */
curl_socket_t engine_call_socket(const struct engine_call *call);

/* Whether the body goes to the data op; that of a refusal is collected. */
bool engine_call_is_stream(const struct engine_call *call);

/* An attach that the engine answers with anything but 101. */
bool engine_call_is_refused(const struct engine_call *call);
