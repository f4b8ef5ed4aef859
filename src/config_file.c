#include "config_file.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"
#include "setting.h"

#define FILE_MAX (64 * 1024)

#define PROFILES_KEY "profiles"

/* Length of the comment that text starts with, without the newline that ends a line comment; 0
 * where it starts with none, -1 where the comment has no end. */
static ssize_t comment_length(const char *text)
{
    if (strncmp(text, "//", 2) == 0)
        return (ssize_t)strcspn(text, "\n");
    if (strncmp(text, "/*", 2) != 0)
        return 0;
    const char *end = strstr(text + 2, "*/");
    return end ? end + 2 - text : -1;
}

/* Turns comments into blanks. cJSON_Minify() would do, but it also joins what blanks keep apart ("1
 * 2" becomes 12), and the positions in later errors would be wrong. */
static int blank_comments(char *text, struct error *err)
{
    bool in_string = false;

    for (char *at = text; *at; at++) {
        if (in_string) {
            if (*at == '\\' && at[1] != '\0')
                at++;
            else if (*at == '"')
                in_string = false;
            continue;
        }
        if (*at == '"')
            in_string = true;
        ssize_t len = comment_length(at);
        if (len < 0)
            return error_set(err, "the comment at byte %td has no end: add */", at - text);
        for (ssize_t i = 0; i < len; i++)
            if (at[i] != '\n')
                at[i] = ' ';
    }
    return 0;
}

const struct setting *config_file_find(const char *key)
{
    const struct setting *setting;

    for (size_t i = 0; (setting = setting_at(i)); i++) {
        auto_free char *own = setting_key(setting);

        if (strcmp(own, key) == 0)
            return setting;
    }
    return NULL;
}

static int refuse_key(const char *key, struct error *err)
{
    const struct setting *setting;
    auto_buf struct buf keys;

    buf_init(&keys, ERROR_TEXT_MAX);
    for (size_t i = 0; (setting = setting_at(i)); i++) {
        auto_free char *own = setting_key(setting);

        (void)buf_addf(&keys, "%s, ", own);
    }
    return error_set(err, "\"%.100s\": unknown key; accepted are %s" PROFILES_KEY, key, keys.data);
}

int config_file_set(struct config *config, const struct setting *setting, const cJSON *member,
                    struct error *err)
{
    auto_free char *text = NULL;

    if (cJSON_IsString(member))
        text = mem_strdup(member->valuestring);
    else if (setting->kind == SETTING_SWITCH && cJSON_IsBool(member))
        text = mem_strdup(cJSON_IsTrue(member) ? "yes" : "no");
    else if (cJSON_IsNumber(member))
        text = cJSON_PrintUnformatted(member);
    if (!text || setting_parse(setting, text, config) < 0) {
        auto_free char *accepts = setting_accepts(setting);

        return error_set(err, "\"%s\": must be %s", member->string, accepts);
    }
    return 0;
}

static int apply_members(struct config *config, cJSON *json, cJSON **ret_profiles,
                         struct error *err)
{
    cJSON *member, *next;

    for (member = json->child; member; member = next) {
        const struct setting *setting = config_file_find(member->string);

        next = member->next;
        if (strcmp(member->string, PROFILES_KEY) == 0)
            *ret_profiles = cJSON_DetachItemViaPointer(json, member);
        else if (!setting)
            return refuse_key(member->string, err);
        else if (config_file_set(config, setting, member, err) < 0)
            return -1;
    }
    return 0;
}

static int apply_text(struct config *config, char *text, size_t len, cJSON **ret_profiles,
                      struct error *err)
{
    if (memchr(text, '\0', len))
        return error_set(err, "contains a NUL byte, which JSON does not allow");
    if (blank_comments(text, err) < 0)
        return -1;
    auto_json cJSON *json = json_parse(text, len, err);
    if (!json)
        return -1;
    if (!cJSON_IsObject(json))
        return error_set(err, "must be a JSON object such as {\"warm\": 2}");
    const char *duplicate = json_duplicate(json);
    if (duplicate)
        return error_set(err, "\"%.100s\": occurs twice; remove one", duplicate);
    return apply_members(config, json, ret_profiles, err);
}

int config_file_apply(struct config *config, const char *path, bool required, cJSON **ret_profiles,
                      struct error *err)
{
    size_t len;
    auto_free char *text = fd_read_file(path, FILE_MAX, &len);

    if (!text && errno == ENOENT && !required)
        return 0;
    if (!text && errno == EFBIG)
        return error_set(err, "%s: larger than %d KiB, which is too much for settings", path,
                         FILE_MAX / 1024);
    if (!text)
        return error_set(err, "%s: cannot be read: %s", path, strerror(errno));
    if (apply_text(config, text, len, ret_profiles, err) < 0)
        return error_wrap(err, "%s", path);
    return 0;
}
