/* What a profile has in the file beside settings, for config_profile.c alone. */
#pragma once

#include <cjson/cJSON.h>

struct config_profile;
struct error;

/* The keys, as they end a list. */
#define CONFIG_GRANTS_KEYS "description, exec, runtime, preload, gpus, data"

/* Takes one member. 0; 1 where its key is none of these; -1 with err, which names the member. */
int config_grants_set(struct config_profile *profile, const cJSON *member, struct error *err);

/* Frees what config_grants_set() made. */
void config_grants_done(struct config_profile *profile);
