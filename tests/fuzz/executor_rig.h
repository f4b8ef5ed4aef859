/* A whole executor between two strangers: the real service, pool, containers and runs, with a stub
 * in place of the engine's sockets and of the clock. Targets say what the engine answers and what
 * a container's stream says; what must hold whatever they say is checked here. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "executor/endpoint.h"
#include "executor/engine.h"
#include "executor/executor.h"
#include "executor/owner.h"
#include "executor/seccomp.h"
#include "executor/service.h"
#include "wire/wire.h"

#define RIG_CALLS_MAX   3
#define RIG_RUNNING_MAX 2
#define RIG_TIMEOUT_MS  5000
#define RIG_STEPS_MAX   5000
#define RIG_STEP_MS     100
#define RIG_BUFFER      (128 * 1024 * 1024)
#define RIG_MIB         (INT64_C(1024) * 1024)
#define RIG_IMAGE       "sha256:0123"
#define RIG_NAME        "/containers/create?name=python-sandbox-"

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: must hold: %s\n", __FILE__, __LINE__, #condition);             \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static const struct spec_profile rig_profile = {
    .memory = 512 * RIG_MIB,
    .cpus_milli = 1000,
    .pids = 128,
    .workspace = 256 * RIG_MIB,
    .tmp = 64 * RIG_MIB,
    .shm = 64 * RIG_MIB,
};

struct engine_call {
    LIST_ENTRY(engine_call) entry;
    unsigned number;
    unsigned turn; /* of the engine, in which it was looked at last */
    char *method, *path;
    const struct engine_ops *ops;
    void *arg;
    bool attached;
    bool open; /* attached, and bytes flow */
    bool held;
    int64_t uid;     /* of the container */
    struct buf down; /* attached: what was written */
    unsigned said;   /* for the target: how far its supervisor is */
};

struct engine {
    LIST_HEAD(, engine_call) calls;
    unsigned last; /* number of a call */
    unsigned turn;
};

static struct rig {
    int64_t now;
    struct executor *executor;
    struct service *service;
    int front; /* the front's end of the socketpair */
    struct buf told;
    bool any_image;   /* the image's own variables and volumes change the body */
    int64_t uid;      /* of the container that was created last */
    unsigned created; /* number of its call, which is its id */
    unsigned runs;    /* that the target has sent */
    unsigned done, outputs;
    size_t output_bytes;
    unsigned artifacts;
    uint64_t artifact_left; /* bytes of the last one that are still to come */
    uint64_t artifact_bytes;
    bool rested; /* an ARTIFACT_REST has come */
    enum outcome_status last_status;
} rig;

/* What the target must have. The answer to a call: 0 is none yet, else the status, and *ret_body.
 * What a container's stream says, once in each turn. */
static long rig_answer(struct engine_call *call, char **ret_body);
static void rig_speak(struct engine_call *call);

/* In place of base/clock.c, and of what looks at the machine. */

int64_t clock_ms(void)
{
    return rig.now;
}

int64_t clock_earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int clock_timeout(int64_t deadline, int max)
{
    return deadline - rig.now < max ? (int)(deadline - rig.now) : max;
}

int endpoint_find(struct endpoint *endpoint, struct error *err)
{
    (void)endpoint;
    (void)err;
    return 0;
}

const char *endpoint_name(const struct endpoint *endpoint)
{
    (void)endpoint;
    return "/socket";
}

const struct remote *endpoint_remote(const struct endpoint *endpoint)
{
    (void)endpoint;
    return NULL;
}

enum owner_fate owner_fate(const char *mark)
{
    return strcmp(mark, "gone") == 0 ? OWNER_GONE : OWNER_ALIVE;
}

char *seccomp_profile(const char *engine_arch, struct error *err)
{
    (void)engine_arch;
    (void)err;
    return mem_strdup("{}");
}

/* In place of executor/engine.c. */

static inline void rig_check_body(const char *path, const char *json)
{
    struct spec_instance instance = {.image_id = RIG_IMAGE, .seccomp = "{}", .owner = "rig"};
    auto_free char *expected = NULL;
    char name[SPEC_NAME_MAX];

    rig.uid = instance.uid = strtol(path + strlen(RIG_NAME), NULL, 10);
    MUST(instance.uid >= LIMIT_UID_FIRST && instance.uid <= LIMIT_UID_LAST);
    spec_name(instance.uid, name);
    MUST(strcmp(path + strlen("/containers/create?name="), name) == 0);
    expected = spec_body(&rig_profile, &instance);
    MUST(rig.any_image || strcmp(json, expected) == 0);
}

