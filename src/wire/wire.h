/* Messages between front and executor over their socketpair. Pure: bytes in, struct out, and back.
 *
 * Every message is a header of 12 bytes, big-endian: type u8, three zero bytes, call u32, length
 * u32; then `length` bytes. A header or payload that is not exactly as described here is the other
 * side's compromise: decoding fails, and the reader ends. `call` is chosen by the front, unique
 * among its open calls, and never 0; STATUS and PROFILE, which are of no call, have 0.
 *
 *   RUN            front -> executor  profile u32, timeout_ms u32, keep_head u32, keep_tail u32,
 *                  the limits of artifacts 4 x u32; label, code, stdin, each u32 length + bytes;
 *                  number of files u32, then of each path and bytes, each u32 length + bytes
 *   STOP           front -> executor  empty
 *   PHASE          executor -> front  phase u8, value u32
 *   OUTPUT         executor -> front  stream u8, tail u8 (0 or 1), then the bytes
 *   ARTIFACT       executor -> front  kind u8, reason u8, size u64, SHA-256, name u32 length and
 *                  bytes; with reason 0 exactly `size` bytes follow before the next, or the DONE
 *   ARTIFACT_BYTES executor -> front  the bytes
 *   ARTIFACT_REST  executor -> front  count u64, at_least u8: there are more, which are not named
 *   DONE           executor -> front  the outcome, fields in the order of the struct, integers of
 *                  their own width, strings as u32 length + bytes, a present-flag u8 before each
 *   STATUS         executor -> front  the struct, fields in its order, booleans as u8, then the
 *                  pools
 *   PROFILE        executor -> front  index u32, then the texts in the order of the struct, each
 *                  u32 length + bytes
 */
#pragma once

#include "base/limits.h"
#include "wire/artifact.h"
#include "wire/file.h"
#include "wire/outcome.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct error;

#define WIRE_HEADER_SIZE 12
#define WIRE_OUTPUT_MAX  65536 /* bytes in one OUTPUT or ARTIFACT_BYTES */

enum wire_type {
    WIRE_RUN = 1,
    WIRE_STOP = 2,
    WIRE_PHASE = 16,
    WIRE_OUTPUT = 17,
    WIRE_DONE = 18,
    WIRE_STATUS = 19,
    WIRE_PROFILE = 20,
    WIRE_ARTIFACT = 21,
    WIRE_ARTIFACT_BYTES = 22,
    WIRE_ARTIFACT_REST = 23,
};

enum wire_phase {
    WIRE_QUEUED = 1, /* value: place in the queue, 1 = next */
    WIRE_PULLING,    /* value: per cent of the image that is here */
    WIRE_STARTING,   /* a container is being started for this call */
    WIRE_RUNNING,    /* the script has started */
};

struct wire_run {
    uint32_t profile;    /* index, below LIMIT_PROFILES_MAX */
    uint32_t timeout_ms; /* 1 to LIMIT_TIMEOUT_MS_MAX */
    uint32_t keep_head;  /* bytes per stream, head + tail <= LIMIT_KEEP_MAX */
    uint32_t keep_tail;
    struct artifact_limits artifacts; /* <= LIMIT_ARTIFACTS_MAX, <= LIMIT_ARTIFACTS_BYTES_MAX */
    const char *label;                /* <= LIMIT_LABEL_MAX bytes */
    size_t label_len;
    const char *code; /* <= LIMIT_CODE_MAX bytes */
    size_t code_len;
    const char *stdin_bytes; /* <= LIMIT_STDIN_MAX bytes */
    size_t stdin_len;
    struct file *files; /* file_check() likes each; <= LIMIT_FILES_MAX, <= LIMIT_FILES_BYTES_MAX */
    size_t file_count;
};

/* The bytes of its files together. */
size_t wire_run_file_bytes(const struct wire_run *run);

/* How the containers of a profile are. */
struct wire_pool {
    bool image;      /* the engine has the image */
    bool walls;      /* the last container that came up proved its walls */
    uint32_t warm;   /* containers ready */
    uint32_t alive;  /* containers in any state */
    uint64_t starts; /* of containers, since the server's start */
    uint64_t start_failures;
};

/* How the executor is, for those who watch the server. */
struct wire_status {
    bool engine;            /* the engine answers */
    bool room;              /* a call that came now would run or be queued */
    bool draining;          /* the server is being stopped: new calls are refused */
    uint32_t running;       /* scripts */
    uint32_t queued;        /* calls that wait */
    uint64_t engine_losses; /* how often the engine went away */
    uint32_t profile_count; /* 1 to LIMIT_PROFILES_MAX */
    struct wire_pool pools[LIMIT_PROFILES_MAX];
};

struct wire_text {
    const char *at; /* not NUL-terminated, and without a NUL */
    size_t len;
};

/* What became known of a profile; everything is "" until it is. */
struct wire_profile {
    uint32_t index;
    struct wire_text image;   /* <= LIMIT_IMAGE_MAX */
    struct wire_text python;  /* <= LIMIT_PYTHON_MAX */
    struct wire_text modules; /* beside the standard library, sorted; <= LIMIT_MODULES_MAX */
    struct wire_text reason;  /* why it cannot be served at present; <= LIMIT_MESSAGE_MAX */
};

/* One decoded message. Byte pointers point into the buffer that was decoded, and hold until it
 * changes; the outcome of a DONE owns its strings, a RUN the array of its files: the caller ends
 * them with wire_end(). */
struct wire_message {
    enum wire_type type;
    uint32_t call;
    union {
        struct wire_run run;
        struct {
            enum wire_phase phase;
            uint32_t value;
        } phase;
        struct {
            enum outcome_stream stream;
            bool tail; /* these are last bytes, kept after a gap */
            const char *bytes;
            size_t len; /* 1 to WIRE_OUTPUT_MAX */
        } output;
        struct artifact artifact;
        struct {
            const char *bytes;
            size_t len; /* 1 to WIRE_OUTPUT_MAX */
        } artifact_bytes;
        struct {
            uint64_t count;
            bool at_least;
        } artifact_rest;
        struct outcome done;
        struct wire_status status;
        struct wire_profile profile;
    };
};

/* Decodes the first message of bytes. 1: *ret holds it and *ret_used says how many bytes it took.
 * 0: more bytes are needed. -1: malformed (also where the length is over the type's ceiling, which
 * is known from the header alone). */
int wire_decode(const char *bytes, size_t len, struct wire_message *ret, size_t *ret_used,
                struct error *err);

/* Frees what a decoded message owns. */
void wire_end(struct wire_message *message);

/* Each appends one message to out; -1 where out is full. Values over a ceiling are a programming
 * error (assert), except that what is longer than WIRE_OUTPUT_MAX is split. */
int wire_put_run(struct buf *out, uint32_t call, const struct wire_run *run);
int wire_put_stop(struct buf *out, uint32_t call);
int wire_put_phase(struct buf *out, uint32_t call, enum wire_phase phase, uint32_t value);
int wire_put_output(struct buf *out, uint32_t call, enum outcome_stream stream, bool tail,
                    const char *bytes, size_t len);
int wire_put_artifact(struct buf *out, uint32_t call, const struct artifact *artifact);
int wire_put_artifact_bytes(struct buf *out, uint32_t call, const char *bytes, size_t len);
int wire_put_artifact_rest(struct buf *out, uint32_t call, uint64_t count, bool at_least);
int wire_put_done(struct buf *out, uint32_t call, const struct outcome *outcome);
int wire_put_status(struct buf *out, const struct wire_status *status);
int wire_put_profile(struct buf *out, const struct wire_profile *profile);
