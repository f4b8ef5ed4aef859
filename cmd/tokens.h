/* The tokens that clients must show over HTTP, from a file or the environment. */
#pragma once

struct bearer;
struct error;

/* path: one token a line, blanks around it and empty lines left out; or NULL. list: the tokens of
 * the environment, with blanks or commas between them; or NULL. Only digests are kept. -1 with err
 * where one is too short or malformed, or a source holds none. */
int tokens_load(struct bearer *ret, const char *path, const char *list, struct error *err);
