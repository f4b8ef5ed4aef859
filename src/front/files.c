#include "front/files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "front/options.h"
#include "front/words.h"

#define ACCEPTS                                                                                    \
    "a list of objects such as {\"path\": \"data/a.csv\", \"text\": \"x,y\\n\"} or "               \
    "{\"path\": \"a.png\", \"base64\": \"iVBORw0...\"}"

/* Of a path in an error. */
#define PATH_SHOWN 80

/* What an error calls a file: "files[0]", or with its path where that is known. */
static int refuse(const struct file *file, size_t index, struct error *err)
{
    auto_buf struct buf path = {0};
    size_t len = file->path_len;

    if (!file->path)
        return error_wrap(err, "files[%zu]", index);
    buf_init(&path, 3 * PATH_SHOWN + 1);
    if (len > PATH_SHOWN)
        len = text_whole_end(file->path, PATH_SHOWN);
    (void)buf_add_text(&path, "");
    (void)text_put_line(&path, file->path, len);
    /* The reason goes on from the name. */
    return error_set(err, "files[%zu] (\"%s%s\") %s", index, path.data,
                     len < file->path_len ? "..." : "", err->text);
}

/* The list itself, also out of a string. */
static const cJSON *read_list(struct files *files, const cJSON *argument, struct error *err)
{
    if (cJSON_IsString(argument)) {
        files->parsed = json_parse(argument->valuestring, strlen(argument->valuestring), NULL);
        argument = files->parsed;
    }
    if (cJSON_IsArray(argument))
        return argument;
    error_set(err, "files must be " ACCEPTS);
    return NULL;
}

static const cJSON *member(const cJSON *item, const char *name)
{
    const cJSON *value = json_get(item, name);

    return cJSON_IsNull(value) ? NULL : value;
}

/* The path, and which of text and base64 it is. */
static int read_item(struct file *file, const cJSON *item, const cJSON **ret_text,
                     const cJSON **ret_base64, struct error *err)
{
    const cJSON *path = member(item, "path");
    const char *twice = json_duplicate(item);

    if (!cJSON_IsObject(item) || !cJSON_IsString(path))
        return error_set(err, "it must have a string \"path\"; files is " ACCEPTS);
    file->path = path->valuestring;
    file->path_len = strlen(path->valuestring);
    *ret_text = member(item, "text");
    *ret_base64 = member(item, "base64");
    if (twice)
        return error_set(err, "has the member %.40s more than once", twice);
    if (*ret_text && *ret_base64)
        return error_set(err, "has both text and base64; send one of them");
    if (!*ret_text && !*ret_base64)
        return error_set(err, "has neither text nor base64; send one of them, as a string");
    if (!cJSON_IsString(*ret_text ? *ret_text : *ret_base64))
        return error_set(err, "has %s that is not a string", *ret_text ? "a text" : "a base64");
    return 0;
}

/* Clients add members of their own. */
static void find_unknown(struct files *files, const cJSON *item, size_t index)
{
    const cJSON *one;

    cJSON_ArrayForEach(one, item)
    {
        if (files->unknown || strcmp(one->string, "path") == 0 ||
            strcmp(one->string, "text") == 0 || strcmp(one->string, "base64") == 0)
            continue;
        files->unknown = one->string;
        files->unknown_index = index;
    }
}

/* The whole list, base64 still as it came: its bytes are NULL. */
static int read_items(struct files *files, const cJSON *list, struct error *err)
{
    size_t index = 0;
    const cJSON *item;

    cJSON_ArrayForEach(item, list)
    {
        struct file *file = &files->list[index];
        const cJSON *text = NULL, *base64 = NULL;

        if (read_item(file, item, &text, &base64, err) < 0 ||
            file_check(files->list, index, FILE_SCRIPT_NAME, err) < 0)
            return refuse(file, index, err);
        find_unknown(files, item, index);
        if (text)
            file->bytes = text->valuestring;
        file->len = strlen((text ? text : base64)->valuestring);
        index++;
        files->count++;
    }
    return 0;
}

static int too_large(uint64_t bytes, const struct front_options *options, struct error *err)
{
    return error_set(err, "files are too large: %s bytes together, where at most %s are accepted",
                     words_count(bytes).text, words_count(options->files_bytes_max).text);
}

/* Decodes what came as base64 into one block. */
static int decode(struct files *files, const cJSON *list, const struct front_options *options,
                  struct error *err)
{
    size_t room = 0, used = 0, index = 0;
    const cJSON *item;

    for (size_t i = 0; i < files->count; i++)
        room += files->list[i].bytes ? 0 : base64_room(files->list[i].len);
    /* There may be line breaks in it; what is far more than those is not decoded at all. */
    if (room / 2 > options->files_bytes_max)
        return too_large(room, options, err);
    files->decoded = mem_alloc(room + 1);
    cJSON_ArrayForEach(item, list)
    {
        struct file *file = &files->list[index];
        const cJSON *base64 = member(item, "base64");
        char *bytes = files->decoded + used;

        if (base64 && base64_decode(base64->valuestring, file->len, bytes, &file->len, err) < 0) {
            error_set(err, "has base64 that %s", err->text);
            return refuse(file, index, err);
        }
        if (base64) {
            file->bytes = bytes;
            used += file->len;
        }
        index++;
    }
    return 0;
}

static int check_sizes(struct files *files, const struct front_options *options, struct error *err)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < files->count; i++) {
        bytes += files->list[i].len;
        files->room += file_room(files->list[i].len);
    }
    return bytes > options->files_bytes_max ? too_large(bytes, options, err) : 0;
}

int files_read(struct files *files, const cJSON *argument, const struct front_options *options,
               struct error *err)
{
    const cJSON *list;
    int count;

    *files = (struct files){.count = 0};
    if (argument == NULL || cJSON_IsNull(argument))
        return 0;
    list = read_list(files, argument, err);
    if (!list)
        return -1;
    count = cJSON_GetArraySize(list);
    if ((size_t)count > options->files_max)
        return error_set(err, "files are too many: %d, where at most %zu are accepted", count,
                         options->files_max);
    files->list = mem_alloc(((size_t)count + 1) * sizeof(*files->list));
    if (read_items(files, list, err) < 0 || decode(files, list, options, err) < 0)
        return -1;
    return check_sizes(files, options, err);
}

void files_done(struct files *files)
{
    free(files->list);
    free(files->decoded);
    json_free_at(&files->parsed);
    *files = (struct files){.count = 0};
}
