/* Loading settings in the tests of config. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/mem.h"
#include "config.h"

#define ARGS_MAX 16

struct loaded {
    struct config config;
    struct config_arguments arguments;
    struct error err;
    int result;
};

/* Loads with the flags given, up to NULL. */
static inline void load(struct loaded *loaded, bool stop_at_first, const char *const *flags)
{
    char *argv[ARGS_MAX + 2] = {mem_strdup("serve")};
    int argc = 1;

    for (; flags[argc - 1]; argc++) {
        assert_true(argc <= ARGS_MAX);
        argv[argc] = mem_strdup(flags[argc - 1]);
    }
    *loaded = (struct loaded){0};
    config_init(&loaded->config);
    loaded->result = config_load(&loaded->config, argc, argv, stop_at_first, "", "Tests.",
                                 &loaded->arguments, &loaded->err);
    /* The arguments point into argv: keep them, free the rest. */
    for (int i = 0; i < argc; i++) {
        bool kept = false;

        for (size_t k = 0; k < loaded->arguments.count; k++)
            kept = kept || loaded->arguments.rest[k] == argv[i];
        if (!kept)
            free(argv[i]);
    }
}

static inline void unload(struct loaded *loaded)
{
    for (size_t i = 0; i < loaded->arguments.count; i++)
        free(loaded->arguments.rest[i]);
    free(loaded->arguments.rest);
    config_done(&loaded->config);
}

#define auto_loaded __attribute__((cleanup(unload)))

#define LOAD(loaded, ...) load(&(loaded), false, (const char *const[]){__VA_ARGS__, NULL})
#define LOAD_OK(loaded, ...)                                                                       \
    do {                                                                                           \
        LOAD(loaded, __VA_ARGS__);                                                                 \
        if ((loaded).result != 0)                                                                  \
            fail_msg("%s", (loaded).err.text);                                                     \
    } while (0)

static inline void expect_error(const struct loaded *loaded, const char *text)
{
    assert_int_equal(loaded->result, -1);
    if (!strstr(loaded->err.text, text))
        fail_msg("\"%s\" is not in \"%s\"", text, loaded->err.text);
}

/* A file with the text; the caller unlinks and frees the path. */
static inline char *file_with(const char *text, size_t len)
{
    char *path = mem_strdup("/tmp/test_config.XXXXXX");
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), (ssize_t)len);
    close(fd);
    return path;
}

static inline void load_file(struct loaded *loaded, const char *text, size_t len)
{
    auto_free char *path = file_with(text, len);
    auto_free char *flag = mem_printf("--config=%s", path);

    LOAD(*loaded, flag);
    unlink(path);
    if (loaded->result < 0 && strncmp(loaded->err.text, path, strlen(path)) != 0)
        fail_msg("the file is not named in \"%s\"", loaded->err.text);
}

static inline int clean_environment(void **state)
{
    (void)state;
    return clearenv();
}
