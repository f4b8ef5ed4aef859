/* Runs scripts: what the image holds, which walls stand, how fast a call is. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "doctor.h"
#include "executor/executor.h"
#include "local.h"

#define OUTPUT_MAX   65536
#define PACKAGES_MAX "40"
#define WARM_CALLS   5
/* Beyond what a preload may take. */
#define WARM_WAIT_MS 90000

static const char packages_script[] =
    "import importlib.metadata, json\n"
    "found = {}\n"
    "for one in importlib.metadata.distributions():\n"
    "    try:\n"
    "        found.setdefault(str(one.metadata['Name'])[:80], str(one.version)[:40])\n"
    "    except Exception:\n"
    "        pass\n"
    "names = sorted(found, key=str.lower)\n"
    "packages = [name + ' ' + found[name] for name in names[:" PACKAGES_MAX "]]\n"
    "print(json.dumps({'count': len(names), 'packages': packages}))\n";

static const char short_script[] = "print(1)\n";

struct probe {
    struct doctor *doctor;
    struct run *run;
    struct buf output;
    bool over;
    struct outcome outcome;
    size_t profile; /* index */
    bool engine_told, entered, image_told;
    int64_t pulled, pulled_told; /* per cent; below 0: none */
    cJSON *walls;                /* of the first container that was measured */
};

static void on_phase(void *arg, enum wire_phase phase, uint32_t value)
{
    struct probe *probe = arg;

    if (phase == WIRE_PULLING)
        probe->pulled = value;
}

static void on_output(void *arg, enum outcome_stream stream, bool tail, const char *bytes,
                      size_t len)
{
    struct probe *probe = arg;

    (void)tail;
    if (stream == OUTCOME_STDOUT)
        (void)buf_add(&probe->output, bytes, len);
}

static void on_done(void *arg, struct outcome *outcome)
{
    struct probe *probe = arg;

    probe->outcome = *outcome;
    memset(outcome, 0, sizeof(*outcome));
    probe->over = true;
}

static void start(struct probe *probe, struct local *local, const char *code)
{
    static const struct run_ops ops = {.phase = on_phase, .output = on_output, .done = on_done};
    const struct run_request request = {
        .profile = probe->profile,
        .timeout_ms = 10000,
        .keep_head = OUTPUT_MAX / 2,
        .name = "script.py",
        .code = code,
        .code_len = strlen(code),
    };

    outcome_done(&probe->outcome);
    buf_drop(&probe->output, probe->output.len);
    probe->over = false;
    probe->run = executor_run(local_executor(local), &request, &ops, probe);
    executor_step(local_executor(local));
}

/* Below the heading of the profile, which comes once. */
static void tell_image(struct probe *probe, const struct executor_profile_facts *facts)
{
    struct doctor *doctor = probe->doctor;

    if (!probe->entered)
        doctor_enter(doctor, probe->profile);
    probe->entered = true;
    if (probe->pulled != probe->pulled_told) {
        auto_free char *text = mem_printf("pulling: %" PRId64 " %%", probe->pulled);

        doctor_progress(doctor, "image", text);
        probe->pulled_told = probe->pulled;
    }
    if (facts->image == IMAGE_READY || facts->image == IMAGE_FAILED) {
        probe->image_told = true;
        (void)doctor_image(doctor, facts);
    }
}

/* Tells of each thing as soon as it is known; what depends on one that failed is left out. */
static void tell_facts(struct probe *probe, struct local *local)
{
    struct doctor *doctor = probe->doctor;
    struct executor_facts engine;
    struct executor_profile_facts facts;

    executor_tell(local_executor(local), &engine);
    executor_tell_profile(local_executor(local), probe->profile, &facts);
    if (!probe->engine_told && (engine.up || !engine.trying)) {
        probe->engine_told = true;
        probe->image_told = !doctor_engine(doctor, &engine);
    }
    if (!probe->image_told && engine.up)
        tell_image(probe, &facts);
    if (!probe->walls && facts.walls)
        probe->walls = cJSON_Duplicate(facts.walls, true);
}

/* false where a signal asked for the end. */
static bool finish(struct probe *probe, struct local *local)
{
    bool stopped = false;

    tell_facts(probe, local);
    while (!probe->over) {
        if (local_turn(local, NULL, 0, -1) != 0 && !stopped) {
            stopped = true;
            run_stop(probe->run, RUN_CANCELLED);
        }
        tell_facts(probe, local);
    }
    return !stopped;
}

static void tell_failure(struct doctor *doctor, const char *name, const struct outcome *outcome)
{
    doctor_row(doctor, DOCTOR_BAD, name, NULL, "%s%s%s", outcome_status_name(outcome->status),
               outcome->message ? ": " : "", outcome->message ? outcome->message : "");
}

