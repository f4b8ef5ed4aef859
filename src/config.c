#include "config.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "config_file.h"
#include "config_profile.h"
#include "setting.h"

#define DEFAULT_FILE  "/etc/python-sandbox/config.json"
#define PROFILES_FLAG "profiles"

/* argp keys: the settings come from KEY_SETTING upwards, by index. */
enum { KEY_HELP = 'h', KEY_CONFIG = 0x100, KEY_USAGE, KEY_PROFILES, KEY_OWN, KEY_SETTING = 0x200 };

/* What the flags say, before any of it is applied. */
struct command_line {
    const char **values;  /* one per setting, NULL where not given */
    const char *config;   /* --config, or NULL */
    const char *profiles; /* --profiles, or NULL */
    const struct config_verb *verb;
    char **rest;
    size_t rest_count;
    struct config_given *given;
    size_t given_count;
    struct error *err;
};

#define auto_config __attribute__((cleanup(config_done)))

static size_t count_settings(void)
{
    size_t count = 0;

    while (setting_at(count))
        count++;
    return count;
}

static size_t count_own(const struct config_verb *verb)
{
    size_t count = 0;

    while (verb->flags && verb->flags[count].name)
        count++;
    return count;
}

void config_init(struct config *config)
{
    const struct setting *setting;

    *config = (struct config){0};
    for (size_t i = 0; (setting = setting_at(i)); i++)
        setting_reset(setting, config);
}

void config_done(struct config *config)
{
    free(config->docker_host);
    free(config->docker_cert_path);
    free(config->image);
    free(config->http);
    free(config->token_file);
    free(config->allowed_hosts);
    free(config->allowed_origins);
    free(config->audit_log);
    free(config->profile);
    config_profiles_done(config);
    *config = (struct config){0};
}

/* "Containers kept ready (0 to 64, default 2)" */
static char *help_text(const struct setting *setting, const struct config *defaults)
{
    auto_free char *range = setting_range(setting);
    auto_free char *fallback = setting_format(setting, defaults);

    return mem_printf("%s (%s; default: %s)", setting->meaning, range,
                      setting->unset ? setting->unset : fallback);
}

/* The table as argp wants it; only the doc of a setting is allocated. */
static struct argp_option *options_new(const struct config_verb *verb)
{
    size_t own = count_own(verb);
    struct argp_option *options =
        mem_alloc((own + count_settings() + SETTING_GROUP_COUNT + 5) * sizeof(*options));
    struct argp_option *next = options;
    struct config defaults;
    const struct setting *setting;

    for (size_t i = 0; i < own; i++)
        *next++ = (struct argp_option){.name = verb->flags[i].name,
                                       .key = KEY_OWN + (int)i,
                                       .arg = verb->flags[i].placeholder,
                                       .doc = verb->flags[i].meaning};

    config_init(&defaults);
    for (size_t i = 0; (setting = setting_at(i)); i++) {
        int group = (int)setting->group + 1;

        if (i == 0 || setting->group != setting_at(i - 1)->group)
            *next++ =
                (struct argp_option){.doc = setting_group_title(setting->group), .group = group};
        *next++ =
            (struct argp_option){.name = setting->name,
                                 .key = KEY_SETTING + (int)i,
                                 .arg = setting_placeholder(setting),
                                 .flags = setting->kind == SETTING_SWITCH ? OPTION_ARG_OPTIONAL : 0,
                                 .doc = help_text(setting, &defaults),
                                 .group = group};
    }
    *next++ = (struct argp_option){.name = "config",
                                   .key = KEY_CONFIG,
                                   .arg = "FILE",
                                   .doc = "JSON file with settings, or the word " CONFIG_NO_FILE
                                          " (default: " DEFAULT_FILE " if it exists)",
                                   .group = SETTING_GROUP_SERVER + 1};
    /* From this program to itself. */
    *next++ = (struct argp_option){.name = PROFILES_FLAG,
                                   .key = KEY_PROFILES,
                                   .arg = "JSON",
                                   .flags = OPTION_HIDDEN,
                                   .doc = ""};
    *next++ = (struct argp_option){
        .name = "help", .key = KEY_HELP, .doc = "Print this help", .group = -1};
    *next++ = (struct argp_option){
        .name = "usage", .key = KEY_USAGE, .doc = "Print the flags only", .group = -1};
    return options;
}

static void options_free_at(struct argp_option **options)
{
    for (struct argp_option *option = *options; option->doc; option++) {
        if (option->key >= KEY_SETTING) {
            char *text;

            /* Not const at heart: help_text() made it. */
            memcpy(&text, &option->doc, sizeof(text));
            free(text);
        }
    }
    free(*options);
}

