/* Any bytes as what the engine answers, into the real executor: records of a kind (0: a good
 * answer), a length of two bytes and a body, one for each thing that the engine is asked, or that a
 * stream of its says. Whatever that is, every script gets its one outcome and nothing is left. */
#include "base/fd.h"
#include "base/mem.h"
#include "executor/engine.h"
#include "rig/rig.h"
#include "wire/wire.h"

#define TURNS_MAX 300
#define SCRIPTS   4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
    const uint8_t *bytes;
    size_t left;
} input;

/* The next record's kind, and its body, which the caller frees; 0 where there is none. */
static uint8_t next_record(char **ret_body, size_t *ret_len)
{
    uint8_t kind;
    size_t len;

    if (input.left < 3)
        return 0;
    kind = input.bytes[0];
    len = (size_t)input.bytes[1] << 8 | input.bytes[2];
    input.bytes += 3;
    input.left -= 3;
    if (kind == 0)
        len = 0;
    if (len > input.left)
        len = input.left;
    *ret_body = mem_strndup((const char *)input.bytes, len);
    *ret_len = len;
    input.bytes += len;
    input.left -= len;
    return kind;
}

long rig_answer(struct engine_call *call, char **ret_body)
{
    static const long statuses[] = {200, 201, 204, 101, 404, 409, 500, -1, 0};
    auto_free char *body = NULL;
    size_t len = 0;
    uint8_t kind = next_record(&body, &len);

    if (kind == 0)
        return rig_good_answer(call, ret_body);
    if (call->ops->data && !call->attached)
        rig_say(call, body, len);
    *ret_body = steal(&body);
    return statuses[kind % (sizeof(statuses) / sizeof(statuses[0]))];
}

void rig_speak(struct engine_call *call)
{
    auto_free char *body = NULL;
    size_t len = 0;
    uint8_t kind = next_record(&body, &len);

    if (kind % 4 == 3)
        rig_end(call, 101, NULL);
    else if (kind > 0)
        rig_say(call, body, len);
    else if (call->said++ == 0)
        rig_say_hello(call);
}

static void send_run(uint32_t number)
{
    static const struct wire_run run = {.timeout_ms = 1000,
                                        .keep_head = 1000,
                                        .label = "",
                                        .code = "1",
                                        .code_len = 1,
                                        .stdin_bytes = ""};
    auto_buf struct buf out;

    buf_init(&out, RIG_BUFFER);
    (void)wire_put_run(&out, number, &run);
    MUST(fd_write(rig.front, &out) == 0 && out.len == 0);
    rig.runs++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned turns = 0;

    input.bytes = data;
    input.left = size;
    rig_start();
    rig.any_image = true;
    while ((input.left > 0 || rig.done < rig.runs) && turns++ < TURNS_MAX) {
        if (rig.done == rig.runs && rig.runs < SCRIPTS)
            send_run(rig.runs + 1);
        MUST(rig_turn(input.left > 0 ? 7 : RIG_STEP_MS));
    }
    input.left = 0;
    rig_stop();
    MUST(rig.done == rig.runs);
    return 0;
}
