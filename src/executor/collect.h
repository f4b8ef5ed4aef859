/* What a container says of its artifacts, checked on its way to the front: the limits and the order
 * that sandbox/frame.h promises hold, whatever comes. */
#pragma once

#include "base/limits.h"
#include "wire/artifact.h"

#include <stdbool.h>
#include <stdint.h>

struct error;
struct frame;
struct run_ops;

struct collect {
    struct artifact_limits limits;
    uint32_t named;                             /* artifacts so far */
    uint64_t bytes;                             /* that come along, of all of them */
    uint64_t left;                              /* bytes of the last one that are still to come */
    bool files_began;                           /* no figure comes after a file */
    bool over;                                  /* R has come: no artifact comes after it */
    char name[3 * LIMIT_ARTIFACT_NAME_MAX + 1]; /* of the last one, fit to be shown */
};

void collect_init(struct collect *collect, const struct artifact_limits *limits);

/* Takes an A, a or R, and tells ops of it. -1 where it breaks a promise. */
int collect_take(struct collect *collect, const struct frame *frame, const struct run_ops *ops,
                 void *arg, struct error *err);

/* Whether every artifact that began is complete; -1 where bytes are missing. */
int collect_end(const struct collect *collect, struct error *err);
