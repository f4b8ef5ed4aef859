/* Big-endian fields in byte strings, for the messages of wire.h alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* Reads from the front of bytes that it borrows. A read past the end sets `bad`, which stays, and
 * gives 0. */
struct bytes_reader {
    const char *at;
    size_t left;
    bool bad;
};

uint8_t bytes_u8(struct bytes_reader *reader);
uint32_t bytes_u32(struct bytes_reader *reader);
uint64_t bytes_u64(struct bytes_reader *reader);

/* A byte that is 0 or 1; anything else is bad. */
bool bytes_bool(struct bytes_reader *reader);

/* Exactly len bytes, which ret gets; zeros when bad. */
void bytes_copy(struct bytes_reader *reader, unsigned char *ret, size_t len);

/* A u32 length of at most max, and that many bytes; NULL and length 0 when bad. */
const char *bytes_string(struct bytes_reader *reader, size_t max, size_t *ret_len);

/* Everything that is left. */
const char *bytes_rest(struct bytes_reader *reader, size_t *ret_len);

/* Each appends; the caller has made sure that out has room. bytes may be NULL where len is 0. */
void bytes_put(struct buf *out, const char *bytes, size_t len);
void bytes_put_u8(struct buf *out, uint8_t value);
void bytes_put_u32(struct buf *out, uint32_t value);
void bytes_put_u64(struct buf *out, uint64_t value);
void bytes_put_string(struct buf *out, const char *bytes, size_t len);
