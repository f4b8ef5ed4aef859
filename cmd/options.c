#include "options.h"

#include <stdlib.h>

#include "config.h"
#include "executor/executor.h"
#include "folders.h"

int options_load(struct config *config, int argc, char **argv, bool stop_at_first,
                 const char *usage, const char *doc, struct config_arguments *ret_rest,
                 struct error *err)
{
    const struct config_verb verb = {.usage = usage, .doc = doc, .stop_at_first = stop_at_first};

    return options_load_verb(config, argc, argv, &verb, ret_rest, err);
}

int options_load_verb(struct config *config, int argc, char **argv, const struct config_verb *verb,
                      struct config_arguments *ret_rest, struct error *err)
{
    if (config_load_verb(config, argc, argv, verb, ret_rest, err) < 0)
        return -1;
    if (folders_resolve(config, err) < 0) {
        free(ret_rest->rest);
        free(ret_rest->given);
        config_done(config);
        return -1;
    }
    return 0;
}

static void set_profile(const struct config *config, const struct config_profile *profile,
                        struct executor_profile *ret)
{
    *ret = (struct executor_profile){
        .name = profile->name,
        .image =
            {
                .reference = profile->image,
                .pull = config->pull,
                .pull_timeout_ms = config->pull_timeout_s * 1000,
            },
        .spec =
            {
                .memory = profile->memory,
                .cpus_milli = profile->cpus_milli,
                .pids = profile->pids,
                .workspace = profile->workspace,
                .tmp = profile->tmp,
                .shm = profile->shm,
                .exec = profile->exec,
                .runtime = profile->runtime,
                .preload = (const char *const *)profile->preload,
                .preload_count = profile->preload_count,
                .gpus = profile->gpus,
                .data = profile->data,
                .data_count = profile->data_count,
            },
        .warm = profile->warm,
        .timeout_max_ms = profile->timeout_max_s * 1000,
    };
}

void options_executor(const struct config *config, const char *owner, struct executor_options *ret)
{
    *ret = (struct executor_options){
        .owner = owner,
        .profile_count = config->profile_count,
        .max_running = config->max_running,
        .memory_budget = config->memory_budget,
        .queue = config->queue,
        .queue_timeout_ms = config->queue_timeout_s * 1000,
    };
    for (size_t i = 0; i < config->profile_count; i++)
        set_profile(config, &config->profiles[i], &ret->profiles[i]);
}
