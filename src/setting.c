#include "setting.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "config.h"

#define SOCKET_SCHEME "unix://"
#define REMOTE_SCHEME "tcp://"

#define SEPARATORS ", \t"
/* Of a part of a host's name; _ is in names that no DNS has. */
#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/* Digits at *text, which moves past them; -1 where there are none or more than any setting needs.
 */
static int take_digits(const char **text, int64_t *ret)
{
    const char *at = *text;
    int64_t value = 0;

    while (*at >= '0' && *at <= '9' && at - *text < 16)
        value = value * 10 + (*at++ - '0');
    if (at == *text)
        return -1;
    *text = at;
    *ret = value;
    return 0;
}

static int parse_size(const char *text, int64_t *ret)
{
    static const char suffixes[] = "kmgt";
    int64_t value;

    if (take_digits(&text, &value) < 0)
        return -1;
    if (*text != '\0') {
        const char *suffix = strchr(suffixes, tolower((unsigned char)*text));

        if (!suffix || text[1] != '\0')
            return -1;
        if (__builtin_mul_overflow(value, INT64_C(1024) << (10 * (suffix - suffixes)), &value))
            return -1;
    }
    *ret = value;
    return 0;
}

static int parse_cpus(const char *text, int64_t *ret)
{
    int64_t whole = 0;
    int64_t milli = 0;

    if (*text != '.' && take_digits(&text, &whole) < 0)
        return -1;
    if (*text == '.') {
        const char *fraction = ++text;

        if (take_digits(&text, &milli) < 0 || text - fraction > 3)
            return -1;
        for (ptrdiff_t i = text - fraction; i < 3; i++)
            milli *= 10;
    }
    if (*text != '\0' || __builtin_mul_overflow(whole, 1000, &whole))
        return -1;
    *ret = whole + milli;
    return 0;
}

static int parse_word(const char *text, enum setting_kind kind, int64_t *ret)
{
    const char *word;

    for (size_t i = 0; (word = setting_word(kind, i)); i++) {
        if (strcmp(text, word) == 0) {
            *ret = (int64_t)i;
            return 0;
        }
    }
    return -1;
}

