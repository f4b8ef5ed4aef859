#include "wire/file.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/path.h"

#define PAGE_SIZE 4096

/* Where the supervisor keeps its figures. */
#define FIGURES ".figures"

static bool clashes(const struct file *file, const char *name)
{
    return path_clash(file->path, file->path_len, name, strlen(name));
}

int file_check(const struct file *files, size_t index, const char *script, struct error *err)
{
    const struct file *file = &files[index];

    if (path_check(file->path, file->path_len, err) < 0)
        return -1;
    if (clashes(file, script))
        return error_set(err, "is where the script itself lies; choose another name");
    if (file->path_len == strlen(FILE_OUTPUTS_NAME) && clashes(file, FILE_OUTPUTS_NAME))
        return error_set(err,
                         "is the folder for what the script leaves behind; choose another name");
    if (clashes(file, FIGURES))
        return error_set(err, "is kept for the sandbox itself; choose another name");
    for (size_t i = 0; i < index; i++) {
        if (!path_clash(file->path, file->path_len, files[i].path, files[i].path_len))
            continue;
        if (file->path_len == files[i].path_len)
            return error_set(err, "is there twice");
        return error_set(err, "and \"%.*s\" cannot both be: one is the other's folder",
                         (int)files[i].path_len, files[i].path);
    }
    return 0;
}

size_t file_room(size_t len)
{
    return (len + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE;
}
