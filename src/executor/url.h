/* URLs. Pure. */
#pragma once

#include <stdbool.h>

/* Text for a path or a query, percent-encoded but for '/', ':' and '@'; the caller frees. */
char *url_escape(const char *text);

/* Whether text is one or more letters and digits, as an engine's ids are: nothing else goes into a
 * path as it is. */
bool url_is_id(const char *text);
