/* The table of settings behind config.h: what each is called, what it accepts, what it is for.
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;

#define SETTING_VARIABLE_PREFIX "PYTHON_SANDBOX_"

enum setting_kind {
    SETTING_SOCKET,  /* char *: unix:///path, /path or tcp://host:port */
    SETTING_IMAGE,   /* char *: an image reference */
    SETTING_ADDRESS, /* char *: ADDRESS:PORT */
    SETTING_PATH,    /* char *: a file */
    SETTING_FOLDER,  /* char *: a folder */
    SETTING_HOSTS,   /* char *: names, with a port or without, commas or blanks between them */
    SETTING_ORIGINS, /* char *: SCHEME://NAME or with a port, likewise */
    SETTING_NAME,    /* char *: of a profile */
    SETTING_SWITCH,  /* bool: "no" or "yes"; as a flag it may come without a value */
    SETTING_PULL,    /* bool: "never" or "missing" */
    SETTING_LEVEL,   /* enum log_level */
    SETTING_WHETHER, /* int64_t: 0 "auto", 1 "always" or 2 "never" */
    SETTING_COUNT,   /* int64_t: a whole number */
    SETTING_SECONDS, /* int64_t: whole seconds */
    SETTING_SIZE,    /* int64_t: bytes, with an optional suffix k, m, g or t */
    SETTING_CPUS,    /* int64_t: thousandths, written as a decimal number */
};

/* The headings of --help, in order. */
enum setting_group {
    SETTING_GROUP_ENGINE,
    SETTING_GROUP_SCRIPT, /* these are settings of a profile, see setting_is_of_profile() */
    SETTING_GROUP_LOAD,
    SETTING_GROUP_LENGTH,
    SETTING_GROUP_HTTP,
    SETTING_GROUP_SERVER,
    SETTING_GROUP_COUNT
};

struct setting {
    const char *name; /* as a flag without the dashes */
    enum setting_kind kind;
    enum setting_group group;
    size_t offset; /* of the member in struct config */
    int64_t min;   /* numbers only */
    int64_t max;
    int64_t fallback;    /* the default, or the index of the chosen word; strings have none */
    const char *unset;   /* what the default means, where its value does not say it; or NULL */
    const char *meaning; /* for --help */
};

/* The setting at an index, NULL past the last. */
const struct setting *setting_at(size_t index);

/* Whether profiles may have a value of their own. */
bool setting_is_of_profile(const struct setting *setting);

/* 1 to LIMIT_PROFILE_NAME_MAX of a-z, 0-9, - and _. */
bool setting_is_name(const char *text);

/* "Engine and image", ... */
const char *setting_group_title(enum setting_group group);

/* What stands for the value in --help: "SIZE", "SECONDS", ... */
const char *setting_placeholder(const struct setting *setting);

/* The words of a kind that is a choice, by value; NULL past the last and for other kinds. */
const char *setting_word(enum setting_kind kind, size_t index);

/* A value of the setting as text, the short way ("512m"); numbers and choices only. The caller
 * frees. */
char *setting_show(const struct setting *setting, int64_t value) __attribute__((returns_nonnull));

/* The other spellings: "PYTHON_SANDBOX_QUEUE_TIMEOUT" and "queue_timeout". The caller frees. */
char *setting_variable(const struct setting *setting) __attribute__((returns_nonnull));
char *setting_key(const struct setting *setting) __attribute__((returns_nonnull));

/* "0 to 64", "missing or never", ...: short, for --help. The caller frees. */
char *setting_range(const struct setting *setting) __attribute__((returns_nonnull));

/* What follows "must be " in an error: "a whole number from 0 to 64". The caller frees. */
char *setting_accepts(const struct setting *setting) __attribute__((returns_nonnull));

/* Puts the default into the member without freeing what is there. */
void setting_reset(const struct setting *setting, struct config *config);

/* Parses text into the member; -1 where it is not what setting_accepts() says. */
int setting_parse(const struct setting *setting, const char *text, struct config *config);

/* The member as text that setting_parse() takes, the short way ("512m"); NULL for a string that is
 * not set. The caller frees. */
char *setting_format(const struct setting *setting, const struct config *config);

/* Whether the two have another value of it. */
bool setting_differs(const struct setting *setting, const struct config *a, const struct config *b);
