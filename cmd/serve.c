/* The server: starts the front, then is the executor. The parent, so that a client that kills the
 * process it started kills the one that holds the Docker socket. */
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "child.h"
#include "config.h"
#include "executor/audit.h"
#include "executor/confine.h"
#include "executor/endpoint.h"
#include "executor/executor.h"
#include "executor/owner.h"
#include "executor/reaper.h"
#include "executor/service.h"
#include "front/bearer.h"
#include "listen.h"
#include "options.h"
#include "setting.h"
#include "signals.h"
#include "tokens.h"
#include "verbs.h"

/* Clients give a server two seconds from the end of its input to its own: containers first, then
 * the front. */
#define DRAIN_MS 1500
#define FRONT_MS 400

/* Open calls that the front may have beside those that run or wait; it keeps well below. */
#define CALLS_SPARE 64

struct server {
    struct config config;
    struct endpoint *endpoint;
    struct reaper *reaper;
    struct executor *executor;
    struct service *service;
    struct audit *audit; /* NULL: none is kept */
    struct bearer bearer;
    struct listen listen; /* empty over stdio */
    pid_t front;
    int signal_fd;
    bool drained; /* every container is gone */
};

/* The client's streams belong to the front alone. */
static void give_up_stdio(void)
{
    auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null >= 0) {
        (void)dup2(null, STDIN_FILENO);
        (void)dup2(null, STDOUT_FILENO);
    }
}

/* One turn; returns a signal that asks for the end, or 0. */
static int turn(struct server *server, int timeout_ms)
{
    struct curl_waitfd extra[2] = {
        {.fd = server->signal_fd, .events = CURL_WAIT_POLLIN},
        {.fd = service_fd(server->service), .events = CURL_WAIT_POLLIN},
    };

    if (service_wants_write(server->service))
        extra[1].events |= CURL_WAIT_POLLOUT;
    executor_wait(server->executor, extra, 2, timeout_ms);
    return signals_take(server->signal_fd);
}

/* Until the front has gone, a signal came, or the deadline has passed; drained: or no call is open
 * any more. Whether a signal was it. */
static bool serve(struct server *server, int64_t end, bool drained)
{
    bool front_is_there = true;

    executor_step(server->executor);
    while (front_is_there && clock_ms() < end && !(drained && service_is_idle(server->service))) {
        int64_t deadline = clock_earlier(end, service_deadline(server->service));
        int signo = turn(server, clock_timeout(deadline, INT_MAX));

        if (signo) {
            log_info("signal %d: shutting down", signo);
            return true;
        }
        front_is_there = service_step(server->service);
        executor_step(server->executor);
        service_flush(server->service);
    }
    return false;
}

/* Running calls may end, new ones are refused; a second signal cuts this short. */
static void let_calls_end(struct server *server)
{
    log_info("up to %lld s for the calls that run", (long long)server->config.drain_s);
    (void)serve(server, clock_ms() + server->config.drain_s * 1000, true);
}

static void drain(struct server *server)
{
    int64_t deadline = clock_ms() + DRAIN_MS;

    executor_shutdown(server->executor);
    while (!executor_is_empty(server->executor) && clock_ms() < deadline) {
        executor_step(server->executor);
        service_flush(server->service);
        if (!executor_is_empty(server->executor))
            executor_wait(server->executor, NULL, 0, clock_timeout(deadline, 50));
    }
    service_flush(server->service);
    server->drained = executor_is_empty(server->executor);
    if (!server->drained)
        log_warn("containers are left; they end by themselves");
}

