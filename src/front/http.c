#include "front/http.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "front/exchange.h"
#include "front/farewell.h"

/* The library's buffer of one connection: headers must fit. */
#define CONNECTION_MEMORY ((size_t)65536)

/* Bodies that are collected at a time, in units of the longest one. */
#define HELD_BODIES 4

/* Connections that are taken in one turn. */
#define ACCEPT_MAX 16

/* No more are taken for this long after the process has run out of descriptors. */
#define ACCEPT_PAUSE_MS 100

/* A connection may be silent for so long, whoever waits for its place. */
#define SILENT_MS 1000

/* How often the log says that all connections are taken. */
#define FULL_TELL_MS 60000

struct connection {
    LIST_ENTRY(connection) entry;
    struct http *http;
    int fd;                    /* borrowed from the library */
    struct exchange *exchange; /* the request under way, or NULL */
    int64_t deadline;          /* for the headers of the next one */
    int64_t since;             /* when it was taken */
    bool served;               /* a request of it has been let in */
    bool half_closed;          /* the client sends nothing more, and the library knows */
    bool unread;               /* the client may still be sending what nobody will read */
};

struct http {
    struct exchange_host host;
    struct http_options options;
    struct MHD_Daemon *daemon;
    int epoll_fd;
    LIST_HEAD(, connection) connections;
    struct farewell farewell;
    size_t watched; /* descriptors of the last http_watch() before those of the farewell */
    int64_t accept_at;
    int64_t full_told; /* when the log said so last; 0: never */
    bool closed;
};

static void on_connection(void *arg, struct MHD_Connection *handle, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http *http = arg;
    struct connection *connection = *socket_context;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        connection = mem_alloc(sizeof(*connection));
        connection->http = http;
        connection->fd =
            MHD_get_connection_info(handle, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        connection->since = clock_ms();
        connection->deadline = connection->since + EXCHANGE_HEAD_MS;
        LIST_INSERT_HEAD(&http->connections, connection, entry);
        http->host.connections++;
        *socket_context = connection;
    } else if (connection) {
        if (connection->unread)
            farewell_add(&http->farewell, connection->fd, clock_ms());
        LIST_REMOVE(connection, entry);
        http->host.connections--;
        free(connection);
        *socket_context = NULL;
    }
}

/* The first line has come: what this returns is the exchange argument of the others. */
static void *on_target(void *arg, const char *target, struct MHD_Connection *handle)
{
    struct http *http = arg;
    struct connection *connection =
        MHD_get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    int64_t deadline = clock_earlier(connection->deadline, clock_ms() + EXCHANGE_HEAD_MS);

    connection->exchange =
        exchange_new(&http->host, handle, connection->fd, target ? target : "", deadline);
    return connection->exchange;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *handle, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **exchange)
{
    (void)arg;
    (void)handle;
    (void)url;
    return exchange_handle(*exchange, method, version, data, size);
}

static void on_completed(void *arg, struct MHD_Connection *handle, void **exchange,
                         enum MHD_RequestTerminationCode code)
{
    struct connection *connection =
        MHD_get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;

    (void)arg;
    (void)code;
    if (!*exchange)
        return;
    connection->unread = connection->exchange->verdict.has_body &&
                         connection->exchange->verdict.route == GATE_REFUSED;
    connection->served = connection->served || connection->exchange->verdict.route == GATE_MCP ||
                         connection->exchange->verdict.route == GATE_METRICS;
    connection->exchange = NULL;
    connection->deadline = clock_ms() + EXCHANGE_IDLE_MS;
    exchange_free(*exchange);
    *exchange = NULL;
}

struct http *http_new(const struct http_options *options, const struct mcp *mcp,
                      struct metrics *metrics, struct error *err)
{
    struct http *http = mem_alloc(sizeof(*http));
    const union MHD_DaemonInfo *info;

    http->options = *options;
    http->host = (struct exchange_host){
        .mcp = mcp,
        .metrics = metrics,
        .gate = options->gate,
        .held_max = HELD_BODIES * (size_t)options->gate.body_max,
    };
    LIST_INIT(&http->connections);
    farewell_init(&http->farewell);
    /* Not its strict mode: what that looks for the gate refuses too, and says why. */
    http->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
        on_request, http, MHD_OPTION_URI_LOG_CALLBACK, on_target, http, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, http, MHD_OPTION_NOTIFY_CONNECTION, on_connection, http,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)options->connections_max,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT, 0U,
        MHD_OPTION_STRICT_FOR_CLIENT, 0, MHD_OPTION_END);
    if (!http->daemon) {
        error_set(err, "the HTTP library does not start: %s", strerror(errno));
        free(http);
        return NULL;
    }
    info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    http->epoll_fd = info->epoll_fd;
    return http;
}

void http_free(struct http *http)
{
    struct connection *connection;

    if (!http)
        return;
    /* The library insists that nothing is suspended when it ends. */
    LIST_FOREACH(connection, &http->connections, entry)
    {
        if (connection->exchange) {
            exchange_hang_up(connection->exchange);
            exchange_step(connection->exchange, clock_ms());
        }
    }
    MHD_stop_daemon(http->daemon);
    farewell_done(&http->farewell);
    free(http);
}

static bool accepts(const struct http *http)
{
    return !http->closed && http->host.connections < http->options.connections_max &&
           clock_ms() >= http->accept_at;
}

static bool is_suspended(const struct connection *connection)
{
    return connection->exchange && connection->exchange->suspended;
}

