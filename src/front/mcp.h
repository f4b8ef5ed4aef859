/* The methods of the Model Context Protocol. Every message is taken on its own: what an earlier one
 * said changes no answer, except that the name in initialize decides whether later results of the
 * same peer have a structured copy. Does no I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct calls;
struct front_options;
struct peer;

struct mcp {
    const struct front_options *options;
    struct calls *calls;
};

/* Takes one JSON text from the peer. Answers through peer->send, at once or when the call ends;
 * false where nothing is to be answered, not now and not later. */
bool mcp_take(const struct mcp *mcp, struct peer *peer, const char *text, size_t len, int64_t now);

/* Answers a message that was too long to be read. */
void mcp_refuse_long(struct peer *peer, size_t max);
