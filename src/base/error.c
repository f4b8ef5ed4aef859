#include "base/error.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

#define ELLIPSIS "..."

/* Room for a context and the text it is put before. */
#define RAW_MAX (2 * ERROR_TEXT_MAX)

static void store(struct error *err, const char *raw)
{
    size_t left = strlen(raw);
    size_t len = 0;
    size_t cut = 0;

    while (left > 0) {
        size_t from;
        enum utf8_kind kind = utf8_look(raw, left, &from);
        const char *bytes = kind == UTF8_VALID ? raw : TEXT_REPLACEMENT;
        size_t count = kind == UTF8_VALID ? from : strlen(TEXT_REPLACEMENT);

        if (len + count >= ERROR_TEXT_MAX) {
            memcpy(err->text + cut, ELLIPSIS, sizeof(ELLIPSIS));
            return;
        }
        memcpy(err->text + len, bytes, count);
        len += count;
        if (len + sizeof(ELLIPSIS) <= ERROR_TEXT_MAX)
            cut = len;
        raw += from;
        left -= from;
    }
    err->text[len] = '\0';
}

int error_set(struct error *err, const char *format, ...)
{
    char raw[RAW_MAX] = "";
    va_list args;

    if (err == NULL)
        return -1;
    va_start(args, format);
    vsnprintf(raw, sizeof(raw), format, args);
    va_end(args);
    store(err, raw);
    return -1;
}

int error_wrap(struct error *err, const char *format, ...)
{
    char raw[RAW_MAX] = "";
    va_list args;
    size_t len;

    if (err == NULL)
        return -1;
    va_start(args, format);
    vsnprintf(raw, sizeof(raw), format, args);
    va_end(args);
    len = strlen(raw);
    snprintf(raw + len, sizeof(raw) - len, ": %s", err->text);
    store(err, raw);
    return -1;
}
