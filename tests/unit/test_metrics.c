/* metrics, their histograms, readiness; and server-sent events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "front/histogram.h"
#include "front/metrics.h"
#include "front/options.h"
#include "front/sse.h"
#include "wire/wire.h"

#define TEXT_MAX 65536

static const struct front_profile profiles[] = {{.name = "small"}, {.name = "large"}};
static const struct front_options options = {
    .profiles = profiles, .profile_count = 2, .profile_default = 1, .calls_max = 2};

static void assert_has(const struct metrics *metrics, const char *line)
{
    auto_buf struct buf text;

    buf_init(&text, TEXT_MAX);
    metrics_put(metrics, &text, 3);
    if (!strstr(text.data, line))
        fail_msg("no %s in %s", line, text.data);
}

static void phase(struct metrics *metrics, uint32_t call, enum wire_phase which, int64_t now)
{
    const struct wire_message message = {
        .type = WIRE_PHASE, .call = call, .phase = {.phase = which}};

    metrics_message(metrics, &message, now);
}

static void done(struct metrics *metrics, uint32_t call, enum outcome_status status, int64_t now)
{
    const struct wire_message message = {
        .type = WIRE_DONE,
        .call = call,
        .done = {.status = status, .total = {[OUTCOME_STDOUT] = {.bytes = 7}}},
    };

    metrics_message(metrics, &message, now);
}

static void calls(void **state)
{
    struct metrics *metrics = metrics_new(&options);

    (void)state;
    phase(metrics, 1, WIRE_QUEUED, 1000);
    phase(metrics, 1, WIRE_QUEUED, 1500);
    phase(metrics, 1, WIRE_STARTING, 2000);
    phase(metrics, 2, WIRE_RUNNING, 2000);
    /* No place for this one: it is counted, without its times. */
    phase(metrics, 3, WIRE_RUNNING, 2000);
    phase(metrics, 1, WIRE_RUNNING, 2250);
    done(metrics, 1, OUTCOME_OK, 2260);
    done(metrics, 3, OUTCOME_OK, 2260);
    done(metrics, 2, OUTCOME_TIMED_OUT, 32000);
    done(metrics, 4, OUTCOME_BUSY, 32000);
    assert_has(metrics, "\npython_sandbox_calls_total{status=\"ok\"} 2\n");
    assert_has(metrics, "\npython_sandbox_calls_total{status=\"timed_out\"} 1\n");
    assert_has(metrics, "\npython_sandbox_calls_total{status=\"busy\"} 1\n");
    assert_has(metrics, "\npython_sandbox_call_duration_seconds_count 4\n");
    assert_has(metrics, "\npython_sandbox_call_duration_seconds_sum 31.260\n");
    assert_has(metrics,
               "\npython_sandbox_call_phase_duration_seconds_sum{phase=\"queue\"} 1.000\n");
    assert_has(metrics,
               "\npython_sandbox_call_phase_duration_seconds_sum{phase=\"start\"} 0.250\n");
    assert_has(metrics, "\npython_sandbox_call_phase_duration_seconds_count{phase=\"run\"} 2\n");
    assert_has(metrics, "\npython_sandbox_output_bytes_total{stream=\"stdout\"} 28\n");
    assert_has(metrics, "\npython_sandbox_http_connections 3\n");
    metrics_free(metrics);
}

static void artifacts(void **state)
{
    struct metrics *metrics = metrics_new(&options);
    struct wire_message message = {.type = WIRE_ARTIFACT, .call = 1};

    (void)state;
    message.artifact.kind = ARTIFACT_FIGURE;
    metrics_message(metrics, &message, 0);
    message.artifact.kind = ARTIFACT_FILE;
    message.artifact.size = 1000;
    metrics_message(metrics, &message, 0);
    metrics_message(metrics, &message, 0);
    message = (struct wire_message){.type = WIRE_ARTIFACT_BYTES, .call = 1};
    message.artifact_bytes.len = 123;
    metrics_message(metrics, &message, 0);
    assert_has(metrics, "\npython_sandbox_artifacts_total{kind=\"figure\"} 1\n");
    assert_has(metrics, "\npython_sandbox_artifacts_total{kind=\"file\"} 2\n");
    assert_has(metrics, "\npython_sandbox_artifact_bytes_total 123\n");
    metrics_free(metrics);
}

static void requests(void **state)
{
    struct metrics *metrics = metrics_new(&options);

    (void)state;
    metrics_request(metrics, 200, 10, 20);
    metrics_request(metrics, 202, 1, 0);
    metrics_request(metrics, 503, 0, 5);
    metrics_request(metrics, 0, 100, 0);
    metrics_request(metrics, 999, 0, 0);
    assert_has(metrics, "\npython_sandbox_http_requests_total{code=\"2xx\"} 2\n");
    assert_has(metrics, "\npython_sandbox_http_requests_total{code=\"4xx\"} 0\n");
    assert_has(metrics, "\npython_sandbox_http_requests_total{code=\"5xx\"} 1\n");
    assert_has(metrics, "\npython_sandbox_http_received_bytes_total 111\n");
    assert_has(metrics, "\npython_sandbox_http_sent_bytes_total 25\n");
    metrics_free(metrics);
}

