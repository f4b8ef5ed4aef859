/* A histogram of times, as Prometheus wants it. Pure. */
#pragma once

#include <stdint.h>

struct buf;

#define HISTOGRAM_BOUNDS 14

struct histogram {
    uint64_t counts[HISTOGRAM_BOUNDS + 1]; /* by upper bound; the last: above them all */
    int64_t sum_ms;
};

void histogram_add(struct histogram *histogram, int64_t ms);

/* Appends its lines; labels is "" or "name=\"value\",". */
void histogram_put(const struct histogram *histogram, struct buf *out, const char *name,
                   const char *labels);
