/* Runs one local file with the same walls, and behaves like `python FILE`. */
#include <curl/curl.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "config.h"
#include "executor/audit_entry.h"
#include "executor/executor.h"
#include "local.h"
#include "options.h"
#include "run_files.h"
#include "run_outputs.h"
#include "verbs.h"

/* Exit statuses that are not the script's: as timeout(1) and `docker run` have them. */
#define EXIT_USAGE   2
#define EXIT_TIMEOUT 124
#define EXIT_SANDBOX 125

#define OUT_MAX     (64 * 1024 * 1024) /* never reached: output is held at OUT_HIGH */
#define OUT_HIGH    (1024 * 1024)
#define WRITE_BYTES 4096 /* a pipe that poll calls writable takes this much without blocking */
#define READ_BYTES  65536

struct session {
    const struct config *config;
    struct local *local;
    struct audit *audit;       /* NULL: none is kept */
    struct audit_entry *entry; /* likewise */
    struct run *run;           /* NULL once done */
    struct run_files files;
    struct run_outputs outputs;
    struct buf out[OUTCOME_STREAM_COUNT];
    bool broken[OUTCOME_STREAM_COUNT];
    bool input_over;
    int signal; /* that asked for the end */
    int status; /* exit status */
};

static const int stream_fd[OUTCOME_STREAM_COUNT] = {STDOUT_FILENO, STDERR_FILENO};

static void say(struct session *session, const char *text)
{
    if (!session->broken[OUTCOME_STDERR])
        (void)buf_addf(&session->out[OUTCOME_STDERR], "python-sandbox: %s\n", text);
}

static void on_phase(void *arg, enum wire_phase phase, uint32_t value)
{
    struct session *session = arg;
    auto_free char *text = mem_printf("pulling the image: %u %%", value);

    if (phase == WIRE_PULLING)
        say(session, text);
    else if (phase == WIRE_RUNNING)
        audit_entry_started(session->entry, local_executor(session->local), 0);
}

/* A reader that is slow slows the script down, as a pipe would. */
static void balance(struct session *session)
{
    bool full =
        session->out[OUTCOME_STDOUT].len > OUT_HIGH || session->out[OUTCOME_STDERR].len > OUT_HIGH;

    if (session->run)
        run_hold(session->run, full);
}

static void on_output(void *arg, enum outcome_stream stream, bool tail, const char *bytes,
                      size_t len)
{
    struct session *session = arg;

    (void)tail;
    if (!session->broken[stream])
        (void)buf_add(&session->out[stream], bytes, len);
    balance(session);
}

static void on_artifact(void *arg, const struct artifact *artifact)
{
    struct session *session = arg;
    bool whole = artifact->reason == ARTIFACT_WHOLE;

    audit_entry_artifacts(session->entry, 1, whole ? artifact->size : 0);
    run_outputs_begin(&session->outputs, artifact);
}

static void on_artifact_bytes(void *arg, const char *bytes, size_t len)
{
    struct session *session = arg;

    run_outputs_bytes(&session->outputs, bytes, len);
}

static void on_artifact_rest(void *arg, uint64_t count, bool at_least)
{
    struct session *session = arg;

    audit_entry_artifacts(session->entry, count, 0);
    run_outputs_rest(&session->outputs, count, at_least);
}

static void tell(struct session *session, const struct outcome *outcome)
{
    const struct config_profile *profile =
        &session->config->profiles[session->config->profile_default];
    auto_free char *text = NULL;

    switch (outcome->status) {
    case OUTCOME_OK:
    case OUTCOME_ERROR:
    case OUTCOME_CANCELLED:
    case OUTCOME_STATUS_COUNT:
        return;
    case OUTCOME_TIMED_OUT:
        text = mem_printf("stopped after %lld s (--timeout)", (long long)profile->timeout_s);
        break;
    case OUTCOME_OUT_OF_MEMORY:
        text = mem_printf("out of memory: %lld MB are allowed (--memory)",
                          (long long)profile->memory / (1024 * 1024));
        break;
    case OUTCOME_KILLED:
        text = mem_printf("ended by signal %d (%s)", outcome->exit_code - 128,
                          strsignal(outcome->exit_code - 128));
        break;
    case OUTCOME_BUSY:
    case OUTCOME_SANDBOX_ERROR:
        text = mem_strdup(outcome->message ? outcome->message : "the sandbox failed");
        break;
    }
    say(session, text);
}

