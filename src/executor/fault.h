/* What an engine says when it refuses, and what is said of one that does not answer. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;

/* Turns the body of an error reply, {"message": "..."} or any text, into one bounded line that
 * keeps its end, since nested causes come last, and adds the mend where it is known. Always returns
 * -1. */
int fault_text(long status, const char *body, size_t len, struct error *err);

/* "the engine at NAME did not answer: TEXT; MEND". The mend is that of what the text, which is the
 * transport's own, is about, or else the likeliest. cut_off says that a connection with TLS was
 * made, and ended with no answer. Always returns -1. */
int fault_silence(const char *name, const char *text, bool cut_off, struct error *err);
