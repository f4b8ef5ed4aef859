#include "front/plain.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"

/* Of equal lines in a row this many are shown. */
#define SAME_LINES_MAX 5

#define ESC '\x1b'
#define BEL '\x07'

static bool between(char c, int low, int high)
{
    return (unsigned char)c >= low && (unsigned char)c <= high;
}

/* The end of a string sequence (title, hyperlink): BEL or ESC \. Without one only the introducer
 * goes, so that a stray byte cannot swallow the output behind it. */
static size_t string_length(const char *bytes, size_t len)
{
    for (size_t i = 2; i < len; i++) {
        if (bytes[i] == BEL)
            return i + 1;
        if (bytes[i] == ESC && i + 1 < len && bytes[i + 1] == '\\')
            return i + 2;
    }
    return 2;
}

/* Length of the escape sequence that bytes begin with. */
static size_t escape_length(const char *bytes, size_t len)
{
    size_t i = 1;

    if (len < 2)
        return len;
    if (strchr("]PX^_", bytes[1]) != NULL && bytes[1] != '\0')
        return string_length(bytes, len);
    if (bytes[1] == '[') {
        for (i = 2; i < len && between(bytes[i], 0x20, 0x3F); i++)
            ;
        return i < len && between(bytes[i], 0x40, 0x7E) ? i + 1 : i;
    }
    while (i < len && between(bytes[i], 0x20, 0x2F))
        i++;
    return i < len && between(bytes[i], 0x30, 0x7E) ? i + 1 : i;
}

static int put_without_escapes(struct buf *out, const char *bytes, size_t len)
{
    while (len > 0) {
        const char *escape = memchr(bytes, ESC, len);
        size_t before = escape != NULL ? (size_t)(escape - bytes) : len;

        if (buf_add(out, bytes, before) < 0)
            return -1;
        bytes += before;
        len -= before;
        if (len > 0) {
            size_t skip = escape_length(bytes, len);

            bytes += skip;
            len -= skip;
        }
    }
    return 0;
}

/* One line without its newline: what stands after the last carriage return that has something
 * behind it. */
static int put_line(struct buf *out, const char *line, size_t len)
{
    const char *rewrite;

    while (len > 0 && line[len - 1] == '\r')
        len--;
    rewrite = len > 0 ? memrchr(line, '\r', len) : NULL;
    if (rewrite != NULL) {
        len -= (size_t)(rewrite + 1 - line);
        line = rewrite + 1;
    }
    return put_without_escapes(out, line, len);
}

/* Lines that follow each other and are the same: some libraries warn once for each glyph. */
struct run {
    const char *line;
    size_t len;
    size_t count;
};

static int end_run(struct buf *out, struct run *run)
{
    size_t count = run->count;

    run->count = 0;
    if (count <= SAME_LINES_MAX)
        return 0;
    count -= SAME_LINES_MAX;
    return buf_addf(out, "(the line above came %zu more time%s)\n", count, count == 1 ? "" : "s");
}

static bool goes_on(const struct run *run, const char *line, size_t len)
{
    return run->count > 0 && len > 0 && len == run->len && memcmp(line, run->line, len) == 0;
}

int plain_put(struct buf *out, const char *utf8, size_t len, bool fold)
{
    struct run run = {.count = 0};

    while (len > 0) {
        const char *newline = memchr(utf8, '\n', len);
        size_t line = newline != NULL ? (size_t)(newline - utf8) : len;

        if (!fold || !goes_on(&run, utf8, line)) {
            if (end_run(out, &run) < 0)
                return -1;
            run = (struct run){.line = utf8, .len = line};
        }
        if (++run.count <= SAME_LINES_MAX &&
            (put_line(out, utf8, line) < 0 || (newline != NULL && buf_add(out, "\n", 1) < 0)))
            return -1;
        if (newline == NULL)
            break;
        utf8 += line + 1;
        len -= line + 1;
    }
    return end_run(out, &run);
}
