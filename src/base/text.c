#include "base/text.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/utf8.h"

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* Length of the valid UTF-8 at the front of bytes. */
static size_t valid_length(const char *bytes, size_t len)
{
    size_t at = 0;

    while (at < len) {
        size_t count;

        if (utf8_look(bytes + at, len - at, &count) != UTF8_VALID)
            break;
        at += count;
    }
    return at;
}

bool text_is_utf8(const char *bytes, size_t len)
{
    return valid_length(bytes, len) == len;
}

int text_repair(struct buf *out, const char *bytes, size_t len)
{
    while (len > 0) {
        size_t good = valid_length(bytes, len);
        size_t bad = 0;

        if (good > 0 && buf_add(out, bytes, good) < 0)
            return -1;
        if (good < len) {
            utf8_look(bytes + good, len - good, &bad);
            if (buf_add_text(out, TEXT_REPLACEMENT) < 0)
                return -1;
        }
        bytes += good + bad;
        len -= good + bad;
    }
    return 0;
}

/* U+0000 to U+001F and U+007F to U+009F. */
static bool is_control(const char *bytes, size_t len)
{
    unsigned char first = (unsigned char)bytes[0];

    if (len == 2)
        return first == 0xC2 && (unsigned char)bytes[1] < 0xA0;
    return len == 1 && (first < 0x20 || first == 0x7F);
}

/* Length of what may stand in a line at the front of bytes. */
static size_t line_length(const char *bytes, size_t len, size_t *ret_bad)
{
    size_t at = 0;

    *ret_bad = 0;
    while (at < len) {
        size_t count;

        if (utf8_look(bytes + at, len - at, &count) != UTF8_VALID ||
            is_control(bytes + at, count)) {
            *ret_bad = count;
            break;
        }
        at += count;
    }
    return at;
}

bool text_is_line(const char *bytes, size_t len)
{
    size_t bad;

    return line_length(bytes, len, &bad) == len;
}

int text_put_line(struct buf *out, const char *bytes, size_t len)
{
    while (len > 0) {
        size_t bad;
        size_t good = line_length(bytes, len, &bad);

        if ((good > 0 && buf_add(out, bytes, good) < 0) ||
            (bad > 0 && buf_add_text(out, TEXT_REPLACEMENT) < 0))
            return -1;
        bytes += good + bad;
        len -= good + bad;
    }
    return 0;
}

size_t text_count(const char *utf8, size_t len)
{
    size_t chars = 0;

    for (size_t i = 0; i < len; i++)
        chars += !is_continuation(utf8[i]);
    return chars;
}

size_t text_head(const char *utf8, size_t len, size_t chars)
{
    for (size_t i = 0; i < len; i++) {
        if (is_continuation(utf8[i]))
            continue;
        if (chars == 0)
            return i;
        chars--;
    }
    return len;
}

size_t text_tail(const char *utf8, size_t len, size_t chars)
{
    while (chars > 0 && len > 0) {
        len--;
        if (!is_continuation(utf8[len]))
            chars--;
    }
    return len;
}

size_t text_whole_end(const char *bytes, size_t len)
{
    for (size_t back = 1; back <= 3 && back <= len; back++) {
        size_t at = len - back;
        size_t count;

        if (is_continuation(bytes[at]))
            continue;
        return utf8_look(bytes + at, back, &count) == UTF8_CUT ? at : len;
    }
    return len;
}

size_t text_whole_start(const char *bytes, size_t len)
{
    size_t count = 0;

    while (count < len && count < 3 && is_continuation(bytes[count]))
        count++;
    return count;
}

/* The digits up to the end; -1 where there is none, anything else, or too many for the type. */
static int parse_digits(const char *digits, size_t len, bool negative, int64_t *ret)
{
    int64_t value = 0;

    if (len == 0)
        return -1;
    for (size_t i = 0; i < len; i++) {
        int digit = digits[i] - '0';

        if (digit < 0 || digit > 9)
            return -1;
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, negative ? -digit : digit, &value))
            return -1;
    }
    *ret = value;
    return 0;
}

int text_to_int(const char *text, int64_t min, int64_t max, int64_t *ret, struct error *err)
{
    static const char blanks[] = " \t\r\n";
    const char *start = text + strspn(text, blanks);
    size_t len = strlen(start);
    bool negative = *start == '-';
    int64_t value;

    while (len > 0 && strchr(blanks, start[len - 1]) != NULL)
        len--;
    if (parse_digits(start + negative, len - negative, negative, &value) < 0 || value < min ||
        value > max)
        return error_set(err, "\"%.100s\" is not a whole number from %lld to %lld", text,
                         (long long)min, (long long)max);
    *ret = value;
    return 0;
}

const char *text_last_line(const char *bytes, size_t len, size_t *ret_len)
{
    size_t start;

    while (len && strchr("\r\n\t ", bytes[len - 1]))
        len--;
    for (start = len; start && bytes[start - 1] != '\n'; start--)
        continue;
    *ret_len = len - start;
    return len ? bytes + start : "";
}

bool text_is_port(const char *text, size_t len)
{
    unsigned port = 0;

    for (size_t i = 1; i < len; i++) {
        if (text[i] < '0' || text[i] > '9' || port > UINT16_MAX)
            return false;
        port = port * 10 + (unsigned)(text[i] - '0');
    }
    return len > 0 && *text == ':' && port > 0 && port <= UINT16_MAX;
}
