#include "sandbox/frame.h"

#include <assert.h>
#include <endian.h>
#include <signal.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/limits.h"

/* Largest payload of a type, or -1 where there is no such type. */
static int64_t payload_max(unsigned char type)
{
    switch (type) {
    case FRAME_HELLO:
    case FRAME_STDOUT:
    case FRAME_STDERR:
    case FRAME_STDOUT_TAIL:
    case FRAME_STDERR_TAIL:
    case FRAME_ARTIFACT_BYTES:
        return FRAME_MAX;
    case FRAME_ARTIFACT:
        return FRAME_ARTIFACT_FIXED + LIMIT_ARTIFACT_NAME_MAX;
    case FRAME_ARTIFACT_REST:
        return FRAME_REST_SIZE;
    case FRAME_STARTED:
    case FRAME_COLLECTING:
        return 0;
    case FRAME_VALUE:
        return LIMIT_VALUE_MAX;
    case FRAME_EXIT:
        return FRAME_EXIT_SIZE;
    default:
        return -1;
    }
}

static uint32_t read_u32(const char *bytes)
{
    uint32_t value;

    memcpy(&value, bytes, sizeof(value));
    return be32toh(value);
}

int frame_decode(const char *bytes, size_t len, struct frame *ret, size_t *ret_used,
                 struct error *err)
{
    if (len == 0)
        return 0;
    unsigned char type = (unsigned char)bytes[0];
    int64_t max = payload_max(type);
    if (max < 0)
        return error_set(err, "malformed frame from the sandbox: unknown type 0x%02x", type);
    if (len < FRAME_HEADER_SIZE)
        return 0;
    uint32_t length = read_u32(bytes + 1);
    if (length > max)
        return error_set(err, "malformed frame from the sandbox: %u bytes in a frame of type %c",
                         (unsigned int)length, type);
    if (len - FRAME_HEADER_SIZE < length)
        return 0;
    *ret = (struct frame){.type = type, .bytes = bytes + FRAME_HEADER_SIZE, .len = length};
    *ret_used = FRAME_HEADER_SIZE + length;
    return 1;
}

static int64_t read_i64(const char *bytes, size_t index)
{
    uint64_t value;

    memcpy(&value, bytes + index * sizeof(value), sizeof(value));
    return (int64_t)be64toh(value);
}

static bool exit_makes_sense(const struct frame_exit *end)
{
    return end->exit_code >= -1 && end->exit_code <= 255 && end->signal >= 0 &&
           end->signal <= SIGRTMAX && (end->exit_code == -1) == (end->signal != 0) &&
           end->timed_out >= 0 && end->timed_out <= 1 && end->oom_kills >= -1 &&
           end->oom_kills <= INT32_MAX && end->cpu_us >= 0 && end->duration_us >= 0 &&
           end->peak_memory_bytes >= 0 && end->stdout_chars >= 0 &&
           end->stdout_chars <= end->stdout_bytes && end->stderr_chars >= 0 &&
           end->stderr_chars <= end->stderr_bytes;
}

int frame_decode_exit(const char *bytes, size_t len, struct frame_exit *ret, struct error *err)
{
    if (len != FRAME_EXIT_SIZE)
        return error_set(err, "malformed exit frame from the sandbox: %zu bytes instead of %d", len,
                         FRAME_EXIT_SIZE);
    struct frame_exit end = {
        .exit_code = read_i64(bytes, 0),
        .signal = read_i64(bytes, 1),
        .timed_out = read_i64(bytes, 2),
        .oom_kills = read_i64(bytes, 3),
        .cpu_us = read_i64(bytes, 4),
        .duration_us = read_i64(bytes, 5),
        .peak_memory_bytes = read_i64(bytes, 6),
        .stdout_bytes = read_i64(bytes, 7),
        .stdout_chars = read_i64(bytes, 8),
        .stderr_bytes = read_i64(bytes, 9),
        .stderr_chars = read_i64(bytes, 10),
    };
    if (!exit_makes_sense(&end))
        return error_set(err, "malformed exit frame from the sandbox: a value is out of range");
    *ret = end;
    return 0;
}

