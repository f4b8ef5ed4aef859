/* What a script left behind, as the executor tells of it: kept until the result is written. No more
 * is kept than the call asked for, so that the front never holds more than that times the calls
 * that run. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/artifact.h"

struct error;

struct artifacts_item {
    struct artifact artifact; /* its name is owned */
    struct buf bytes;         /* all of them where the reason is ARTIFACT_WHOLE, else none */
};

struct artifacts {
    struct artifact_limits limits;
    struct artifacts_item *items;
    size_t count;
    size_t room;   /* items allocated */
    uint64_t left; /* bytes of the last item that are still to come */
    uint64_t all;  /* bytes of all items, as announced */
    uint64_t rest; /* artifacts that have no names */
    bool at_least; /* rest is a least number */
};

void artifacts_init(struct artifacts *artifacts, const struct artifact_limits *limits);
void artifacts_done(struct artifacts *artifacts);

/* Each takes what the executor says; -1 where it says more than was asked for, or breaks off. */
int artifacts_add(struct artifacts *artifacts, const struct artifact *artifact, struct error *err);
int artifacts_add_bytes(struct artifacts *artifacts, const char *bytes, size_t len,
                        struct error *err);
int artifacts_add_rest(struct artifacts *artifacts, uint64_t count, bool at_least,
                       struct error *err);

/* Nothing more comes: what is incomplete counts as unreadable, and the hash of what came along is
 * that of the bytes that are here. */
void artifacts_settle(struct artifacts *artifacts);
