/* How a run ended: the one struct that executor, wire and front share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum outcome_status {
    OUTCOME_OK,            /* exit status 0 */
    OUTCOME_ERROR,         /* another exit status, or an uncaught exception */
    OUTCOME_TIMED_OUT,     /* the deadline ended it */
    OUTCOME_OUT_OF_MEMORY, /* the kernel ended it for want of memory */
    OUTCOME_KILLED,        /* a signal ended it */
    OUTCOME_CANCELLED,     /* the client or the server's shutdown ended it */
    OUTCOME_BUSY,          /* nothing ran: no place, or the image is still on its way; try again */
    OUTCOME_SANDBOX_ERROR, /* engine, image or wall: not the script's fault */
    OUTCOME_STATUS_COUNT
};

/* "ok", "error", "timed_out", "out_of_memory", "killed", "cancelled", "busy", "sandbox_error". */
const char *outcome_status_name(enum outcome_status status);

enum outcome_stream { OUTCOME_STDOUT, OUTCOME_STDERR, OUTCOME_STREAM_COUNT };

struct outcome_total {
    uint64_t bytes; /* written by the script */
    uint64_t chars; /* the same, decoded as UTF-8 with replacement */
};

/* Strings are NUL-terminated and owned by the struct; NULL where there is none. */
struct outcome {
    enum outcome_status status;
    int32_t exit_code;  /* 128+n for signal n, -1 where there is none */
    uint32_t oom_kills; /* processes that the kernel ended for want of memory */
    uint64_t duration_us;
    uint64_t cpu_us;
    uint64_t peak_memory_bytes; /* 0 where unknown */
    struct outcome_total total[OUTCOME_STREAM_COUNT];
    char
        *message; /* why, for every status that the output does not explain; <= LIMIT_MESSAGE_MAX */
    char *value;  /* repr of the last expression, value_len bytes, <= LIMIT_VALUE_MAX */
    size_t value_len;
    char *image;  /* reference of the image in use; <= LIMIT_IMAGE_MAX */
    char *python; /* its Python's version, "3.12.4"; <= LIMIT_PYTHON_MAX */
};

/* Frees the strings and zeroes the struct. */
void outcome_done(struct outcome *outcome);
