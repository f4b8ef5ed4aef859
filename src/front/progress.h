/* Progress notifications of one call: what to say, and how often. Pure: the time comes in. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

struct buf;

/* Never two notifications of a call within this time, one at least this often, and output alone is
 * told of less often than a new phase; milliseconds. */
#define PROGRESS_GAP   500
#define PROGRESS_PULSE 5000
#define PROGRESS_LINE  2000

/* Of the script's output the last line is shown, up to this many characters of it. */
#define PROGRESS_LINE_CHARS 100

/* Last bytes of the output that are kept for it. */
#define PROGRESS_KEPT 1024

struct progress {
    char *token; /* raw JSON, owned; NULL where the client asked for none */
    size_t token_len;
    uint64_t sent;         /* notifications so far: their strictly increasing number */
    enum wire_phase phase; /* 0 before the first */
    uint32_t value;
    int64_t phase_since;
    int64_t earliest; /* no notification before */
    int64_t due;      /* when the next one is to be made; CLOCK_NEVER without a token */
    char *kept;       /* the last bytes of the output, owned; NULL before the first */
    size_t kept_len;
};

/* token is copied; NULL where the client asked for none. */
void progress_init(struct progress *progress, const char *token, size_t len, int64_t now);
void progress_done(struct progress *progress);

/* The call has entered a phase, or its value has changed. */
void progress_phase(struct progress *progress, enum wire_phase phase, uint32_t value, int64_t now);

/* The script has written this. */
void progress_output(struct progress *progress, const char *bytes, size_t len);

/* Appends the notification that is due; nothing where none is. Whether there was one. */
bool progress_step(struct progress *progress, struct buf *out, int64_t now);
