/* What kind of file a name stands for. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A media type for a file that is no picture, from the end of its name; "text/plain" or
 * "application/octet-stream" where that says nothing, is_text telling which. Never image/...:
 * clients take a resource of such a type for an image that can be shown, which is for
 * front/picture.h to say. Text never gets a type of bytes, nor bytes one of text. */
const char *filetype_of(const char *name, size_t len, bool is_text);

/* The same where nothing is known of the bytes, image/... included: for lists only. */
const char *filetype_guess(const char *name, size_t len);
