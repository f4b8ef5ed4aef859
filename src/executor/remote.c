#include "executor/remote.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "executor/address.h"

#define ADDRESSES_MAX 8
#define ROUTE_MAX     1024
#define UNREACHED                                                                                  \
    "; where the system's service filters addresses, its IPAddressAllow= must have the name "      \
    "server's"

static bool is_ip6(const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    return inet_pton(AF_INET6, host, bytes) == 1;
}

static bool is_ip(const char *host)
{
    unsigned char bytes[sizeof(struct in_addr)];

    return is_ip6(host) || inet_pton(AF_INET, host, bytes) == 1;
}

struct remote *remote_new(const struct address *address, const char *cert_folder, struct error *err)
{
    bool ip6 = is_ip6(address->host);
    struct certs certs;
    struct remote *remote;

    if (certs_load(cert_folder, &certs, err) < 0)
        return NULL;
    remote = mem_alloc(sizeof(*remote));
    remote->name =
        mem_printf("tcp://%s%s%s:%u", ip6 ? "[" : "", address->host, ip6 ? "]" : "", address->port);
    remote->host = mem_strdup(address->host);
    remote->port = address->port;
    remote->certs = certs;
    return remote;
}

void remote_free(struct remote *remote)
{
    if (!remote)
        return;
    certs_done(&remote->certs);
    free(remote->name);
    free(remote->host);
    free(remote->route);
    free(remote);
}

static char *write_route(const struct remote *remote, const struct addrinfo *list)
{
    struct buf route;
    char text[NI_MAXHOST];
    int count = 0;

    buf_init(&route, ROUTE_MAX);
    (void)buf_addf(&route, "%s:%u", remote->host, remote->port);
    for (const struct addrinfo *one = list; one && count < ADDRESSES_MAX; one = one->ai_next) {
        if (getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof(text), NULL, 0,
                        NI_NUMERICHOST) != 0 ||
            strchr(text, '%'))
            continue; /* an address of one link only has no place in the list */
        (void)buf_addf(&route, one->ai_family == AF_INET6 ? "%c[%s]" : "%c%s", count ? ',' : ':',
                       text);
        count++;
    }
    if (count)
        return buf_take(&route, NULL);
    buf_done(&route);
    return NULL;
}

int remote_resolve(struct remote *remote, struct error *err)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    char *route;
    int r;

    if (is_ip(remote->host))
        return 0;
    r = getaddrinfo(remote->host, NULL, &hints, &list);
    if (r != 0)
        return error_set(err, "the name '%s' cannot be resolved: %s%s", remote->host,
                         gai_strerror(r), r == EAI_AGAIN ? UNREACHED : "");
    route = write_route(remote, list);
    freeaddrinfo(list);
    if (!route)
        return error_set(err, "the name '%s' has no address that can be used", remote->host);
    free(remote->route);
    remote->route = route;
    return 0;
}
