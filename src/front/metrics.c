#include "front/metrics.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "front/histogram.h"
#include "front/options.h"
#include "wire/wire.h"

#define PREFIX "python_sandbox_"

/* Hundreds of the status: 1xx to 5xx. */
#define CLASSES 5

enum phase { PHASE_QUEUE, PHASE_START, PHASE_RUN, PHASE_COUNT };

static const char *const phase_labels[PHASE_COUNT] = {
    [PHASE_QUEUE] = "phase=\"queue\",",
    [PHASE_START] = "phase=\"start\",",
    [PHASE_RUN] = "phase=\"run\",",
};

struct open_call {
    uint32_t number;
    enum phase phase;
    int64_t since;
    int64_t phase_since;
};

struct metrics {
    struct open_call *open;
    size_t open_count;
    const struct front_options *options;
    uint64_t calls[OUTCOME_STATUS_COUNT];
    struct histogram durations;
    struct histogram phases[PHASE_COUNT];
    uint64_t output_bytes[OUTCOME_STREAM_COUNT];
    uint64_t artifacts[ARTIFACT_KIND_END];
    uint64_t artifact_bytes;
    uint64_t requests[CLASSES];
    uint64_t received;
    uint64_t sent;
    struct wire_status status; /* all false before the executor has said anything */
};

struct metrics *metrics_new(const struct front_options *options)
{
    struct metrics *metrics = mem_alloc(sizeof(*metrics));

    metrics->open = mem_alloc(options->calls_max * sizeof(*metrics->open));
    metrics->options = options;
    return metrics;
}

void metrics_free(struct metrics *metrics)
{
    if (!metrics)
        return;
    free(metrics->open);
    free(metrics);
}

static struct open_call *find(const struct metrics *metrics, uint32_t number)
{
    for (size_t i = 0; i < metrics->open_count; i++) {
        if (metrics->open[i].number == number)
            return &metrics->open[i];
    }
    return NULL;
}

static enum phase phase_of(enum wire_phase phase)
{
    switch (phase) {
    case WIRE_QUEUED:
        return PHASE_QUEUE;
    case WIRE_PULLING:
    case WIRE_STARTING:
        return PHASE_START;
    case WIRE_RUNNING:
        break;
    }
    return PHASE_RUN;
}

static void take_phase(struct metrics *metrics, uint32_t number, enum phase phase, int64_t now)
{
    struct open_call *call = find(metrics, number);

    if (call && call->phase == phase)
        return;
    if (call) {
        histogram_add(&metrics->phases[call->phase], now - call->phase_since);
    } else {
        if (metrics->open_count == metrics->options->calls_max)
            return;
        call = &metrics->open[metrics->open_count++];
        *call = (struct open_call){.number = number, .since = now};
    }
    call->phase = phase;
    call->phase_since = now;
}

static void take_done(struct metrics *metrics, uint32_t number, const struct outcome *outcome,
                      int64_t now)
{
    struct open_call *call = find(metrics, number);

    metrics->calls[outcome->status]++;
    for (size_t i = 0; i < OUTCOME_STREAM_COUNT; i++)
        metrics->output_bytes[i] += outcome->total[i].bytes;
    histogram_add(&metrics->durations, call ? now - call->since : 0);
    if (!call)
        return;
    histogram_add(&metrics->phases[call->phase], now - call->phase_since);
    *call = metrics->open[--metrics->open_count];
}

void metrics_message(struct metrics *metrics, const struct wire_message *message, int64_t now)
{
    switch (message->type) {
    case WIRE_PHASE:
        take_phase(metrics, message->call, phase_of(message->phase.phase), now);
        break;
    case WIRE_DONE:
        take_done(metrics, message->call, &message->done, now);
        break;
    case WIRE_STATUS:
        metrics->status = message->status;
        break;
    case WIRE_ARTIFACT:
        metrics->artifacts[message->artifact.kind]++;
        break;
    case WIRE_ARTIFACT_BYTES:
        metrics->artifact_bytes += message->artifact_bytes.len;
        break;
    case WIRE_RUN:
    case WIRE_STOP:
    case WIRE_OUTPUT:
    case WIRE_PROFILE:
    case WIRE_ARTIFACT_REST:
        break;
    }
}

void metrics_request(struct metrics *metrics, unsigned status, uint64_t received, uint64_t sent)
{
    if (status >= 100 && status < 100 * (CLASSES + 1))
        metrics->requests[status / 100 - 1]++;
    metrics->received += received;
    metrics->sent += sent;
}

const char *metrics_lack(const struct metrics *metrics)
{
    const struct wire_status *status = &metrics->status;
    const struct wire_pool *pool = &status->pools[metrics->options->profile_default];

    if (status->draining)
        return "the server is being stopped";
    if (!status->engine)
        return "no Docker Engine answers";
    if (!pool->image)
        return "the image is not there";
    if (!pool->walls)
        return "no container has proven its walls";
    return status->room ? NULL : "as much runs and waits as may";
}

static const char *name_of(const struct metrics *metrics, size_t profile)
{
    return profile < metrics->options->profile_count ? metrics->options->profiles[profile].name
                                                     : "default";
}

void metrics_put_closed(const struct metrics *metrics, struct buf *out)
{
    const char *before = ", without ";

    for (size_t i = 0; i < metrics->status.profile_count; i++) {
        const struct wire_pool *pool = &metrics->status.pools[i];

        if ((pool->image && pool->walls) || i == metrics->options->profile_default)
            continue;
        buf_addf(out, "%s%s", before, name_of(metrics, i));
        before = ", ";
    }
}

bool metrics_is_draining(const struct metrics *metrics)
{
    return metrics->status.draining;
}

