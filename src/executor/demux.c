#include "executor/demux.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"

#define STREAM_STDOUT 1
#define STREAM_STDERR 2

static int take_header(struct demux *demux, struct error *err)
{
    const unsigned char *h = demux->header;

    if ((h[0] != STREAM_STDOUT && h[0] != STREAM_STDERR) || h[1] || h[2] || h[3])
        return error_set(err,
                         "the attached stream is not framed as Docker frames it "
                         "(%02x %02x %02x %02x)",
                         h[0], h[1], h[2], h[3]);
    demux->left = (uint32_t)h[4] << 24 | (uint32_t)h[5] << 16 | (uint32_t)h[6] << 8 | h[7];
    return 0;
}

int demux_feed(struct demux *demux, const char *bytes, size_t len, struct buf *out,
               struct buf *complaint, struct error *err)
{
    while (len) {
        size_t part;

        if (demux->left == 0) {
            part = sizeof(demux->header) - demux->header_len;
            if (part > len)
                part = len;
            memcpy(demux->header + demux->header_len, bytes, part);
            demux->header_len += part;
            bytes += part;
            len -= part;
            if (demux->header_len < sizeof(demux->header))
                return 0;
            demux->header_len = 0;
            if (take_header(demux, err) < 0)
                return -1;
            continue;
        }
        part = demux->left < len ? demux->left : len;
        if (demux->header[0] == STREAM_STDERR)
            buf_add_tail(complaint, bytes, part);
        else if (buf_add(out, bytes, part) < 0)
            return error_set(err, "the container sent more than can be taken");
        demux->left -= (uint32_t)part;
        bytes += part;
        len -= part;
    }
    return 0;
}
