#include "local.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "config.h"
#include "executor/endpoint.h"
#include "executor/executor.h"
#include "executor/owner.h"
#include "executor/reaper.h"
#include "options.h"
#include "signals.h"

#define DRAIN_MS  5000
#define EXTRA_MAX 4

struct local {
    char owner[OWNER_TEXT_MAX];
    struct endpoint *endpoint;
    struct reaper *reaper;
    struct executor *executor;
    int signal_fd;
};

static int start(struct local *local, const struct config *config, enum local_profiles profiles,
                 int64_t warm, struct error *err)
{
    struct executor_options options;

    if (owner_self(local->owner, err) < 0)
        return -1;
    local->endpoint = endpoint_new(config->docker_host, config->docker_cert_path);
    local->reaper = reaper_start(local->endpoint, local->owner, err);
    if (!local->reaper)
        return -1;
    local->signal_fd = signals_open();
    if (local->signal_fd < 0)
        return error_set(err, "signalfd: %s", strerror(errno));
    options_executor(config, local->owner, &options);
    options.endpoint = local->endpoint;
    if (profiles == LOCAL_DEFAULT) {
        options.profiles[0] = options.profiles[config->profile_default];
        options.profile_count = 1;
    }
    for (size_t i = 0; i < options.profile_count; i++)
        options.profiles[i].warm = warm;
    options.queue_timeout_ms += config->pull_timeout_s * 1000;
    local->executor = executor_new(&options, err);
    if (!local->executor)
        return -1;
    return 0;
}

struct local *local_start(const struct config *config, enum local_profiles profiles, int64_t warm,
                          struct error *err)
{
    struct local *local = mem_alloc(sizeof(*local));

    local->signal_fd = -1;
    if (start(local, config, profiles, warm, err) == 0)
        return local;
    local_end(local);
    return NULL;
}

struct executor *local_executor(struct local *local)
{
    return local->executor;
}

int local_turn(struct local *local, struct curl_waitfd *extra, unsigned count, int timeout_ms)
{
    struct curl_waitfd all[EXTRA_MAX + 1] = {{.fd = local->signal_fd, .events = CURL_WAIT_POLLIN}};

    if (count)
        memcpy(all + 1, extra, count * sizeof(*extra));
    executor_wait(local->executor, all, count + 1, timeout_ms);
    if (count)
        memcpy(extra, all + 1, count * sizeof(*extra));
    executor_step(local->executor);
    return signals_take(local->signal_fd);
}

void local_end(struct local *local)
{
    int64_t deadline = clock_ms() + DRAIN_MS;
    bool empty = true;

    if (!local)
        return;
    if (local->executor) {
        executor_shutdown(local->executor);
        executor_step(local->executor);
        while (!executor_is_empty(local->executor) && clock_ms() < deadline)
            (void)local_turn(local, NULL, 0, clock_timeout(deadline, DRAIN_MS));
        empty = executor_is_empty(local->executor);
        executor_free(local->executor);
    }
    if (local->reaper && empty)
        reaper_dismiss(local->reaper);
    if (local->signal_fd >= 0)
        close(local->signal_fd);
    endpoint_free(local->endpoint);
    free(local);
}
