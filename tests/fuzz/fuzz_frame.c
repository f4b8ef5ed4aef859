/* Any bytes as the stream of a container, and as the payloads that have fields. */
#include <stdint.h>
#include <stdlib.h>

#include "sandbox/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void decode_fields(const char *bytes, size_t size)
{
    struct frame_artifact artifact;
    struct frame_rest rest;
    struct frame_exit end;

    (void)frame_decode_exit(bytes, size, &end, NULL);
    (void)frame_decode_rest(bytes, size, &rest, NULL);
    if (frame_decode_artifact(bytes, size, &artifact, NULL) < 0)
        return;
    if (artifact.name_len == 0 || artifact.name + artifact.name_len != bytes + size ||
        artifact.sha256[0] != (unsigned char)bytes[10])
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    struct frame frame;
    size_t used;

    decode_fields(bytes, size);
    while (frame_decode(bytes, size, &frame, &used, NULL) == 1) {
        if (frame.len > FRAME_MAX || used != frame.len + FRAME_HEADER_SIZE || used > size)
            abort();
        decode_fields(frame.bytes, frame.len);
        bytes += used;
        size -= used;
    }
    return 0;
}
