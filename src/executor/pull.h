/* Pulls one image, with its progress. */
#pragma once

#include <stdint.h>

struct engine;
struct error;
struct pull;

/* Starts. done is called once, with err NULL when the engine reports the end without an error;
 * pull_free may be called from it. The whole takes at most timeout_ms, and at most two minutes pass
 * without a byte. */
struct pull *pull_start(struct engine *engine, const char *reference, int64_t timeout_ms,
                        void (*done)(void *arg, const struct error *err), void *arg);

/* Ends the pull where it is under way. NULL is fine. */
void pull_free(struct pull *pull);

/* Per cent (0 to 99) of the bytes that the engine has announced so far. */
uint32_t pull_percent(const struct pull *pull);
