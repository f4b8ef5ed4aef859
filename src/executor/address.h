/* The text that names an engine, as in DOCKER_HOST, taken apart. Pure. */
#pragma once

struct error;

/* The port of an engine with TLS where none is named, as the Docker CLI has it. */
#define ADDRESS_PORT 2376

struct address {
    char *path;    /* of a unix socket; or NULL, and: */
    char *host;    /* a name, or an IP address without brackets */
    unsigned port; /* 1 to 65535 */
};

/* Takes "unix:///run/x.sock", "unix:/run/x.sock", "/run/x.sock" or "tcp://host[:port]", with blanks
 * around and slashes behind. from is what the error calls the source. Whatever else there is
 * (ssh://, https://, ...) is an error with its mend. */
int address_parse(const char *text, const char *from, struct address *ret, struct error *err);
void address_done(struct address *address);
