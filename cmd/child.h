/* Starts the front: the program itself once more, with its descriptors and nothing else. */
#pragma once

#include <sys/types.h>

struct bearer;
struct config;
struct error;
struct listen;

/* The front's descriptors: the executor; over HTTP the digests of the tokens and then the
 * listeners, up to the first that is none. */
#define CHILD_EXECUTOR_FD 3
#define CHILD_TOKENS_FD   4
#define CHILD_LISTEN_FD   5

/* Returns this side's end of the socketpair, or -1. listen and bearer are NULL over stdio. */
int child_start(const struct config *config, const struct listen *listen,
                const struct bearer *bearer, pid_t *ret_pid, struct error *err);
