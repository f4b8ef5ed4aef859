/* To be preloaded: the clock is asked by system calls in place of the vDSO, as on machines whose
 * clock the vDSO cannot read; and likewise in the front, whose environment is empty. */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define PRELOAD "LD_PRELOAD="

int clock_gettime(clockid_t clock, struct timespec *ret)
{
    unsigned cpu;

    (void)syscall(SYS_getcpu, &cpu, NULL, NULL);
    return (int)syscall(SYS_clock_gettime, clock, ret);
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
    return (int)syscall(SYS_gettimeofday, ret, zone);
}

time_t time(time_t *ret)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
#ifdef SYS_time
    now.tv_sec = syscall(SYS_time, NULL);
#endif
    if (ret)
        *ret = now.tv_sec;
    return now.tv_sec;
}

int execve(const char *path, char *const argv[], char *const environment[])
{
    static char text[4096] = PRELOAD;
    char *preloaded[] = {text, NULL};
    const char *own = getenv("LD_PRELOAD");

    if (argv[0] && argv[1] && strcmp(argv[1], "front") == 0 && own)
        strncpy(text + strlen(PRELOAD), own, sizeof(text) - sizeof(PRELOAD));
    else
        return (int)syscall(SYS_execve, path, argv, environment);
    return (int)syscall(SYS_execve, path, argv, preloaded);
}