static void on_done(void *arg, struct outcome *outcome)
{
    struct session *session = arg;
    struct error err;

    session->run = NULL;
    run_outputs_end(&session->outputs);
    tell(session, outcome);
    if (audit_entry_end(session->entry, outcome, &err) < 0)
        say(session, err.text);
    session->entry = NULL;
    if (outcome->status == OUTCOME_TIMED_OUT)
        session->status = EXIT_TIMEOUT;
    else if (outcome->status == OUTCOME_BUSY || outcome->status == OUTCOME_SANDBOX_ERROR)
        session->status = EXIT_SANDBOX;
    else if (outcome->status != OUTCOME_CANCELLED)
        session->status = outcome->exit_code & 0xff;
    if (session->outputs.failed && session->status == 0)
        session->status = EXIT_SANDBOX;
}

/* Nobody reads a pipe that broke, as after `| head`; all else is told. */
static void give_up(struct session *session, enum outcome_stream stream, int error)
{
    auto_free char *text = mem_printf("cannot write to stdout: %s", strerror(error));

    session->broken[stream] = true;
    buf_drop(&session->out[stream], session->out[stream].len);
    session->status = error == EPIPE ? 128 + SIGPIPE : EXIT_SANDBOX;
    if (error != EPIPE)
        say(session, text);
    if (session->run)
        run_stop(session->run, RUN_CANCELLED);
}

static void write_some(struct session *session, enum outcome_stream stream)
{
    struct buf *out = &session->out[stream];
    size_t len = out->len < WRITE_BYTES ? out->len : WRITE_BYTES;
    ssize_t n = write(stream_fd[stream], out->data, len);

    if (n >= 0)
        buf_drop(out, (size_t)n);
    else if (errno != EINTR && errno != EAGAIN)
        give_up(session, stream, errno);
}

static void read_some(struct session *session)
{
    struct buf in;
    ssize_t n;

    buf_init(&in, READ_BYTES);
    n = fd_read(STDIN_FILENO, &in, READ_BYTES);
    if (n < 0 && errno == EAGAIN)
        return;
    session->input_over = n <= 0;
    (void)run_input(session->run, in.data, n > 0 ? (size_t)n : 0);
    buf_done(&in);
}

static void loop_turn(struct session *session)
{
    struct curl_waitfd extra[3];
    unsigned count = 0, input = 3;
    int stream_of[3], signo;

    for (int stream = 0; stream < OUTCOME_STREAM_COUNT; stream++) {
        if (session->out[stream].len) {
            stream_of[count] = stream;
            extra[count++] =
                (struct curl_waitfd){.fd = stream_fd[stream], .events = CURL_WAIT_POLLOUT};
        }
    }
    if (session->run && !session->input_over && run_takes_input(session->run)) {
        input = count;
        extra[count++] = (struct curl_waitfd){.fd = STDIN_FILENO, .events = CURL_WAIT_POLLIN};
    }
    signo = local_turn(session->local, extra, count, -1);
    if (signo && session->run) {
        session->status = 128 + signo;
        run_stop(session->run, RUN_CANCELLED);
    }
    for (unsigned i = 0; i < count; i++) {
        if (!extra[i].revents)
            continue;
        if (i != input)
            write_some(session, (enum outcome_stream)stream_of[i]);
        else if (session->run && run_takes_input(session->run))
            read_some(session);
    }
    balance(session);
}

static char *read_code(const char *file, int64_t max, size_t *ret_len, struct error *err)
{
    const char *path = strcmp(file, "-") == 0 ? "/dev/stdin" : file;
    char *code = fd_read_file(path, (size_t)max, ret_len);

    if (!code && errno == EFBIG)
        error_set(err, "%s is larger than %lld bytes (--code-max)", file, (long long)max);
    else if (!code)
        error_set(err, "cannot read %s: %s", file, strerror(errno));
    return code;
}

static int open_audit(struct session *session, const struct run_request *request,
                      struct executor_options *options, struct error *err)
{
    static const char client[] = "python-sandbox run";
    struct audit_call call = {
        .number = 1,
        .client = client,
        .client_len = strlen(client),
        .code = request->code,
        .code_len = request->code_len,
        .stdin_len = 0, /* it is not read ahead */
        .file_count = request->file_count,
        .timeout_ms = request->timeout_ms,
    };
    const struct config *config = session->config;

    for (size_t i = 0; i < request->file_count; i++)
        call.file_bytes += request->files[i].len;
    if (!config->audit_log)
        return 0;
    session->audit = audit_open(config->audit_log, config->audit_code, err);
    if (!session->audit)
        return -1;
    options_executor(config, "", options);
    session->entry =
        audit_entry_new(session->audit, &options->profiles[config->profile_default], &call);
    return 0;
}

