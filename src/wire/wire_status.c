#include "wire/wire_status.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "wire/bytes.h"
#include "wire/wire.h"

void wire_status_decode(struct bytes_reader *reader, struct wire_status *status)
{
    status->engine = bytes_bool(reader);
    status->room = bytes_bool(reader);
    status->draining = bytes_bool(reader);
    status->running = bytes_u32(reader);
    status->queued = bytes_u32(reader);
    status->engine_losses = bytes_u64(reader);
    status->profile_count = bytes_u32(reader);
    if (status->profile_count < 1 || status->profile_count > LIMIT_PROFILES_MAX)
        reader->bad = true;
    for (size_t i = 0; i < status->profile_count && !reader->bad; i++) {
        struct wire_pool *pool = &status->pools[i];

        pool->image = bytes_bool(reader);
        pool->walls = bytes_bool(reader);
        pool->warm = bytes_u32(reader);
        pool->alive = bytes_u32(reader);
        pool->starts = bytes_u64(reader);
        pool->start_failures = bytes_u64(reader);
    }
}

size_t wire_status_size(const struct wire_status *status)
{
    assert(status->profile_count >= 1 && status->profile_count <= LIMIT_PROFILES_MAX);
    return WIRE_STATUS_FIXED + status->profile_count * WIRE_STATUS_POOL;
}

void wire_status_put(struct buf *out, const struct wire_status *status)
{
    bytes_put_u8(out, status->engine);
    bytes_put_u8(out, status->room);
    bytes_put_u8(out, status->draining);
    bytes_put_u32(out, status->running);
    bytes_put_u32(out, status->queued);
    bytes_put_u64(out, status->engine_losses);
    bytes_put_u32(out, status->profile_count);
    for (size_t i = 0; i < status->profile_count; i++) {
        const struct wire_pool *pool = &status->pools[i];

        bytes_put_u8(out, pool->image);
        bytes_put_u8(out, pool->walls);
        bytes_put_u32(out, pool->warm);
        bytes_put_u32(out, pool->alive);
        bytes_put_u64(out, pool->starts);
        bytes_put_u64(out, pool->start_failures);
    }
}

static struct wire_text decode_text(struct bytes_reader *reader, size_t max)
{
    struct wire_text text;

    text.at = bytes_string(reader, max, &text.len);
    if (text.len > 0 && memchr(text.at, '\0', text.len))
        reader->bad = true;
    return text;
}

void wire_profile_decode(struct bytes_reader *reader, struct wire_profile *profile)
{
    profile->index = bytes_u32(reader);
    if (profile->index >= LIMIT_PROFILES_MAX)
        reader->bad = true;
    profile->image = decode_text(reader, LIMIT_IMAGE_MAX);
    profile->python = decode_text(reader, LIMIT_PYTHON_MAX);
    profile->modules = decode_text(reader, LIMIT_MODULES_MAX);
    profile->reason = decode_text(reader, LIMIT_MESSAGE_MAX);
}

size_t wire_profile_size(const struct wire_profile *profile)
{
    assert(profile->index < LIMIT_PROFILES_MAX);
    assert(profile->image.len <= LIMIT_IMAGE_MAX);
    assert(profile->python.len <= LIMIT_PYTHON_MAX);
    assert(profile->modules.len <= LIMIT_MODULES_MAX);
    assert(profile->reason.len <= LIMIT_MESSAGE_MAX);
    return WIRE_PROFILE_MIN + profile->image.len + profile->python.len + profile->modules.len +
           profile->reason.len;
}

void wire_profile_put(struct buf *out, const struct wire_profile *profile)
{
    bytes_put_u32(out, profile->index);
    bytes_put_string(out, profile->image.at, profile->image.len);
    bytes_put_string(out, profile->python.at, profile->python.len);
    bytes_put_string(out, profile->modules.at, profile->modules.len);
    bytes_put_string(out, profile->reason.at, profile->reason.len);
}
