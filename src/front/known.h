/* What the executor has told of the profiles so far. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct known;
struct wire_profile;

struct known *known_new(void);
void known_free(struct known *known);

/* Takes the news of one profile. */
void known_take(struct known *known, const struct wire_profile *news);

/* The names of the importable modules beside the standard library, sorted, with blanks between
 * them; NULL where they are not known yet. known may be NULL: then nothing is. */
const char *known_modules(const struct known *known, size_t profile);

/* Whether the profile cannot be served at present. */
bool known_is_closed(const struct known *known, size_t profile);

/* Whether the profile is known to have a module: a top-level name, len bytes. */
bool known_has(const struct known *known, size_t profile, const char *module, size_t len);