static int parse_number(const struct setting *setting, const char *text, int64_t *ret)
{
    switch (setting->kind) {
    case SETTING_PULL:
    case SETTING_SWITCH:
    case SETTING_LEVEL:
    case SETTING_WHETHER:
        return parse_word(text, setting->kind, ret);
    case SETTING_SIZE:
        return parse_size(text, ret);
    case SETTING_CPUS:
        return parse_cpus(text, ret);
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
    return text_to_int(text, setting->min, setting->max, ret, NULL);
}

static bool socket_fits(const char *text)
{
    if (strncmp(text, REMOTE_SCHEME, strlen(REMOTE_SCHEME)) == 0)
        return true; /* what follows is looked at where it is used */
    if (strncmp(text, SOCKET_SCHEME, strlen(SOCKET_SCHEME)) == 0)
        text += strlen(SOCKET_SCHEME);
    return text[0] == '/' && text[1] != '\0' &&
           strlen(text) < sizeof(((struct sockaddr_un *)0)->sun_path);
}

static bool image_fits(const char *text)
{
    for (const char *at = text; *at; at++)
        if (!isgraph((unsigned char)*at))
            return false;
    return *text != '\0' && *text != '-' && strlen(text) <= LIMIT_IMAGE_MAX;
}

bool setting_is_name(const char *text)
{
    size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_");

    return len > 0 && len <= LIMIT_PROFILE_NAME_MAX && text[len] == '\0';
}

/* Which addresses there are is found out when they are used. */
static bool address_fits(const char *text)
{
    const char *port = strrchr(text, ':');
    int64_t number;

    return port && !strchr(text, '/') && isdigit((unsigned char)port[1]) &&
           text_to_int(port + 1, 0, UINT16_MAX, &number, NULL) == 0;
}

/* NAME, NAME:PORT or [ADDRESS]:PORT; what the name is called is the matter of DNS. */
static bool host_fits(const char *text, size_t len)
{
    bool six = *text == '[';
    size_t name = strspn(text + six, six ? NAME_CHARACTERS ".:" : NAME_CHARACTERS ".");

    if (name == 0 || (six && text[1 + name] != ']'))
        return false;
    name += six ? 2 : 0;
    return name == len || (name < len && text_is_port(text + name, len - name));
}

static bool origin_fits(const char *text, size_t len)
{
    size_t scheme = strspn(text, NAME_CHARACTERS "+.");

    return scheme > 0 && strncmp(text + scheme, "://", 3) == 0 && scheme + 3 < len &&
           host_fits(text + scheme + 3, len - scheme - 3);
}

static bool list_fits(const char *text, bool (*fits)(const char *text, size_t len))
{
    size_t len = strcspn(text += strspn(text, SEPARATORS), SEPARATORS);

    if (len == 0)
        return false;
    for (; len > 0; len = strcspn(text, SEPARATORS)) {
        if (!fits(text, len))
            return false;
        text += len;
        text += strspn(text, SEPARATORS);
    }
    return true;
}

static bool string_fits(enum setting_kind kind, const char *text)
{
    if (kind == SETTING_SOCKET)
        return socket_fits(text);
    if (kind == SETTING_IMAGE)
        return image_fits(text);
    if (kind == SETTING_ADDRESS)
        return address_fits(text);
    if (kind == SETTING_NAME)
        return setting_is_name(text);
    if (kind == SETTING_HOSTS)
        return list_fits(text, host_fits);
    if (kind == SETTING_ORIGINS)
        return list_fits(text, origin_fits);
    return *text != '\0';
}

static bool is_string(const struct setting *setting)
{
    return setting->kind == SETTING_SOCKET || setting->kind == SETTING_IMAGE ||
           setting->kind == SETTING_ADDRESS || setting->kind == SETTING_PATH ||
           setting->kind == SETTING_FOLDER || setting->kind == SETTING_HOSTS ||
           setting->kind == SETTING_ORIGINS || setting->kind == SETTING_NAME;
}

static bool is_bool(const struct setting *setting)
{
    return setting->kind == SETTING_PULL || setting->kind == SETTING_SWITCH;
}

static int64_t load(const struct setting *setting, const struct config *config)
{
    const void *member = (const char *)config + setting->offset;

    if (is_bool(setting))
        return *(const bool *)member;
    if (setting->kind == SETTING_LEVEL)
        return (int64_t)(*(const enum log_level *)member);
    return *(const int64_t *)member;
}

static void store(const struct setting *setting, int64_t value, struct config *config)
{
    void *member = (char *)config + setting->offset;

    if (is_bool(setting))
        *(bool *)member = value != 0;
    else if (setting->kind == SETTING_LEVEL)
        *(enum log_level *)member = (enum log_level)value;
    else
        *(int64_t *)member = value;
}

void setting_reset(const struct setting *setting, struct config *config)
{
    if (is_string(setting))
        *(char **)((char *)config + setting->offset) = NULL;
    else
        store(setting, setting->fallback, config);
}

int setting_parse(const struct setting *setting, const char *text, struct config *config)
{
    int64_t value;

    if (is_string(setting)) {
        char **member = (char **)((char *)config + setting->offset);

        if (!string_fits(setting->kind, text))
            return -1;
        free(*member);
        *member = mem_strdup(text);
        return 0;
    }
    if (parse_number(setting, text, &value) < 0 || value < setting->min || value > setting->max)
        return -1;
    store(setting, value, config);
    return 0;
}

bool setting_differs(const struct setting *setting, const struct config *a, const struct config *b)
{
    auto_free char *one = setting_format(setting, a);
    auto_free char *other = setting_format(setting, b);

    return one && other ? strcmp(one, other) != 0 : one != other;
}

char *setting_format(const struct setting *setting, const struct config *config)
{
    if (is_string(setting)) {
        const char *text = *(char *const *)((const char *)config + setting->offset);

        return text ? mem_strdup(text) : NULL;
    }
    return setting_show(setting, load(setting, config));
}
