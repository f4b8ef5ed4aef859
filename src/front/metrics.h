/* What the server counts, for /metrics and /readyz. It learns of the calls from what the executor
 * says of them. Does no I/O; no label holds anything that a client chose. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct front_options;
struct metrics;
struct wire_message;

/* Borrows the options. Of more calls at a time than they allow the times are not kept. */
struct metrics *metrics_new(const struct front_options *options);
void metrics_free(struct metrics *metrics);

/* A message from the executor. */
void metrics_message(struct metrics *metrics, const struct wire_message *message, int64_t now);

/* An HTTP request that was answered, with the bytes of both bodies. */
void metrics_request(struct metrics *metrics, unsigned status, uint64_t received, uint64_t sent);

/* What a call of the default profile that came now would lack, in static words; NULL: nothing. */
const char *metrics_lack(const struct metrics *metrics);

/* Appends ", without NAME, NAME": the other profiles that cannot be served at present; nothing
 * where all can. */
void metrics_put_closed(const struct metrics *metrics, struct buf *out);

/* Whether the executor has said that the server is being stopped. */
bool metrics_is_draining(const struct metrics *metrics);

/* Appends the text format 0.0.4. connections: of HTTP, open. */
void metrics_put(const struct metrics *metrics, struct buf *out, size_t connections);