static int run_file(struct session *session, char **argv, size_t argc, struct error *err)
{
    static const struct run_ops ops = {.phase = on_phase,
                                       .output = on_output,
                                       .artifact = on_artifact,
                                       .artifact_bytes = on_artifact_bytes,
                                       .artifact_rest = on_artifact_rest,
                                       .done = on_done};
    const struct config_profile *profile =
        &session->config->profiles[session->config->profile_default];
    struct run_request request = {
        .timeout_ms = (uint32_t)profile->timeout_s * 1000,
        .keep_head = -1,
        .name = run_files_script(argv[0]),
        .argv = (const char *const *)argv + 1,
        .argc = argc - 1,
        .stdin_len = strcmp(argv[0], "-") == 0 ? 0 : -1,
        .files = session->files.list,
        .file_count = session->files.count,
        .artifacts = run_outputs_limits(&session->outputs),
    };
    struct executor_options options;
    auto_free char *code = NULL;

    for (size_t i = 1; i < argc; i++) {
        if (!text_is_utf8(argv[i], strlen(argv[i])))
            return error_set(err, "argument %zu is not valid UTF-8", i);
    }
    request.code = code = read_code(argv[0], session->config->code_max, &request.code_len, err);
    if (!code)
        return -1;
    if (open_audit(session, &request, &options, err) < 0)
        return -1;
    session->local = local_start(session->config, LOCAL_DEFAULT, 0, err);
    if (!session->local)
        return -1;
    session->run = executor_run(local_executor(session->local), &request, &ops, session);
    if (!session->run)
        return error_set(err, "the arguments and the names of files are longer than a megabyte");
    executor_step(local_executor(session->local));
    while (session->run || session->out[OUTCOME_STDOUT].len || session->out[OUTCOME_STDERR].len)
        loop_turn(session);
    return 0;
}

/* The verb's own flags: files in, and where files go that come out. */
static int take_own(struct session *session, const struct config_arguments *arguments,
                    struct error *err)
{
    const char *dir = NULL;

    for (size_t i = 0; i < arguments->given_count; i++) {
        const struct config_given *given = &arguments->given[i];

        if (given->flag == VERBS_RUN_OUTPUTS)
            dir = given->value;
        else if (run_files_add(&session->files, given->value, run_files_script(arguments->rest[0]),
                               session->config, err) < 0)
            return -1;
    }
    return run_outputs_open(&session->outputs, dir, &session->out[OUTCOME_STDERR], err);
}

int cmd_run(int argc, char **argv)
{
    struct config_flag own[VERBS_RUN_COUNT + 1] = {{.name = NULL}};
    const struct config_verb verb = {
        .usage = VERBS_RUN_USAGE,
        .doc = "Run one local Python file in the sandbox, as `python FILE ARGUMENTS` would: output "
               "as it comes, exit status passed on.",
        .stop_at_first = true,
        .flags = own,
    };
    struct config config;
    struct session session = {.config = &config, .outputs = {.fd = -1, .file = -1}};
    struct config_arguments rest;
    struct error err;

    for (size_t i = 0; i < VERBS_RUN_COUNT; i++)
        own[i] = (struct config_flag){.name = verbs_run_flags[i].name + strlen("--"),
                                      .placeholder = verbs_run_flags[i].value,
                                      .meaning = verbs_run_flags[i].meaning};
    if (options_load_verb(&config, argc, argv, &verb, &rest, &err) < 0) {
        fprintf(stderr, "python-sandbox: %s\n", err.text);
        return EXIT_USAGE;
    }
    log_open(config.log_level == LOG_LEVEL_DEBUG ? STDERR_FILENO : -1, config.log_level);
    (void)signal(SIGTTIN, SIG_IGN); /* in the background, the terminal has no input for us */
    for (int i = 0; i < OUTCOME_STREAM_COUNT; i++)
        buf_init(&session.out[i], OUT_MAX);
    if (rest.count == 0) {
        fprintf(stderr,
                "python-sandbox: run needs a FILE, or - for standard input; see python-sandbox "
                "run --help\n");
        session.status = EXIT_USAGE;
    } else if (take_own(&session, &rest, &err) < 0 ||
               run_file(&session, rest.rest, rest.count, &err) < 0) {
        fprintf(stderr, "python-sandbox: %s\n", err.text);
        session.status = EXIT_USAGE;
    }
    local_end(session.local);
    audit_entry_free(session.entry);
    audit_free(session.audit);
    for (int i = 0; i < OUTCOME_STREAM_COUNT; i++)
        buf_done(&session.out[i]);
    run_files_done(&session.files);
    run_outputs_done(&session.outputs);
    free(rest.rest);
    free(rest.given);
    config_done(&config);
    return session.status;
}
