/* The front's process: started by serve with the client's stdin and stdout, a log on stderr, the
 * executor on descriptor 3, an empty environment, and the settings as flags. What HTTP needs is in
 * front_http.c. */
#include "front.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/log.h"
#include "child.h"
#include "config.h"
#include "front/calls.h"
#include "front/confine.h"
#include "front/known.h"
#include "front/link.h"
#include "front/mcp.h"
#include "front/options.h"
#include "front/stdio.h"
#include "verbs.h"

/* The client's stdout is moved to a descriptor from here on. */
#define PRIVATE_FD 10

/* From the end of the input, or of the executor, to the end of the front. */
#define END_MS 1000

#define WAIT_MAX_MS 60000

/* Calls that may be open besides those that run or wait: cancelled ones on their way out, mostly.
 */
#define CALLS_SPARE 16

/* A byte of text is at most six in JSON ("\u001f"); of a file, which comes as base64 or is text in
 * which at most two bytes are written as six ("\u00e9"), three; the rest of a message is small. */
#define JSON_EXPANSION 6
#define FILE_EXPANSION 3
#define MESSAGE_SPARE  65536

struct front {
    struct front_settings settings;
    struct known *known;
    struct stdio stdio;
    struct link link;
    struct calls *calls;
    struct mcp mcp;
    int64_t deadline; /* of the end; CLOCK_NEVER while there is none in sight */
};

static struct front_profile profile_of(const struct config_profile *profile)
{
    return (struct front_profile){
        .name = profile->name,
        .description = profile->description,
        .timeout_ms = (uint32_t)(profile->timeout_s * 1000),
        .timeout_max_ms = (uint32_t)(profile->timeout_max_s * 1000),
        .memory = (uint64_t)profile->memory,
        .workspace = (uint64_t)profile->workspace,
        .tmp = (uint64_t)profile->tmp,
        .cpus_milli = (uint32_t)profile->cpus_milli,
        .pids = (uint32_t)profile->pids,
        .data = profile->data,
        .data_count = profile->data_count,
    };
}

void front_settings_init(struct front_settings *settings, const struct config *config,
                         const struct known *known)
{
    const struct front_options options = {
        .profiles = settings->profiles,
        .profile_count = config->profile_count,
        .profile_default = config->profile_default,
        .known = known,
        .code_max = (size_t)config->code_max,
        .stdin_max = (size_t)config->stdin_max,
        .files_max = (size_t)config->files_max,
        .files_bytes_max = config->files_max ? (size_t)config->files_bytes_max : 0,
        .text_max = (size_t)config->text_max,
        .error_text_max = (size_t)config->error_text_max,
        .artifacts_max = (size_t)config->artifacts_max,
        .image_max = (size_t)config->image_max,
        .resource_max = (size_t)config->resource_max,
        .side_max = (uint32_t)config->image_side_max,
        .reply_max = (size_t)config->reply_max,
        .calls_max = (size_t)(config->max_running + config->queue + CALLS_SPARE),
        .retry_elsewhere = config->retry_elsewhere,
        .structured = (enum structured)config->structured_content,
    };

    for (size_t i = 0; i < config->profile_count; i++)
        settings->profiles[i] = profile_of(&config->profiles[i]);
    settings->options = options_of_profile(&options, config->profile_default);
}

size_t front_message_max(const struct front_options *options)
{
    return JSON_EXPANSION * (options->code_max + options->stdin_max) +
           FILE_EXPANSION * options->files_bytes_max + MESSAGE_SPARE +
           options->files_max * (JSON_EXPANSION * LIMIT_PATH_MAX);
}

size_t front_run_max(const struct front_options *options)
{
    return options->code_max + options->stdin_max + options->files_bytes_max +
           options->files_max * (LIMIT_PATH_MAX + 2 * sizeof(uint32_t));
}

/* Takes the client's stdout away from descriptor 1, so that nothing but replies can reach it. */
static int take_stdout(void)
{
    int taken;

    if (fcntl(STDERR_FILENO, F_GETFD) < 0) {
        auto_close int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

        if (null < 0 || dup2(null, STDERR_FILENO) < 0)
            return -1;
    }
    taken = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, PRIVATE_FD);
    if (taken < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return -1;
    return taken;
}

/* A terminal is shared with the shell that the user goes back to: it stays as it is. */
static int make_nonblocking(int fd, int *ret_flags)
{
    *ret_flags = fcntl(fd, F_GETFL);
    if (*ret_flags < 0)
        return -1;
    return isatty(fd) ? 0 : fd_nonblock(fd);
}

static void take_lines(struct front *front, int64_t now)
{
    const char *line;
    size_t len;

    while (!link_is_backed_up(&front->link)) {
        switch (stdio_next(&front->stdio, &line, &len)) {
        case STDIO_LINE:
            (void)mcp_take(&front->mcp, &front->stdio.peer, line, len, now);
            break;
        case STDIO_TOO_LONG:
            mcp_refuse_long(&front->stdio.peer, front->stdio.line_max);
            break;
        case STDIO_NONE:
            return;
        }
    }
}

