/* Server-sent events, as Streamable HTTP writes them. Pure. */
#pragma once

#include <stddef.h>

struct buf;

/* Each appends, -1 where out is full. json is one line. */
int sse_put_message(struct buf *out, const char *json, size_t len);

/* A comment, which clients skip: it keeps proxies and idle timers from cutting the stream. */
int sse_put_comment(struct buf *out);
