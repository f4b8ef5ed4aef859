#include "base/utf8.h"

enum utf8_kind utf8_look(const char *bytes, size_t len, size_t *ret_len)
{
    unsigned char lead = (unsigned char)bytes[0];
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
    size_t want;

    *ret_len = 1;
    if (lead < 0x80)
        return UTF8_VALID;
    if (lead < 0xC2 || lead > 0xF4)
        return UTF8_INVALID;
    want = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;

    /* The second byte's range keeps out overlong forms, surrogates and what lies past U+10FFFF. */
    if (lead == 0xE0)
        low = 0xA0;
    else if (lead == 0xED)
        high = 0x9F;
    else if (lead == 0xF0)
        low = 0x90;
    else if (lead == 0xF4)
        high = 0x8F;

    for (size_t i = 1; i < want; i++) {
        unsigned char byte;

        *ret_len = i;
        if (i == len)
            return UTF8_CUT;
        byte = (unsigned char)bytes[i];
        if (byte < low || byte > high)
            return UTF8_INVALID;
        low = 0x80;
        high = 0xBF;
    }
    *ret_len = want;
    return UTF8_VALID;
}
