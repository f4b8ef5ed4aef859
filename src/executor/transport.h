/* How calls get to the engine: over its unix socket, or over TCP with TLS. */
#pragma once

#include "executor/curl_api.h"

#include <stdint.h>

struct endpoint;
struct error;

/* Gets libcurl ready, once in a process; -1 where it cannot do what the endpoint needs. With TLS,
 * its library reads its configuration here and opens no file afterwards. */
int transport_start(const struct curl_api *curl, const struct endpoint *endpoint,
                    struct error *err);

/* The URL of a path, with the API version ("1.41") in it or NULL. The caller frees. */
char *transport_url(const struct endpoint *endpoint, const char *api_version, const char *path)
    __attribute__((returns_nonnull));

/* Sets where a transfer goes. The endpoint must have been found, and stay as it is while the
 * transfer lives; the list, which may be NULL, is to be freed after the transfer. */
struct curl_slist *transport_apply(const struct curl_api *curl, const struct endpoint *endpoint,
                                   CURL *easy);

/* For a socket that libcurl made: how long a machine may stay silent. */
void transport_bound(const struct endpoint *endpoint, curl_socket_t fd);

/* Why a transfer failed, in one line. text is what libcurl wrote into its error buffer. */
void transport_explain(const struct curl_api *curl, const struct endpoint *endpoint, CURL *easy,
                       CURLcode result, const char *text, struct error *err);

/* When the certificate ends that the engine showed for a transfer that is over, in seconds since
 * 1970; 0 where it opened no connection with TLS. */
int64_t transport_peer_until(const struct curl_api *curl, CURL *easy);
