#include "front/options.h"

struct front_options options_of_profile(const struct front_options *options, size_t profile)
{
    struct front_options own = *options;

    if (profile < options->profile_count) {
        const struct front_profile *limits = &options->profiles[profile];

        own.timeout_ms = limits->timeout_ms;
        own.timeout_max_ms = limits->timeout_max_ms;
        own.memory = limits->memory;
        own.workspace = limits->workspace;
        own.tmp = limits->tmp;
        own.cpus_milli = limits->cpus_milli;
        own.pids = limits->pids;
    }
    return own;
}