static inline void rig_check_call(const char *method, const char *path, const char *json)
{
    static const char *const gets[] = {"/version", "/info",
                                       "/events?filters=", "/containers/json?all=1", "/images/"};

    if (strcmp(method, "GET") == 0) {
        for (size_t i = 0; i < sizeof(gets) / sizeof(gets[0]); i++)
            if (strncmp(path, gets[i], strlen(gets[i])) == 0)
                return;
    }
    if (strcmp(method, "POST") == 0 && strncmp(path, RIG_NAME, strlen(RIG_NAME)) == 0) {
        rig_check_body(path, json);
        return;
    }
    MUST(!json);
    if (strcmp(method, "POST") == 0 && strncmp(path, "/images/create?fromImage=", 25) == 0)
        return;
    MUST(strncmp(path, "/containers/", 12) == 0);
    if (strcmp(method, "DELETE") == 0)
        MUST(strstr(path, "?force=1&v=1"));
    else
        MUST(strcmp(method, "POST") == 0 && (strstr(path, "/start") || strstr(path, "/attach?")));
}

struct engine *engine_new(const struct endpoint *endpoint, struct error *err)
{
    struct engine *engine = mem_alloc(sizeof(*engine));

    (void)endpoint;
    (void)err;
    LIST_INIT(&engine->calls);
    return engine;
}

void engine_cancel(struct engine_call *call)
{
    if (!call)
        return;
    LIST_REMOVE(call, entry);
    buf_done(&call->down);
    free(call->method);
    free(call->path);
    free(call);
}

void engine_free(struct engine *engine)
{
    if (!engine)
        return;
    while (!LIST_EMPTY(&engine->calls))
        engine_cancel(LIST_FIRST(&engine->calls));
    free(engine);
}

void engine_speak(struct engine *engine, const char *api_version)
{
    (void)engine;
    (void)api_version;
}

int64_t engine_peer_until(const struct engine *engine)
{
    (void)engine;
    return 0;
}

struct engine_call *engine_send(struct engine *engine, const char *method, const char *path,
                                const char *json, int64_t timeout_ms, const struct engine_ops *ops,
                                void *arg)
{
    struct engine_call *call = mem_alloc(sizeof(*call));

    (void)timeout_ms;
    rig_check_call(method, path, json);
    call->number = ++engine->last;
    call->turn = engine->turn; /* its first is the next */
    call->method = mem_strdup(method);
    call->path = mem_strdup(path);
    call->ops = ops;
    call->arg = arg;
    call->uid = rig.uid;
    buf_init(&call->down, RIG_BUFFER);
    LIST_INSERT_HEAD(&engine->calls, call, entry);
    return call;
}

struct engine_call *engine_attach(struct engine *engine, const char *path, int64_t timeout_ms,
                                  const struct engine_ops *ops, void *arg)
{
    struct engine_call *call = engine_send(engine, "POST", path, NULL, timeout_ms, ops, arg);

    call->attached = true;
    return call;
}

int engine_write(struct engine_call *call, const char *bytes, size_t len, size_t max_pending)
{
    MUST(call->open);
    return len > max_pending ? -1 : buf_add(&call->down, bytes, len);
}

size_t engine_pending(const struct engine_call *call)
{
    (void)call;
    return 0;
}

void engine_hold(struct engine_call *call, bool hold)
{
    call->held = hold;
}

static inline void rig_end(struct engine_call *call, long status, char *body)
{
    const struct engine_ops *ops = call->ops;
    void *arg = call->arg;
    struct engine_reply reply = {.status = status, .body = body ? body : ""};

    reply.len = ops->data ? 0 : strlen(reply.body);
    if (status == 0 || status >= 400)
        error_set(&reply.error, "HTTP %ld: %.100s", status, reply.body);
    engine_cancel(call);
    ops->done(arg, &reply);
}

static inline void rig_look(struct engine_call *call)
{
    auto_free char *body = NULL;
    long status;

    if (call->open) {
        rig_speak(call);
        return;
    }
    status = rig_answer(call, &body);
    if (status == 0)
        return;
    if (call->attached && status == 101) {
        call->open = true;
        call->ops->opened(call->arg);
        return;
    }
    rig_end(call, status < 0 ? 0 : status, body);
}

