/* Escapes that JSON's grammar allows and that text cannot hold. Pure. */
#pragma once

#include <stddef.h>

/* Replaces, in place and with the same length, each "\u0000" and each half of a surrogate pair that
 * stands alone by
 * "\ufffd" (U+FFFD). text need not be valid JSON. Returns how many were replaced. */
size_t json_mend(char *text, size_t len);
