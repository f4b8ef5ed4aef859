/* Any bytes: what decodes must encode to the same bytes again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int encode(struct buf *out, const struct wire_message *message)
{
    switch (message->type) {
    case WIRE_RUN:
        return wire_put_run(out, message->call, &message->run);
    case WIRE_STOP:
        return wire_put_stop(out, message->call);
    case WIRE_PHASE:
        return wire_put_phase(out, message->call, message->phase.phase, message->phase.value);
    case WIRE_OUTPUT:
        return wire_put_output(out, message->call, message->output.stream, message->output.tail,
                               message->output.bytes, message->output.len);
    case WIRE_ARTIFACT:
        return wire_put_artifact(out, message->call, &message->artifact);
    case WIRE_ARTIFACT_BYTES:
        return wire_put_artifact_bytes(out, message->call, message->artifact_bytes.bytes,
                                       message->artifact_bytes.len);
    case WIRE_ARTIFACT_REST:
        return wire_put_artifact_rest(out, message->call, message->artifact_rest.count,
                                      message->artifact_rest.at_least);
    case WIRE_DONE:
        return wire_put_done(out, message->call, &message->done);
    case WIRE_STATUS:
        return wire_put_status(out, &message->status);
    case WIRE_PROFILE:
        return wire_put_profile(out, &message->profile);
    }
    return -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    struct wire_message message;
    size_t used;

    while (wire_decode(bytes, size, &message, &used, NULL) == 1) {
        auto_buf struct buf out;

        buf_init(&out, used);
        if (encode(&out, &message) < 0 || out.len != used || memcmp(out.data, bytes, used) != 0)
            abort();
        wire_end(&message);
        bytes += used;
        size -= used;
    }
    return 0;
}
