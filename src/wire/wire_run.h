/* The payload of a RUN, for wire.c alone. */
#pragma once

#include "base/limits.h"

#include <stddef.h>
#include <stdint.h>

struct buf;
struct bytes_reader;
struct wire_run;

/* Eight numbers, the lengths of three strings, the number of files; then two lengths a file. */
#define WIRE_RUN_MIN        ((8 + 3 + 1) * sizeof(uint32_t))
#define WIRE_RUN_FILE_FIXED (2 * sizeof(uint32_t))
#define WIRE_RUN_MAX                                                                               \
    (WIRE_RUN_MIN + LIMIT_LABEL_MAX + LIMIT_CODE_MAX + LIMIT_STDIN_MAX +                           \
     LIMIT_FILES_MAX * (WIRE_RUN_FILE_FIXED + LIMIT_PATH_MAX) + LIMIT_FILES_BYTES_MAX)

/* Decodes; the reader is bad where a field does not fit. Files are allocated last, and only where
 * all is well. */
void wire_run_decode(struct bytes_reader *reader, struct wire_run *run);

/* The size of the payload; values over a ceiling are a programming error. */
size_t wire_run_size(const struct wire_run *run);

/* Appends the payload; the caller has made sure that out has room. */
void wire_run_put(struct buf *out, const struct wire_run *run);
