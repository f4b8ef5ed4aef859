#include "front/confine.h"

#include <time.h>

#include "base/confine.h"
#include "front/hostile.h"

/* Users of nobody else, below those of the containers. */
#define FRONT_UID 60598

int front_confine(struct error *err)
{
    /* Beyond what is common: connections that come to its listening sockets. */
    static const struct confine_call calls[] = {
        {"accept", 0, 0, 0},      {"accept4", 0, 0, 0},    {"epoll_ctl", 0, 0, 0},
        {"epoll_pwait", 0, 0, 0}, {"epoll_wait", 0, 0, 0},
    };

    tzset(); /* the C library opens the time zone's file once */
    if (confine_user(FRONT_UID, FRONT_UID, err) < 0)
        return -1;
    if (confine_calls(calls, sizeof(calls) / sizeof(calls[0]), err) < 0)
        return -1;
#ifdef HOSTILE_FRONT
    hostile_play();
#endif
    return 0;
}
