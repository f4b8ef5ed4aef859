/* One-line hints for mistakes that models make again and again. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf;

/* What the code looks like; kept with the call, so that the code need not be. */
enum hint_code {
    HINT_FENCED = 1, /* wrapped in a Markdown fence */
    HINT_MAGIC = 2,  /* has a line that begins with % or ! */
};

/* The exception that ended a script stands within this many last bytes of stderr. */
#define HINT_ERROR_TAIL 2000

/* A set of enum hint_code. */
unsigned hint_of_code(const char *code, size_t len);

/* Appends the hints for a script that failed, one line each with a newline: code is what
 * hint_of_code() said, error the end of stderr as valid UTF-8, without_stdin whether the call gave
 * no stdin. */
void hint_put(struct buf *out, unsigned code, bool without_stdin, const char *error, size_t len);