void engine_step(struct engine *engine)
{
    struct engine_call *call = LIST_FIRST(&engine->calls);

    engine->turn++;
    while (call) {
        if (call->turn == engine->turn || call->number > engine->last) {
            call = LIST_NEXT(call, entry);
            continue;
        }
        call->turn = engine->turn;
        rig_look(call);
        call = LIST_FIRST(&engine->calls); /* the list may be another by now */
    }
}

void engine_wait(struct engine *engine, struct curl_waitfd *extra, unsigned count, int timeout_ms)
{
    (void)engine;
    (void)extra;
    (void)count;
    (void)timeout_ms;
}

/* Good answers and a good container. */

static inline bool rig_is(const struct engine_call *call, const char *method, const char *path)
{
    return strcmp(call->method, method) == 0 && strncmp(call->path, path, strlen(path)) == 0;
}

static inline long rig_good_answer(struct engine_call *call, char **ret_body)
{
    if (call->attached)
        return 101;
    if (rig_is(call, "GET", "/version"))
        *ret_body = mem_strdup("{\"ApiVersion\":\"1.44\",\"MinAPIVersion\":\"1.24\","
                               "\"Version\":\"25.0\",\"Arch\":\"amd64\"}");
    else if (rig_is(call, "GET", "/info"))
        *ret_body = mem_strdup("{\"MemTotal\":8589934592}");
    else if (rig_is(call, "GET", "/events"))
        return 0;
    else if (rig_is(call, "GET", "/images/"))
        *ret_body = mem_strdup("{\"Id\":\"" RIG_IMAGE "\",\"Config\":{}}");
    else if (rig_is(call, "GET", "/containers/json"))
        *ret_body = mem_strdup("[]");
    if (strcmp(call->method, "GET") == 0)
        return 200;
    if (rig_is(call, "POST", "/containers/create"))
        *ret_body = mem_printf("{\"Id\":\"c%u\"}", rig.created = call->number);
    return rig_is(call, "POST", "/containers/create") ? 201 : 204;
}

/* Says the bytes, which may end the call. */
static inline void rig_say(struct engine_call *call, const char *bytes, size_t len)
{
    auto_free char *exact = mem_strndup(bytes, len);

    call->ops->data(call->arg, exact, len);
}

/* A supervisor's frame inside one of the engine's. */
static inline void rig_put_frame(struct buf *out, char type, const char *bytes, size_t len)
{
    size_t outer = len + 5;
    const unsigned char header[13] = {
        1,
        0,
        0,
        0,
        (unsigned char)(outer >> 24),
        (unsigned char)(outer >> 16),
        (unsigned char)(outer >> 8),
        (unsigned char)outer,
        (unsigned char)type,
        (unsigned char)(len >> 24),
        (unsigned char)(len >> 16),
        (unsigned char)(len >> 8),
        (unsigned char)len,
    };

    (void)buf_add(out, header, sizeof(header));
    (void)buf_add(out, bytes, len);
}

