#include "executor/reaper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "executor/endpoint.h"
#include "executor/engine.h"
#include "executor/sweep.h"

/* A create that was under way when the server died may still succeed: look until nothing has come
 * for a while. */
#define REAP_MS   4500
#define PAUSE_MS  250
#define CALM_MS   1500
#define DISMISSED 'q'

struct reaper {
    int fd;
};

static bool is_ours(void *arg, const struct sweep_item *item)
{
    const char *mark = arg;

    return strcmp(item->owner, mark) == 0;
}

static int sweep_once(struct engine *engine, char *mark, int64_t deadline)
{
    struct sweep *sweep = sweep_start(engine, is_ours, mark);
    int count = -1;

    while (!sweep_is_over(sweep) && clock_ms() < deadline) {
        engine_wait(engine, NULL, 0, clock_timeout(deadline, PAUSE_MS));
        engine_step(engine);
    }
    if (sweep_is_over(sweep)) {
        count = sweep_count(sweep);
        sweep_free(sweep);
    }
    return count;
}

static void reap(struct endpoint *endpoint, char *mark)
{
    int64_t deadline = clock_ms() + REAP_MS, calm = clock_ms() + CALM_MS;
    struct engine *engine = endpoint_find(endpoint, NULL) == 0 ? engine_new(endpoint, NULL) : NULL;

    if (!engine)
        return;
    while (clock_ms() < calm && clock_ms() < deadline) {
        if (sweep_once(engine, mark, deadline) > 0)
            calm = clock_ms() + CALM_MS;
        engine_wait(engine, NULL, 0, PAUSE_MS);
    }
}

/* In the reaper. Only the server holds the other end of the pipe. */
static void wait_for_the_end(int fd, struct endpoint *endpoint, const char *owner)
{
    auto_free char *mark = mem_strdup(owner);
    char byte = 0;
    ssize_t n;

    (void)prctl(PR_SET_NAME, "sandbox-reaper");
    do
        n = read(fd, &byte, 1);
    while (n < 0 && errno == EINTR);
    if (n == 1 && byte == DISMISSED)
        return;
    reap(endpoint, mark);
}

/* Whoever reads what the server wrote must see its end when the server ends. */
static void keep_only(int pipe_fd)
{
    int null = open("/dev/null", O_RDWR);

    (void)dup2(null, STDIN_FILENO);
    (void)dup2(null, STDOUT_FILENO);
    (void)dup2(pipe_fd, STDERR_FILENO + 1);
    (void)close_range(STDERR_FILENO + 2, ~0U, 0);
}

static void keep_from_terminal(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT};

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        (void)signal(signals[i], SIG_IGN);
    (void)setsid();
}

struct reaper *reaper_start(struct endpoint *endpoint, const char *owner, struct error *err)
{
    struct reaper *reaper;
    int pipe_fds[2];
    pid_t pid;

    if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
        error_set(err, "pipe: %s", strerror(errno));
        return NULL;
    }
    pid = fork();
    if (pid < 0) {
        error_set(err, "fork: %s", strerror(errno));
        close(pipe_fds[0]);
        close(pipe_fds[1]);
        return NULL;
    }
    if (pid == 0) {
        /* Forked twice, so that it is nobody's child: what kills the server's process tree spares
         * it. */
        keep_from_terminal();
        if (fork() == 0) {
            keep_only(pipe_fds[0]);
            wait_for_the_end(STDERR_FILENO + 1, endpoint, owner);
        }
        _exit(0);
    }
    close(pipe_fds[0]);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    reaper = mem_alloc(sizeof(*reaper));
    reaper->fd = pipe_fds[1];
    return reaper;
}

void reaper_dismiss(struct reaper *reaper)
{
    const char byte = DISMISSED;

    if (write(reaper->fd, &byte, 1) < 0)
        log_debug("the reaper is gone: %s", strerror(errno));
    close(reaper->fd);
    free(reaper);
}
