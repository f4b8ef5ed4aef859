/* The reply to one call of run_python. Pure: what is known of the call in, one JSON-RPC message
 * out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "front/quirk.h"
#include "wire/outcome.h"

struct artifacts;
struct buf;
struct front_options;

/* What the front knows of a call that ended. All borrowed. */
struct result {
    const struct outcome *outcome;
    uint32_t profile;                             /* index */
    const struct buf *head[OUTCOME_STREAM_COUNT]; /* first bytes of each stream, as they came */
    const struct buf *tail[OUTCOME_STREAM_COUNT]; /* last bytes */
    const struct artifacts *artifacts;            /* settled */
    unsigned code;                                /* hint_of_code() */
    bool without_stdin;                           /* the call gave no stdin */
    bool can_wait;            /* a longer timeout_seconds would have been granted */
    const char *note;         /* a line to tell about the arguments, NULL where there is none */
    bool modern;              /* the members of the modern era come with it */
    bool structured;          /* a structured copy comes with the text */
    enum quirk_blocks blocks; /* what the client takes beside text */
};

/* Appends the whole JSON-RPC response, shorter than reply_max: output is cut until it fits, and of
 * the artifacts those come along for which there is room then (front/attach.h). id is the
 * request's, as raw JSON; options are those of the profile, options_of_profile(). */
void result_put(struct buf *out, const char *id, size_t id_len, const struct result *result,
                const struct front_options *options);

/* Appends the content of a result for a call whose arguments were refused, as members: an error
 * with this text. */
void result_put_refusal(struct buf *out, const char *text);
