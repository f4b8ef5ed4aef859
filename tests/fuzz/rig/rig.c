#include "rig.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../unit/profile_sample.h"
#include "base/fd.h"
#include "base/log.h"
#include "executor/executor.h"
#include "executor/service.h"
#include "wire/wire.h"

#define CALLS_MAX   3
#define RUNNING_MAX 2

struct rig rig;

static void take_message(struct wire_message *message)
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

static void read_front(void)
{
    struct wire_message message;
    size_t used;
    int r;

    while (fd_read(rig.front, &rig.told, 65536) > 0)
        continue;
    while ((r = wire_decode(rig.told.data, rig.told.len, &message, &used, NULL)) > 0) {
        take_message(&message);
        wire_end(&message);
        buf_drop(&rig.told, used);
    }
    MUST(r == 0);
}

bool rig_turn(int64_t ms)
{
    bool there;

    rig.now += ms;
    there = service_step(rig.service);
    executor_step(rig.executor);
    service_flush(rig.service);
    read_front();
    return there;
}

void rig_start(void)
{
    struct executor_options options = {
        .owner = "rig",
        .profiles = {{
            .name = "default",
            .image = {.reference = "image", .pull = true, .pull_timeout_ms = 60000},
            .spec = profile,
            .timeout_max_ms = RIG_TIMEOUT_MS,
        }},
        .profile_count = 1,
        .max_running = RUNNING_MAX,
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
    rig.service = service_new(pair[1], rig.executor, CALLS_MAX, true);
}

void rig_stop(void)
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
        read_front();
    }
    MUST(service_is_idle(rig.service));
    service_free(rig.service);
    read_front();
    executor_free(rig.executor);
    close(rig.front);
    buf_done(&rig.told);
}
