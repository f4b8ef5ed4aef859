/* The Docker CLI's contexts, as its configuration folder holds them. */
#pragma once

#include <stdbool.h>

struct error;

struct context {
    char *from;    /* "Docker context 'name'" */
    char *host;    /* as in DOCKER_HOST */
    char *certs;   /* the folder of its certificates; NULL where it has none */
    bool trusting; /* it is set to take whoever answers for the engine */
};

/* Finds the context that is in use: name (NULL: the one in config.json) below folder, which is
 * ~/.docker as a rule. 1: *ret. 0: none, or the default one. -1: one that is not there. */
int context_find(const char *folder, const char *name, struct context *ret, struct error *err);
void context_done(struct context *context);
