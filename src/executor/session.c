#include "executor/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "executor/about.h"
#include "executor/endpoint.h"
#include "executor/engine.h"
#include "executor/owner.h"
#include "executor/remote.h"
#include "executor/url.h"

#define ASK_TIMEOUT_MS  5000
#define INFO_TIMEOUT_MS 15000
#define RETRY_FIRST_MS  100
#define RETRY_MAX_MS    5000
#define EVENT_LINE_MAX  65536
#define WARN_BEFORE_S   (14 * 86400)

enum state { DOWN, ASKING, UP };

struct session {
    struct engine *engine;
    struct endpoint *endpoint;
    const struct session_ops *ops;
    void *arg;
    enum state state;
    int64_t retry_at;
    int64_t retry_ms;
    bool hurried; /* a try was asked for and has not ended */
    struct engine_call *call;
    struct engine_call *events;
    struct buf line;
    char version[32], api[16], arch[16];
    int64_t memory;
    int64_t skew;
    struct about about;
    struct error reason;
    struct error told; /* the last one in the log; empty since the engine was up */
};

static void go_down(struct session *session)
{
    bool was_up = session->state == UP;

    session->state = DOWN;
    session->hurried = false;
    session->retry_at = clock_ms() + session->retry_ms;
    session->retry_ms = session->retry_ms * 2 < RETRY_MAX_MS ? session->retry_ms * 2 : RETRY_MAX_MS;
    engine_cancel(session->events);
    session->events = NULL;
    if (was_up) {
        log_warn("the engine went away: %s", session->reason.text);
        session->ops->down(session->arg);
    } else if (strcmp(session->told.text, session->reason.text) != 0) {
        log_warn("%s", session->reason.text);
        session->told = session->reason;
    }
}

static void take_event(struct session *session)
{
    auto_json cJSON *event = json_parse(session->line.data, session->line.len, NULL);
    const char *action = json_get_text(event, "Action");
    const char *id = json_get_text(json_get_object(event, "Actor"), "ID");

    if (action && id && strcmp(action, "oom") == 0)
        session->ops->oom(session->arg, id);
}

static void on_event_data(void *arg, const char *bytes, size_t len)
{
    struct session *session = arg;

    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != '\n') {
            if (buf_add(&session->line, &bytes[i], 1) < 0)
                buf_done(&session->line);
            continue;
        }
        if (session->line.len)
            take_event(session);
        buf_drop(&session->line, session->line.len);
    }
}

static void on_events_done(void *arg, const struct engine_reply *reply)
{
    struct session *session = arg;

    session->events = NULL;
    error_set(&session->reason, "the Docker Engine at %s stopped: %s",
              endpoint_name(session->endpoint),
              *reply->error.text ? reply->error.text : "its event stream ended");
    go_down(session);
}

static void watch_events(struct session *session)
{
    static const struct engine_ops ops = {.data = on_event_data, .done = on_events_done};
    auto_free char *filters = url_escape(
        "{\"type\":[\"container\"],\"event\":[\"oom\"],\"label\":[\"" OWNER_LABEL "\"]}");
    auto_free char *path = mem_printf("/events?filters=%s", filters);

    buf_drop(&session->line, session->line.len);
    session->events = engine_send(session->engine, "GET", path, NULL, 0, &ops, session);
}

/* Nobody looks at a certificate until it has ended. */
static void warn_of_the_end(const struct session *session)
{
    const struct remote *remote = endpoint_remote(session->endpoint);
    char date[CERTS_DATE_SIZE];

    if (!remote || remote->certs.until - time(NULL) > WARN_BEFORE_S)
        return;
    certs_date(remote->certs.until, date);
    log_warn("%s/cert.pem ends on %s: renew it, and start the server again", remote->certs.folder,
             date);
}

static void on_info(void *arg, const struct engine_reply *reply)
{
    struct session *session = arg;
    auto_json cJSON *info = json_parse(reply->body, reply->len, NULL);

    session->call = NULL;
    if (reply->status != 200 || !json_get_int(info, "MemTotal", &session->memory)) {
        error_set(&session->reason, "the Docker Engine at %s does not tell its memory: %s",
                  endpoint_name(session->endpoint), reply->error.text);
        go_down(session);
        return;
    }
    about_info(&session->about, info);
    session->skew = session->about.clock ? session->about.clock - time(NULL) : 0;
    session->state = UP;
    session->hurried = false;
    session->retry_ms = RETRY_FIRST_MS;
    session->told.text[0] = '\0';
    log_info("engine %s (API %s, %s) at %s", session->version, session->api, session->arch,
             endpoint_name(session->endpoint));
    warn_of_the_end(session);
    watch_events(session);
    session->ops->up(session->arg);
}

