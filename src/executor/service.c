#include "executor/service.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "executor/audit_entry.h"
#include "executor/executor.h"
#include "executor/news.h"
#include "wire/wire.h"

#define READ_BYTES 65536
#define OUT_MAX    (512 * 1024 * 1024)

/* Room for the longest RUN and a read. */
#define IN_MAX                                                                                     \
    (LIMIT_CODE_MAX + LIMIT_STDIN_MAX + LIMIT_FILES_BYTES_MAX + LIMIT_FILES_MAX * LIMIT_PATH_MAX + \
     2 * READ_BYTES)

/* Bytes of scripts, input and files that calls may hold until they run, all together. */
#define HELD_MAX (256 * 1024 * 1024)

struct call {
    LIST_ENTRY(call) link;
    struct service *service;
    struct run *run;
    struct audit_entry *entry; /* NULL without an audit log */
    uint32_t number;
    uint32_t profile;
    size_t held; /* bytes that wait with it for a container */
};

struct service {
    int fd;
    struct executor *executor;
    struct audit *audit; /* or NULL */
    unsigned calls_max;
    unsigned call_count;
    LIST_HEAD(, call) calls;
    size_t held; /* of all calls */
    struct buf in, out;
    struct news *news;
    bool draining; /* no call is taken */
    bool ended;    /* nothing more is read */
    bool broken;   /* nothing more is written */
};

struct service *service_new(int fd, struct executor *executor, unsigned calls_max, bool tell_status)
{
    struct service *service = mem_alloc(sizeof(*service));

    service->fd = fd;
    service->executor = executor;
    service->calls_max = calls_max;
    service->news = news_new(executor, tell_status);
    LIST_INIT(&service->calls);
    buf_init(&service->in, IN_MAX);
    buf_init(&service->out, OUT_MAX);
    return service;
}

void service_audit(struct service *service, struct audit *audit)
{
    service->audit = audit;
}

void service_free(struct service *service)
{
    if (!service)
        return;
    while (!LIST_EMPTY(&service->calls)) {
        struct call *call = LIST_FIRST(&service->calls);

        LIST_REMOVE(call, link);
        audit_entry_free(call->entry);
        free(call);
    }
    close(service->fd);
    buf_done(&service->in);
    buf_done(&service->out);
    news_free(service->news);
    free(service);
}

int service_fd(const struct service *service)
{
    return service->fd;
}

bool service_wants_write(const struct service *service)
{
    return service->out.len > 0 && !service->broken;
}

/* A front that lets half a gigabyte pile up has stopped to be one. */
static void check_put(struct service *service, int r)
{
    if (r < 0 && !service->broken) {
        log_error("the front does not take its answers; it is given up");
        service->broken = service->ended = true;
    }
}

/* What the container has, nobody holds any more. */
static void let_go(struct call *call)
{
    call->service->held -= call->held;
    call->held = 0;
}

static void on_phase(void *arg, enum wire_phase phase, uint32_t value)
{
    struct call *call = arg;

    if (phase == WIRE_RUNNING) {
        let_go(call);
        audit_entry_started(call->entry, call->service->executor, call->profile);
    }
    check_put(call->service, wire_put_phase(&call->service->out, call->number, phase, value));
}

static void on_output(void *arg, enum outcome_stream stream, bool tail, const char *bytes,
                      size_t len)
{
    const struct call *call = arg;

    if (len)
        check_put(call->service,
                  wire_put_output(&call->service->out, call->number, stream, tail, bytes, len));
}

static void on_artifact(void *arg, const struct artifact *artifact)
{
    const struct call *call = arg;
    bool whole = artifact->reason == ARTIFACT_WHOLE;

    audit_entry_artifacts(call->entry, 1, whole ? artifact->size : 0);
    check_put(call->service, wire_put_artifact(&call->service->out, call->number, artifact));
}

static void on_artifact_bytes(void *arg, const char *bytes, size_t len)
{
    const struct call *call = arg;

    check_put(call->service,
              wire_put_artifact_bytes(&call->service->out, call->number, bytes, len));
}

static void on_artifact_rest(void *arg, uint64_t count, bool at_least)
{
    const struct call *call = arg;

    audit_entry_artifacts(call->entry, count, 0);
    check_put(call->service,
              wire_put_artifact_rest(&call->service->out, call->number, count, at_least));
}

static void on_done(void *arg, struct outcome *outcome)
{
    struct call *call = arg;
    struct service *service = call->service;
    struct error err;

    check_put(service, wire_put_done(&service->out, call->number, outcome));
    if (audit_entry_end(call->entry, outcome, &err) < 0)
        log_error("call %u is missing: %s", call->number, err.text);
    let_go(call);
    LIST_REMOVE(call, link);
    service->call_count--;
    free(call);
}

static struct call *find(const struct service *service, uint32_t number)
{
    struct call *call;

    LIST_FOREACH(call, &service->calls, link)
    {
        if (call->number == number)
            return call;
    }
    return NULL;
}

