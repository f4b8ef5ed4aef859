#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *checked(void *memory)
{
    static const char message[] = "python-sandbox: out of memory, stopping\n";

    if (memory == NULL) {
        ssize_t ignored = write(STDERR_FILENO, message, sizeof(message) - 1);

        (void)ignored;
        abort();
    }
    return memory;
}

void *mem_alloc(size_t size)
{
    return checked(calloc(1, size > 0 ? size : 1));
}

void *mem_realloc(void *old, size_t size)
{
    return checked(realloc(old, size > 0 ? size : 1));
}

char *mem_strdup(const char *text)
{
    return checked(strdup(text));
}

char *mem_strndup(const char *bytes, size_t len)
{
    char *copy = checked(malloc(len + 1));

    if (len > 0)
        memcpy(copy, bytes, len);
    copy[len] = '\0';
    return copy;
}

char *mem_printf(const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    text = mem_vprintf(format, args);
    va_end(args);
    return text;
}

char *mem_vprintf(const char *format, va_list args)
{
    char *text = NULL;
    int len = vasprintf(&text, format, args);

    return checked(len < 0 ? NULL : text);
}

void mem_free_at(void *pointer_to_pointer)
{
    void *pointer;

    memcpy(&pointer, pointer_to_pointer, sizeof(pointer));
    free(pointer);
}
