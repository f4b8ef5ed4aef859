/* Whether bytes are an image that clients can show: PNG, JPEG, GIF or WebP, told by its own bytes,
 * whole as far as that shows without decoding it, and of a size that a client can take. Pure.
 *
 * Clients pass images on to a model as they are, and one that is damaged, of another type than it
 * says, or too large ends the conversation for good; so whatever is in doubt is no picture. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum picture_kind {
    PICTURE_NONE, /* nothing like an image */
    PICTURE_BAD,  /* it begins like one, and is damaged or cut off */
    PICTURE_PNG,
    PICTURE_JPEG,
    PICTURE_GIF,
    PICTURE_WEBP,
};

struct picture {
    enum picture_kind kind;
    uint32_t width; /* 0 where kind is none or bad */
    uint32_t height;
    uint64_t pixels; /* of all its frames together */
};

void picture_look(const void *bytes, size_t len, struct picture *ret);

/* "image/png", ...; NULL where it is none that can be shown. */
const char *picture_type(enum picture_kind kind);
