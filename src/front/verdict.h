/* How a run ended, in a line or two. Pure. */
#pragma once

struct buf;
struct front_options;
struct outcome;

/* Appends the status line: "error: exit code 1, 12 ms (IMAGE, Python 3.12.4)". The message, the
 * outcome's own made fit to be shown, "" where there is none, is part of it where nothing ran, else
 * a line of its own. -1 where out is full. */
int verdict_put(struct buf *out, const struct outcome *outcome, const char *message,
                const struct front_options *options);
