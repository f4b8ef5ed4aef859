/* Text: UTF-8 and numbers. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct error;

#define TEXT_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

bool text_is_utf8(const char *bytes, size_t len);

/* Appends bytes to out with each maximal invalid sequence replaced by U+FFFD, exactly as Python's
 * bytes.decode('utf-8', 'replace') does. -1 where out is full. */
int text_repair(struct buf *out, const char *bytes, size_t len);

/* Whether bytes are UTF-8 that stays in its line: without control characters. */
bool text_is_line(const char *bytes, size_t len);

/* Appends bytes as such a line: each invalid sequence and each control character becomes U+FFFD. -1
 * where out is full. */
int text_put_line(struct buf *out, const char *bytes, size_t len);

/* Characters (code points) in valid UTF-8. */
size_t text_count(const char *utf8, size_t len);

/* Byte length of the first `chars` characters of valid UTF-8 (len when it has fewer). */
size_t text_head(const char *utf8, size_t len, size_t chars);

/* Byte offset at which the last `chars` characters of valid UTF-8 begin (0 when it has fewer). */
size_t text_tail(const char *utf8, size_t len, size_t chars);

/* Length of bytes without a character that its end cuts in two (at most 3 bytes less than len). */
size_t text_whole_end(const char *bytes, size_t len);

/* Number of continuation bytes (0 to 3) at the start of bytes that belong to a character cut before
 * it. */
size_t text_whole_start(const char *bytes, size_t len);

/* The last line that is not blank, without its newline; *ret_len is 0 where there is none. */
const char *text_last_line(const char *bytes, size_t len, size_t *ret_len);

/* A whole decimal number, blanks around it allowed, within [min, max]; the error names text and
 * range. */
int text_to_int(const char *text, int64_t min, int64_t max, int64_t *ret, struct error *err);

/* Whether all of len bytes is ":PORT", in digits, 1 to 65535. */
bool text_is_port(const char *text, size_t len);
