/* One UTF-8 sequence at a time. Pure. */
#pragma once

#include <stddef.h>

enum utf8_kind {
    UTF8_VALID,   /* a whole character */
    UTF8_INVALID, /* the longest start of a character that something else follows, or one stray byte
                   */
    UTF8_CUT,     /* a character that goes on after the end of the bytes */
};

/* Looks at the front of bytes; len must not be 0. Sets *ret_len (1 to 4) to the length of what is
 * there. */
enum utf8_kind utf8_look(const char *bytes, size_t len, size_t *ret_len);
