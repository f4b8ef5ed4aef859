#include "setting.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "config.h"

#define LENGTH_OF(array) (sizeof(array) / sizeof((array)[0]))

#define WORDS_MAX 4

const char *setting_word(enum setting_kind kind, size_t index)
{
    static const char *const words[][WORDS_MAX] = {
        [SETTING_PULL] = {"never", "missing"},
        [SETTING_SWITCH] = {"no", "yes"},
        [SETTING_LEVEL] = {[LOG_LEVEL_ERROR] = "error",
                           [LOG_LEVEL_WARN] = "warn",
                           [LOG_LEVEL_INFO] = "info",
                           [LOG_LEVEL_DEBUG] = "debug"},
        [SETTING_WHETHER] = {"auto", "always", "never"},
    };

    return kind < LENGTH_OF(words) && index < WORDS_MAX ? words[kind][index] : NULL;
}

const char *setting_placeholder(const struct setting *setting)
{
    static const char *const placeholders[] = {
        [SETTING_SOCKET] = "ENGINE",
        [SETTING_IMAGE] = "IMAGE",
        [SETTING_ADDRESS] = "ADDRESS:PORT",
        [SETTING_PATH] = "FILE",
        [SETTING_FOLDER] = "FOLDER",
        [SETTING_HOSTS] = "LIST",
        [SETTING_ORIGINS] = "LIST",
        [SETTING_NAME] = "NAME",
        [SETTING_SWITCH] = "yes|no",
        [SETTING_PULL] = "WHEN",
        [SETTING_LEVEL] = "LEVEL",
        [SETTING_COUNT] = "N",
        [SETTING_SIZE] = "SIZE",
        [SETTING_SECONDS] = "SECONDS",
        [SETTING_CPUS] = "CPUS",
        [SETTING_WHETHER] = "WHEN",
    };

    return placeholders[setting->kind];
}

char *setting_variable(const struct setting *setting)
{
    char *variable = mem_printf(SETTING_VARIABLE_PREFIX "%s", setting->name);

    for (char *at = variable; *at; at++)
        *at = (char)(*at == '-' ? '_' : toupper((unsigned char)*at));
    return variable;
}

char *setting_key(const struct setting *setting)
{
    char *key = mem_strdup(setting->name);

    for (char *at = key; *at; at++)
        if (*at == '-')
            *at = '_';
    return key;
}

/* "512m": the largest suffix that divides evenly. */
static char *format_size(int64_t bytes)
{
    static const char *const suffixes[] = {"", "k", "m", "g", "t"};
    size_t i = 0;

    while (bytes > 0 && bytes % 1024 == 0 && i + 1 < LENGTH_OF(suffixes)) {
        bytes /= 1024;
        i++;
    }
    return mem_printf("%lld%s", (long long)bytes, suffixes[i]);
}

/* "0.5", "1", "1.25". */
static char *format_cpus(int64_t milli)
{
    char *text = mem_printf("%lld.%03lld", (long long)(milli / 1000), (long long)(milli % 1000));
    size_t len = strlen(text);

    while (text[len - 1] == '0')
        len--;
    if (text[len - 1] == '.')
        len--;
    text[len] = '\0';
    return text;
}

char *setting_show(const struct setting *setting, int64_t value)
{
    switch (setting->kind) {
    case SETTING_PULL:
    case SETTING_SWITCH:
    case SETTING_LEVEL:
    case SETTING_WHETHER:
        return mem_strdup(setting_word(setting->kind, (size_t)value));
    case SETTING_SIZE:
        return format_size(value);
    case SETTING_CPUS:
        return format_cpus(value);
    case SETTING_COUNT:
    case SETTING_SECONDS:
    case SETTING_SOCKET:
    case SETTING_IMAGE:
    case SETTING_ADDRESS:
    case SETTING_PATH:
    case SETTING_FOLDER:
    case SETTING_HOSTS:
    case SETTING_ORIGINS:
    case SETTING_NAME:
        break;
    }
    return mem_printf("%lld", (long long)value);
}

/* What a value may be where it is not a number from a range. */
static const char *words_of(enum setting_kind kind)
{
    switch (kind) {
    case SETTING_SOCKET:
        return "unix:///path, /path or tcp://host:2376";
    case SETTING_IMAGE:
        return "a reference such as python:3.12-slim";
    case SETTING_ADDRESS:
        return "localhost:8000, an IP address and a port, or :8000";
    case SETTING_PATH:
        return "the path of a file";
    case SETTING_FOLDER:
        return "the path of a folder";
    case SETTING_HOSTS:
        return "names, with a port or without, and commas between them";
    case SETTING_ORIGINS:
        return "SCHEME://NAME or SCHEME://NAME:PORT, and commas between them";
    case SETTING_NAME:
        return "the name of a profile";
    case SETTING_SWITCH:
        return "yes or no";
    case SETTING_PULL:
        return "missing or never";
    case SETTING_LEVEL:
        return "error, warn, info or debug";
    case SETTING_WHETHER:
        return "auto, always or never";
    case SETTING_COUNT:
    case SETTING_SECONDS:
    case SETTING_SIZE:
    case SETTING_CPUS:
        break;
    }
    return NULL;
}

char *setting_range(const struct setting *setting)
{
    const char *words = words_of(setting->kind);

    if (words)
        return mem_strdup(words);
    auto_free char *min = setting_show(setting, setting->min);
    auto_free char *max = setting_show(setting, setting->max);
    return mem_printf("%s to %s", min, max);
}

char *setting_accepts(const struct setting *setting)
{
    auto_free char *range = setting_range(setting);

    switch (setting->kind) {
    case SETTING_COUNT:
        return mem_printf("a whole number from %s", range);
    case SETTING_SECONDS:
        return mem_printf("whole seconds from %s", range);
    case SETTING_SIZE:
        return mem_printf("a size from %s (bytes, or a number with suffix k, m, g or t)", range);
    case SETTING_CPUS:
        return mem_printf("a number from %s with at most three decimals", range);
    case SETTING_SOCKET:
        return mem_printf("%s, the path of at most %zu bytes (for ssh://, forward the engine's "
                          "socket with ssh -L)",
                          range, sizeof(((struct sockaddr_un *)0)->sun_path) - 1);
    case SETTING_IMAGE:
        return mem_printf("%s, without blanks and of at most %d bytes", range, LIMIT_IMAGE_MAX);
    case SETTING_ADDRESS:
    case SETTING_PATH:
    case SETTING_FOLDER:
    case SETTING_HOSTS:
    case SETTING_ORIGINS:
    case SETTING_NAME:
    case SETTING_SWITCH:
    case SETTING_PULL:
    case SETTING_LEVEL:
    case SETTING_WHETHER:
        break;
    }
    return steal(&range);
}
