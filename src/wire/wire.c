#include "wire/wire.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "wire/bytes.h"
#include "wire/wire_done.h"
#include "wire/wire_run.h"
#include "wire/wire_status.h"

#define PHASE_SIZE     (1 + 4)
#define OUTPUT_FIXED   (1 + 1)
#define REST_SIZE      (8 + 1)
#define ARTIFACT_FIXED (1 + 1 + 8 + ARTIFACT_HASH_SIZE + 4)

static const struct payload {
    enum wire_type type;
    const char *name;
    size_t min;
    size_t max;
} payloads[] = {
    {WIRE_RUN, "RUN", WIRE_RUN_MIN, WIRE_RUN_MAX},
    {WIRE_STOP, "STOP", 0, 0},
    {WIRE_PHASE, "PHASE", PHASE_SIZE, PHASE_SIZE},
    {WIRE_OUTPUT, "OUTPUT", OUTPUT_FIXED + 1, OUTPUT_FIXED + WIRE_OUTPUT_MAX},
    {WIRE_ARTIFACT, "ARTIFACT", ARTIFACT_FIXED + 1, ARTIFACT_FIXED + LIMIT_ARTIFACT_NAME_MAX},
    {WIRE_ARTIFACT_BYTES, "ARTIFACT_BYTES", 1, WIRE_OUTPUT_MAX},
    {WIRE_ARTIFACT_REST, "ARTIFACT_REST", REST_SIZE, REST_SIZE},
    {WIRE_DONE, "DONE", WIRE_DONE_MIN, WIRE_DONE_MAX},
    {WIRE_STATUS, "STATUS", WIRE_STATUS_MIN, WIRE_STATUS_MAX},
    {WIRE_PROFILE, "PROFILE", WIRE_PROFILE_MIN, WIRE_PROFILE_MAX},
};

static const struct payload *find_payload(uint32_t type)
{
    for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++)
        if (type == payloads[i].type)
            return &payloads[i];
    return NULL;
}

static bool is_of_no_call(enum wire_type type)
{
    return type == WIRE_STATUS || type == WIRE_PROFILE;
}

static void decode_phase(struct bytes_reader *reader, struct wire_message *message)
{
    uint8_t phase = bytes_u8(reader);

    if (phase < WIRE_QUEUED || phase > WIRE_RUNNING)
        reader->bad = true;
    message->phase.phase = phase;
    message->phase.value = bytes_u32(reader);
}

static void decode_output(struct bytes_reader *reader, struct wire_message *message)
{
    uint8_t stream = bytes_u8(reader);

    if (stream >= OUTCOME_STREAM_COUNT)
        reader->bad = true;
    message->output.stream = stream;
    message->output.tail = bytes_bool(reader);
    message->output.bytes = bytes_rest(reader, &message->output.len);
}

static void decode_artifact(struct bytes_reader *reader, struct artifact *artifact)
{
    uint8_t kind = bytes_u8(reader);
    uint8_t reason = bytes_u8(reader);
    uint64_t size = bytes_u64(reader);

    bytes_copy(reader, artifact->sha256, sizeof(artifact->sha256));
    artifact->name = bytes_string(reader, LIMIT_ARTIFACT_NAME_MAX, &artifact->name_len);
    if (kind < ARTIFACT_FILE || kind >= ARTIFACT_KIND_END || reason >= ARTIFACT_REASON_END ||
        size > INT64_MAX || artifact->name_len == 0 ||
        !text_is_line(artifact->name, artifact->name_len))
        reader->bad = true;
    artifact->kind = kind;
    artifact->reason = reason;
    artifact->size = size;
}

static void decode_artifact_rest(struct bytes_reader *reader, struct wire_message *message)
{
    message->artifact_rest.count = bytes_u64(reader);
    message->artifact_rest.at_least = bytes_bool(reader);
}

