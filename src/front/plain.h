/* Terminal output as plain text. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf;

/* Appends valid UTF-8 to out as a reader of a terminal would see it: without escape sequences, with
 * only the last state of a line that was rewritten with carriage returns, and, if it is folded,
 * with a count in place of many equal lines in a row. -1 where out is full. */
int plain_put(struct buf *out, const char *utf8, size_t len, bool fold);
