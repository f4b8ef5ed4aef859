/* The tools that the official conformance suite calls, in builds for it only
 * (make FLAVOUR=fixtures). They run nothing. */
#pragma once

#include <stdbool.h>

struct buf;
struct request;

#ifdef CONFORMANCE_FIXTURES

/* Appends the tools to tools/list, behind others. */
void fixture_put(struct buf *out);

/* Answers a call of one of them; false where there is none of this name. */
bool fixture_call(const struct request *request, const char *name);

#else

static inline void fixture_put(struct buf *out)
{
    (void)out;
}

static inline bool fixture_call(const struct request *request, const char *name)
{
    (void)request;
    (void)name;
    return false;
}

#endif