static void decode_payload(struct bytes_reader *reader, struct wire_message *message)
{
    switch (message->type) {
    case WIRE_RUN:
        wire_run_decode(reader, &message->run);
        break;
    case WIRE_STOP:
        break;
    case WIRE_PHASE:
        decode_phase(reader, message);
        break;
    case WIRE_OUTPUT:
        decode_output(reader, message);
        break;
    case WIRE_ARTIFACT:
        decode_artifact(reader, &message->artifact);
        break;
    case WIRE_ARTIFACT_BYTES:
        message->artifact_bytes.bytes = bytes_rest(reader, &message->artifact_bytes.len);
        break;
    case WIRE_ARTIFACT_REST:
        decode_artifact_rest(reader, message);
        break;
    case WIRE_DONE:
        wire_done_decode(reader, &message->done);
        break;
    case WIRE_STATUS:
        wire_status_decode(reader, &message->status);
        break;
    case WIRE_PROFILE:
        wire_profile_decode(reader, &message->profile);
        break;
    }
}

int wire_decode(const char *bytes, size_t len, struct wire_message *ret, size_t *ret_used,
                struct error *err)
{
    struct bytes_reader header = {.at = bytes, .left = WIRE_HEADER_SIZE};

    if (len < WIRE_HEADER_SIZE)
        return 0;
    uint32_t type = bytes_u32(&header); /* with the three zero bytes below it */
    uint32_t call = bytes_u32(&header);
    uint32_t length = bytes_u32(&header);
    if (type & 0xffffff)
        return error_set(err, "malformed message: reserved bytes of the header are not zero");
    const struct payload *payload = find_payload(type >> 24);
    if (!payload)
        return error_set(err, "malformed message: unknown type %u", (unsigned int)(type >> 24));
    if ((call == 0) != is_of_no_call(payload->type))
        return error_set(err, "malformed %s message: call %u", payload->name, (unsigned int)call);
    if (length < payload->min || length > payload->max)
        return error_set(err, "malformed %s message: length %u is not from %zu to %zu",
                         payload->name, (unsigned int)length, payload->min, payload->max);
    if (len - WIRE_HEADER_SIZE < length)
        return 0;

    struct bytes_reader reader = {.at = bytes + WIRE_HEADER_SIZE, .left = length};
    struct wire_message message = {.type = payload->type, .call = call};
    decode_payload(&reader, &message);
    if (reader.bad || reader.left > 0)
        return error_set(err, "malformed %s message: a field is out of range or does not fit",
                         payload->name);
    *ret = message;
    *ret_used = WIRE_HEADER_SIZE + length;
    return 1;
}

void wire_end(struct wire_message *message)
{
    if (message->type == WIRE_DONE)
        outcome_done(&message->done);
    else if (message->type == WIRE_RUN)
        free(message->run.files);
}

static bool has_room(const struct buf *out, size_t len)
{
    return out->max - out->len >= len;
}

/* Appends the header if out has room for the whole message, so that nothing after it can fail. */
static int put_header(struct buf *out, enum wire_type type, uint32_t call, size_t length)
{
    assert((call == 0) == is_of_no_call(type));
    if (!has_room(out, WIRE_HEADER_SIZE + length))
        return -1;
    bytes_put_u32(out, (uint32_t)type << 24);
    bytes_put_u32(out, call);
    bytes_put_u32(out, (uint32_t)length);
    return 0;
}

int wire_put_run(struct buf *out, uint32_t call, const struct wire_run *run)
{
    if (put_header(out, WIRE_RUN, call, wire_run_size(run)) < 0)
        return -1;
    wire_run_put(out, run);
    return 0;
}

int wire_put_stop(struct buf *out, uint32_t call)
{
    return put_header(out, WIRE_STOP, call, 0);
}

