/* Settings as the executor wants them. */
#pragma once

#include <stdbool.h>

struct config;
struct config_arguments;
struct config_verb;
struct error;
struct executor_options;

/* config_load() for verbs that start containers: the folders that profiles grant are resolved. */
int options_load(struct config *config, int argc, char **argv, bool stop_at_first,
                 const char *usage, const char *doc, struct config_arguments *ret_rest,
                 struct error *err);

/* The same as config_load_verb(). */
int options_load_verb(struct config *config, int argc, char **argv, const struct config_verb *verb,
                      struct config_arguments *ret_rest, struct error *err);

/* The strings of ret are borrowed from config and owner; the endpoint is left to the caller. */
void options_executor(const struct config *config, const char *owner, struct executor_options *ret);
