/* What was asked and found of each wall of a container: an array of objects with the members
 * "wall", "asked", "found", "good" and, where it does not stand, "mend" and at times "reason".
 * Pure. */
#pragma once

#include <cjson/cJSON.h>

struct error;

void walls_stand(cJSON *walls, const char *name, const char *asked, const char *found);

/* found NULL: nothing. A long one is cut. */
void walls_fall(cJSON *walls, const char *name, const char *asked, const char *found,
                const char *mend);

/* The same where a reason says it better than "asked for ..., found ...". */
void walls_fall_because(cJSON *walls, const char *name, const char *asked, const char *reason,
                        const char *mend);

/* 0 where all stand; else -1, and err names the first that does not, what was asked, what was
 * found, and the mend. */
int walls_verdict(const cJSON *walls, struct error *err);
