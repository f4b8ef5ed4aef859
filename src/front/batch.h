/* Batches of messages, which revision 2025-03-26 has: an array comes in, and one array of answers
 * goes out when the last of them is there. Does no I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mcp;
struct peer;

/* Most messages of a batch; fewer where the ceiling of a reply has no room for as many answers. */
#define BATCH_MAX 50

/* Whether a text is an array. */
bool batch_is(const char *text, size_t len);

/* Takes an array, as mcp_take() takes one message. */
bool batch_take(const struct mcp *mcp, struct peer *peer, const char *text, size_t len,
                int64_t now);