static void tell_walls(struct doctor *doctor, const struct probe *probe)
{
    const cJSON *wall;
    int standing = 0;

    cJSON_ArrayForEach(wall, probe->walls)
    {
        doctor_wall(doctor, wall);
        standing += cJSON_IsTrue(json_get(wall, "good"));
    }
    if (!probe->walls)
        doctor_row(doctor, DOCTOR_BAD, "walls", NULL, "no container came up to be measured");
    else
        doctor_row(doctor, standing == cJSON_GetArraySize(probe->walls) ? DOCTOR_GOOD : DOCTOR_BAD,
                   "walls", NULL, "%d of %d stand, measured from inside a container", standing,
                   cJSON_GetArraySize(probe->walls));
}

static void tell_packages(struct doctor *doctor, const struct probe *probe)
{
    auto_json cJSON *found = json_parse(probe->output.data, probe->output.len, NULL);
    const cJSON *packages = json_get_array(found, "packages");
    auto_buf struct buf text = {0};
    const cJSON *one;
    int64_t count = 0;

    if (!packages || !json_get_int(found, "count", &count)) {
        doctor_row(doctor, DOCTOR_BAD, "packages", NULL, "the script printed something else");
        return;
    }
    buf_init(&text, OUTPUT_MAX);
    cJSON_ArrayForEach(one, packages)
    {
        (void)buf_addf(&text, "%s%s", text.len ? ", " : ": ", one->valuestring);
        cJSON_AddItemToArray(json_get_array(doctor->scope, "packages"),
                             cJSON_Duplicate(one, false));
    }
    doctor_row(doctor, DOCTOR_GOOD, "packages", NULL, "%" PRId64 "%s%s", count,
               text.len ? text.data : " beside the standard library",
               count > cJSON_GetArraySize(packages) ? ", ..." : "");
}

/* Whether a warm container is there before long. */
static bool wait_for_warm(const struct probe *probe, struct local *local)
{
    int64_t deadline = clock_ms() + WARM_WAIT_MS;
    struct wire_status status;

    for (;;) {
        executor_status(local_executor(local), &status);
        if (status.pools[probe->profile].warm > 0)
            return true;
        if (clock_ms() >= deadline ||
            local_turn(local, NULL, 0, clock_timeout(deadline, WARM_WAIT_MS)) != 0)
            return false;
    }
}

static int compare(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void tell_latency(struct doctor *doctor, struct probe *probe, struct local *local)
{
    int64_t took[WARM_CALLS], median;

    for (int i = 0; i < WARM_CALLS; i++) {
        int64_t started;

        if (!wait_for_warm(probe, local)) {
            doctor_row(doctor, DOCTOR_BAD, "latency",
                       "look at the load of the engine's host; of a preload, at how long it takes",
                       "no container became ready in %d s", WARM_WAIT_MS / 1000);
            return;
        }
        started = clock_ms();
        start(probe, local, short_script);
        if (!finish(probe, local) || probe->outcome.status != OUTCOME_OK) {
            tell_failure(doctor, "latency", &probe->outcome);
            return;
        }
        took[i] = clock_ms() - started;
    }
    qsort(took, WARM_CALLS, sizeof(took[0]), compare);
    median = took[WARM_CALLS / 2];
    doctor_row(doctor, DOCTOR_GOOD, "latency", NULL,
               "%" PRId64 " ms for a call to a warm container (median of %d; %" PRId64
               " to %" PRId64 ")",
               median, WARM_CALLS, took[0], took[WARM_CALLS - 1]);
    cJSON_AddNumberToObject(doctor->scope, "latency_ms", (double)median);
}

static void tell_runs(struct doctor *doctor, struct probe *probe, struct local *local)
{
    tell_walls(doctor, probe);
    if (probe->outcome.status != OUTCOME_OK) {
        tell_failure(doctor, "run", &probe->outcome);
        return;
    }
    doctor_row(doctor, DOCTOR_GOOD, "python", NULL, "%s",
               probe->outcome.python ? probe->outcome.python : "?");
    tell_packages(doctor, probe);
    tell_latency(doctor, probe, local);
}

/* false where the others need not be asked. */
static bool examine(struct probe *probe, struct local *local)
{
    struct executor_facts engine;
    struct executor_profile_facts facts;

    start(probe, local, packages_script);
    if (!finish(probe, local)) {
        doctor_row(probe->doctor, DOCTOR_BAD, "run", NULL, "stopped by a signal");
        return false;
    }
    executor_tell(local_executor(local), &engine);
    executor_tell_profile(local_executor(local), probe->profile, &facts);
    if (engine.up && facts.image == IMAGE_READY)
        tell_runs(probe->doctor, probe, local);
    return engine.up;
}

void doctor_runs(struct doctor *doctor, struct local *local)
{
    bool engine_told = false, more = true;

    for (size_t i = 0; more && i < executor_profile_count(local_executor(local)); i++) {
        struct probe probe = {.doctor = doctor,
                              .profile = i,
                              .engine_told = engine_told,
                              .pulled = -1,
                              .pulled_told = -1};

        buf_init(&probe.output, OUTPUT_MAX);
        more = examine(&probe, local);
        engine_told = true;
        doctor_leave(doctor);
        cJSON_Delete(probe.walls);
        outcome_done(&probe.outcome);
        buf_done(&probe.output);
    }
}
