/* Time. */
#pragma once

#include <stdint.h>

/* Milliseconds of the monotonic clock. */
int64_t clock_ms(void);

/* "No deadline", for functions that report the nearest one. */
#define CLOCK_NEVER INT64_MAX

/* The earlier of two. */
int64_t clock_earlier(int64_t a, int64_t b);

/* Milliseconds from now until deadline as a poll timeout: 0 where it has passed, at most max. */
int clock_timeout(int64_t deadline, int max);
