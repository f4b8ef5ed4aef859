/* The front's process, in its two forms. */
#pragma once

#include "base/limits.h"
#include "front/options.h"

#include <stddef.h>

struct config;

/* Settings as the front wants them; borrows the config's strings. */
struct front_settings {
    struct front_options options;
    struct front_profile profiles[LIMIT_PROFILES_MAX];
};
void front_settings_init(struct front_settings *settings, const struct config *config,
                         const struct known *known);

/* The longest message that is accepted. */
size_t front_message_max(const struct front_options *options);

/* The most bytes of one call that go on to the executor. */
size_t front_run_max(const struct front_options *options);

/* Serves HTTP until the executor ends. The exit status. */
int front_serve_http(const struct config *config);
