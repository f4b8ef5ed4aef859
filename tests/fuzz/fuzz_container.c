/* Any bytes as the stream of a container, into the real executor while a front waits for one
 * script. The first byte says how: 1: after a good hello and the job. 2: without the engine's
 * framing around them. 4: the front stops the script half-way. 8: the stream ends after them. 16:
 * the engine tells of an oom before. The second: in which portions. */
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "executor/engine.h"
#include "rig/rig.h"
#include "wire/file.h"
#include "wire/wire.h"

#define PORTIONS_MAX 64

#define ARTIFACTS      3
#define ARTIFACT_SIZE  100
#define ARTIFACT_BYTES 200

enum how { HELLO = 1, RAW = 2, STOPS = 4, ENDS = 8, OOM = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
    uint8_t how;
    size_t portion;
    const char *bytes;
    size_t left;
} input;

/* The engine's event, which names the container. */
static void tell_oom(struct engine_call *call)
{
    auto_free char *event =
        mem_printf("{\"Action\":\"oom\",\"Actor\":{\"ID\":\"c%u\"}}\n", rig.created);

    input.how &= (uint8_t)~OOM;
    rig_say(call, event, strlen(event));
}

long rig_answer(struct engine_call *call, char **ret_body)
{
    if ((input.how & OOM) && rig.created && rig_is(call, "GET", "/events"))
        tell_oom(call);
    return rig_good_answer(call, ret_body);
}

/* One portion; inside a frame of the engine's, unless that is in the bytes. */
static void say_portion(struct engine_call *call)
{
    size_t part = input.left < input.portion ? input.left : input.portion;
    const unsigned char header[8] = {
        1, 0, 0, 0, 0, (unsigned char)(part >> 16), (unsigned char)(part >> 8), (unsigned char)part,
    };
    auto_buf struct buf out;

    buf_init(&out, RIG_BUFFER);
    if (!(input.how & RAW))
        (void)buf_add(&out, header, sizeof(header));
    (void)buf_add(&out, input.bytes, part);
    input.bytes += part;
    input.left -= part;
    rig_say(call, out.data, out.len);
}

void rig_speak(struct engine_call *call)
{
    if (call->said == 0) {
        call->said++;
        if (input.how & HELLO) {
            rig_say_hello(call);
            return;
        }
    }
    if ((input.how & HELLO) && !rig_has_job(call))
        return;
    if (input.left > 0)
        say_portion(call);
    else if (input.how & ENDS)
        rig_end(call, 101, NULL);
}

static void send_run(void)
{
    static struct file file = {"a.txt", 5, "hello", 5};
    static const struct wire_run run = {.timeout_ms = 1000,
                                        .keep_head = 1000,
                                        .keep_tail = 1000,
                                        .artifacts = {ARTIFACTS, ARTIFACT_SIZE, ARTIFACT_BYTES, 0},
                                        .files = &file,
                                        .file_count = 1,
                                        .label = "",
                                        .code = "1",
                                        .code_len = 1,
                                        .stdin_bytes = ""};
    auto_buf struct buf out;

    buf_init(&out, RIG_BUFFER);
    (void)wire_put_run(&out, 1, &run);
    MUST(fd_write(rig.front, &out) == 0 && out.len == 0);
    rig.runs = 1;
}

static void send_stop(void)
{
    auto_buf struct buf out;

    buf_init(&out, RIG_BUFFER);
    (void)wire_put_stop(&out, 1);
    MUST(fd_write(rig.front, &out) == 0 && out.len == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t all;
    unsigned turns = 0;

    if (size < 2)
        return 0;
    input.how = data[0];
    input.portion = (data[1] ? data[1] * 4U : 65536) + size / PORTIONS_MAX;
    input.bytes = (const char *)data + 2;
    input.left = all = size - 2;
    rig_start();
    send_run();
    while (rig.done == 0) {
        MUST(++turns < RIG_STEPS_MAX);
        MUST(rig_turn(input.left > 0 ? 1 : RIG_STEP_MS));
        if ((input.how & STOPS) && input.left < all / 2) {
            input.how &= (uint8_t)~STOPS;
            send_stop();
        }
    }
    MUST(rig.output_bytes <= all);
    MUST(rig.artifacts <= ARTIFACTS && rig.artifact_bytes <= ARTIFACT_BYTES);
    MUST(rig.last_status != OUTCOME_BUSY || rig.outputs == 0);
    rig_stop();
    MUST(rig.done == 1);
    return 0;
}
