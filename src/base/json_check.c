#include "base/json_check.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"

#define MARK "\xEF\xBB\xBF"

enum expect {
    EXPECT_VALUE,
    EXPECT_VALUE_OR_END, /* after '[' */
    EXPECT_NAME,
    EXPECT_NAME_OR_END, /* after '{' */
    EXPECT_NEXT,        /* after a value: a comma, the end of the container or of the text */
};

struct scan {
    const char *text;
    size_t len;
    size_t at;
    enum expect expect;
    char closers[JSON_DEPTH_MAX]; /* of the containers that are open */
    size_t depth;
    size_t values;
    struct error *err;
};

/* The line is told where there are several: people look for it in a file. */
static int fail(const struct scan *scan, const char *why)
{
    size_t line = 1;

    for (size_t i = 0; i < scan->at; i++)
        line += scan->text[i] == '\n';
    if (line == 1)
        return error_set(scan->err, "JSON refused at byte %zu: %s", scan->at, why);
    return error_set(scan->err, "JSON refused at byte %zu, line %zu: %s", scan->at, line, why);
}

static int fail_limit(const struct scan *scan, int limit, const char *what)
{
    auto_free char *why = mem_printf("more than %d %s", limit, what);

    return fail(scan, why);
}

/* The byte at the cursor; a NUL at the end of the text, where no byte of JSON is one. */
static char peek(const struct scan *scan)
{
    return scan->at < scan->len ? scan->text[scan->at] : '\0';
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static void skip_blanks(struct scan *scan)
{
    while (peek(scan) == ' ' || peek(scan) == '\t' || peek(scan) == '\r' || peek(scan) == '\n')
        scan->at++;
}

/* The UTF-16 unit of a "\uXXXX" that starts at the offset, or -1. */
static int unit_at(const struct scan *scan, size_t at)
{
    int unit = 0;

    if (at > scan->len || scan->len - at < 6 || scan->text[at] != '\\' || scan->text[at + 1] != 'u')
        return -1;
    for (size_t i = at + 2; i < at + 6; i++) {
        char byte = scan->text[i];
        char lower = (char)(byte | 0x20);

        if (is_digit(byte))
            unit = unit * 16 + byte - '0';
        else if (lower >= 'a' && lower <= 'f')
            unit = unit * 16 + lower - 'a' + 10;
        else
            return -1;
    }
    return unit;
}

static int check_escape(struct scan *scan)
{
    int unit;

    if (scan->at + 1 < scan->len && memchr("\"\\/bfnrt", scan->text[scan->at + 1], 8) != NULL) {
        scan->at += 2;
        return 0;
    }
    if (scan->at + 1 < scan->len && scan->text[scan->at + 1] != 'u')
        return fail(scan, "unknown escape in a string; a backslash itself is written \\\\");
    unit = unit_at(scan, scan->at);
    if (unit < 0)
        return fail(scan, "incomplete escape in a string; \\u takes four hexadecimal digits");
    if (unit == 0)
        return fail(scan, "\\u0000 in a string; leave NUL characters out");
    if (unit < 0xD800 || unit > 0xDFFF) {
        scan->at += 6;
        return 0;
    }
    if (unit < 0xDC00) {
        int low = unit_at(scan, scan->at + 6);

        if (low >= 0xDC00 && low <= 0xDFFF) {
            scan->at += 12;
            return 0;
        }
    }
    return fail(scan, "lone surrogate in a string; write the pair, or the character as UTF-8");
}

/* From the opening quote to past the closing one. */
static int check_string(struct scan *scan)
{
    scan->at++;
    while (scan->at < scan->len) {
        unsigned char byte = (unsigned char)scan->text[scan->at];
        size_t count;

        if (byte == '"') {
            scan->at++;
            return 0;
        }
        if (byte == '\\') {
            if (check_escape(scan) < 0)
                return -1;
            continue;
        }
        if (byte < 0x20)
            return fail(scan, "raw control character in a string; escape it, a newline as \\n");
        if (utf8_look(scan->text + scan->at, scan->len - scan->at, &count) != UTF8_VALID)
            return fail(scan, "invalid UTF-8 in a string; send the text as UTF-8");
        scan->at += count;
    }
    return fail(scan, "the text ends inside a string; send the whole value");
}

static int check_digits(struct scan *scan)
{
    if (!is_digit(peek(scan)))
        return fail(scan, "a digit is missing in a number");
    while (is_digit(peek(scan)))
        scan->at++;
    return 0;
}

static int check_number(struct scan *scan)
{
    size_t start = scan->at;

    if (peek(scan) == '-')
        scan->at++;
    if (peek(scan) == '0')
        scan->at++;
    else if (check_digits(scan) < 0)
        return -1;
    if (peek(scan) == '.') {
        scan->at++;
        if (check_digits(scan) < 0)
            return -1;
    }
    if (peek(scan) == 'e' || peek(scan) == 'E') {
        scan->at++;
        if (peek(scan) == '+' || peek(scan) == '-')
            scan->at++;
        if (check_digits(scan) < 0)
            return -1;
    }
    if (scan->at - start > JSON_NUMBER_MAX) {
        scan->at = start;
        return fail_limit(scan, JSON_NUMBER_MAX, "characters in a number; send it as a string");
    }
    return 0;
}

static int check_literal(struct scan *scan)
{
    static const char *const literals[] = {"true", "false", "null"};

    for (size_t i = 0; i < sizeof(literals) / sizeof(literals[0]); i++) {
        size_t len = strlen(literals[i]);

        if (scan->len - scan->at >= len && memcmp(scan->text + scan->at, literals[i], len) == 0) {
            scan->at += len;
            return 0;
        }
    }
    if (scan->len - scan->at >= strlen(MARK) &&
        memcmp(scan->text + scan->at, MARK, strlen(MARK)) == 0)
        return fail(scan, "there is a byte order mark; send UTF-8 without one");
    if (scan->at == scan->len)
        return fail(scan, "the text ends where a value must be; send the whole value");
    return fail(scan, "no JSON value starts like this; send an object, array, string, number, "
                      "true, false or null");
}

static int open_container(struct scan *scan, char closer, enum expect expect)
{
    if (scan->depth == JSON_DEPTH_MAX)
        return fail_limit(scan, JSON_DEPTH_MAX, "levels deep; send a flatter value");
    scan->closers[scan->depth++] = closer;
    scan->expect = expect;
    scan->at++;
    return 0;
}

static int close_container(struct scan *scan)
{
    scan->depth--;
    scan->expect = EXPECT_NEXT;
    scan->at++;
    return 0;
}

static int check_value(struct scan *scan)
{
    char byte = peek(scan);

    if (++scan->values > JSON_VALUES_MAX)
        return fail_limit(scan, JSON_VALUES_MAX, "values; send fewer, or the data as one string");
    scan->expect = EXPECT_NEXT;
    if (byte == '{')
        return open_container(scan, '}', EXPECT_NAME_OR_END);
    if (byte == '[')
        return open_container(scan, ']', EXPECT_VALUE_OR_END);
    if (byte == '"')
        return check_string(scan);
    if (byte == '-' || is_digit(byte))
        return check_number(scan);
    return check_literal(scan);
}

static int check_name(struct scan *scan)
{
    if (peek(scan) != '"')
        return fail(scan, "a member's name in double quotes is missing");
    if (check_string(scan) < 0)
        return -1;
    skip_blanks(scan);
    if (peek(scan) != ':')
        return fail(scan, "the colon after a member's name is missing");
    scan->at++;
    scan->expect = EXPECT_VALUE;
    return 0;
}

static int check_next(struct scan *scan)
{
    char closer = scan->closers[scan->depth - 1];

    if (peek(scan) == closer)
        return close_container(scan);
    if (peek(scan) == ',') {
        scan->at++;
        scan->expect = closer == '}' ? EXPECT_NAME : EXPECT_VALUE;
        return 0;
    }
    return fail(scan, closer == '}' ? "a comma or } is missing" : "a comma or ] is missing");
}

static bool is_at_end(const struct scan *scan, char closer)
{
    return scan->depth > 0 && scan->closers[scan->depth - 1] == closer && peek(scan) == closer;
}

static int check_step(struct scan *scan)
{
    static const char last_comma[] = "nothing follows the last comma; leave it out";

    switch (scan->expect) {
    case EXPECT_VALUE_OR_END:
        return peek(scan) == ']' ? close_container(scan) : check_value(scan);
    case EXPECT_VALUE:
        return is_at_end(scan, ']') ? fail(scan, last_comma) : check_value(scan);
    case EXPECT_NAME_OR_END:
        return peek(scan) == '}' ? close_container(scan) : check_name(scan);
    case EXPECT_NAME:
        return is_at_end(scan, '}') ? fail(scan, last_comma) : check_name(scan);
    case EXPECT_NEXT:
        return check_next(scan);
    }
    return -1;
}

int json_check(const char *text, size_t len, struct error *err)
{
    struct scan scan = {.text = text, .len = len, .expect = EXPECT_VALUE, .err = err};

    do {
        skip_blanks(&scan);
        if (check_step(&scan) < 0)
            return -1;
    } while (scan.depth > 0 || scan.expect != EXPECT_NEXT);
    skip_blanks(&scan);
    if (scan.at < len)
        return fail(&scan, "something follows the value; send exactly one");
    return 0;
}
