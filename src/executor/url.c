#include "executor/url.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

char *url_escape(const char *text)
{
    char *out = mem_alloc(3 * strlen(text) + 1), *p = out;

    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            strchr("-._~/:@", c))
            *p++ = (char)c;
        else
            p += snprintf(p, 4, "%%%02X", c);
    }
    return out;
}

bool url_is_id(const char *text)
{
    static const char allowed[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    return *text && strspn(text, allowed) == strlen(text);
}
