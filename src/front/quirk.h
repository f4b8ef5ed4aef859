/* What some clients do differently, and how answers make up for it. Pure. A client is known by the
 * name it gives itself: clientInfo.name, or a User-Agent such as "name/1.2 (x)". */
#pragma once

#include <stdbool.h>

/* Whether this client hides a result's content (text and images) behind the structured copy. */
bool quirk_hides_content(const char *client);

/* What a client takes beside text. With a block of another kind it loses the whole result. */
enum quirk_blocks {
    QUIRK_BLOCKS_ALL,
    QUIRK_BLOCKS_NO_BYTES, /* images and embedded text, but no embedded bytes */
    QUIRK_BLOCKS_NONE,
};
enum quirk_blocks quirk_blocks(const char *client);
