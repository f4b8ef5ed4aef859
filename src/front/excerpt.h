/* The beginning and the end of one stream, with a line between that says how much is missing. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/outcome.h"

struct excerpt {
    struct buf head; /* valid UTF-8; all there is where nothing is missing */
    struct buf tail; /* valid UTF-8; empty where nothing is missing */
    size_t head_chars;
    size_t tail_chars;
    uint64_t gap;   /* characters missing between head and tail */
    uint64_t total; /* characters that the script wrote */
    bool at_least;  /* it may have written more: nobody told the total */
};

/* Makes text of the kept bytes. Characters that the edges of the gap cut in two are left out.
 * Totals below what was kept are taken for unknown. Ended with excerpt_done(). */
void excerpt_init(struct excerpt *excerpt, const struct buf *head, const struct buf *tail,
                  const struct outcome_total *total);
void excerpt_done(struct excerpt *excerpt);

/* A copy as plain text (front/plain.h), folded or not. Gap and total are the original's: they count
 * what was written. */
void excerpt_init_plain(struct excerpt *excerpt, const struct excerpt *original, bool fold);

/* Characters that are here. */
size_t excerpt_chars(const struct excerpt *excerpt);

/* Whether excerpt_put() with this limit leaves something out. */
bool excerpt_cuts(const struct excerpt *excerpt, size_t limit);

/* Appends at most limit characters, head_percent of them from the beginning and the rest from the
 * end, and the line between them. -1 where out is full. */
int excerpt_put(struct buf *out, const struct excerpt *excerpt, size_t limit,
                unsigned head_percent);

/* Shares total characters among count texts of the given sizes: small ones get all they need. */
void excerpt_share(size_t total, const size_t *sizes, size_t *ret_limits, size_t count);
