/* An engine on another machine: over TCP, and never without TLS. */
#pragma once

#include "executor/certs.h"

#include <stdbool.h>

struct address;
struct error;

struct remote {
    char *name; /* "tcp://host:2376" */
    char *host; /* the name or IP address that the engine's certificate must have */
    unsigned port;
    char *route; /* "host:2376:10.0.0.1,[fd00::1]", as CURLOPT_RESOLVE takes it; NULL for an IP
                    address, and before remote_resolve() */
    struct certs certs;
};

/* Takes the address and reads the certificates; NULL on failure. */
struct remote *remote_new(const struct address *address, const char *cert_folder,
                          struct error *err);
void remote_free(struct remote *remote);

/* Looks the name up; waits as long as the system's resolver does. */
int remote_resolve(struct remote *remote, struct error *err);