size_t http_watch_max(const struct http *http)
{
    return 1 + http->options.listener_count + http->options.connections_max + FAREWELL_MAX;
}

size_t http_watch(struct http *http, struct pollfd *fds)
{
    const struct connection *connection;
    bool open = accepts(http);
    size_t count = 0;

    fds[count++] = (struct pollfd){.fd = http->epoll_fd, .events = POLLIN};
    for (size_t i = 0; i < http->options.listener_count; i++)
        fds[count++] =
            (struct pollfd){.fd = open ? http->options.listeners[i] : -1, .events = POLLIN};
    /* The library does not look at a suspended connection, and overlooks an end that comes together
     * with the last bytes: that a client has gone shows here. */
    LIST_FOREACH(connection, &http->connections, entry)
    {
        bool watched = is_suspended(connection) || !connection->half_closed;

        fds[count++] = (struct pollfd){.fd = watched ? connection->fd : -1, .events = POLLRDHUP};
    }
    http->watched = count;
    return count + farewell_watch(&http->farewell, fds + count);
}

static void accept_some(struct http *http, int listener)
{
    for (int i = 0; i < ACCEPT_MAX && accepts(http); i++) {
        struct sockaddr_storage address;
        socklen_t len = sizeof(address);
        int fd = accept4(listener, (struct sockaddr *)&address, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
                log_warn("no connection can be taken: %s", strerror(errno));
                http->accept_at = clock_ms() + ACCEPT_PAUSE_MS;
            }
            return;
        }
        /* The library closes the descriptor also where it fails. */
        (void)MHD_add_connection(http->daemon, fd, (const struct sockaddr *)&address, len);
    }
}

/* In the order of http_watch(): connections come and go only while the library runs. */
static void take_hang_ups(struct http *http, const struct pollfd *fds)
{
    size_t i = 1 + http->options.listener_count;
    struct connection *connection;

    LIST_FOREACH(connection, &http->connections, entry)
    {
        bool left = fds[i].fd >= 0 && fds[i].revents != 0;

        i++;
        if (!left)
            continue;
        if (is_suspended(connection))
            exchange_hang_up(connection->exchange);
        /* Changes nothing but that the library's epoll tells of the end once more. */
        (void)shutdown(connection->fd, SHUT_RD);
        connection->half_closed = true;
    }
}

static int64_t deadline_of(const struct connection *connection)
{
    return connection->exchange ? connection->exchange->deadline : connection->deadline;
}

/* Where all are taken: of those that have never sent whole headers of a request that may come in,
 * the one that has been there for longest. NULL where there is none, or a place is free. */
static const struct connection *find_idlest(const struct http *http)
{
    const struct connection *connection, *found = NULL;

    if (http->host.connections < http->options.connections_max)
        return NULL;
    LIST_FOREACH(connection, &http->connections, entry)
    {
        if (connection->served || (connection->exchange && connection->exchange->judged))
            continue;
        if (!found || connection->since < found->since)
            found = connection;
    }
    return found;
}

/* So that nobody is shut out by connections on which nothing happens. */
static void make_way(struct http *http, int64_t now)
{
    const struct connection *idlest = find_idlest(http);

    if (!idlest || now < idlest->since + SILENT_MS)
        return;
    (void)shutdown(idlest->fd, SHUT_RDWR);
    if (http->full_told == 0 || now >= http->full_told + FULL_TELL_MS) {
        log_warn("all %zu connections are taken; those on which nothing has come make way for "
                 "others",
                 http->options.connections_max);
        http->full_told = now;
    }
}

void http_step(struct http *http, const struct pollfd *fds)
{
    struct connection *connection;
    int64_t now = clock_ms();

    take_hang_ups(http, fds);
    farewell_step(&http->farewell, fds + http->watched, now);
    LIST_FOREACH(connection, &http->connections, entry)
    {
        if (connection->exchange)
            exchange_step(connection->exchange, now);
        /* The library sees the end of the connection, and closes it. */
        if (now >= deadline_of(connection))
            (void)shutdown(connection->fd, SHUT_RDWR);
    }
    for (size_t i = 0; i < http->options.listener_count; i++) {
        if (fds[1 + i].revents != 0)
            accept_some(http, http->options.listeners[i]);
    }
    make_way(http, now);
    (void)MHD_run(http->daemon);
}

int64_t http_due(const struct http *http)
{
    const struct connection *connection, *idlest = find_idlest(http);
    MHD_UNSIGNED_LONG_LONG timeout;
    int64_t due = farewell_due(&http->farewell);

    if (MHD_get_timeout(http->daemon, &timeout) == MHD_YES)
        due = clock_earlier(due, clock_ms() + (int64_t)timeout);
    if (http->accept_at > clock_ms())
        due = clock_earlier(due, http->accept_at);
    if (idlest)
        due = clock_earlier(due, idlest->since + SILENT_MS);
    LIST_FOREACH(connection, &http->connections, entry)
    {
        due = clock_earlier(due, deadline_of(connection));
        if (connection->exchange)
            due = clock_earlier(due, exchange_due(connection->exchange));
    }
    return due;
}

void http_close(struct http *http)
{
    http->closed = true;
}

bool http_is_idle(const struct http *http)
{
    const struct connection *connection;

    LIST_FOREACH(connection, &http->connections, entry)
    {
        if (connection->exchange)
            return false;
    }
    return true;
}
