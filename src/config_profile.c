#include "config_profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "config.h"
#include "config_file.h"
#include "config_grants.h"
#include "setting.h"

#define DEFAULT_NAME "default"

#define PRINTED_MAX (128 * 1024)

/* The settings of a profile travel through a struct config, so that one table serves both. */
static void to_profile(struct config *settings, struct config_profile *profile)
{
    profile->image = steal(&settings->image);
    profile->timeout_s = settings->timeout_s;
    profile->timeout_max_s = settings->timeout_max_s;
    profile->memory = settings->memory;
    profile->cpus_milli = settings->cpus_milli;
    profile->pids = settings->pids;
    profile->workspace = settings->workspace;
    profile->tmp = settings->tmp;
    profile->shm = settings->shm;
    profile->warm = settings->warm;
}

/* The string stays the same one. */
static void from_profile(const struct config_profile *profile, struct config *settings)
{
    config_init(settings);
    settings->image = profile->image;
    settings->timeout_s = profile->timeout_s;
    settings->timeout_max_s = profile->timeout_max_s;
    settings->memory = profile->memory;
    settings->cpus_milli = profile->cpus_milli;
    settings->pids = profile->pids;
    settings->workspace = profile->workspace;
    settings->tmp = profile->tmp;
    settings->shm = profile->shm;
    settings->warm = profile->warm;
}

static void inherit(const struct config *config, struct config *settings)
{
    const struct setting *setting;

    config_init(settings);
    for (size_t i = 0; (setting = setting_at(i)); i++) {
        auto_free char *text = setting_format(setting, config);

        if (setting_is_of_profile(setting) && text)
            (void)setting_parse(setting, text, settings);
    }
}

static int refuse_key(const char *key, struct error *err)
{
    const struct setting *setting;
    auto_buf struct buf keys;

    buf_init(&keys, ERROR_TEXT_MAX);
    for (size_t i = 0; (setting = setting_at(i)); i++) {
        auto_free char *own = setting_key(setting);

        if (setting_is_of_profile(setting))
            (void)buf_addf(&keys, "%s, ", own);
    }
    return error_set(err, "\"%.100s\": unknown key; accepted are %s%s", key, keys.data,
                     CONFIG_GRANTS_KEYS);
}

static int apply_members(struct config_profile *profile, struct config *settings,
                         const cJSON *object, struct error *err)
{
    bool has_timeout = json_get(object, "timeout") != NULL;
    const cJSON *member;

    cJSON_ArrayForEach(member, object)
    {
        const struct setting *setting = config_file_find(member->string);
        int r;

        if (setting && setting_is_of_profile(setting))
            r = config_file_set(settings, setting, member, err);
        else
            r = config_grants_set(profile, member, err);
        if (r > 0)
            return refuse_key(member->string, err);
        if (r < 0)
            return -1;
    }
    /* A ceiling that is lower than what is inherited lowers that. */
    if (!has_timeout && settings->timeout_s > settings->timeout_max_s)
        settings->timeout_s = settings->timeout_max_s;
    return 0;
}

static int make_one(const struct config *config, const cJSON *object, struct config_profile *ret,
                    struct error *err)
{
    struct config settings;
    const char *twice;
    int r;

    if (!setting_is_name(object->string))
        return error_set(err, "a profile's name must be 1 to %d of a-z, 0-9, - and _",
                         LIMIT_PROFILE_NAME_MAX);
    if (!cJSON_IsObject(object))
        return error_set(err, "must be an object such as {\"memory\": \"1g\"}");
    twice = json_duplicate(object);
    if (twice)
        return error_set(err, "\"%.100s\": occurs twice; remove one", twice);
    ret->name = mem_strdup(object->string);
    inherit(config, &settings);
    r = apply_members(ret, &settings, object, err);
    to_profile(&settings, ret);
    config_done(&settings);
    return r;
}

static int make_named(struct config *config, const cJSON *profiles, struct error *err)
{
    int count = cJSON_GetArraySize(profiles);
    const char *twice = json_duplicate(profiles);
    const cJSON *object;

    if (!cJSON_IsObject(profiles) || count < 1 || count > LIMIT_PROFILES_MAX)
        return error_set(err, "must be an object with 1 to %d profiles by name",
                         LIMIT_PROFILES_MAX);
    if (twice)
        return error_set(err, "\"%.100s\": occurs twice; remove one", twice);
    config->profiles_named = true;
    config->profiles = mem_alloc((size_t)count * sizeof(*config->profiles));
    cJSON_ArrayForEach(object, profiles)
    {
        if (make_one(config, object, &config->profiles[config->profile_count++], err) < 0)
            return error_wrap(err, "\"%.100s\"", object->string);
    }
    return 0;
}

