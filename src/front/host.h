/* Whom a request is for, and which page sent it: the Host and Origin headers against the names that
 * are allowed, so that a page in a browser cannot reach the server by a name of its own. Pure. */
#pragma once

#include <stdbool.h>

/* Lists are separated by commas or blanks; NULL or "" holds nothing. Case does not count. */

/* localhost, 127.0.0.1 or [::1], with any port or none. */
bool host_is_loopback(const char *host);

/* An IP address, with any port or none: no name that someone else's DNS could point here. */
bool host_is_address(const char *host);

/* An entry without a port stands for every port. */
bool host_in_list(const char *host, const char *list);

/* http or https at a loopback host. */
bool origin_is_loopback(const char *origin);

/* The port that a scheme has anyway may be there or not, on either side (RFC 6454, section 4). */
bool origin_in_list(const char *origin, const char *list);
