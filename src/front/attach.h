/* How the artifacts of a call go into its result: as images, as embedded files, or by name with the
 * reason why they do not come along. Pure.
 *
 * Defaults follow what clients bear. A whole result is at most 1,048,576 bytes for Claude Desktop,
 * images included, hence reply_max, which all blocks share with the text, text first. An image may
 * have 5,242,880 bytes of base64 and 8,000 pixels a side, but 2,000 in a conversation of many
 * images, and one that is refused ends the conversation: hence image_max and side_max. Some clients
 * count an embedded file as text, where 25,000 tokens are the most: hence resource_max, and all
 * such files together no longer than twice text_max, which tools/list announces. An empty or blank
 * text is refused by a model's interface, so that such a file is named only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "front/quirk.h"

struct artifacts;
struct attachment;
struct buf;
struct front_options;

struct attach {
    const struct artifacts *artifacts;
    struct attachment *list; /* one for each artifact */
    size_t count;
    size_t listed;     /* the first ones, which are told one by one; the others are counted */
    size_t files_room; /* bytes for embedded files */
};

/* Decides what each could be; nothing is attached yet, and at most list_max bytes are told of them
 * in both copies together; blocks: what the client takes. Borrows artifacts. */
void attach_init(struct attach *attach, const struct artifacts *artifacts,
                 const struct front_options *options, enum quirk_blocks blocks, size_t list_max);
void attach_done(struct attach *attach);

/* Whether the script left anything behind. */
bool attach_is_empty(const struct attach *attach);

/* Attaches what fits into room bytes of further blocks: images first, then other files, each in
 * order; what does not fit is passed over, and says so. */
void attach_fit(struct attach *attach, size_t room);

/* Takes one back; false where none is attached. */
bool attach_take_back(struct attach *attach);

/* Each appends, -1 where out is full: the lines of the text; the members "artifacts" and
 * "artifacts_left_out" with a comma before each, or nothing where there is none; the blocks, each
 * with a comma before it. */
int attach_put_text(struct buf *out, const struct attach *attach);
int attach_put_members(struct buf *out, const struct attach *attach);
int attach_put_blocks(struct buf *out, const struct attach *attach);