static void make_default(struct config *config)
{
    struct config settings;

    config->profiles = mem_alloc(sizeof(*config->profiles));
    config->profile_count = 1;
    config->profiles[0].name = mem_strdup(DEFAULT_NAME);
    inherit(config, &settings);
    to_profile(&settings, &config->profiles[0]);
    config_done(&settings);
}

static int find_default(struct config *config, struct error *err)
{
    auto_buf struct buf names;

    buf_init(&names, ERROR_TEXT_MAX);
    for (size_t i = 0; i < config->profile_count; i++) {
        const char *name = config->profiles[i].name;

        if (!config->profile || strcmp(name, config->profile) == 0) {
            config->profile_default = i;
            return 0;
        }
        (void)buf_addf(&names, "%s%s", i ? ", " : "", name);
    }
    return error_set(err, "profile: there is none named \"%s\"; the JSON file %s %s",
                     config->profile, config->profiles_named ? "has" : "names none, which leaves",
                     names.data);
}

static void apply_flags(struct config_profile *profile, const char *const *flags)
{
    const struct setting *setting;
    struct config settings;

    from_profile(profile, &settings);
    for (size_t i = 0; (setting = setting_at(i)); i++) {
        if (flags[i] && setting_is_of_profile(setting))
            (void)setting_parse(setting, flags[i], &settings);
    }
    to_profile(&settings, profile);
}

static int check(const struct config *config, const struct config_profile *profile,
                 struct error *err)
{
    if (profile->timeout_s > profile->timeout_max_s)
        return error_set(err,
                         "timeout (%" PRId64 " seconds) is above timeout-max (%" PRId64
                         " seconds): lower the first or raise the second",
                         profile->timeout_s, profile->timeout_max_s);
    if (config->memory_budget > 0 && config->memory_budget < profile->memory)
        return error_set(err, "memory-budget is below memory, so that no script could ever run: "
                              "raise the first or lower the second");
    return 0;
}

int config_profiles_make(struct config *config, const cJSON *profiles, const char *const *flags,
                         struct error *err)
{
    if (profiles && make_named(config, profiles, err) < 0)
        return error_wrap(err, "\"profiles\"");
    if (!profiles)
        make_default(config);
    if (find_default(config, err) < 0)
        return -1;
    if (flags)
        apply_flags(&config->profiles[config->profile_default], flags);
    for (size_t i = 0; i < config->profile_count; i++) {
        if (check(config, &config->profiles[i], err) == 0)
            continue;
        return config->profiles_named ? error_wrap(err, "profile %s", config->profiles[i].name)
                                      : -1;
    }
    return 0;
}

void config_profiles_done(struct config *config)
{
    for (size_t i = 0; i < config->profile_count; i++) {
        free(config->profiles[i].name);
        free(config->profiles[i].image);
        config_grants_done(&config->profiles[i]);
    }
    free(config->profiles);
    config->profiles = NULL;
    config->profile_count = 0;
}

/* The front tells where the folders are in the container, and need not know what they are. */
static void print_data(struct buf *out, const struct config_profile *profile)
{
    (void)json_put_name(out, "data");
    (void)buf_add_text(out, "{");
    for (size_t i = 0; i < profile->data_count; i++) {
        (void)json_put_name(out, profile->data[i].path);
        (void)json_put_text(out, "/data");
    }
    (void)buf_add_text(out, "}");
}

static void print_one(struct buf *out, const struct config_profile *profile)
{
    const struct setting *setting;
    struct config settings;

    from_profile(profile, &settings);
    (void)json_put_name(out, profile->name);
    (void)buf_add_text(out, "{");
    for (size_t i = 0; (setting = setting_at(i)); i++) {
        auto_free char *key = setting_key(setting);
        auto_free char *text = setting_format(setting, &settings);

        if (setting->group != SETTING_GROUP_SCRIPT)
            continue;
        (void)json_put_name(out, key);
        (void)json_put_text(out, text);
    }
    if (profile->description) {
        (void)json_put_name(out, "description");
        (void)json_put_text(out, profile->description);
    }
    if (profile->data_count > 0)
        print_data(out, profile);
    (void)buf_add_text(out, "}");
}

char *config_profiles_print(const struct config *config)
{
    auto_buf struct buf out;

    buf_init(&out, PRINTED_MAX);
    (void)buf_add_text(&out, "{");
    for (size_t i = 0; i < config->profile_count; i++)
        print_one(&out, &config->profiles[i]);
    (void)buf_add_text(&out, "}");
    return buf_take(&out, NULL);
}
