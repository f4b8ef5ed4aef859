/* Streamable HTTP: libmicrohttpd in the one thread of the front. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "front/gate.h"

struct error;
struct http;
struct mcp;
struct metrics;
struct pollfd;

struct http_options {
    const int *listeners; /* bound, listening, non-blocking; borrowed */
    size_t listener_count;
    size_t connections_max;
    struct gate_options gate;
};

/* Borrows mcp and metrics. NULL where the library does not start. */
struct http *http_new(const struct http_options *options, const struct mcp *mcp,
                      struct metrics *metrics, struct error *err);

/* Ends all connections; their calls are cancelled. */
void http_free(struct http *http);

/* The most descriptors that http_watch() puts into fds; it returns how many it did. */
size_t http_watch_max(const struct http *http);
size_t http_watch(struct http *http, struct pollfd *fds);

/* Reads, answers and writes as far as that goes now; fds are those of the last http_watch(). */
void http_step(struct http *http, const struct pollfd *fds);

/* When http_step() is to be called although nothing came. */
int64_t http_due(const struct http *http);

/* Takes no more connections. */
void http_close(struct http *http);

/* Whether no request is being read or answered. */
bool http_is_idle(const struct http *http);
