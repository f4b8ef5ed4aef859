/* The engine's framing of an attached stream: stream u8, three zero bytes, length u32 big-endian,
 * bytes. Its frames do not align with the supervisor's. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct buf;
struct error;

struct demux {
    unsigned char header[8];
    size_t header_len;
    uint32_t left; /* bytes that the current frame still has */
};

/* Takes bytes as they come and appends those of stream 1 to out; of stream 2 to complaint, as long
 * as it has room. -1 where the framing is broken or out is full. A zeroed struct is the start. */
int demux_feed(struct demux *demux, const char *bytes, size_t len, struct buf *out,
               struct buf *complaint, struct error *err);
