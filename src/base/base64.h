/* Base64 as RFC 4648, section 4 has it. Pure. */
#pragma once

#include <stddef.h>

struct buf;
struct error;

/* Bytes of the text for len bytes. */
size_t base64_size(size_t len);

/* Appends len bytes as text, padded, in one line. -1 where out is full, and nothing is added. */
int base64_put(struct buf *out, const void *bytes, size_t len);

/* The most bytes that len characters can stand for. */
size_t base64_room(size_t len);

/* Writes the bytes to ret, which has base64_room(len) bytes of room. Blanks, tabs and newlines are
 * skipped, wherever they are, since many tools break the lines; everything else is strict: the one
 * alphabet with + and /, padding, no stray bits, nothing behind the padding: text that was cut off
 * does not pass for a shorter one. -1 with an err that goes on from the name of the text: "has ...
 * ". */
int base64_decode(const char *text, size_t len, char *ret, size_t *ret_len, struct error *err);
