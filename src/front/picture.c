#include "front/picture.h"

#include <stdbool.h>
#include <string.h>

#define PNG_START  "\x89PNG\r\n\x1a\n"
#define JPEG_START "\xff\xd8\xff"

/* A reader of what is left; every take fails past the end. */
struct span {
    const unsigned char *at;
    size_t left;
};

static const unsigned char *take(struct span *span, size_t len)
{
    const unsigned char *at = span->at;

    if (len > span->left)
        return NULL;
    span->at += len;
    span->left -= len;
    return at;
}

static bool starts(const void *bytes, size_t len, const char *start, size_t start_len)
{
    return len >= start_len && memcmp(bytes, start, start_len) == 0;
}

static uint32_t big32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint32_t big16(const unsigned char *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static uint32_t little32(const unsigned char *at)
{
    return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static uint32_t little24(const unsigned char *at)
{
    return (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static uint32_t little16(const unsigned char *at)
{
    return (uint32_t)at[1] << 8 | at[0];
}

static void add_frame(struct picture *picture, uint32_t width, uint32_t height)
{
    picture->pixels += (uint64_t)width * height;
}

static bool set_size(struct picture *picture, uint32_t width, uint32_t height)
{
    picture->width = width;
    picture->height = height;
    return width > 0 && height > 0;
}

/* CRC-32 as PNG has it. */
static uint32_t crc32(const unsigned char *bytes, size_t len)
{
    uint32_t table[16], crc = UINT32_MAX;

    for (uint32_t i = 0; i < 16; i++) {
        table[i] = i;
        for (int bit = 0; bit < 4; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320U : 0);
    }
    for (size_t i = 0; i < len; i++) {
        crc = crc >> 4 ^ table[(crc ^ bytes[i]) & 15];
        crc = crc >> 4 ^ table[(crc ^ bytes[i] >> 4) & 15];
    }
    return ~crc;
}

/* Depths that a colour type may have, a bit each: type 0, 2, 3, 4, 6. */
static bool png_depth_fits(unsigned depth, unsigned colour)
{
    static const uint32_t depths[7] = {1U << 1 | 1U << 2 | 1U << 4 | 1U << 8 | 1U << 16,
                                       0,
                                       1U << 8 | 1U << 16,
                                       1U << 1 | 1U << 2 | 1U << 4 | 1U << 8,
                                       1U << 8 | 1U << 16,
                                       0,
                                       1U << 8 | 1U << 16};

    return colour < 7 && depth <= 16 && (depths[colour] >> depth & 1);
}

static bool look_png_header(const unsigned char *at, size_t len, struct picture *picture)
{
    if (len != 13 || big32(at) > INT32_MAX || big32(at + 4) > INT32_MAX ||
        !png_depth_fits(at[8], at[9]) || at[10] != 0 || at[11] != 0 || at[12] > 1)
        return false;
    add_frame(picture, big32(at), big32(at + 4));
    return set_size(picture, big32(at), big32(at + 4));
}

/* Chunks from IHDR to IEND, each with its sum, and image data that begins as zlib's does. */
static bool look_png(struct span *span, struct picture *picture)
{
    bool header = false, data = false;

    (void)take(span, sizeof(PNG_START) - 1);
    for (;;) {
        const unsigned char *start = take(span, 8);
        const unsigned char *body, *sum;
        size_t len = start ? big32(start) : 0;

        if (!start || !(body = take(span, len)) || !(sum = take(span, 4)) ||
            big32(sum) != crc32(start + 4, len + 4))
            return false;
        if (memcmp(start + 4, "IEND", 4) == 0)
            return len == 0 && data;
        if (memcmp(start + 4, "IHDR", 4) == 0) {
            if (header || !look_png_header(body, len, picture))
                return false;
            header = true;
        } else if (!header) {
            return false;
        } else if (memcmp(start + 4, "fcTL", 4) == 0 && len == 26) {
            add_frame(picture, big32(body + 4), big32(body + 8));
        } else if (memcmp(start + 4, "IDAT", 4) == 0 && !data && len > 0) {
            if (len >= 2 && ((body[0] & 15) != 8 || big16(body) % 31 != 0))
                return false;
            data = true;
        }
    }
}

/* The markers with a frame's size. */
static bool is_jpeg_frame(unsigned char marker)
{
    return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

/* Segments up to the first scan, of which one has the size; then an end somewhere behind it. */
static bool look_jpeg(struct span *span, struct picture *picture)
{
    bool frame = false;

    (void)take(span, 2);
    for (;;) {
        const unsigned char *marker = take(span, 2);
        const unsigned char *size, *body;

        if (!marker || marker[0] != 0xFF)
            return false;
        if (marker[1] == 0xFF) { /* fill */
            span->at--;
            span->left++;
            continue;
        }
        size = take(span, 2);
        if (!size || big16(size) < 2 || !(body = take(span, big16(size) - 2)))
            return false;
        if (is_jpeg_frame(marker[1])) {
            if (frame || big16(size) < 8 || !set_size(picture, big16(body + 3), big16(body + 1)))
                return false;
            add_frame(picture, picture->width, picture->height);
            frame = true;
        }
        if (marker[1] == 0xDA)
            return frame && memmem(span->at, span->left, "\xff\xd9", 2);
    }
}

/* Blocks with their sizes before them, up to an empty one. */
static bool skip_gif_blocks(struct span *span)
{
    const unsigned char *size;

    while ((size = take(span, 1))) {
        if (*size == 0)
            return true;
        if (!take(span, *size))
            return false;
    }
    return false;
}

static bool skip_gif_colours(struct span *span, unsigned flags)
{
    return !(flags & 0x80) || take(span, (size_t)3 << ((flags & 7) + 1));
}

static bool look_gif_frame(struct span *span, struct picture *picture)
{
    const unsigned char *frame = take(span, 9);

    if (!frame || little16(frame + 4) == 0 || little16(frame + 6) == 0)
        return false;
    /* What does not fit the screen makes it larger; each frame is drawn on all of it. */
    if (picture->width < little16(frame + 4))
        picture->width = little16(frame + 4);
    if (picture->height < little16(frame + 6))
        picture->height = little16(frame + 6);
    add_frame(picture, picture->width, picture->height);
    return skip_gif_colours(span, frame[8]) && take(span, 1) && skip_gif_blocks(span);
}

static bool look_gif(struct span *span, struct picture *picture)
{
    const unsigned char *screen;
    bool frames = false;

    (void)take(span, 6);
    screen = take(span, 7);
    if (!screen || !set_size(picture, little16(screen), little16(screen + 2)) ||
        !skip_gif_colours(span, screen[4]))
        return false;
    for (;;) {
        const unsigned char *block = take(span, 1);

        if (!block)
            return false;
        if (*block == 0x3B)
            return frames;
        if (*block == 0x21 && take(span, 1) && skip_gif_blocks(span))
            continue;
        if (*block != 0x2C || !look_gif_frame(span, picture))
            return false;
        frames = true;
    }
}

/* One still image inside a WebP: its size, from the start of its data. */
static bool look_webp_frame(const unsigned char *kind, const unsigned char *body, size_t len,
                            uint32_t *ret_width, uint32_t *ret_height)
{
    uint32_t bits;

    if (memcmp(kind, "VP8 ", 4) == 0) {
        if (len < 10 || memcmp(body + 3, "\x9d\x01\x2a", 3) != 0)
            return false;
        *ret_width = little16(body + 6) & 0x3FFF;
        *ret_height = little16(body + 8) & 0x3FFF;
        return true;
    }
    if (len < 5 || body[0] != 0x2F)
        return false;
    bits = little32(body + 1);
    *ret_width = (bits & 0x3FFF) + 1;
    *ret_height = (bits >> 14 & 0x3FFF) + 1;
    return true;
}

/* A chunk that matters; false where it is damaged. */
static bool look_webp_chunk(const unsigned char *kind, const unsigned char *body, size_t len,
                            struct picture *picture, bool *ret_frames)
{
    uint32_t width, height;

    if (memcmp(kind, "VP8X", 4) == 0)
        return len >= 10 && picture->width == 0 &&
               set_size(picture, little24(body + 4) + 1, little24(body + 7) + 1);
    if (memcmp(kind, "ANMF", 4) == 0) {
        if (len < 24 || picture->width == 0)
            return false;
        add_frame(picture, picture->width, picture->height);
        *ret_frames = true;
    } else if (memcmp(kind, "VP8 ", 4) == 0 || memcmp(kind, "VP8L", 4) == 0) {
        if (*ret_frames || !look_webp_frame(kind, body, len, &width, &height) ||
            (picture->width != 0 && (picture->width != width || picture->height != height)) ||
            !set_size(picture, width, height))
            return false;
        add_frame(picture, width, height);
        *ret_frames = true;
    }
    return true;
}

static bool look_webp(struct span *span, struct picture *picture)
{
    const unsigned char *riff = take(span, 12);
    bool frames = false;

    if (!riff || little32(riff + 4) < 4 || little32(riff + 4) - 4 > span->left)
        return false;
    span->left = little32(riff + 4) - 4;
    while (span->left > 0) {
        const unsigned char *start = take(span, 8);
        size_t len = start ? little32(start + 4) : 0;
        const unsigned char *body = start ? take(span, len) : NULL;

        if (!body || (len % 2 == 1 && !take(span, 1)) ||
            !look_webp_chunk(start, body, len, picture, &frames))
            return false;
    }
    return frames;
}

void picture_look(const void *bytes, size_t len, struct picture *ret)
{
    struct span span = {.at = bytes, .left = len};
    struct picture picture = {.kind = PICTURE_NONE};
    bool good = true;

    if (starts(bytes, len, PNG_START, sizeof(PNG_START) - 1)) {
        picture.kind = PICTURE_PNG;
        good = look_png(&span, &picture);
    } else if (starts(bytes, len, JPEG_START, sizeof(JPEG_START) - 1)) {
        picture.kind = PICTURE_JPEG;
        good = look_jpeg(&span, &picture);
    } else if (starts(bytes, len, "GIF87a", 6) || starts(bytes, len, "GIF89a", 6)) {
        picture.kind = PICTURE_GIF;
        good = look_gif(&span, &picture);
    } else if (len >= 12 && memcmp(bytes, "RIFF", 4) == 0 &&
               memcmp((const char *)bytes + 8, "WEBP", 4) == 0) {
        picture.kind = PICTURE_WEBP;
        good = look_webp(&span, &picture);
    }
    *ret = good ? picture : (struct picture){.kind = PICTURE_BAD};
}

const char *picture_type(enum picture_kind kind)
{
    switch (kind) {
    case PICTURE_PNG:
        return "image/png";
    case PICTURE_JPEG:
        return "image/jpeg";
    case PICTURE_GIF:
        return "image/gif";
    case PICTURE_WEBP:
        return "image/webp";
    case PICTURE_NONE:
    case PICTURE_BAD:
        break;
    }
    return NULL;
}
