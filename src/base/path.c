#include "base/path.h"

#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"

static int check_part(const char *part, size_t len, struct error *err)
{
    if (len == 0)
        return error_set(err,
                         "has an empty part; put one / between two names, and none at the end");
    if (len <= 2 && memcmp(part, "..", len) == 0)
        return error_set(err, "has a part \"%.*s\"; name the file below its folder directly",
                         (int)len, part);
    if (len > LIMIT_PATH_PART_MAX)
        return error_set(err, "has a part of %zu bytes, where at most %d are accepted", len,
                         LIMIT_PATH_PART_MAX);
    return 0;
}

int path_check(const char *path, size_t len, struct error *err)
{
    const char *end = path + len;

    if (len == 0)
        return error_set(err, "is empty; it must be a relative path such as data/a.csv");
    if (len > LIMIT_PATH_MAX)
        return error_set(err, "is %zu bytes long, where at most %d are accepted", len,
                         LIMIT_PATH_MAX);
    if (memchr(path, '\0', len) || !text_is_utf8(path, len))
        return error_set(err, "must be UTF-8 without NUL");
    if (path[0] == '/')
        return error_set(err, "must be relative, such as data/a.csv, without a / at its start");
    for (;;) {
        const char *slash = memchr(path, '/', (size_t)(end - path));
        const char *stop = slash ? slash : end;

        if (check_part(path, (size_t)(stop - path), err) < 0)
            return -1;
        if (!slash)
            return 0;
        path = slash + 1;
    }
}

bool path_clash(const char *one, size_t one_len, const char *other, size_t other_len)
{
    size_t len = one_len < other_len ? one_len : other_len;

    if (memcmp(one, other, len) != 0)
        return false;
    return one_len == other_len || (one_len > len ? one : other)[len] == '/';
}

char *path_clean(const char *path)
{
    char *clean = mem_alloc(strlen(path) + 2);
    size_t len = 0;

    while (*path) {
        size_t part = strcspn(path, "/");

        if (part == 2 && strncmp(path, "..", 2) == 0) {
            while (len > 0 && clean[--len] != '/')
                ;
        } else if (part > 0 && !(part == 1 && *path == '.')) {
            clean[len++] = '/';
            memcpy(clean + len, path, part);
            len += part;
        }
        path += part + (path[part] == '/');
    }
    if (len == 0)
        clean[len++] = '/';
    clean[len] = '\0';
    return clean;
}