/* "1.41" as 141; 0 where it is no version. */
static int api_number(const char *text)
{
    char *end;
    long major = text ? strtol(text, &end, 10) : 0;
    long minor;

    if (!text || end == text || *end != '.')
        return 0;
    minor = strtol(end + 1, NULL, 10);
    if (major < 0 || major > 9 || minor < 0 || minor > 99)
        return 0;
    return (int)(major * 100 + minor);
}

static int negotiate(struct session *session, const cJSON *version, struct error *err)
{
    const char *newest = json_get_text(version, "ApiVersion");
    const char *oldest = json_get_text(version, "MinAPIVersion");
    const char *text = json_get_text(version, "Version");
    const char *arch = json_get_text(version, "Arch");
    int high = api_number(newest), low = api_number(oldest);

    if (!high)
        return error_set(err, "%s is no Docker Engine: its /version names no API version",
                         endpoint_name(session->endpoint));
    if (high < SESSION_API_MIN || low > SESSION_API_MAX)
        return error_set(err,
                         "the engine at %s speaks the API from %s to %s; this server needs one of "
                         "1.40 to 1.51: update the older of the two",
                         endpoint_name(session->endpoint), oldest ? oldest : "?", newest);
    if (high > SESSION_API_MAX)
        high = SESSION_API_MAX;
    snprintf(session->api, sizeof(session->api), "%d.%d", high / 100, high % 100);
    snprintf(session->version, sizeof(session->version), "%s", text ? text : "?");
    snprintf(session->arch, sizeof(session->arch), "%s", arch ? arch : "?");
    return 0;
}

static void on_version(void *arg, const struct engine_reply *reply)
{
    static const struct engine_ops ops = {.done = on_info};
    struct session *session = arg;
    auto_json cJSON *version = json_parse(reply->body, reply->len, NULL);
    int r;

    session->call = NULL;
    if (reply->status == 0)
        r = error_set(&session->reason, "no Docker Engine: %s", reply->error.text);
    else if (reply->status != 200)
        r = error_set(&session->reason, "no Docker Engine: %s; see whether one listens at %s",
                      reply->error.text, endpoint_name(session->endpoint));
    else
        r = negotiate(session, version, &session->reason);
    if (r < 0) {
        go_down(session);
        return;
    }
    about_version(&session->about, version);
    engine_speak(session->engine, session->api);
    session->call =
        engine_send(session->engine, "GET", "/info", NULL, INFO_TIMEOUT_MS, &ops, session);
}

static void connect_engine(struct session *session)
{
    static const struct engine_ops ops = {.done = on_version};

    if (endpoint_find(session->endpoint, &session->reason) < 0) {
        go_down(session);
        return;
    }
    session->state = ASKING;
    engine_speak(session->engine, NULL);
    session->call =
        engine_send(session->engine, "GET", "/version", NULL, ASK_TIMEOUT_MS, &ops, session);
}

struct session *session_new(struct engine *engine, struct endpoint *endpoint,
                            const struct session_ops *ops, void *arg)
{
    struct session *session = mem_alloc(sizeof(*session));

    session->engine = engine;
    session->endpoint = endpoint;
    session->ops = ops;
    session->arg = arg;
    session->retry_ms = RETRY_FIRST_MS;
    session->hurried = true;
    buf_init(&session->line, EVENT_LINE_MAX);
    return session;
}

void session_free(struct session *session)
{
    if (!session)
        return;
    engine_cancel(session->call);
    engine_cancel(session->events);
    buf_done(&session->line);
    free(session);
}

void session_step(struct session *session)
{
    if (session->state == DOWN && clock_ms() >= session->retry_at)
        connect_engine(session);
}

int64_t session_deadline(const struct session *session)
{
    return session->state == DOWN ? session->retry_at : CLOCK_NEVER;
}

void session_hurry(struct session *session)
{
    if (session->state == UP)
        return;
    session->hurried = true;
    session->retry_at = 0;
}

bool session_is_up(const struct session *session)
{
    return session->state == UP;
}

bool session_is_trying(const struct session *session)
{
    return session->state == ASKING || session->hurried;
}

const char *session_reason(const struct session *session)
{
    return session->reason.text;
}

const char *session_version(const struct session *session)
{
    return session->version;
}

const char *session_api(const struct session *session)
{
    return session->api;
}

const char *session_arch(const struct session *session)
{
    return session->arch;
}

int64_t session_memory(const struct session *session)
{
    return session->memory;
}

int64_t session_skew(const struct session *session)
{
    return session->skew;
}

const struct about *session_about(const struct session *session)
{
    return &session->about;
}
