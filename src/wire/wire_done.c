#include "wire/wire_done.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "wire/bytes.h"
#include "wire/outcome.h"

/* Message, value, image, python. */
#define PIECES 4

/* A string of an outcome while it still lies in the message. */
struct piece {
    const char *at; /* NULL: absent */
    size_t len;
};

static struct piece decode_piece(struct bytes_reader *reader, size_t max)
{
    struct piece piece = {0};

    if (bytes_bool(reader))
        piece.at = bytes_string(reader, max, &piece.len);
    return piece;
}

/* The same for one that is text: a NUL would cut it short. */
static struct piece decode_text(struct bytes_reader *reader, size_t max)
{
    struct piece piece = decode_piece(reader, max);

    if (piece.at && memchr(piece.at, '\0', piece.len))
        reader->bad = true;
    return piece;
}

static char *copy_piece(struct piece piece)
{
    return piece.at ? mem_strndup(piece.at, piece.len) : NULL;
}

/* Strings are copied only once everything is known to be well-formed. */
void wire_done_decode(struct bytes_reader *reader, struct outcome *outcome)
{
    uint8_t status = bytes_u8(reader);

    if (status >= OUTCOME_STATUS_COUNT)
        reader->bad = true;
    outcome->status = status;
    outcome->exit_code = (int32_t)bytes_u32(reader);
    outcome->oom_kills = bytes_u32(reader);
    outcome->duration_us = bytes_u64(reader);
    outcome->cpu_us = bytes_u64(reader);
    outcome->peak_memory_bytes = bytes_u64(reader);
    for (size_t i = 0; i < OUTCOME_STREAM_COUNT; i++) {
        outcome->total[i].bytes = bytes_u64(reader);
        outcome->total[i].chars = bytes_u64(reader);
    }

    struct piece message = decode_text(reader, LIMIT_MESSAGE_MAX);
    struct piece value = decode_piece(reader, LIMIT_VALUE_MAX);
    struct piece image = decode_text(reader, LIMIT_IMAGE_MAX);
    struct piece python = decode_text(reader, LIMIT_PYTHON_MAX);
    if (reader->bad || reader->left > 0)
        return;
    outcome->message = copy_piece(message);
    outcome->value = copy_piece(value);
    outcome->value_len = value.len;
    outcome->image = copy_piece(image);
    outcome->python = copy_piece(python);
}

static struct piece text_piece(const char *text, size_t max)
{
    struct piece piece = {.at = text, .len = text ? strlen(text) : 0};

    assert(piece.len <= max);
    return piece;
}

/* The strings of an outcome in the order of the message. */
static void take_pieces(const struct outcome *outcome, struct piece ret[PIECES])
{
    assert(!outcome->value || outcome->value_len <= LIMIT_VALUE_MAX);
    ret[0] = text_piece(outcome->message, LIMIT_MESSAGE_MAX);
    ret[1] = (struct piece){outcome->value, outcome->value ? outcome->value_len : 0};
    ret[2] = text_piece(outcome->image, LIMIT_IMAGE_MAX);
    ret[3] = text_piece(outcome->python, LIMIT_PYTHON_MAX);
}

size_t wire_done_size(const struct outcome *outcome)
{
    struct piece pieces[PIECES];
    size_t size = WIRE_DONE_MIN;

    assert(outcome->status < OUTCOME_STATUS_COUNT);
    take_pieces(outcome, pieces);
    for (size_t i = 0; i < PIECES; i++)
        size += pieces[i].at ? sizeof(uint32_t) + pieces[i].len : 0;
    return size;
}

void wire_done_put(struct buf *out, const struct outcome *outcome)
{
    struct piece pieces[PIECES];

    take_pieces(outcome, pieces);
    bytes_put_u8(out, (uint8_t)outcome->status);
    bytes_put_u32(out, (uint32_t)outcome->exit_code);
    bytes_put_u32(out, outcome->oom_kills);
    bytes_put_u64(out, outcome->duration_us);
    bytes_put_u64(out, outcome->cpu_us);
    bytes_put_u64(out, outcome->peak_memory_bytes);
    for (size_t i = 0; i < OUTCOME_STREAM_COUNT; i++) {
        bytes_put_u64(out, outcome->total[i].bytes);
        bytes_put_u64(out, outcome->total[i].chars);
    }
    for (size_t i = 0; i < PIECES; i++) {
        bytes_put_u8(out, pieces[i].at != NULL);
        if (pieces[i].at)
            bytes_put_string(out, pieces[i].at, pieces[i].len);
    }
}
