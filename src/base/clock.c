#include "base/clock.h"

#include <time.h>

int64_t clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t clock_earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int clock_timeout(int64_t deadline, int max)
{
    int64_t now = clock_ms();

    if (deadline <= now)
        return 0;
    return deadline - now < max ? (int)(deadline - now) : max;
}
