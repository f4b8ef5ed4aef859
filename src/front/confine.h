/* The front holds nothing: once it has started it cannot open, connect or execute anything, so that
 * one that is taken over can still only ask for what the wire offers. */
#pragma once

struct error;

/* Everything that needs a file or a socket has been opened before. Final. */
int front_confine(struct error *err);
