#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "base/utf8.h"

#define LINE_BYTES 4096
#define SHOWN_MAX  8 /* one character, or its escape, and a NUL */
#define CUT_MARK   "...\n"

static struct {
    int fd;
    enum log_level level;
} target = {STDERR_FILENO, LOG_LEVEL_INFO};

void log_open(int fd, enum log_level level)
{
    struct stat status;

    target.fd = fd;
    target.level = level;
    /* A terminal is shared with the shell, which does not expect to find it non-blocking. */
    if (fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)))
        (void)fd_nonblock(fd);
}

static const char *level_name(enum log_level level)
{
    switch (level) {
    case LOG_LEVEL_ERROR:
        return "error";
    case LOG_LEVEL_WARN:
        return "warn";
    case LOG_LEVEL_INFO:
        return "info";
    case LOG_LEVEL_DEBUG:
        return "debug";
    }
    return "error";
}

/* Writes one character of the text as the line shows it, consumes it, returns the bytes written. */
static size_t show(char shown[SHOWN_MAX], const char **text, size_t *left)
{
    size_t len;
    enum utf8_kind kind = utf8_look(*text, *left, &len);
    unsigned char first = (unsigned char)(*text)[0];
    unsigned char last = (unsigned char)(*text)[len - 1];
    int count;

    if (kind != UTF8_VALID)
        count = snprintf(shown, SHOWN_MAX, "%s", TEXT_REPLACEMENT);
    else if (first == '\n')
        count = snprintf(shown, SHOWN_MAX, "\\n");
    else if (first < 0x20 || first == 0x7F || (first == 0xC2 && last < 0xA0))
        count = snprintf(shown, SHOWN_MAX, "\\x%02x", last);
    else
        count = snprintf(shown, SHOWN_MAX, "%.*s", (int)len, *text);
    *text += len;
    *left -= len;
    return (size_t)count;
}

/* Appends text and the newline to the len bytes of the line; returns the new length. */
static size_t finish(char line[LINE_BYTES], size_t len, const char *text)
{
    size_t left = strlen(text);
    size_t cut = len;

    while (left > 0) {
        char shown[SHOWN_MAX];
        size_t count = show(shown, &text, &left);

        if (len + count + 1 > LINE_BYTES) {
            memcpy(line + cut, CUT_MARK, strlen(CUT_MARK));
            return cut + strlen(CUT_MARK);
        }
        memcpy(line + len, shown, count);
        len += count;
        if (len + strlen(CUT_MARK) <= LINE_BYTES)
            cut = len;
    }
    line[len] = '\n';
    return len + 1;
}

__attribute__((format(printf, 2, 0))) static void put(enum log_level level, const char *format,
                                                      va_list args)
{
    int saved = errno;
    time_t now = time(NULL);
    char text[LINE_BYTES] = "";
    char line[LINE_BYTES];
    struct tm utc;
    size_t len;
    ssize_t written;

    if (level > target.level)
        return;
    vsnprintf(text, sizeof(text), format, args);
    gmtime_r(&now, &utc);
    len = strftime(line, sizeof(line), "%Y-%m-%dT%H:%M:%SZ ", &utc);
    len += (size_t)snprintf(line + len, sizeof(line) - len, "%s ", level_name(level));
    len = finish(line, len, text);
    do {
        written = write(target.fd, line, len);
    } while (written < 0 && errno == EINTR);
    errno = saved;
}

void log_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    put(LOG_LEVEL_ERROR, format, args);
    va_end(args);
}

void log_warn(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    put(LOG_LEVEL_WARN, format, args);
    va_end(args);
}

void log_info(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    put(LOG_LEVEL_INFO, format, args);
    va_end(args);
}

void log_debug(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    put(LOG_LEVEL_DEBUG, format, args);
    va_end(args);
}