int wire_put_phase(struct buf *out, uint32_t call, enum wire_phase phase, uint32_t value)
{
    assert(phase >= WIRE_QUEUED && phase <= WIRE_RUNNING);
    if (put_header(out, WIRE_PHASE, call, PHASE_SIZE) < 0)
        return -1;
    bytes_put_u8(out, (uint8_t)phase);
    bytes_put_u32(out, value);
    return 0;
}

int wire_put_output(struct buf *out, uint32_t call, enum outcome_stream stream, bool tail,
                    const char *bytes, size_t len)
{
    size_t messages = len / WIRE_OUTPUT_MAX + (len % WIRE_OUTPUT_MAX > 0);

    assert(stream < OUTCOME_STREAM_COUNT);
    if (!has_room(out, messages * (WIRE_HEADER_SIZE + OUTPUT_FIXED) + len))
        return -1;
    while (len > 0) {
        size_t part = len < WIRE_OUTPUT_MAX ? len : WIRE_OUTPUT_MAX;

        if (put_header(out, WIRE_OUTPUT, call, OUTPUT_FIXED + part) < 0)
            return -1;
        bytes_put_u8(out, (uint8_t)stream);
        bytes_put_u8(out, tail);
        bytes_put(out, bytes, part);
        bytes += part;
        len -= part;
    }
    return 0;
}

int wire_put_artifact(struct buf *out, uint32_t call, const struct artifact *artifact)
{
    assert(artifact->kind >= ARTIFACT_FILE && artifact->kind < ARTIFACT_KIND_END);
    assert(artifact->reason < ARTIFACT_REASON_END && artifact->size <= INT64_MAX);
    assert(artifact->name_len > 0 && artifact->name_len <= LIMIT_ARTIFACT_NAME_MAX);
    assert(text_is_line(artifact->name, artifact->name_len));
    if (put_header(out, WIRE_ARTIFACT, call, ARTIFACT_FIXED + artifact->name_len) < 0)
        return -1;
    bytes_put_u8(out, (uint8_t)artifact->kind);
    bytes_put_u8(out, (uint8_t)artifact->reason);
    bytes_put_u64(out, artifact->size);
    bytes_put(out, (const char *)artifact->sha256, sizeof(artifact->sha256));
    bytes_put_string(out, artifact->name, artifact->name_len);
    return 0;
}

int wire_put_artifact_bytes(struct buf *out, uint32_t call, const char *bytes, size_t len)
{
    size_t messages = len / WIRE_OUTPUT_MAX + (len % WIRE_OUTPUT_MAX > 0);

    if (!has_room(out, messages * WIRE_HEADER_SIZE + len))
        return -1;
    while (len > 0) {
        size_t part = len < WIRE_OUTPUT_MAX ? len : WIRE_OUTPUT_MAX;

        if (put_header(out, WIRE_ARTIFACT_BYTES, call, part) < 0)
            return -1;
        bytes_put(out, bytes, part);
        bytes += part;
        len -= part;
    }
    return 0;
}

int wire_put_artifact_rest(struct buf *out, uint32_t call, uint64_t count, bool at_least)
{
    if (put_header(out, WIRE_ARTIFACT_REST, call, REST_SIZE) < 0)
        return -1;
    bytes_put_u64(out, count);
    bytes_put_u8(out, at_least);
    return 0;
}

int wire_put_done(struct buf *out, uint32_t call, const struct outcome *outcome)
{
    if (put_header(out, WIRE_DONE, call, wire_done_size(outcome)) < 0)
        return -1;
    wire_done_put(out, outcome);
    return 0;
}

int wire_put_status(struct buf *out, const struct wire_status *status)
{
    if (put_header(out, WIRE_STATUS, 0, wire_status_size(status)) < 0)
        return -1;
    wire_status_put(out, status);
    return 0;
}

int wire_put_profile(struct buf *out, const struct wire_profile *profile)
{
    if (put_header(out, WIRE_PROFILE, 0, wire_profile_size(profile)) < 0)
        return -1;
    wire_profile_put(out, profile);
    return 0;
}
