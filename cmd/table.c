/* Prints verbs, settings and the further keys of a profile, one a line with tabs between the
 * fields: what the manual, the completions and the example configuration are made from.
 *
 *   verb NAME USAGE SETTINGS(yes|no) WORDS HELP     flag VERB NAME VALUE WORDS MEANING
 *   group TITLE                                     setting NAME KEY VARIABLE VALUE KIND RANGE
 *   grants KEYS                                             DEFAULT UNSET MEANING
 *
 * KIND is file, words (RANGE lists them), switch or value; DEFAULT is as the file takes it; an
 * empty field is "-". */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "config.h"
#include "config_grants.h"
#include "setting.h"
#include "verbs.h"

static const char *or_dash(const char *text)
{
    return text && *text ? text : "-";
}

static void print_verb(const struct verb *verb)
{
    printf("verb\t%s\t%s\t%s\t%s\t%s\n", verb->name, or_dash(verb->usage),
           verb->settings ? "yes" : "no", or_dash(verb->words), verb->help);
    for (const struct verb_flag *flag = verb->flags; flag && flag->name; flag++)
        printf("flag\t%s\t%s\t%s\t%s\t%s\n", verb->name, flag->name, or_dash(flag->value),
               or_dash(flag->words), flag->meaning);
}

static const char *kind_of(const struct setting *setting)
{
    switch (setting->kind) {
    case SETTING_PATH:
    case SETTING_FOLDER:
        return "file";
    case SETTING_SWITCH:
        return "switch";
    case SETTING_PULL:
    case SETTING_LEVEL:
    case SETTING_WHETHER:
        return "words";
    case SETTING_SOCKET:
    case SETTING_IMAGE:
    case SETTING_ADDRESS:
    case SETTING_HOSTS:
    case SETTING_ORIGINS:
    case SETTING_NAME:
    case SETTING_COUNT:
    case SETTING_SECONDS:
    case SETTING_SIZE:
    case SETTING_CPUS:
        break;
    }
    return "value";
}

static void print_setting(const struct setting *setting, const struct config *defaults)
{
    auto_free char *key = setting_key(setting);
    auto_free char *variable = setting_variable(setting);
    auto_free char *range = setting_range(setting);
    auto_free char *fallback = setting_format(setting, defaults);

    printf("setting\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", setting->name, key, variable,
           setting_placeholder(setting), kind_of(setting), range, or_dash(fallback),
           or_dash(setting->unset), setting->meaning);
}

int cmd_table(int argc, char **argv)
{
    struct config defaults;
    const struct setting *setting;
    const struct verb *verb;

    (void)argv;
    if (argc > 1)
        return 2;
    for (size_t i = 0; (verb = verbs_at(i)); i++)
        if (verb->help)
            print_verb(verb);
    config_init(&defaults);
    for (size_t i = 0; (setting = setting_at(i)); i++) {
        if (i == 0 || setting->group != setting_at(i - 1)->group)
            printf("group\t%s\n", setting_group_title(setting->group));
        print_setting(setting, &defaults);
    }
    puts("grants\t" CONFIG_GRANTS_KEYS);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