static void put_head(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_addf(out, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n", name, help, name, type);
}

static void put_value(struct buf *out, const char *name, const char *type, const char *help,
                      uint64_t value)
{
    put_head(out, name, type, help);
    buf_addf(out, PREFIX "%s %" PRIu64 "\n", name, value);
}

static void put_calls(const struct metrics *metrics, struct buf *out)
{
    put_head(out, "calls_total", "counter", "Calls of run_python that ended, by verdict.");
    for (int i = 0; i < OUTCOME_STATUS_COUNT; i++)
        buf_addf(out, PREFIX "calls_total{status=\"%s\"} %" PRIu64 "\n",
                 outcome_status_name((enum outcome_status)i), metrics->calls[i]);
    put_head(out, "call_duration_seconds", "histogram", "Time from a call to its verdict.");
    histogram_put(&metrics->durations, out, PREFIX "call_duration_seconds", "");
    put_head(out, "call_phase_duration_seconds", "histogram",
             "Time that calls spent in the queue, waiting for a container to start, and running.");
    for (int i = 0; i < PHASE_COUNT; i++)
        histogram_put(&metrics->phases[i], out, PREFIX "call_phase_duration_seconds",
                      phase_labels[i]);
    put_head(out, "output_bytes_total", "counter", "Bytes that scripts wrote.");
    buf_addf(out, PREFIX "output_bytes_total{stream=\"stdout\"} %" PRIu64 "\n",
             metrics->output_bytes[OUTCOME_STDOUT]);
    buf_addf(out, PREFIX "output_bytes_total{stream=\"stderr\"} %" PRIu64 "\n",
             metrics->output_bytes[OUTCOME_STDERR]);
    put_head(out, "artifacts_total", "counter", "Figures and files that scripts left behind.");
    buf_addf(out, PREFIX "artifacts_total{kind=\"figure\"} %" PRIu64 "\n",
             metrics->artifacts[ARTIFACT_FIGURE]);
    buf_addf(out, PREFIX "artifacts_total{kind=\"file\"} %" PRIu64 "\n",
             metrics->artifacts[ARTIFACT_FILE]);
    put_value(out, "artifact_bytes_total", "counter", "Bytes of them that came out of containers.",
              metrics->artifact_bytes);
}

enum gauge {
    GAUGE_READY,
    GAUGE_ALIVE,
    GAUGE_STARTS,
    GAUGE_FAILURES,
    GAUGE_IMAGE,
    GAUGE_WALLS,
    GAUGE_COUNT
};

static uint64_t gauge_of(const struct wire_pool *pool, enum gauge gauge)
{
    switch (gauge) {
    case GAUGE_READY:
        return pool->warm;
    case GAUGE_ALIVE:
        return pool->alive;
    case GAUGE_STARTS:
        return pool->starts;
    case GAUGE_FAILURES:
        return pool->start_failures;
    case GAUGE_IMAGE:
        return pool->image;
    case GAUGE_WALLS:
        return pool->walls;
    case GAUGE_COUNT:
        break;
    }
    return 0;
}

static void put_pools(const struct metrics *metrics, struct buf *out)
{
    static const struct {
        const char *name, *type, *help;
    } gauges[GAUGE_COUNT] = {
        [GAUGE_READY] = {"containers_ready", "gauge", "Containers that wait for a script."},
        [GAUGE_ALIVE] = {"containers", "gauge", "Containers in any state."},
        [GAUGE_STARTS] = {"container_starts_total", "counter", "Containers that were started."},
        [GAUGE_FAILURES] = {"container_start_failures_total", "counter",
                            "Containers that did not start, or whose walls did not stand."},
        [GAUGE_IMAGE] = {"image_present", "gauge", "1 while the engine has the image."},
        [GAUGE_WALLS] = {"walls_sound", "gauge", "1 while the last container's walls stood."},
    };

    for (int gauge = 0; gauge < GAUGE_COUNT; gauge++) {
        put_head(out, gauges[gauge].name, gauges[gauge].type, gauges[gauge].help);
        for (size_t i = 0; i == 0 || i < metrics->options->profile_count; i++)
            buf_addf(out, PREFIX "%s{profile=\"%s\"} %" PRIu64 "\n", gauges[gauge].name,
                     name_of(metrics, i), gauge_of(&metrics->status.pools[i], (enum gauge)gauge));
    }
}

static void put_status(const struct wire_status *status, struct buf *out)
{
    put_value(out, "calls_running", "gauge", "Scripts that run now.", status->running);
    put_value(out, "calls_queued", "gauge", "Calls that wait now.", status->queued);
    put_value(out, "engine_losses_total", "counter", "How often the engine went away.",
              status->engine_losses);
    put_value(out, "engine_up", "gauge", "1 while the engine answers.", status->engine);
}

void metrics_put(const struct metrics *metrics, struct buf *out, size_t connections)
{
    put_head(out, "build_info", "gauge", "The version of the server.");
    buf_add_text(out, PREFIX "build_info{version=\"" VERSION "\"} 1\n");
    put_value(out, "ready", "gauge", "1 while /readyz says so.", !metrics_lack(metrics));
    put_calls(metrics, out);
    put_status(&metrics->status, out);
    put_pools(metrics, out);
    put_head(out, "http_requests_total", "counter", "HTTP requests that were answered.");
    for (int i = 0; i < CLASSES; i++)
        buf_addf(out, PREFIX "http_requests_total{code=\"%dxx\"} %" PRIu64 "\n", i + 1,
                 metrics->requests[i]);
    put_value(out, "http_received_bytes_total", "counter", "Bytes of request bodies.",
              metrics->received);
    put_value(out, "http_sent_bytes_total", "counter", "Bytes of answer bodies.", metrics->sent);
    put_value(out, "http_connections", "gauge", "HTTP connections that are open.", connections);
}
