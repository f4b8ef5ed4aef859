/* The payload of a DONE, for wire.c alone. */
#pragma once

#include "base/limits.h"
#include "wire/outcome.h"

#include <stddef.h>

struct buf;
struct bytes_reader;

/* Status, exit code, OOM kills, three numbers, the totals, a flag for each of four strings. */
#define WIRE_DONE_MIN (1 + 4 + 4 + 3 * 8 + OUTCOME_STREAM_COUNT * 2 * 8 + 4 * 1)
#define WIRE_DONE_MAX                                                                              \
    (WIRE_DONE_MIN + 4 * 4 + LIMIT_MESSAGE_MAX + LIMIT_VALUE_MAX + LIMIT_IMAGE_MAX +               \
     LIMIT_PYTHON_MAX)

/* Decodes; the reader is bad where a field does not fit. Strings are copied last, and only where
 * all is well. */
void wire_done_decode(struct bytes_reader *reader, struct outcome *outcome);

/* The size of the payload; values over a ceiling are a programming error. */
size_t wire_done_size(const struct outcome *outcome);

/* Appends the payload; the caller has made sure that out has room. */
void wire_done_put(struct buf *out, const struct outcome *outcome);
