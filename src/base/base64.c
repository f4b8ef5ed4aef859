#include "base/base64.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"

#define GROUP 4

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Bytes that are encoded at a time: a multiple of three. */
#define PORTION 3072

size_t base64_size(size_t len)
{
    return (len / 3 + (len % 3 > 0)) * GROUP;
}

size_t base64_room(size_t len)
{
    return len / GROUP * 3;
}

/* One to three bytes as four characters. */
static void encode_group(const unsigned char *bytes, size_t len, char ret[GROUP])
{
    uint32_t bits = (uint32_t)bytes[0] << 16;

    if (len > 1)
        bits |= (uint32_t)bytes[1] << 8;
    if (len > 2)
        bits |= bytes[2];
    ret[0] = alphabet[bits >> 18];
    ret[1] = alphabet[bits >> 12 & 63];
    ret[2] = len > 1 ? alphabet[bits >> 6 & 63] : '=';
    ret[3] = len > 2 ? alphabet[bits & 63] : '=';
}

int base64_put(struct buf *out, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    char text[PORTION / 3 * GROUP];

    if (base64_size(len) > out->max - out->len)
        return -1;
    while (len > 0) {
        size_t part = len < PORTION ? len : PORTION;

        for (size_t i = 0; i < part; i += 3)
            encode_group(at + i, part - i, text + i / 3 * GROUP);
        if (buf_add(out, text, base64_size(part)) < 0)
            return -1;
        at += part;
        len -= part;
    }
    return 0;
}

/* What a character stands for; -1 where it is none of the alphabet. */
static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool is_skipped(char c)
{
    return c == '\n' || c == '\r' || c == ' ' || c == '\t';
}

static int refuse(const char *text, size_t at, bool padded, struct error *err)
{
    const char *what = "a character that is not of base64";

    if (at >= 4 && memcmp(text, "data:", 5) == 0)
        return error_set(err, "begins with \"data:\"; send what follows the comma alone");
    if (padded)
        what = "something behind the padding";
    else if (text[at] == '=')
        what = "a = where none may be";
    else if (text[at] == '-' || text[at] == '_')
        what = "a character of the variant for URLs; use the alphabet with + and /";
    return error_set(err, "has, at character %zu, %s", at, what);
}

/* Four characters, of which `pads` are padding, to bytes; false where bits are left over. */
static bool decode_group(const int values[GROUP], size_t pads, char *ret)
{
    uint32_t bits = 0;

    for (size_t i = 0; i < GROUP; i++)
        bits = bits << 6 | (uint32_t)values[i];
    ret[0] = (char)(bits >> 16);
    if (pads < 2)
        ret[1] = (char)(bits >> 8);
    if (pads < 1)
        ret[2] = (char)bits;
    return pads == 0 || (bits & (pads == 1 ? 0xffU : 0xffffU)) == 0;
}

int base64_decode(const char *text, size_t len, char *ret, size_t *ret_len, struct error *err)
{
    int values[GROUP];
    size_t count = 0, pads = 0, done = 0;

    for (size_t i = 0; i < len; i++) {
        bool pad = text[i] == '=' && count >= 2;
        int value = pad ? 0 : value_of(text[i]);

        if (is_skipped(text[i]))
            continue;
        if (value < 0 || (pads > 0 && (!pad || count == 0)))
            return refuse(text, i, pads > 0, err);
        pads += pad;
        values[count++] = value;
        if (count < GROUP)
            continue;
        if (!decode_group(values, pads, ret + done))
            return error_set(err, "ends in bits that belong to no byte; was it cut off?");
        done += 3 - pads;
        count = 0;
    }
    if (count > 0)
        return error_set(err, "does not end in a whole group of four characters, padded with =; "
                              "was it cut off?");
    *ret_len = done;
    return 0;
}
