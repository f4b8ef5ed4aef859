/* The profiles of the settings, for config.c alone. */
#pragma once

#include <cjson/cJSON.h>

struct config;
struct config_profile;
struct error;

/* Makes the profiles of config, whose other settings are complete, from the object that the file
 * has (NULL: one profile named "default"), and finds the default one. flags: those given, one for
 * each setting, which the default profile takes too; or NULL. -1 with err, which names where the
 * fault is; config_profiles_done() ends what was made in both cases. */
int config_profiles_make(struct config *config, const cJSON *profiles, const char *const *flags,
                         struct error *err);
void config_profiles_done(struct config *config);

/* What the front needs to know of the profiles, as config_profiles_make() takes it. The caller
 * frees. */
char *config_profiles_print(const struct config *config);
