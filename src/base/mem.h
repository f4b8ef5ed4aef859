/* Memory that never fails: the process ends with one line on stderr when a small allocation does.
 * Sizes that a stranger chooses are capped by the caller before they come here. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

/* Zeroed memory; the caller frees it with free(). */
void *mem_alloc(size_t size) __attribute__((malloc, returns_nonnull));

/* Like realloc(), never NULL; bytes past the old size are not zeroed. */
void *mem_realloc(void *old, size_t size) __attribute__((returns_nonnull));

/* Copies that the caller frees. mem_strndup copies exactly len bytes and adds a NUL. */
char *mem_strdup(const char *text) __attribute__((returns_nonnull));
char *mem_strndup(const char *bytes, size_t len) __attribute__((returns_nonnull));
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2), returns_nonnull));
char *mem_vprintf(const char *format, va_list args)
    __attribute__((format(printf, 1, 0), returns_nonnull));

/* Frees the pointer that is stored at pointer_to_pointer; for auto_free only. */
void mem_free_at(void *pointer_to_pointer);

/* A local that owns what it points to. */
#define auto_free __attribute__((cleanup(mem_free_at)))

/* Hands a pointer over and leaves NULL behind: `return steal(&text);` */
#define steal(pp)                                                                                  \
    __extension__({                                                                                \
        __typeof__(*(pp)) stolen_ = *(pp);                                                         \
        *(pp) = NULL;                                                                              \
        stolen_;                                                                                   \
    })
