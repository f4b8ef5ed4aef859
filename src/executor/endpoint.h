/* Where the Docker Engine is: on a unix socket of this machine, or on another machine behind TLS.
 *
 * Looks, in this order, at what is configured, DOCKER_HOST, the Docker context (DOCKER_CONTEXT or
 * config.json in DOCKER_CONFIG, else ~/.docker), and the usual sockets: /var/run/docker.sock,
 * $XDG_RUNTIME_DIR, Docker Desktop, Colima, podman. Of those, the first that accepts a connection
 * wins; a place that was named on purpose is the only one that is tried.
 *
 * tcp:// needs a folder with ca.pem, cert.pem and key.pem: the configured one, else that of the
 * context, where one names the engine; else DOCKER_CERT_PATH; else, where DOCKER_TLS_VERIFY is set,
 * the folder of config.json. Both sides prove themselves, always. */
#pragma once

#include <stdbool.h>

struct endpoint;
struct error;
struct remote;

/* docker_host: a path, a unix:// or a tcp:// URL; cert_path: a folder. Both are copied; NULL or
 * empty: unset. Whether the engine is on another machine is decided now and for good, and then its
 * certificates are read. What goes wrong is told by endpoint_find(). */
struct endpoint *endpoint_new(const char *docker_host, const char *cert_path)
    __attribute__((returns_nonnull));
void endpoint_free(struct endpoint *endpoint); /* NULL is fine */

bool endpoint_is_remote(const struct endpoint *endpoint);

/* For a process that will open no socket but that of its engine, and no file: looks the name of
 * another machine up for the last time. */
void endpoint_settle(struct endpoint *endpoint);

/* For each socket of this machine that endpoint_find() would try, in its order; from says who named
 * it, or is NULL for a usual place. -1 with err where what was named makes no sense, or names
 * another machine. */
typedef void endpoint_visit(void *data, const char *path, const char *from);
int endpoint_each(const struct endpoint *endpoint, endpoint_visit *visit, void *data,
                  struct error *err);

/* Finds the engine, anew each time. On failure the error lists every path with its reason and the
 * mend. */
int endpoint_find(struct endpoint *endpoint, struct error *err);

/* What was found last: "/var/run/docker.sock" or "tcp://host:2376"; "?" where nothing was. */
const char *endpoint_name(const struct endpoint *endpoint);

/* Where it was found; NULL for the other kind, and where nothing was. */
const char *endpoint_socket(const struct endpoint *endpoint);
const struct remote *endpoint_remote(const struct endpoint *endpoint);
