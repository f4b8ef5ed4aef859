/* The front over HTTP: the executor on descriptor 3, the digests of the tokens on 4, the listeners
 * from 5 on. It opens nothing after its start. */
#include "front.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "child.h"
#include "config.h"
#include "front/bearer.h"
#include "front/calls.h"
#include "front/confine.h"
#include "front/http.h"
#include "front/known.h"
#include "front/link.h"
#include "front/mcp.h"
#include "front/metrics.h"
#include "front/options.h"
#include "listen.h"

/* From the end of the executor to the end of the front: answers are written, slow readers cut. */
#define END_MS 300

#define WAIT_MAX_MS 60000

/* Connections besides those whose calls are open, and descriptors besides connections. */
#define CONNECTIONS_SPARE 512
#define FDS_SPARE         96

/* Messages from this size on are mapped, so that their memory goes back when many have gone. */
#define MAPPED_BYTES 65536

struct server {
    struct front_settings settings;
    struct known *known;
    struct bearer bearer;
    struct listen listen;
    struct link link;
    struct calls *calls;
    struct mcp mcp;
    struct metrics *metrics;
    struct http *http;
    struct pollfd *fds; /* the link, then those of http */
    size_t fd_count;
    int64_t deadline; /* of the end; CLOCK_NEVER while there is none in sight */
};

static int read_digests(struct bearer *bearer)
{
    auto_buf struct buf digests;
    ssize_t count;

    buf_init(&digests, sizeof(bearer->digests) + 1);
    do {
        count = fd_read(CHILD_TOKENS_FD, &digests, sizeof(bearer->digests) + 1);
    } while (count > 0);
    if (count < 0 || digests.len > sizeof(bearer->digests) || digests.len % BEARER_DIGEST_SIZE != 0)
        return -1;
    if (digests.len > 0)
        memcpy(bearer->digests, digests.data, digests.len);
    bearer->count = digests.len / BEARER_DIGEST_SIZE;
    close(CHILD_TOKENS_FD);
    return 0;
}

static void find_listeners(struct listen *ret)
{
    for (int fd = CHILD_LISTEN_FD; ret->count < LISTEN_MAX; fd++) {
        int listens = 0;
        socklen_t len = sizeof(listens);

        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0 || !listens)
            return;
        ret->fds[ret->count++] = fd;
    }
}

/* How many connections there may be, within what the process may have. */
static size_t choose_connections_max(const struct front_options *options)
{
    size_t wanted = options->calls_max + CONNECTIONS_SPARE;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return CONNECTIONS_SPARE;
    if (limit.rlim_cur < wanted + FDS_SPARE) {
        limit.rlim_cur = limit.rlim_max < wanted + FDS_SPARE ? limit.rlim_max : wanted + FDS_SPARE;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur >= wanted + FDS_SPARE)
        return wanted;
    return limit.rlim_cur > 2 * FDS_SPARE ? limit.rlim_cur - FDS_SPARE : FDS_SPARE;
}

static int start(struct server *server, const struct config *config, struct error *err)
{
    const struct front_options *settings = &server->settings.options;
    struct http_options options = {.listeners = server->listen.fds};

    server->known = known_new();
    front_settings_init(&server->settings, config, server->known);
    if (read_digests(&server->bearer) < 0)
        return error_set(err, "the digests of the tokens cannot be read");
    find_listeners(&server->listen);
    if (server->listen.count == 0 || fd_nonblock(CHILD_EXECUTOR_FD) < 0)
        return error_set(err, "front is started by serve, not by hand");
    link_init(&server->link, CHILD_EXECUTOR_FD, front_run_max(settings));
    server->metrics = metrics_new(settings);
    server->link.metrics = server->metrics;
    server->link.known = server->known;
    server->calls = calls_new(settings, &server->link.out);
    server->mcp = (struct mcp){.options = settings, .calls = server->calls};
    options.listener_count = server->listen.count;
    options.connections_max = choose_connections_max(settings);
    options.gate = (struct gate_options){
        .loopback = listen_is_loopback(config->http),
        .hosts = config->allowed_hosts,
        .origins = config->allowed_origins,
        .bearer = &server->bearer,
        .body_max = front_message_max(settings),
    };
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    server->http = http_new(&options, &server->mcp, server->metrics, err);
    if (!server->http)
        return -1;
    server->fds = mem_alloc((1 + http_watch_max(server->http)) * sizeof(*server->fds));
    return front_confine(err);
}

static bool is_ending(const struct server *server)
{
    return server->deadline != CLOCK_NEVER;
}

/* Everything that can be done without waiting; HTTP comes last, and picks up what the others did.
 */
static void step(struct server *server)
{
    struct link *link = &server->link;
    int64_t now = clock_ms();

    if (link->ended && !is_ending(server)) {
        http_close(server->http);
        server->deadline = now + END_MS;
    }
    if (link->ended) {
        if (metrics_is_draining(server->metrics))
            calls_abandon(server->calls, OUTCOME_CANCELLED, "the server has been stopped");
        else
            calls_abandon(server->calls, OUTCOME_SANDBOX_ERROR,
                          "the server's executor ended during the call; start the server again");
    }
    calls_step(server->calls, now);
    http_step(server->http, server->fds + 1);
    link_write(link);
}

static int wait_and_read(struct server *server, struct error *err)
{
    struct link *link = &server->link;
    int64_t due = clock_earlier(server->deadline, calls_due(server->calls));

    due = clock_earlier(due, http_due(server->http));
    server->fds[0] = (struct pollfd){
        .fd = link->ended ? -1 : link->fd,
        .events = (short)(POLLIN | (link->out.len > 0 ? POLLOUT : 0)),
    };
    server->fd_count = 1 + http_watch(server->http, server->fds + 1);
    if (poll(server->fds, server->fd_count, clock_timeout(due, WAIT_MAX_MS)) < 0) {
        for (size_t i = 0; i < server->fd_count; i++)
            server->fds[i].revents = 0;
        return errno == EINTR ? 0 : error_set(err, "poll: %s", strerror(errno));
    }
    if ((server->fds[0].revents & ~POLLOUT) != 0)
        return link_read(link, server->calls, clock_ms(), err);
    return 0;
}

static int run(struct server *server)
{
    struct error err;

    while (!(is_ending(server) && (clock_ms() >= server->deadline || http_is_idle(server->http)))) {
        if (wait_and_read(server, &err) < 0) {
            log_error("the executor's message cannot be trusted, the server ends: %s", err.text);
            return EXIT_FAILURE;
        }
        step(server);
    }
    return EXIT_SUCCESS;
}

int front_serve_http(const struct config *config)
{
    struct server server = {.deadline = CLOCK_NEVER};
    struct error err;
    int status = EXIT_FAILURE;

    if (start(&server, config, &err) < 0)
        log_error("front: %s", err.text);
    else
        status = run(&server);
    http_free(server.http);
    calls_free(server.calls);
    metrics_free(server.metrics);
    known_free(server.known);
    link_done(&server.link);
    free(server.fds);
    return status;
}
