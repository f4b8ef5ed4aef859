/* A growable byte buffer with a ceiling. The bytes are always followed by a NUL that is not
 * counted. */
#pragma once

#include <stddef.h>

struct buf {
    char *data;  /* the bytes; never NULL once something was added */
    size_t len;  /* how many */
    size_t max;  /* ceiling in bytes, set at init */
    char *block; /* private: start of the allocation, data points into it */
    size_t size; /* private: bytes allocated */
};

void buf_init(struct buf *buf, size_t max);

/* Frees the bytes and leaves an empty buffer with the same ceiling. */
void buf_done(struct buf *buf);

/* Each appends and returns 0, or returns -1 and appends nothing where that would pass the ceiling.
 */
int buf_add(struct buf *buf, const void *bytes, size_t len);
int buf_add_text(struct buf *buf, const char *text);
int buf_addf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends, and drops from the front what is then over the ceiling: the last bytes stay. */
void buf_add_tail(struct buf *buf, const void *bytes, size_t len);

/* Removes len bytes (at most all) from the front; amortised constant time. */
void buf_drop(struct buf *buf, size_t len);

/* Hands over the bytes, NUL-terminated, "" when empty; the buffer is empty afterwards. */
char *buf_take(struct buf *buf, size_t *ret_len) __attribute__((returns_nonnull));

/* A local that ends with buf_done(); must be initialised first. */
#define auto_buf __attribute__((cleanup(buf_done)))