static bool is_ending(const struct front *front)
{
    return front->deadline != CLOCK_NEVER;
}

/* Everything that can be done without waiting. */
static void step(struct front *front, int64_t now)
{
    struct stdio *stdio = &front->stdio;
    struct link *link = &front->link;

    if (!is_ending(front))
        take_lines(front, now);
    if (link->ended && calls_count(front->calls) > 0) {
        if (is_ending(front))
            calls_abandon(front->calls, OUTCOME_CANCELLED, "the server has been stopped");
        else
            calls_abandon(front->calls, OUTCOME_SANDBOX_ERROR,
                          "the server's executor ended during the call; start the server again");
    }
    calls_step(front->calls, now);
    stdio_write(stdio);
    if (!is_ending(front) && (stdio->input_ended || stdio->broken || link->ended)) {
        front->deadline = now + END_MS;
        link->closing = true;
    }
    link_write(link);
}

static bool is_over(const struct front *front, int64_t now)
{
    return now >= front->deadline || (front->link.ended && front->stdio.output.len == 0);
}

/* Waits for something to do, and reads what came. */
static int wait_and_read(struct front *front, struct error *err)
{
    struct stdio *stdio = &front->stdio;
    struct link *link = &front->link;
    bool wants_input = !is_ending(front) && !link_is_backed_up(link) && stdio_wants_input(stdio);
    bool wants_output = stdio->output.len > 0;
    int64_t due = clock_earlier(front->deadline, calls_due(front->calls));
    struct pollfd fds[] = {
        {.fd = wants_input ? stdio->in : -1, .events = POLLIN},
        {.fd = wants_output ? stdio->out : -1, .events = POLLOUT},
        {.fd = link->ended ? -1 : link->fd,
         .events = (short)(POLLIN | (link->out.len > 0 ? POLLOUT : 0))},
    };

    if (poll(fds, sizeof(fds) / sizeof(fds[0]), clock_timeout(due, WAIT_MAX_MS)) < 0)
        return errno == EINTR ? 0 : error_set(err, "poll: %s", strerror(errno));
    if (fds[0].revents != 0)
        stdio_read(stdio);
    if ((fds[2].revents & ~POLLOUT) != 0)
        return link_read(link, front->calls, clock_ms(), err);
    return 0;
}

static int run(struct front *front)
{
    struct error err;

    while (true) {
        int64_t now = clock_ms();

        step(front, now);
        if (is_over(front, now))
            return EXIT_SUCCESS;
        if (wait_and_read(front, &err) < 0) {
            log_error("the executor's message cannot be trusted, the server ends: %s", err.text);
            return EXIT_FAILURE;
        }
    }
}

static int serve(const struct config *config, int out)
{
    struct front front = {.deadline = CLOCK_NEVER};
    const struct front_options *options = &front.settings.options;
    struct error err;
    int flags;
    int status = EXIT_FAILURE;

    front.known = known_new();
    front_settings_init(&front.settings, config, front.known);
    if (make_nonblocking(out, &flags) < 0 || fd_nonblock(CHILD_EXECUTOR_FD) < 0) {
        log_error("front: %s", strerror(errno));
        known_free(front.known);
        return EXIT_FAILURE;
    }
    link_init(&front.link, CHILD_EXECUTOR_FD, front_run_max(options));
    front.link.known = front.known;
    front.calls = calls_new(options, &front.link.out);
    front.mcp = (struct mcp){.options = options, .calls = front.calls};
    stdio_init(&front.stdio, STDIN_FILENO, out, front_message_max(options),
               options->calls_max * options->reply_max);

    if (front_confine(&err) < 0)
        log_error("front: %s", err.text);
    else
        status = run(&front);

    fcntl(out, F_SETFL, flags);
    calls_free(front.calls);
    stdio_done(&front.stdio);
    link_done(&front.link);
    known_free(front.known);
    return status;
}

int cmd_front(int argc, char **argv)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    struct config_arguments rest = {.count = 0};
    struct config config;
    struct stat executor;
    struct error err;
    int status = EXIT_FAILURE;
    int out = take_stdout();

    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        signal(ignored[i], SIG_IGN);
    config_init(&config);
    log_open(STDERR_FILENO, config.log_level);
    if (out < 0 || fstat(CHILD_EXECUTOR_FD, &executor) < 0 || !S_ISSOCK(executor.st_mode)) {
        log_error("front is started by serve, not by hand");
    } else if (config_load(&config, argc, argv, false, "front", "", &rest, &err) < 0) {
        log_error("front: %s", err.text);
    } else {
        log_open(STDERR_FILENO, config.log_level);
        status = config.http ? front_serve_http(&config) : serve(&config, out);
    }
    free(rest.rest);
    config_done(&config);
    return status;
}
