#include "base/json.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/utf8.h"

#define UNIT_MAX 8 /* "\u001f" and a NUL */

/* What stands in a string for len bytes, which are one character or an invalid sequence; NULL where
 * they stand for themselves. The result may live in unit. */
static const char *escape(const char *bytes, size_t len, enum utf8_kind kind, char unit[UNIT_MAX])
{
    unsigned char first = (unsigned char)bytes[0];

    if (kind != UTF8_VALID)
        return TEXT_REPLACEMENT;
    if (len == 3 && memcmp(bytes, "\xE2\x80\xA8", 3) == 0)
        return "\\u2028";
    if (len == 3 && memcmp(bytes, "\xE2\x80\xA9", 3) == 0)
        return "\\u2029";
    if (first == '"')
        return "\\\"";
    if (first == '\\')
        return "\\\\";
    if (first == '\n')
        return "\\n";
    if (first == '\t')
        return "\\t";
    if (first == '\r')
        return "\\r";
    if (first >= 0x20 && first != 0x7F)
        return NULL;
    snprintf(unit, UNIT_MAX, "\\u%04x", first);
    return unit;
}

int json_put_bytes(struct buf *out, const char *bytes, size_t len)
{
    size_t start = 0;
    size_t at = 0;

    if (buf_add_text(out, "\"") < 0)
        return -1;
    while (at < len) {
        char unit[UNIT_MAX];
        size_t count;
        enum utf8_kind kind = utf8_look(bytes + at, len - at, &count);
        const char *escaped = escape(bytes + at, count, kind, unit);

        if (escaped != NULL) {
            if (buf_add(out, bytes + start, at - start) < 0 || buf_add_text(out, escaped) < 0)
                return -1;
            start = at + count;
        }
        at += count;
    }
    if (start < len && buf_add(out, bytes + start, len - start) < 0)
        return -1;
    return buf_add_text(out, "\"");
}

int json_put_text(struct buf *out, const char *text)
{
    return json_put_bytes(out, text, strlen(text));
}

int json_put_name(struct buf *out, const char *name)
{
    char last = out->len > 0 ? out->data[out->len - 1] : '{';

    if (last != '{' && last != '[' && buf_add_text(out, ",") < 0)
        return -1;
    if (json_put_text(out, name) < 0)
        return -1;
    return buf_add_text(out, ":");
}

int json_put_value(struct buf *out, const cJSON *value)
{
    char *text = cJSON_PrintUnformatted(value);
    int result;

    if (text == NULL)
        return -1;
    result = buf_add_text(out, text);
    cJSON_free(text);
    return result;
}
