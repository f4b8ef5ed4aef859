#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"

#define BACKLOG  512
#define HOST_MAX 64

/* Any of the two, by its family. */
union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

struct addresses {
    union address entries[LISTEN_MAX];
    size_t count;
    bool either; /* it is enough if one of them is there */
};

static void add_four(struct addresses *addresses, struct in_addr address, in_port_t port)
{
    addresses->entries[addresses->count++].four =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = address, .sin_port = port};
}

static void add_six(struct addresses *addresses, struct in6_addr address, in_port_t port)
{
    addresses->entries[addresses->count++].six =
        (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_addr = address, .sin6_port = port};
}

/* The part before the last colon, without the brackets of an IPv6 address. */
static int take_host(const char *text, char host[HOST_MAX], in_port_t *ret_port)
{
    const char *colon = strrchr(text, ':');
    int64_t port;
    size_t len;

    if (!colon || text_to_int(colon + 1, 0, UINT16_MAX, &port, NULL) < 0)
        return -1;
    len = (size_t)(colon - text);
    if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
        text++;
        len -= 2;
    } else if (memchr(text, ':', len)) {
        return -1;
    }
    if (len >= HOST_MAX)
        return -1;
    memcpy(host, text, len);
    host[len] = '\0';
    *ret_port = htons((uint16_t)port);
    return 0;
}

static int parse(const char *text, struct addresses *ret)
{
    char host[HOST_MAX];
    struct in_addr four;
    struct in6_addr six;
    in_port_t port;

    *ret = (struct addresses){0};
    if (take_host(text, host, &port) < 0)
        return -1;
    if (*host == '\0' || strcasecmp(host, "localhost") == 0) {
        ret->either = true;
        add_four(ret, (struct in_addr){htonl(INADDR_LOOPBACK)}, port);
        add_six(ret, in6addr_loopback, port);
        return 0;
    }
    if (inet_pton(AF_INET, host, &four) == 1)
        add_four(ret, four, port);
    else if (inet_pton(AF_INET6, host, &six) == 1)
        add_six(ret, six, port);
    else
        return -1;
    return 0;
}

static int parse_or_say(const char *address, struct addresses *ret, struct error *err)
{
    if (parse(address, ret) < 0)
        return error_set(err,
                         "http: \"%.100s\" is no address to listen at: use localhost:8000, :8000, "
                         "127.0.0.1:8000 or [::1]:8000; names other than localhost are not looked "
                         "up",
                         address);
    return 0;
}

int listen_check(const char *address, struct error *err)
{
    struct addresses addresses;

    return parse_or_say(address, &addresses, err);
}

bool listen_is_loopback(const char *address)
{
    struct addresses addresses;
    const union address *first = &addresses.entries[0];

    if (parse(address, &addresses) < 0)
        return false;
    if (first->any.sa_family == AF_INET)
        return ntohl(first->four.sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&first->six.sin6_addr);
}

static const char *show(const union address *address, char text[INET6_ADDRSTRLEN])
{
    if (address->any.sa_family == AF_INET)
        return inet_ntop(AF_INET, &address->four.sin_addr, text, INET6_ADDRSTRLEN);
    return inet_ntop(AF_INET6, &address->six.sin6_addr, text, INET6_ADDRSTRLEN);
}

static int refuse(const union address *address, struct error *err)
{
    unsigned port =
        ntohs(address->any.sa_family == AF_INET ? address->four.sin_port : address->six.sin6_port);
    char text[INET6_ADDRSTRLEN];
    int error = errno;

    show(address, text);
    if (error == EADDRINUSE)
        return error_set(err, "http: port %u of %s is taken: stop what uses it, or choose another",
                         port, text);
    if (error == EADDRNOTAVAIL)
        return error_set(err, "http: %s is no address of this machine", text);
    if (error == EACCES)
        return error_set(err, "http: port %u needs a privilege: choose one above 1023", port);
    return error_set(err, "http: cannot listen at %s, port %u: %s", text, port, strerror(error));
}

/* A listening socket, or -1 with errno. */
static int open_one(const union address *address)
{
    bool six = address->any.sa_family == AF_INET6;
    auto_close int fd =
        socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int only_six = six && !IN6_IS_ADDR_UNSPECIFIED(&address->six.sin6_addr);
    int yes = 1;

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (six)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_six, sizeof(only_six));
    if (bind(fd, &address->any, six ? sizeof(address->six) : sizeof(address->four)) < 0 ||
        listen(fd, BACKLOG) < 0)
        return -1;
    return fd_take(&fd);
}

/* The port that port 0 became. */
static in_port_t port_of(int fd)
{
    union address address = {.six = {0}};
    socklen_t len = sizeof(address);

    (void)getsockname(fd, &address.any, &len);
    return address.any.sa_family == AF_INET ? address.four.sin_port : address.six.sin6_port;
}

static void tell(const union address *address, in_port_t port)
{
    char text[INET6_ADDRSTRLEN];
    bool six = address->any.sa_family == AF_INET6;

    log_info("serving MCP at http://%s%s%s:%u/mcp", six ? "[" : "", show(address, text),
             six ? "]" : "", ntohs(port));
}

char *listen_url(const char *address, const char *path)
{
    struct addresses addresses;
    union address *first = &addresses.entries[0];
    char text[INET6_ADDRSTRLEN];
    unsigned port;

    if (parse(address, &addresses) < 0)
        return NULL;
    port = ntohs(first->any.sa_family == AF_INET ? first->four.sin_port : first->six.sin6_port);
    if (addresses.either)
        return mem_printf("http://localhost:%u%s", port, path);
    if (first->any.sa_family == AF_INET) {
        if (first->four.sin_addr.s_addr == htonl(INADDR_ANY))
            first->four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return mem_printf("http://%s:%u%s", show(first, text), port, path);
    }
    if (IN6_IS_ADDR_UNSPECIFIED(&first->six.sin6_addr))
        first->six.sin6_addr = in6addr_loopback;
    return mem_printf("http://[%s]:%u%s", show(first, text), port, path);
}

int listen_open(struct listen *ret, const char *address, struct error *err)
{
    struct listen opened = {.count = 0};
    struct addresses addresses;

    if (parse_or_say(address, &addresses, err) < 0)
        return -1;
    for (size_t i = 0; i < addresses.count; i++) {
        union address *entry = &addresses.entries[i];
        int fd;

        if (i > 0 && opened.count > 0)
            entry->six.sin6_port = port_of(opened.fds[0]);
        fd = open_one(entry);
        if (fd < 0 && addresses.either && (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT))
            continue;
        if (fd < 0) {
            refuse(entry, err);
            listen_close(&opened);
            return -1;
        }
        opened.fds[opened.count++] = fd;
        tell(entry, port_of(fd));
    }
    if (opened.count == 0)
        return error_set(err, "http: this machine has neither 127.0.0.1 nor ::1");
    *ret = opened;
    return 0;
}

void listen_close(struct listen *listen)
{
    while (listen->count > 0)
        close(listen->fds[--listen->count]);
}