static void print_help(const struct argp_state *state, unsigned int flags)
{
    auto_free char *name = mem_printf("python-sandbox %s", state->argv[0]);

    argp_help(state->root_argp, stdout, flags, name);
}

static error_t refuse_flag(const struct argp_state *state, struct error *err)
{
    error_set(err,
              "%.100s: not a flag, or one without the value it needs; "
              "python-sandbox %s --help lists the flags",
              state->argv[state->next - 1], state->argv[0]);
    return EINVAL;
}

static error_t take_argument(int key, char *text, struct argp_state *state)
{
    struct command_line *line = state->input;

    if (key >= KEY_SETTING && key < KEY_SETTING + (int)count_settings()) {
        /* Only a switch may come without a value. */
        line->values[key - KEY_SETTING] = text ? text : "yes";
        return 0;
    }
    if (key >= KEY_OWN && key < KEY_OWN + (int)count_own(line->verb)) {
        line->given[line->given_count++] = (struct config_given){(size_t)(key - KEY_OWN), text};
        return 0;
    }
    switch (key) {
    case KEY_CONFIG:
        line->config = text;
        return 0;
    case KEY_PROFILES:
        line->profiles = text;
        return 0;
    case KEY_HELP:
    case KEY_USAGE:
        print_help(state, key == KEY_HELP ? ARGP_HELP_STD_HELP : ARGP_HELP_USAGE);
        exit(fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
    case ARGP_KEY_ARG:
        line->rest[line->rest_count++] = text;
        while (line->verb->stop_at_first && state->next < state->argc)
            line->rest[line->rest_count++] = state->argv[state->next++];
        return 0;
    case ARGP_KEY_ERROR:
        return refuse_flag(state, line->err);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ARGP_NO_ERRS makes argp silent, also for its own --help, hence ours. */
static int parse_flags(struct command_line *line, int argc, char **argv)
{
    const struct config_verb *verb = line->verb;
    static const char sources[] =
        "A flag --queue-timeout is also the variable " SETTING_VARIABLE_PREFIX "QUEUE_TIMEOUT and "
        "\"queue_timeout\" in the JSON file, where comments are allowed. Flags win over variables, "
        "variables over the file. Sizes are bytes or have a suffix: 64k, 512m, 2g, 1t.";
    __attribute__((cleanup(options_free_at))) struct argp_option *options = options_new(verb);
    auto_free char *text = mem_printf("%s\v%s", verb->doc, sources);
    struct argp argp = {
        .options = options, .parser = take_argument, .args_doc = verb->usage, .doc = text};
    unsigned int flags = ARGP_NO_ERRS | ARGP_NO_HELP | (verb->stop_at_first ? ARGP_IN_ORDER : 0U);

    return argp_parse(&argp, argc, argv, flags, NULL, line) == 0 ? 0 : -1;
}

static const struct setting *find_variable(const char *name)
{
    const struct setting *setting;

    for (size_t i = 0; (setting = setting_at(i)); i++) {
        auto_free char *own = setting_variable(setting);

        if (strcmp(own, name) == 0)
            return setting;
    }
    return NULL;
}

static int refuse_variable(const char *name, struct error *err)
{
    const struct setting *setting;
    auto_buf struct buf names;

    buf_init(&names, ERROR_TEXT_MAX);
    for (size_t i = 0; (setting = setting_at(i)); i++) {
        auto_free char *own = setting_variable(setting);

        (void)buf_addf(&names, ", %s", own + strlen(SETTING_VARIABLE_PREFIX));
    }
    return error_set(err, "%.100s: unknown variable; accepted are %s followed by CONFIG, TOKEN%s",
                     name, SETTING_VARIABLE_PREFIX, names.data);
}

static int apply_variable(struct config *config, const char *name, const char *value,
                          struct error *err)
{
    const struct setting *setting = find_variable(name);

    if (*value == '\0' || strcmp(name, CONFIG_FILE_VARIABLE) == 0 ||
        strcmp(name, CONFIG_TOKEN_VARIABLE) == 0)
        return 0;
    if (!setting)
        return refuse_variable(name, err);
    if (setting_parse(setting, value, config) < 0) {
        auto_free char *accepts = setting_accepts(setting);

        return error_set(err, "%s: must be %s, not \"%.100s\"", name, accepts, value);
    }
    return 0;
}

static int apply_environment(struct config *config, struct error *err)
{
    for (char **at = environ; at && *at; at++) {
        const char *equals = strchr(*at, '=');

        if (!equals || strncmp(*at, SETTING_VARIABLE_PREFIX, strlen(SETTING_VARIABLE_PREFIX)) != 0)
            continue;
        auto_free char *name = mem_strndup(*at, (size_t)(equals - *at));
        if (apply_variable(config, name, equals + 1, err) < 0)
            return -1;
    }
    return 0;
}

/* The text that says where the profiles come from is the caller's to free. */
static int apply_file(struct config *config, const char *flag, cJSON **ret_profiles,
                      char **ret_where, struct error *err)
{
    const char *variable = getenv(CONFIG_FILE_VARIABLE);
    const char *path = flag ? flag : variable;
    bool named = path && *path;

    if (flag && *flag == '\0')
        return error_set(err, "--config=: must be the path of a file, or " CONFIG_NO_FILE);
    if (!named)
        path = DEFAULT_FILE;
    if (strcmp(path, CONFIG_NO_FILE) == 0)
        return 0;
    *ret_where = mem_strdup(path);
    return config_file_apply(config, path, named, ret_profiles, err);
}

static int apply_flags(struct config *config, const char *const *values, struct error *err)
{
    const struct setting *setting;

    for (size_t i = 0; (setting = setting_at(i)); i++) {
        if (!values[i] || setting_parse(setting, values[i], config) == 0)
            continue;
        auto_free char *accepts = setting_accepts(setting);

        return error_set(err, "--%s=%.100s: must be %s", setting->name, values[i], accepts);
    }
    return 0;
}

static int make_profiles(struct config *config, const struct command_line *line,
                         const cJSON *of_file, const char *where, struct error *err)
{
    auto_json cJSON *given = NULL;

    if (line->profiles) {
        given = json_parse(line->profiles, strlen(line->profiles), err);
        if (!given || config_profiles_make(config, given, NULL, err) < 0)
            return error_wrap(err, "--" PROFILES_FLAG);
        return 0;
    }
    if (config_profiles_make(config, of_file, line->values, err) == 0)
        return 0;
    return of_file ? error_wrap(err, "%s", where) : -1;
}

int config_load(struct config *config, int argc, char **argv, bool stop_at_first, const char *usage,
                const char *doc, struct config_arguments *ret_rest, struct error *err)
{
    const struct config_verb verb = {.usage = usage, .doc = doc, .stop_at_first = stop_at_first};

    return config_load_verb(config, argc, argv, &verb, ret_rest, err);
}

int config_load_verb(struct config *config, int argc, char **argv, const struct config_verb *verb,
                     struct config_arguments *ret_rest, struct error *err)
{
    auto_free const char **values = mem_alloc(count_settings() * sizeof(*values));
    auto_free char **rest = mem_alloc(((size_t)argc + 1) * sizeof(*rest));
    auto_free struct config_given *given =
        verb->flags ? mem_alloc((size_t)argc * sizeof(*given)) : NULL;
    struct command_line line = {
        .values = values, .verb = verb, .rest = rest, .given = given, .err = err};
    auto_json cJSON *profiles = NULL;
    auto_free char *where = NULL;
    auto_config struct config loaded;

    config_init(&loaded);
    if (parse_flags(&line, argc, argv) < 0 ||
        apply_file(&loaded, line.config, &profiles, &where, err) < 0 ||
        apply_environment(&loaded, err) < 0 || apply_flags(&loaded, values, err) < 0 ||
        make_profiles(&loaded, &line, profiles, where, err) < 0)
        return -1;
    *config = loaded;
    loaded = (struct config){0};
    *ret_rest = (struct config_arguments){.file = line.config,
                                          .rest = steal(&rest),
                                          .count = line.rest_count,
                                          .given = steal(&given),
                                          .given_count = line.given_count};
    return 0;
}

/* --config=none comes first: a setting at its default must not be changed by the default file. */
char **config_flags(const struct config *config)
{
    char **flags = mem_alloc((count_settings() + 3) * sizeof(*flags));
    size_t count = 0;
    struct config defaults;
    const struct setting *setting;

    config_init(&defaults);
    flags[count++] = mem_strdup("--config=" CONFIG_NO_FILE);
    for (size_t i = 0; (setting = setting_at(i)); i++) {
        auto_free char *value = setting_format(setting, config);

        if (value && setting_differs(setting, config, &defaults))
            flags[count++] = mem_printf("--%s=%s", setting->name, value);
    }
    if (config->profiles_named) {
        auto_free char *profiles = config_profiles_print(config);

        flags[count] = mem_printf("--" PROFILES_FLAG "=%s", profiles);
    }
    return flags;
}

void config_flags_free(char **flags)
{
    for (char **flag = flags; flag && *flag; flag++)
        free(*flag);
    free(flags);
}
