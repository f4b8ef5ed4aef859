/* The stdio transport: one JSON text per line, in and out. The descriptors are borrowed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "front/peer.h"

/* With more than this unsent, no more is read from the client until it has read. */
#define STDIO_BACKLOG_MAX ((size_t)16 * 1024 * 1024)

enum stdio_line {
    STDIO_NONE, /* more must be read first, or too much is unsent */
    STDIO_LINE,
    STDIO_TOO_LONG, /* a line over the ceiling; its bytes are gone */
};

struct stdio {
    struct peer peer; /* first: send() gets its address */
    int in;
    int out;
    size_t line_max;
    struct buf input;
    struct buf output;
    size_t taken;     /* bytes of the line that was handed out last, still in input */
    size_t searched;  /* bytes of input without a newline */
    bool skipping;    /* inside a line that was too long */
    bool input_ended; /* nothing more will be read */
    bool broken;      /* nothing more can be written */
};

/* line_max: longest line accepted. replies_max: bytes that open calls may add to a full backlog. */
void stdio_init(struct stdio *stdio, int in, int out, size_t line_max, size_t replies_max);
void stdio_done(struct stdio *stdio);

/* Whether there is room to read. */
bool stdio_wants_input(const struct stdio *stdio);

/* Reads what is there, at most one pipe full. */
void stdio_read(struct stdio *stdio);

/* The next line without its newline; points into the buffer until the next call. Blank lines are
 * left out, and a last line may lack its newline. */
enum stdio_line stdio_next(struct stdio *stdio, const char **ret, size_t *ret_len);

/* Writes what the client takes now. */
void stdio_write(struct stdio *stdio);
