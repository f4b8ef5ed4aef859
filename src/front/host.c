#include "front/host.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define SEPARATORS ", \t"
#define DIGITS     "0123456789"

/* Length of the name in "name:port" or "[address]:port"; 0 where the whole is neither. */
static size_t name_length(const char *host)
{
    size_t len = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    const char *port;

    if (host[0] == '[' && len > strlen(host))
        return 0;
    port = host + len;
    if (*port == '\0')
        return len;
    if (*port != ':' || port[1 + strspn(port + 1, DIGITS)] != '\0')
        return 0;
    return len;
}

static bool is(const char *at, size_t len, const char *word)
{
    return len == strlen(word) && strncasecmp(at, word, len) == 0;
}

bool host_is_loopback(const char *host)
{
    size_t len = name_length(host);

    return is(host, len, "localhost") || is(host, len, "127.0.0.1") || is(host, len, "[::1]");
}

bool host_is_address(const char *host)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;
    size_t len = name_length(host);
    bool six = host[0] == '[';

    if (six) {
        host++;
        len = len >= 2 ? len - 2 : 0;
    }
    if (len == 0 || len >= sizeof(text))
        return false;
    memcpy(text, host, len);
    text[len] = '\0';
    return inet_pton(six ? AF_INET6 : AF_INET, text, &address) == 1;
}

/* The next entry at *list, which moves past it; NULL at the end. */
static const char *next_entry(const char **list, size_t *ret_len)
{
    const char *entry = *list;

    if (!entry)
        return NULL;
    entry += strspn(entry, SEPARATORS);
    *ret_len = strcspn(entry, SEPARATORS);
    *list = entry + *ret_len;
    return *ret_len > 0 ? entry : NULL;
}

bool host_in_list(const char *host, const char *list)
{
    size_t name = name_length(host);
    size_t whole = strlen(host);
    const char *entry;
    size_t len;

    if (name == 0)
        return false;
    while ((entry = next_entry(&list, &len)) != NULL) {
        if ((len == name || len == whole) && strncasecmp(entry, host, len) == 0)
            return true;
    }
    return false;
}

bool origin_is_loopback(const char *origin)
{
    static const char *const schemes[] = {"http://", "https://"};

    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        size_t len = strlen(schemes[i]);

        if (strncasecmp(origin, schemes[i], len) == 0)
            return host_is_loopback(origin + len);
    }
    return false;
}

/* Without the port that its scheme has anyway: browsers leave that out. */
static size_t origin_length(const char *origin, size_t len)
{
    static const struct {
        const char *scheme, *port;
    } known[] = {{"http://", ":80"}, {"https://", ":443"}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        size_t scheme = strlen(known[i].scheme), port = strlen(known[i].port);

        if (len > scheme + port && strncasecmp(origin, known[i].scheme, scheme) == 0 &&
            is(origin + len - port, port, known[i].port))
            return len - port;
    }
    return len;
}

bool origin_in_list(const char *origin, const char *list)
{
    size_t whole = origin_length(origin, strlen(origin));
    const char *entry;
    size_t len;

    while ((entry = next_entry(&list, &len)) != NULL) {
        if (origin_length(entry, len) == whole && strncasecmp(entry, origin, whole) == 0)
            return true;
    }
    return false;
}
