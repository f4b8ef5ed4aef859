#include "signals.h"

#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

int signals_open(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    (void)signal(SIGPIPE, SIG_IGN);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -1;
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void signals_reset(void)
{
    sigset_t set;

    sigemptyset(&set);
    (void)sigprocmask(SIG_SETMASK, &set, NULL);
}

int signals_take(int fd)
{
    struct signalfd_siginfo info;
    int first = 0;

    while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (!first && info.ssi_signo != SIGCHLD)
            first = (int)info.ssi_signo;
    }
    return first;
}
