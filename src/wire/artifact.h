/* What a script leaves behind: figures that it drew, and files in /workspace/outputs. The one
 * struct that executor, wire and front share. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define ARTIFACT_HASH_SIZE 32

enum artifact_kind { ARTIFACT_FILE = 1, ARTIFACT_FIGURE, ARTIFACT_KIND_END };

/* Why the bytes of an artifact do not come along. */
enum artifact_reason {
    ARTIFACT_WHOLE,      /* they do */
    ARTIFACT_LARGE,      /* it is larger than one may be */
    ARTIFACT_NO_ROOM,    /* those before it took all the room that there is */
    ARTIFACT_SPECIAL,    /* it is no regular file */
    ARTIFACT_SPARSE,     /* it is sparse, or too large to be read */
    ARTIFACT_UNREADABLE, /* reading it failed, or broke off */
    ARTIFACT_BAD_NAME,   /* its name holds what no text can show, and is told with escapes */
    ARTIFACT_REASON_END
};

/* What follows "NAME: " in a line for people and models; "" for ARTIFACT_WHOLE. */
const char *artifact_reason_text(enum artifact_reason reason);

struct artifact {
    enum artifact_kind kind;
    enum artifact_reason reason;
    uint64_t size;                            /* of the whole */
    unsigned char sha256[ARTIFACT_HASH_SIZE]; /* zeros: not computed */
    const char *name; /* UTF-8 without control characters, 1 to LIMIT_ARTIFACT_NAME_MAX bytes: the
                         path below /workspace/outputs, or "figure-1.png" */
    size_t name_len;
};

/* How much of it may come: at most how many are named, how many bytes come along, of one and of all
 * together, and into how many the figures are drawn. */
struct artifact_limits {
    uint32_t count;
    uint32_t one;
    uint32_t all;
    uint32_t figures;
};
