#include "base/json_mend.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ESCAPE_LEN 6 /* \uXXXX */

/* The code unit of a \uXXXX at text; false where there is none. */
static bool read_unit(const char *text, size_t len, uint32_t *ret)
{
    static const char digits[] = "0123456789abcdef";
    uint32_t unit = 0;

    if (len < ESCAPE_LEN || text[0] != '\\' || text[1] != 'u')
        return false;
    for (size_t i = 2; i < ESCAPE_LEN; i++) {
        char c = (char)(text[i] >= 'A' && text[i] <= 'F' ? text[i] - 'A' + 'a' : text[i]);
        const char *digit = c ? strchr(digits, c) : NULL;

        if (!digit)
            return false;
        unit = unit << 4 | (uint32_t)(digit - digits);
    }
    *ret = unit;
    return true;
}

static bool is_high(uint32_t unit)
{
    return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low(uint32_t unit)
{
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

size_t json_mend(char *text, size_t len)
{
    size_t count = 0;

    for (size_t i = 0; i < len; i++) {
        uint32_t unit, next;

        if (text[i] != '\\')
            continue;
        if (!read_unit(text + i, len - i, &unit)) {
            i++; /* the escaped character, which may be a backslash */
            continue;
        }
        if (is_high(unit) && read_unit(text + i + ESCAPE_LEN, len - i - ESCAPE_LEN, &next) &&
            is_low(next)) {
            i += 2 * ESCAPE_LEN - 1;
            continue;
        }
        if (unit == 0 || is_high(unit) || is_low(unit)) {
            memcpy(text + i + 2, "fffd", 4);
            count++;
        }
        i += ESCAPE_LEN - 1;
    }
    return count;
}
