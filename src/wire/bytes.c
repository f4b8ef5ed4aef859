#include "wire/bytes.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "base/buf.h"

/* The next len bytes, or NULL. */
static const char *take(struct bytes_reader *reader, size_t len)
{
    const char *at = reader->at;

    if (reader->bad || len > reader->left) {
        reader->bad = true;
        return NULL;
    }
    reader->at += len;
    reader->left -= len;
    return at;
}

uint8_t bytes_u8(struct bytes_reader *reader)
{
    const char *at = take(reader, 1);

    return at ? (uint8_t)*at : 0;
}

uint32_t bytes_u32(struct bytes_reader *reader)
{
    const char *at = take(reader, sizeof(uint32_t));
    uint32_t value = 0;

    if (at)
        memcpy(&value, at, sizeof(value));
    return be32toh(value);
}

uint64_t bytes_u64(struct bytes_reader *reader)
{
    const char *at = take(reader, sizeof(uint64_t));
    uint64_t value = 0;

    if (at)
        memcpy(&value, at, sizeof(value));
    return be64toh(value);
}

bool bytes_bool(struct bytes_reader *reader)
{
    uint8_t value = bytes_u8(reader);

    if (value > 1)
        reader->bad = true;
    return value == 1;
}

void bytes_copy(struct bytes_reader *reader, unsigned char *ret, size_t len)
{
    const char *at = take(reader, len);

    if (at)
        memcpy(ret, at, len);
    else
        memset(ret, 0, len);
}

const char *bytes_string(struct bytes_reader *reader, size_t max, size_t *ret_len)
{
    size_t len = bytes_u32(reader);

    if (len > max)
        reader->bad = true;
    const char *at = take(reader, len);
    *ret_len = at ? len : 0;
    return at;
}

const char *bytes_rest(struct bytes_reader *reader, size_t *ret_len)
{
    *ret_len = reader->left;
    return take(reader, reader->left);
}

void bytes_put(struct buf *out, const char *bytes, size_t len)
{
    if (len == 0)
        return;
    int added = buf_add(out, bytes, len);
    assert(added == 0);
}

void bytes_put_u8(struct buf *out, uint8_t value)
{
    bytes_put(out, (const char *)&value, sizeof(value));
}

void bytes_put_u32(struct buf *out, uint32_t value)
{
    uint32_t big = htobe32(value);

    bytes_put(out, (const char *)&big, sizeof(big));
}

void bytes_put_u64(struct buf *out, uint64_t value)
{
    uint64_t big = htobe64(value);

    bytes_put(out, (const char *)&big, sizeof(big));
}

void bytes_put_string(struct buf *out, const char *bytes, size_t len)
{
    bytes_put_u32(out, (uint32_t)len);
    bytes_put(out, bytes, len);
}
