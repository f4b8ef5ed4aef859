#include "config_grants.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/folder.h"
#include "base/limits.h"
#include "base/mem.h"
#include "config.h"

/* json_parse() has seen to it that texts are UTF-8. */
static bool is_line(const char *text)
{
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == '\177')
            return false;
    return *text != '\0' && strlen(text) <= LIMIT_DESCRIPTION_MAX;
}

static bool is_word(const char *text, const char *more, size_t max)
{
    for (const char *p = text; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr(more, *p))
            return false;
    return *text != '\0' && strlen(text) <= max;
}

static bool is_runtime(const char *text)
{
    return is_word(text, "-_./", LIMIT_RUNTIME_MAX);
}

static bool is_gpu_id(const char *text)
{
    return is_word(text, "-_.:/=", LIMIT_GPU_ID_MAX);
}

/* "pandas", "matplotlib.pyplot" */
static bool is_module(const char *text)
{
    bool first = true;

    for (const char *p = text; *p; p++) {
        if (first && !isalpha((unsigned char)*p) && *p != '_')
            return false;
        first = *p == '.';
    }
    return !first && is_word(text, "_.", LIMIT_MODULE_NAME_MAX);
}

static int refuse(const cJSON *member, const char *accepts, struct error *err)
{
    return error_set(err, "\"%s\": must be %s", member->string, accepts);
}

static int set_text(char **ret, const cJSON *member, bool (*fits)(const char *text),
                    const char *accepts, struct error *err)
{
    if (!cJSON_IsString(member) || !fits(member->valuestring))
        return refuse(member, accepts, err);
    *ret = mem_strdup(member->valuestring);
    return 0;
}

/* -1 where it is no array of up to max texts that fit; what was taken is in *ret in any case. */
static int set_texts(char ***ret, size_t *ret_count, const cJSON *member, int max,
                     bool (*fits)(const char *text))
{
    const cJSON *item;

    if (!cJSON_IsArray(member) || cJSON_GetArraySize(member) > max)
        return -1;
    *ret = mem_alloc(((size_t)cJSON_GetArraySize(member) + 1) * sizeof(**ret));
    cJSON_ArrayForEach(item, member)
    {
        if (!cJSON_IsString(item) || !fits(item->valuestring))
            return -1;
        (*ret)[(*ret_count)++] = mem_strdup(item->valuestring);
    }
    return 0;
}

static int set_description(struct config_profile *profile, const cJSON *member, struct error *err)
{
    return set_text(&profile->description, member, is_line, "one line of at most 500 bytes", err);
}

static int set_exec(struct config_profile *profile, const cJSON *member, struct error *err)
{
    if (!cJSON_IsBool(member))
        return refuse(member, "true or false", err);
    profile->exec = cJSON_IsTrue(member);
    return 0;
}

static int set_runtime(struct config_profile *profile, const cJSON *member, struct error *err)
{
    return set_text(&profile->runtime, member, is_runtime,
                    "the name of an OCI runtime that the engine has, such as \"runsc\"", err);
}

static int set_preload(struct config_profile *profile, const cJSON *member, struct error *err)
{
    if (set_texts(&profile->preload, &profile->preload_count, member, LIMIT_PRELOAD_MAX,
                  is_module) < 0)
        return refuse(member, "an array of at most 32 names of modules, such as [\"pandas\"]", err);
    return 0;
}

static int set_gpus(struct config_profile *profile, const cJSON *member, struct error *err)
{
    struct grants_gpus *gpus = &profile->gpus;
    double number = cJSON_IsNumber(member) ? member->valuedouble : 0;

    if (cJSON_IsString(member) && strcmp(member->valuestring, "all") == 0) {
        gpus->kind = GRANTS_GPUS_ALL;
        return 0;
    }
    if (number >= 1 && number <= LIMIT_GPUS_MAX && number == (double)(int64_t)number) {
        gpus->kind = GRANTS_GPUS_COUNT;
        gpus->count = (int64_t)number;
        return 0;
    }
    gpus->kind = GRANTS_GPUS_IDS;
    if (set_texts(&gpus->ids, &gpus->id_count, member, LIMIT_GPUS_MAX, is_gpu_id) < 0 ||
        gpus->id_count == 0)
        return refuse(member,
                      "\"all\", a whole number from 1 to 64, or an array of ids such as [\"0\"]",
                      err);
    return 0;
}