static void refuse(struct call *call, const char *message)
{
    struct outcome outcome = {
        .status = OUTCOME_BUSY, .exit_code = -1, .message = mem_strdup(message)};

    on_done(call, &outcome);
    outcome_done(&outcome);
}

static struct call *add_call(struct service *service, uint32_t number, const struct wire_run *wire)
{
    struct call *call = mem_alloc(sizeof(*call));
    size_t files = wire_run_file_bytes(wire);
    const struct audit_call line = {
        .number = number,
        .client = wire->label,
        .client_len = wire->label_len,
        .code = wire->code,
        .code_len = wire->code_len,
        .stdin_len = wire->stdin_len,
        .file_count = wire->file_count,
        .file_bytes = files,
        .timeout_ms = wire->timeout_ms,
    };

    call->service = service;
    call->number = number;
    call->held = wire->code_len + wire->stdin_len + files;
    service->held += call->held;
    call->profile = wire->profile;
    call->entry =
        audit_entry_new(service->audit, executor_profile(service->executor, wire->profile), &line);
    LIST_INSERT_HEAD(&service->calls, call, link);
    service->call_count++;
    return call;
}

static int take_run(struct service *service, uint32_t number, const struct wire_run *wire,
                    struct error *err)
{
    static const struct run_ops ops = {.phase = on_phase,
                                       .output = on_output,
                                       .artifact = on_artifact,
                                       .artifact_bytes = on_artifact_bytes,
                                       .artifact_rest = on_artifact_rest,
                                       .done = on_done};
    struct run_request request = {
        .profile = wire->profile,
        .timeout_ms = wire->timeout_ms,
        .keep_head = wire->keep_head,
        .keep_tail = wire->keep_tail,
        .name = FILE_SCRIPT_NAME,
        .code = wire->code,
        .code_len = wire->code_len,
        .stdin_bytes = wire->stdin_bytes,
        .stdin_len = (int64_t)wire->stdin_len,
        .files = wire->files,
        .file_count = wire->file_count,
        .artifacts = wire->artifacts,
    };
    struct call *call;

    if (wire->profile >= executor_profile_count(service->executor))
        return error_set(err, "there is no profile %u", wire->profile);
    if (find(service, number))
        return error_set(err, "call %u is open already", number);
    if (service->call_count >= service->calls_max)
        return error_set(err, "more than %u open calls", service->calls_max);
    call = add_call(service, number, wire);
    if (service->draining) {
        refuse(call, "the server is being stopped; nothing was run; try again when it, or "
                     "another, is there");
        return 0;
    }
    if (service->held > HELD_MAX) {
        refuse(call,
               "the scripts and files of the calls that wait fill the room there is for them; "
               "try again in a moment");
        return 0;
    }
    log_debug("call %u: %zu bytes of code, for %.*s", number, wire->code_len, (int)wire->label_len,
              wire->label);
    call->run = executor_run(service->executor, &request, &ops, call);
    return 0;
}

static int take_message(struct service *service, const struct wire_message *message,
                        struct error *err)
{
    struct call *call;

    switch (message->type) {
    case WIRE_RUN:
        return take_run(service, message->call, &message->run, err);
    case WIRE_STOP:
        call = find(service, message->call);
        if (call)
            run_stop(call->run, RUN_CANCELLED);
        return 0;
    case WIRE_PHASE:
    case WIRE_OUTPUT:
    case WIRE_ARTIFACT:
    case WIRE_ARTIFACT_BYTES:
    case WIRE_ARTIFACT_REST:
    case WIRE_DONE:
    case WIRE_STATUS:
    case WIRE_PROFILE:
        break;
    }
    return error_set(err, "message type %d goes the other way", (int)message->type);
}

static void take_messages(struct service *service)
{
    size_t done = 0, used;
    struct wire_message message;
    struct error err;
    int r;

    while ((r = wire_decode(service->in.data + done, service->in.len - done, &message, &used,
                            &err)) > 0) {
        done += used;
        r = take_message(service, &message, &err);
        wire_end(&message);
        if (r < 0)
            break;
    }
    buf_drop(&service->in, done);
    if (r < 0) {
        log_error("the front broke the protocol: %s", err.text);
        service->broken = service->ended = true;
    }
}

static void tell_news(struct service *service)
{
    check_put(service, news_tell(service->news, service->draining, &service->out));
}

int64_t service_deadline(const struct service *service)
{
    return news_deadline(service->news, service->draining);
}

void service_drain(struct service *service)
{
    service->draining = true;
    tell_news(service);
}

bool service_is_idle(const struct service *service)
{
    return LIST_EMPTY(&service->calls);
}

void service_flush(struct service *service)
{
    if (!service->broken && fd_write(service->fd, &service->out) < 0)
        service->broken = true;
}

bool service_step(struct service *service)
{
    while (!service->ended) {
        ssize_t n = fd_read(service->fd, &service->in, READ_BYTES);

        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0)
            service->ended = true;
        else
            take_messages(service);
    }
    tell_news(service);
    service_flush(service);
    return !service->ended;
}
