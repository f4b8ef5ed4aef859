/* Paths as text. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;

/* Whether len bytes are a relative path of 1 to LIMIT_PATH_MAX bytes of UTF-8: no slash at either
 * end, no empty, "." or ".." part, none longer than LIMIT_PATH_PART_MAX, no NUL. 0, or -1 with an
 * err that goes on from the path's name: "must be relative, ...". */
int path_check(const char *path, size_t len, struct error *err);

/* Whether two such paths cannot both be files: they are the same, or one is a folder of the other.
 */
bool path_clash(const char *one, size_t one_len, const char *other, size_t other_len);

/* The shortest path to the same place from the root, links aside: no "." or ".." and no empty part,
 * no slash at the end but for the root's own. What does not begin with a slash is below the root
 * too. The caller frees. */
char *path_clean(const char *path) __attribute__((returns_nonnull));