/* Whether the front ended as it should: by itself, without an error. */
static bool end_front(struct server *server)
{
    int64_t deadline = clock_ms() + FRONT_MS;
    struct pollfd child = {.fd = server->signal_fd, .events = POLLIN};
    int left, how = 0;

    service_free(server->service);
    server->service = NULL;
    while (waitpid(server->front, &how, WNOHANG) == 0) {
        left = clock_timeout(deadline, FRONT_MS);
        if (left == 0)
            return true; /* it ends by itself, within a second of the end of its socket */
        (void)poll(&child, 1, left);
        (void)signals_take(server->signal_fd);
    }
    if (WIFSIGNALED(how))
        log_error("the front was ended by signal %d (%s)", WTERMSIG(how), strsignal(WTERMSIG(how)));
    else if (WEXITSTATUS(how) != 0)
        log_error("the front ended with status %d", WEXITSTATUS(how));
    return WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

/* First, so that the tokens are out of the environment before another process is started. */
static int take_tokens(struct server *server, struct error *err)
{
    const struct config *config = &server->config;
    auto_free char *list = NULL;

    if (getenv(CONFIG_TOKEN_VARIABLE))
        list = mem_strdup(getenv(CONFIG_TOKEN_VARIABLE));
    (void)unsetenv(CONFIG_TOKEN_VARIABLE);
    if (!config->http)
        return 0;
    if (listen_check(config->http, err) < 0 ||
        tokens_load(&server->bearer, config->token_file, list, err) < 0)
        return -1;
    if (server->bearer.count == 0 && !listen_is_loopback(config->http) &&
        !config->http_without_token)
        return error_set(err,
                         "http: %s can be reached from other machines, and no token is set: give "
                         "--token-file=FILE, with a line made by python-sandbox token; or serve "
                         "this machine only, as localhost",
                         config->http);
    return 0;
}

/* Whoever set them thinks that they do something. */
static void warn_of_idle_settings(const struct config *config)
{
    const struct setting *setting;
    struct config defaults;

    config_init(&defaults);
    for (size_t i = 0; !config->http && (setting = setting_at(i)); i++) {
        if (setting->group == SETTING_GROUP_HTTP && setting_differs(setting, config, &defaults))
            log_warn("%s: has no effect without http", setting->name);
    }
    if (config->audit_code && !config->audit_log)
        log_warn("audit-code: has no effect without audit-log");
    config_done(&defaults);
}

static int start(struct server *server, char *owner, struct error *err)
{
    bool http = server->config.http != NULL;
    struct executor_options options;
    auto_close int front_fd = -1;

    if (owner_self(owner, err) < 0)
        return -1;
    server->endpoint = endpoint_new(server->config.docker_host, server->config.docker_cert_path);
    server->reaper = reaper_start(server->endpoint, owner, err);
    if (!server->reaper)
        return -1;
    server->signal_fd = signals_open();
    if (server->signal_fd < 0)
        return error_set(err, "signalfd: %s", strerror(errno));
    /* After the reaper, which would keep the sockets. */
    if (http && listen_open(&server->listen, server->config.http, err) < 0)
        return -1;
    if (server->config.audit_log) {
        server->audit = audit_open(server->config.audit_log, server->config.audit_code, err);
        if (!server->audit)
            return -1;
    }
    /* The front before the engine, so that clients get their first answers at once. */
    front_fd = child_start(&server->config, http ? &server->listen : NULL, &server->bearer,
                           &server->front, err);
    if (front_fd < 0)
        return -1;
    listen_close(&server->listen);
    options_executor(&server->config, owner, &options);
    options.endpoint = server->endpoint;
    server->executor = executor_new(&options, err);
    if (!server->executor)
        return -1;
    server->service = service_new(
        fd_take(&front_fd), server->executor,
        (unsigned)(server->config.max_running + server->config.queue) + CALLS_SPARE, http);
    service_audit(server->service, server->audit);
    give_up_stdio();
    return executor_confine(server->endpoint, err);
}

int cmd_serve(int argc, char **argv)
{
    struct server server = {.signal_fd = -1, .drained = true};
    struct config_arguments rest;
    struct error err;
    char owner[OWNER_TEXT_MAX];
    int status = EXIT_SUCCESS;

    if (options_load(&server.config, argc, argv, false, "[FLAGS]",
                     "Be an MCP server with one tool, run_python: on stdin and stdout, or over "
                     "HTTP with --http.",
                     &rest, &err) < 0) {
        log_error("%s", err.text);
        return 2;
    }
    log_open(STDERR_FILENO, server.config.log_level);
    warn_of_idle_settings(&server.config);
    if (rest.count) {
        log_error("serve takes flags only, not \"%s\"; see python-sandbox serve --help",
                  rest.rest[0]);
        status = 2;
    } else if (take_tokens(&server, &err) < 0) {
        log_error("%s", err.text);
        status = 2;
    } else if (start(&server, owner, &err) < 0) {
        log_error("%s", err.text);
        status = EXIT_FAILURE;
    } else {
        if (serve(&server, CLOCK_NEVER, false) && server.config.http) {
            service_drain(server.service);
            if (server.config.drain_s > 0)
                let_calls_end(&server);
        }
        drain(&server);
        if (!end_front(&server))
            status = EXIT_FAILURE;
    }
    executor_free(server.executor);
    audit_free(server.audit);
    if (server.reaper && server.drained)
        reaper_dismiss(server.reaper);
    endpoint_free(server.endpoint);
    free(rest.rest);
    config_done(&server.config);
    return status;
}
