#include "run_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "config.h"

#define NAME_MAX_BYTES 200

const char *run_files_script(const char *file)
{
    const char *slash = strrchr(file, '/');
    const char *name = slash ? slash + 1 : file;

    if (strcmp(file, "-") == 0 || !*name || strlen(name) > NAME_MAX_BYTES || name[0] == '.' ||
        strcmp(name, FILE_OUTPUTS_NAME) == 0 || !text_is_utf8(name, strlen(name)))
        return FILE_SCRIPT_NAME;
    return name;
}

static size_t bytes_of(const struct run_files *files)
{
    size_t bytes = 0;

    for (size_t i = 0; i < files->count; i++)
        bytes += files->list[i].len;
    return bytes;
}

static int load(struct run_files *files, const char *path, const struct config *config,
                struct error *err)
{
    struct file *file = &files->list[files->count];
    size_t room = (size_t)config->files_bytes_max - bytes_of(files);
    char *bytes = fd_read_file(path, room, &file->len);

    if (!bytes && errno == EFBIG)
        return error_set(err,
                         "%s: the files are larger than %lld bytes together (--files-bytes-max)",
                         path, (long long)config->files_bytes_max);
    if (!bytes)
        return error_set(err, "cannot read %s: %s", path, strerror(errno));
    files->owned[files->count] = bytes;
    file->bytes = bytes;
    return 0;
}

int run_files_add(struct run_files *files, const char *text, const char *script,
                  const struct config *config, struct error *err)
{
    const char *equals = strchr(text, '=');
    const char *slash = strrchr(text, '/');
    const char *path = equals ? equals + 1 : text;
    const char *name = equals ? text : slash ? slash + 1 : text;
    size_t len = equals ? (size_t)(equals - text) : strlen(name);

    if (files->count >= (size_t)config->files_max)
        return error_set(err, "more than %lld files (--files-max)", (long long)config->files_max);
    files->list = mem_realloc(files->list, (files->count + 1) * sizeof(*files->list));
    files->owned = mem_realloc(files->owned, (files->count + 1) * sizeof(*files->owned));
    files->list[files->count] = (struct file){.path = name, .path_len = len};
    if (file_check(files->list, files->count, script, err) < 0)
        return error_set(err, "--file=%s: the name %.*s %s", text, (int)len, name, err->text);
    if (load(files, path, config, err) < 0)
        return -1;
    files->count++;
    return 0;
}

void run_files_done(struct run_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->owned[i]);
    free(files->owned);
    free(files->list);
    *files = (struct run_files){.count = 0};
}