static inline void rig_say_hello(struct engine_call *call)
{
    static const char mounts[] =
        "1 0 0:52 / / ro,relatime - overlay overlay rw\\n"
        "2 1 0:55 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw\\n"
        "3 1 0:56 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755\\n"
        "4 3 0:57 / /dev/pts rw,nosuid,noexec,relatime - devpts devpts rw,gid=5,mode=620\\n"
        "5 1 0:58 / /sys ro,nosuid,nodev,noexec,relatime - sysfs sysfs ro\\n"
        "6 5 0:26 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw\\n"
        "7 3 0:54 / /dev/mqueue rw,nosuid,nodev,noexec,relatime - mqueue mqueue rw\\n"
        "8 3 0:59 / /dev/shm rw,nosuid,nodev,noexec,relatime - tmpfs shm rw,size=65536k\\n"
        "9 2 0:55 /bus /proc/bus ro,nosuid,nodev,noexec,relatime - proc proc rw\\n"
        "10 2 0:55 /fs /proc/fs ro,nosuid,nodev,noexec,relatime - proc proc rw\\n"
        "11 2 0:55 /irq /proc/irq ro,nosuid,nodev,noexec,relatime - proc proc rw\\n"
        "12 2 0:55 /sys /proc/sys ro,nosuid,nodev,noexec,relatime - proc proc rw\\n";
    static const char zeroes[] = "0000000000000000";
    int64_t uid = call->uid;
    auto_json cJSON *env = spec_env(&rig_profile, NULL);
    auto_json cJSON *environ = cJSON_CreateObject();
    auto_buf struct buf out;
    auto_free char *text = NULL, *environ_text = NULL;
    const cJSON *item;

    cJSON_ArrayForEach(item, env)
    {
        const char *equals = strchr(item->valuestring, '=');
        auto_free char *name = mem_strndup(item->valuestring, (size_t)(equals - item->valuestring));

        cJSON_AddStringToObject(environ, name, equals + 1);
    }
    cJSON_AddStringToObject(environ, "HOSTNAME", SPEC_HOSTNAME);
    environ_text = cJSON_PrintUnformatted(environ);
    text = mem_printf(
        "{\"python\":\"3.12.4\",\"executable\":\"/usr/local/bin/python3\",\"uid\":%d,\"gid\":%d,"
        "\"groups\":[%d],\"hostname\":\"sandbox\",\"environ\":%s,\"CapInh\":\"%s\","
        "\"CapPrm\":\"%s\",\"CapEff\":\"%s\",\"CapBnd\":\"%s\",\"CapAmb\":\"%s\","
        "\"no_new_privs\":1,\"seccomp\":2,\"interfaces\":[\"lo\"],\"refused\":{\"bpf\":1},"
        "\"devices\":[\"null\"],\"nodes\":{\"/dev/null\":\"c "
        "1:3\"},\"cgroup_roots\":[\"/\"],\"unmasked\":[],\"swap_bytes\":0,"
        "\"rlimits\":{\"RLIMIT_NOFILE\":[8192,8192],\"RLIMIT_CORE\":[0,0],"
        "\"RLIMIT_MEMLOCK\":[65536,65536],\"RLIMIT_NICE\":[0,0],\"RLIMIT_RTPRIO\":[0,0]},"
        "\"resolver\":true,\"mountinfo\":\"%s"
        "13 1 0:60 / /tmp rw,nosuid,nodev,noexec - tmpfs tmpfs "
        "rw,size=65536k,nr_inodes=16384,mode=700,uid=%d,gid=%d\\n"
        "14 1 0:61 / /workspace rw,nosuid,nodev,noexec - tmpfs tmpfs "
        "rw,size=262144k,nr_inodes=16384,mode=700,uid=%d,gid=%d\\n\","
        "\"cgroup\":{\"memory.max\":\"536870912\",\"memory.swap.max\":\"0\","
        "\"cpu.max\":\"100000 100000\",\"pids.max\":\"128\"}}",
        (int)uid, (int)uid, (int)uid, environ_text, zeroes, zeroes, zeroes, zeroes, zeroes, mounts,
        (int)uid, (int)uid, (int)uid, (int)uid);
    buf_init(&out, RIG_BUFFER);
    rig_put_frame(&out, 'H', text, strlen(text));
    rig_say(call, out.data, out.len);
}

/* Whether the job is there as a whole; it must be one that the template allows. */
static inline bool rig_has_job(const struct engine_call *call)
{
    const char *end = call->down.len ? memchr(call->down.data, '\n', call->down.len) : NULL;
    auto_json cJSON *job = NULL;
    const cJSON *file;
    int64_t code, files = 0, size, input, head, tail, timeout_ms;

    if (!end)
        return false;
    job = json_parse(call->down.data, (size_t)(end - call->down.data), NULL);
    MUST(json_get_int(job, "code", &code) && json_get_int(job, "stdin", &input));
    MUST(json_get_int(job, "head", &head) && json_get_int(job, "tail", &tail));
    MUST(json_get_int(job, "timeout_ms", &timeout_ms));
    MUST(timeout_ms >= 1 && timeout_ms <= RIG_TIMEOUT_MS);
    MUST(head >= 0 && tail >= 0 && head + tail <= LIMIT_KEEP_MAX);
    MUST(code >= 0 && code <= LIMIT_CODE_MAX && input >= 0 && input <= LIMIT_STDIN_MAX);
    MUST(strcmp(json_get_text(job, "name"), "script.py") == 0);
    cJSON_ArrayForEach(file, json_get_array(job, "files"))
    {
        const char *path = json_get_text(file, "path");

        MUST(path && path_check(path, strlen(path), NULL) == 0);
        MUST(json_get_int(file, "size", &size) && size >= 0);
        files += size;
    }
    MUST(files <= LIMIT_FILES_BYTES_MAX);
    MUST(json_get_int(json_get_object(job, "outputs"), "files", &size));
    MUST(size >= 0 && size <= LIMIT_ARTIFACTS_MAX);
    MUST(call->down.len == (size_t)(end + 1 - call->down.data + code + files + input));
    return true;
}