static uint64_t read_u64(const char *bytes)
{
    uint64_t value;

    memcpy(&value, bytes, sizeof(value));
    return be64toh(value);
}

int frame_decode_artifact(const char *bytes, size_t len, struct frame_artifact *ret,
                          struct error *err)
{
    if (len <= FRAME_ARTIFACT_FIXED || len > FRAME_ARTIFACT_FIXED + LIMIT_ARTIFACT_NAME_MAX)
        return error_set(err, "malformed artifact frame from the sandbox: %zu bytes", len);
    unsigned char kind = (unsigned char)bytes[0];
    unsigned char reason = (unsigned char)bytes[1];
    uint64_t size = read_u64(bytes + 2);
    if (kind < FRAME_KIND_FILE || kind >= FRAME_KIND_END || reason >= FRAME_REASON_END ||
        size > INT64_MAX)
        return error_set(err, "malformed artifact frame from the sandbox: a value is out of range");
    *ret = (struct frame_artifact){
        .kind = kind,
        .reason = reason,
        .size = size,
        .sha256 = (const unsigned char *)bytes + 10,
        .name = bytes + FRAME_ARTIFACT_FIXED,
        .name_len = len - FRAME_ARTIFACT_FIXED,
    };
    return 0;
}

int frame_decode_rest(const char *bytes, size_t len, struct frame_rest *ret, struct error *err)
{
    if (len != FRAME_REST_SIZE || (unsigned char)bytes[8] > 1)
        return error_set(err, "malformed rest frame from the sandbox");
    *ret = (struct frame_rest){.count = read_u64(bytes), .at_least = bytes[8] == 1};
    return 0;
}

static int put_argv(struct buf *out, const char *const *argv, size_t argc)
{
    if (buf_add_text(out, "[") < 0)
        return -1;
    for (size_t i = 0; i < argc; i++)
        if ((i > 0 && buf_add_text(out, ",") < 0) || json_put_text(out, argv[i]) < 0)
            return -1;
    return buf_add_text(out, "]");
}

static int put_files(struct buf *out, const struct frame_file *files, size_t count)
{
    if (buf_add_text(out, "[") < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (buf_add_text(out, i > 0 ? ",{\"path\":" : "{\"path\":") < 0 ||
            json_put_bytes(out, files[i].path, files[i].path_len) < 0 ||
            buf_addf(out, ",\"size\":%lld}", (long long)files[i].size) < 0)
            return -1;
    return buf_add_text(out, "]");
}

int frame_put_start(struct buf *out, const struct frame_start *start)
{
    auto_buf struct buf line;

    assert(!strchr(start->name, '/'));
    buf_init(&line, out->max - out->len);
    if (buf_addf(&line, "{\"timeout_ms\":%lld,\"name\":", (long long)start->timeout_ms) < 0 ||
        json_put_text(&line, start->name) < 0 || buf_add_text(&line, ",\"argv\":") < 0 ||
        put_argv(&line, start->argv, start->argc) < 0 ||
        buf_addf(&line, ",\"code\":%lld,\"stdin\":%lld,\"head\":%lld,\"tail\":%lld,\"files\":",
                 (long long)start->code_len, (long long)start->stdin_len, (long long)start->head,
                 (long long)start->tail) < 0 ||
        put_files(&line, start->files, start->file_count) < 0 ||
        buf_addf(&line,
                 ",\"outputs\":{\"files\":%lld,\"file\":%lld,\"total\":%lld,\"figures\":%lld}}\n",
                 (long long)start->outputs.files, (long long)start->outputs.file,
                 (long long)start->outputs.total, (long long)start->outputs.figures) < 0)
        return -1;
    return buf_add(out, line.data, line.len);
}

int frame_put_input(struct buf *out, const char *bytes, size_t len)
{
    uint32_t length = htobe32((uint32_t)len);

    assert(len <= UINT32_MAX);
    if (out->max - out->len < sizeof(length) + len)
        return -1;
    if (buf_add(out, &length, sizeof(length)) < 0)
        return -1;
    return len > 0 ? buf_add(out, bytes, len) : 0;
}