#define PLAIN "without \"..\" or \".\", double slashes, a slash at the end or control characters"

static int check_paths(const char *path, const char *source, struct error *err)
{
    if (!folder_is_plain(path))
        return error_set(err,
                         "the path in the container, \"%.200s\", must be below /data, /mnt, /media "
                         "or /srv, " PLAIN,
                         path);
    if (strlen(path) > LIMIT_TARGET_PATH_MAX)
        return error_set(err, "the path in the container, \"%.200s...\", must be at most %d bytes",
                         path, LIMIT_TARGET_PATH_MAX);
    if (!folder_is_plain(source))
        return error_set(err,
                         "the folder of the host, \"%.200s\", must be an absolute path, " PLAIN
                         ", and not / itself",
                         source);
    if (strlen(source) > LIMIT_FOLDER_PATH_MAX)
        return error_set(err, "the folder of the host, \"%.200s...\", must be at most %d bytes",
                         source, LIMIT_FOLDER_PATH_MAX);
    return 0;
}

/* Folders inside each other would hide parts of each other. */
static int check_folder(const struct config_profile *profile, const char *path, const char *source,
                        struct error *err)
{
    for (size_t i = 0; i < profile->data_count; i++) {
        const char *other = profile->data[i].path;

        if (strcmp(other, path) == 0)
            return error_set(err, "%.200s occurs twice; remove one", path);
        if (folder_is_below(path, other) || folder_is_below(other, path))
            return error_set(err, "%.200s and %.200s are inside each other; choose places apart",
                             other, path);
    }
    if (folder_check_target(path, err) < 0)
        return -1;
    return folder_check_source(source, err);
}

static int set_data(struct config_profile *profile, const cJSON *member, struct error *err)
{
    static const char accepts[] =
        "an object of at most 16 folders, such as {\"/data/sales\": \"/srv/sales\"}: path in the "
        "container, folder of the host, both absolute";
    const cJSON *item;

    if (!cJSON_IsObject(member) || cJSON_GetArraySize(member) > LIMIT_FOLDERS_MAX)
        return refuse(member, accepts, err);
    profile->data = mem_alloc(((size_t)cJSON_GetArraySize(member) + 1) * sizeof(*profile->data));
    cJSON_ArrayForEach(item, member)
    {
        struct grants_folder *folder = &profile->data[profile->data_count];

        if (!cJSON_IsString(item))
            return refuse(member, accepts, err);
        if (check_paths(item->string, item->valuestring, err) < 0 ||
            check_folder(profile, item->string, item->valuestring, err) < 0)
            return error_wrap(err, "\"data\"");
        folder->path = mem_strdup(item->string);
        folder->source = mem_strdup(item->valuestring);
        profile->data_count++;
    }
    return 0;
}

int config_grants_set(struct config_profile *profile, const cJSON *member, struct error *err)
{
    static const struct {
        const char *key;
        int (*set)(struct config_profile *profile, const cJSON *member, struct error *err);
    } keys[] = {
        {"description", set_description}, {"exec", set_exec}, {"runtime", set_runtime},
        {"preload", set_preload},         {"gpus", set_gpus}, {"data", set_data},
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (strcmp(member->string, keys[i].key) == 0)
            return keys[i].set(profile, member, err);
    return 1;
}

static void free_texts(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

void config_grants_done(struct config_profile *profile)
{
    free(profile->description);
    free(profile->runtime);
    free_texts(profile->preload, profile->preload_count);
    free_texts(profile->gpus.ids, profile->gpus.id_count);
    for (size_t i = 0; i < profile->data_count; i++) {
        free(profile->data[i].path);
        free(profile->data[i].source);
    }
    free(profile->data);
}