static void readiness(void **state)
{
    const struct wire_status good = {.engine = true,
                                     .room = true,
                                     .profile_count = 2,
                                     .pools = {{.image = false}, {.image = true, .walls = true}}};
    struct wire_message message = {.type = WIRE_STATUS, .status = good};
    struct metrics *metrics = metrics_new(&options);
    const struct {
        bool *part;
        const char *word;
    } parts[] = {
        {&message.status.engine, "Engine"},        {&message.status.pools[1].image, "image"},
        {&message.status.pools[1].walls, "walls"}, {&message.status.room, "waits"},
        {&message.status.draining, "stopped"},
    };

    (void)state;
    assert_non_null(metrics_lack(metrics));
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        message.status = good;
        metrics_message(metrics, &message, 0);
        assert_null(metrics_lack(metrics));
        assert_false(metrics_is_draining(metrics));
        *parts[i].part = !*parts[i].part;
        metrics_message(metrics, &message, 0);
        assert_non_null(strstr(metrics_lack(metrics), parts[i].word));
    }
    assert_true(metrics_is_draining(metrics));
    assert_has(metrics, "\npython_sandbox_ready 0\n");
    metrics_free(metrics);
}

static void pools(void **state)
{
    struct wire_message message = {
        .type = WIRE_STATUS,
        .status = {.profile_count = 2,
                   .pools = {{.warm = 3, .alive = 4, .starts = 5, .start_failures = 6},
                             {.image = true, .walls = true}}}};
    struct metrics *metrics = metrics_new(&options);
    auto_buf struct buf closed;

    (void)state;
    buf_init(&closed, TEXT_MAX);
    metrics_message(metrics, &message, 0);
    assert_has(metrics, "\npython_sandbox_containers_ready{profile=\"small\"} 3\n");
    assert_has(metrics, "\npython_sandbox_containers_ready{profile=\"large\"} 0\n");
    assert_has(metrics, "\npython_sandbox_containers{profile=\"small\"} 4\n");
    assert_has(metrics, "\npython_sandbox_container_starts_total{profile=\"small\"} 5\n");
    assert_has(metrics, "\npython_sandbox_container_start_failures_total{profile=\"small\"} 6\n");
    assert_has(metrics, "\npython_sandbox_image_present{profile=\"small\"} 0\n");
    assert_has(metrics, "\npython_sandbox_image_present{profile=\"large\"} 1\n");
    assert_has(metrics, "\npython_sandbox_walls_sound{profile=\"large\"} 1\n");
    metrics_put_closed(metrics, &closed);
    assert_string_equal(closed.data, ", without small");
    metrics_free(metrics);
}

static void histograms(void **state)
{
    struct histogram histogram = {.sum_ms = 0};
    auto_buf struct buf text;
    static const int64_t times[] = {0, 5, 6, 300000, 300001};

    (void)state;
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        histogram_add(&histogram, times[i]);
    buf_init(&text, TEXT_MAX);
    histogram_put(&histogram, &text, "n", "a=\"b\",");
    assert_non_null(strstr(text.data, "n_bucket{a=\"b\",le=\"0.005\"} 2\n"));
    assert_non_null(strstr(text.data, "n_bucket{a=\"b\",le=\"0.01\"} 3\n"));
    assert_non_null(strstr(text.data, "n_bucket{a=\"b\",le=\"60\"} 3\n"));
    assert_non_null(strstr(text.data, "n_bucket{a=\"b\",le=\"300\"} 4\n"));
    assert_non_null(strstr(text.data, "n_bucket{a=\"b\",le=\"+Inf\"} 5\n"));
    assert_non_null(strstr(text.data, "n_sum{a=\"b\"} 600.012\nn_count{a=\"b\"} 5\n"));
}

static void events(void **state)
{
    static const char message[] = "event: message\ndata: {\"a\":1}\n\n";
    auto_buf struct buf out;

    (void)state;
    buf_init(&out, strlen(message) + 4);
    assert_int_equal(sse_put_message(&out, "{\"a\":1}", 7), 0);
    assert_int_equal(sse_put_comment(&out), 0);
    assert_string_equal(out.data, "event: message\ndata: {\"a\":1}\n\n: \n\n");
    assert_int_equal(sse_put_comment(&out), -1);

    /* The whole event or nothing of it. */
    for (size_t max = 0; max < strlen(message); max++) {
        buf_done(&out);
        buf_init(&out, max);
        assert_int_equal(sse_put_message(&out, "{\"a\":1}", 7), -1);
        assert_int_equal(out.len, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls),     cmocka_unit_test(artifacts), cmocka_unit_test(requests),
        cmocka_unit_test(readiness), cmocka_unit_test(pools),     cmocka_unit_test(histograms),
        cmocka_unit_test(events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
