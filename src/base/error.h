/* What went wrong, in words for the person or the model that reads it. Functions that can fail take
 * a `struct error *err` last, return -1 (or NULL) and fill it in; outputs stay untouched. */
#pragma once

#define ERROR_TEXT_MAX 2048

struct error {
    char text[ERROR_TEXT_MAX]; /* NUL-terminated, valid UTF-8, cut with "..." when too long */
};

/* Sets the text; err may be NULL. Always returns -1, so that `return error_set(err, ...)` reads
 * well. */
int error_set(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts "context: " before the text that is there. Always returns -1; err may be NULL. */
int error_wrap(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
