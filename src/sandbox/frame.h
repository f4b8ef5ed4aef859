/* What the supervisor (supervisor/, PID 1 of every container) speaks on the container's stdout,
 * and what it is told on its stdin. Pure.
 *
 * Up: frames of type u8, length u32 big-endian, payload of at most FRAME_MAX bytes.
 *   H  hello: the child is ready. JSON object with the facts of the container (see supervisor/)
 *   S  the script has started. Empty
 *   O  E  bytes of stdout, stderr: everything up to the `head` that the header line allows
 *   o  e  bytes of the last part of stdout, stderr, sent once the script has ended, where more than
 *         `head` came; together at most `tail` bytes. What lies between was left out
 *   C  everything but PID 1 has ended, and what the script left behind is looked through, which may
 *      take some seconds. Empty; once at most, before the first A
 *   A  an artifact: what the script drew or left in /workspace/outputs, see struct frame_artifact.
 *      Figures come first, in the order of drawing, then files, sorted by path
 *   a  bytes of the artifact that the last A began, at least one; together they are exactly its
 *      `size`, and complete before the next A, R, V or X
 *   R  there is more in /workspace/outputs than the header line allows to name: count u64, then u8:
 *      1 where the count is a least one. Once at most, behind the last artifact
 *   V  repr of the last expression, at most LIMIT_VALUE_MAX bytes of UTF-8
 *   X  the end: FRAME_EXIT_SIZE bytes, see struct frame_exit. Nothing follows it
 *
 * Down, once: one line of JSON, then `code` bytes of script, the bytes of each file and `stdin`
 * bytes of input:
 *   {"timeout_ms":N,"name":"script.py","argv":["a"],"code":N,"stdin":N,"head":N,"tail":N,
 *    "files":[{"path":"data/a.csv","size":N}],"outputs":{"files":N,"file":N,"total":N,"figures":N}}
 * `files` are written below /workspace before the script starts. `outputs` says how many artifacts
 * may be named, how many bytes one may have that comes along, how many all of these together, and
 * into how many all figures are made to fit. `stdin` -1 means that input is streamed: chunks of
 * length u32 big-endian + bytes follow, length 0 is the end of the input. `head` -1 means no limit:
 * everything is forwarded, with back-pressure. The end of the stream at any time ends the
 * container.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct error;

#define FRAME_HEADER_SIZE 5
#define FRAME_MAX         262144
#define FRAME_EXIT_SIZE   88
#define FRAME_REST_SIZE   9

/* The fields of an A before its name. */
#define FRAME_ARTIFACT_FIXED (1 + 1 + 8 + 32)

enum frame_type {
    FRAME_HELLO = 'H',
    FRAME_STARTED = 'S',
    FRAME_STDOUT = 'O',
    FRAME_STDERR = 'E',
    FRAME_STDOUT_TAIL = 'o',
    FRAME_STDERR_TAIL = 'e',
    FRAME_COLLECTING = 'C',
    FRAME_ARTIFACT = 'A',
    FRAME_ARTIFACT_BYTES = 'a',
    FRAME_ARTIFACT_REST = 'R',
    FRAME_VALUE = 'V',
    FRAME_EXIT = 'X',
};

struct frame {
    enum frame_type type;
    const char *bytes; /* points into the buffer that was decoded */
    size_t len;
};

/* The payload of X: eleven signed 64-bit big-endian integers in this order. */
struct frame_exit {
    int64_t exit_code;         /* -1 where a signal ended the script */
    int64_t signal;            /* 0 where none did */
    int64_t timed_out;         /* 1: the supervisor ended it at its deadline */
    int64_t oom_kills;         /* since the script's start; -1: not to be read */
    int64_t cpu_us;            /* of the script and its reaped children, from the script's start */
    int64_t duration_us;       /* from the script's start */
    int64_t peak_memory_bytes; /* of the whole container; 0: not to be read */
    int64_t stdout_bytes;
    int64_t stdout_chars;
    int64_t stderr_bytes;
    int64_t stderr_chars;
};

enum frame_artifact_kind { FRAME_KIND_FILE = 1, FRAME_KIND_FIGURE = 2, FRAME_KIND_END };

enum frame_artifact_reason {
    FRAME_REASON_NONE,       /* its bytes follow */
    FRAME_REASON_LARGE,      /* larger than `file` */
    FRAME_REASON_TOTAL,      /* `total` is used up */
    FRAME_REASON_SPECIAL,    /* no regular file: a link, a FIFO, a device, a socket */
    FRAME_REASON_SPARSE,     /* sparse, or too large to be read: no hash */
    FRAME_REASON_UNREADABLE, /* could not be read */
    FRAME_REASON_NAME,       /* its name is not valid, and is escaped for showing */
    FRAME_REASON_END
};

/* The payload of A: kind u8, reason u8, size u64, SHA-256 (zeros where it was not computed), name:
 * 1 to LIMIT_ARTIFACT_NAME_MAX bytes, the path below /workspace/outputs or "figure-1.png". */
struct frame_artifact {
    enum frame_artifact_kind kind;
    enum frame_artifact_reason reason;
    uint64_t size;
    const unsigned char *sha256; /* 32 bytes; points into the payload, as name does */
    const char *name;
    size_t name_len;
};

/* The payload of R. */
struct frame_rest {
    uint64_t count;
    bool at_least;
};

/* Decodes the first frame of bytes. 1: *ret and *ret_used are set. 0: more bytes are needed.
 * -1: an unknown type or a length over FRAME_MAX. */
int frame_decode(const char *bytes, size_t len, struct frame *ret, size_t *ret_used,
                 struct error *err);

/* Decodes an X payload; -1 where size or a value makes no sense. */
int frame_decode_exit(const char *bytes, size_t len, struct frame_exit *ret, struct error *err);

/* The same for A and R. The name may be any bytes. */
int frame_decode_artifact(const char *bytes, size_t len, struct frame_artifact *ret,
                          struct error *err);
int frame_decode_rest(const char *bytes, size_t len, struct frame_rest *ret, struct error *err);

/* A file that goes down with the script. */
struct frame_file {
    const char *path; /* valid UTF-8 below /workspace, path_len bytes */
    size_t path_len;
    int64_t size;
};

/* What may come back of what the script leaves behind. */
struct frame_outputs {
    int64_t files;
    int64_t file;
    int64_t total;
    int64_t figures;
};

/* What goes down before the payload bytes. */
struct frame_start {
    int64_t timeout_ms;
    const char *name;        /* file name of the script inside /workspace, no slash */
    const char *const *argv; /* further arguments, argc of them, each valid UTF-8 */
    size_t argc;
    int64_t code_len;
    int64_t stdin_len; /* -1: streamed */
    int64_t head;      /* -1: no limit */
    int64_t tail;
    const struct frame_file *files; /* file_count of them */
    size_t file_count;
    struct frame_outputs outputs;
};

/* Appends the header line; -1 where out is full. */
int frame_put_start(struct buf *out, const struct frame_start *start);

/* Appends one chunk of streamed input; len 0 is its end. -1 where out is full. */
int frame_put_input(struct buf *out, const char *bytes, size_t len);
