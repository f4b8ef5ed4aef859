/* The JSON file of settings, for the other files of config. */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

struct config;
struct error;
struct setting;

/* Applies the file's settings to config; its "profiles" go to *ret_profiles as they are, for the
 * caller to free. A file that does not exist is fine unless it is required. -1 with err, which
 * names the file; config may be partly changed then. */
int config_file_apply(struct config *config, const char *path, bool required, cJSON **ret_profiles,
                      struct error *err);

/* Applies the value of one member. -1 with err, which names the member. */
int config_file_set(struct config *config, const struct setting *setting, const cJSON *member,
                    struct error *err);

/* The setting of a key; NULL where there is none. */
const struct setting *config_file_find(const char *key);
