/* What the front is told of the executor without having asked: STATUS and PROFILE, whenever there
 * is something new, at most five times in a second. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct executor;
struct news;

/* Borrows the executor. status: a STATUS is told too. */
struct news *news_new(const struct executor *executor, bool status);
void news_free(struct news *news);

/* Appends what is new and due to out; -1 where out is full. draining: as STATUS has it; it is told
 * at once. */
int news_tell(struct news *news, bool draining, struct buf *out);

/* When to call news_tell() next. */
int64_t news_deadline(const struct news *news, bool draining);
