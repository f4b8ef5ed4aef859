/* Containers that no server owns any more, or that this one has lost sight of: looks for them for
 * as long as there may be some, and has them removed. What a living server owns is never touched.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct fleet;
struct strays;

/* A container whose owner is unsure (owner.h) is removed when it does not run and is older than
 * this: longer than a server takes from creating one to starting it. One that runs ends by itself
 * when its server does. */
#define STRAYS_UNSURE_S 180

/* owner: of this process. All are borrowed. */
struct strays *strays_new(struct engine *engine, struct fleet *fleet, const char *owner);

/* At the very end: before or after the engine is freed, which takes no step in between. */
void strays_free(struct strays *strays);

/* There may be some. skew_s: how far the engine's clock is ahead of this machine's. */
void strays_look(struct strays *strays, int64_t skew_s);

/* up: the engine answers. */
void strays_step(struct strays *strays, bool up);
int64_t strays_deadline(const struct strays *strays, bool up);

/* Whether nothing is being looked for or removed. */
bool strays_are_settled(const struct strays *strays);

/* Whether a container of an owner that is unsure may be removed at now_s; both times in seconds
 * since 1970, by the same clock. Pure. */
bool strays_is_stale(bool runs, int64_t created_s, int64_t now_s);
