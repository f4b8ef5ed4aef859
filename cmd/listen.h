/* The sockets that HTTP is served on. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;

#define LISTEN_MAX 2

struct listen {
    int fds[LISTEN_MAX]; /* owned, listening, non-blocking */
    size_t count;
};

/* Opens what "localhost:8000", ":8000" (127.0.0.1 and ::1 both), "127.0.0.1:8000" or "[::1]:8000"
 * says; port 0 is any free one. -1 with err where it is malformed, taken or not of this machine. */
int listen_open(struct listen *ret, const char *address, struct error *err);
void listen_close(struct listen *listen);

/* The http:// URL by which this machine reaches what listens at address, with path behind it; the
 * unspecified addresses become loopback ones. NULL where address is malformed. The caller frees. */
char *listen_url(const char *address, const char *path);

/* -1 with err where it is malformed. */
int listen_check(const char *address, struct error *err);

/* Whether only this machine can connect there. */
bool listen_is_loopback(const char *address);