/* The front's side. */

static inline void rig_take(struct wire_message *message)
{
    switch (message->type) {
    case WIRE_DONE:
        rig.last_status = message->done.status;
        MUST(rig.artifact_left == 0 || message->done.status >= OUTCOME_TIMED_OUT);
        rig.artifact_left = 0;
        rig.rested = false;
        MUST(++rig.done <= rig.runs);
        return;
    case WIRE_ARTIFACT:
        MUST(rig.artifact_left == 0 && !rig.rested);
        rig.artifacts++;
        if (message->artifact.reason == ARTIFACT_WHOLE)
            rig.artifact_left = message->artifact.size;
        return;
    case WIRE_ARTIFACT_BYTES:
        MUST(message->artifact_bytes.len <= rig.artifact_left);
        rig.artifact_left -= message->artifact_bytes.len;
        rig.artifact_bytes += message->artifact_bytes.len;
        return;
    case WIRE_ARTIFACT_REST:
        MUST(rig.artifact_left == 0 && !rig.rested);
        rig.rested = true;
        return;
    case WIRE_OUTPUT:
        rig.outputs++;
        rig.output_bytes += message->output.len;
        return;
    case WIRE_PHASE:
    case WIRE_STATUS:
    case WIRE_PROFILE:
        return;
    case WIRE_RUN:
    case WIRE_STOP:
        break;
    }
    MUST(!"a message of the front's");
}

static inline void rig_read(void)
{
    struct wire_message message;
    size_t used;
    int r;

    while (fd_read(rig.front, &rig.told, 65536) > 0)
        continue;
    while ((r = wire_decode(rig.told.data, rig.told.len, &message, &used, NULL)) > 0) {
        rig_take(&message);
        wire_end(&message);
        buf_drop(&rig.told, used);
    }
    MUST(r == 0);
}

/* One turn of the server. Whether the front is still there for it. */
static inline bool rig_turn(int64_t ms)
{
    bool there;

    rig.now += ms;
    there = service_step(rig.service);
    executor_step(rig.executor);
    service_flush(rig.service);
    rig_read();
    return there;
}

static inline void rig_start(void)
{
    static const struct executor_options options = {
        .owner = "rig",
        .profiles = {{
            .name = "default",
            .image = {.reference = "image", .pull = true, .pull_timeout_ms = 60000},
            .spec =
                {
                    .memory = 512 * RIG_MIB,
                    .cpus_milli = 1000,
                    .pids = 128,
                    .workspace = 256 * RIG_MIB,
                    .tmp = 64 * RIG_MIB,
                    .shm = 64 * RIG_MIB,
                },
            .timeout_max_ms = RIG_TIMEOUT_MS,
        }},
        .profile_count = 1,
        .max_running = RIG_RUNNING_MAX,
        .queue = 1,
        .queue_timeout_ms = 3000,
    };
    static int null = -1;
    int pair[2];

    /* The log is written, to nowhere: what strangers say goes through it. */
    if (null < 0)
        null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    log_open(null, LOG_LEVEL_DEBUG);
    rig = (struct rig){.now = 1000000};
    MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    rig.front = pair[0];
    buf_init(&rig.told, RIG_BUFFER);
    rig.executor = executor_new(&options, NULL);
    rig.service = service_new(pair[1], rig.executor, RIG_CALLS_MAX, true);
}

/* As serve does at its end: whatever was said, nothing is left then. */
static inline void rig_stop(void)
{
    unsigned steps = 0;

    shutdown(rig.front, SHUT_WR);
    while (rig_turn(1))
        MUST(++steps < RIG_STEPS_MAX);
    executor_shutdown(rig.executor);
    while (!executor_is_empty(rig.executor)) {
        MUST(++steps < RIG_STEPS_MAX);
        rig.now += RIG_STEP_MS;
        executor_step(rig.executor);
        service_flush(rig.service);
        rig_read();
    }
    MUST(service_is_idle(rig.service));
    service_free(rig.service);
    rig_read();
    executor_free(rig.executor);
    close(rig.front);
    buf_done(&rig.told);
}
