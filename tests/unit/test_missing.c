/* missing, known: what is said of a module that was not found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "front/known.h"
#include "front/missing.h"
#include "front/options.h"
#include "wire/wire.h"

#define OUT_MAX           8192
#define NOT_YET(profiles) "; the profile" profiles " not been started yet\n"
#define GPU               NOT_YET(" \"gpu\" may have it, but has")
#define OTHERS            NOT_YET("s \"data\", \"gpu\" may have it, but have")

static const struct front_profile profiles[] = {
    {.name = "small"}, {.name = "data"}, {.name = "gpu"}};

static void learn(struct known *known, uint32_t index, const char *python, const char *modules)
{
    const struct wire_profile news = {
        .index = index, .python = {python, strlen(python)}, .modules = {modules, strlen(modules)}};

    known_take(known, &news);
}

/* The line for an error in a profile must be the one given; "" for none. */
static void expect(const struct known *known, uint32_t profile, const char *error, const char *line)
{
    const struct front_options options = {.profiles = profiles, .profile_count = 3, .known = known};
    auto_buf struct buf out;

    buf_init(&out, OUT_MAX);
    (void)buf_add_text(&out, "");
    missing_put(&out, &options, profile, error, strlen(error));
    assert_string_equal(out.len ? out.data : "", line);
}

#define INSTALLED "packages cannot be installed here; use the standard library"

static void lines(void **state)
{
    struct known *known = known_new();

    (void)state;
    learn(known, 0, "3.12.4", "");
    learn(known, 1, "3.12.4", "numpy pandas yaml");
    learn(known, 2, "3.12.4", "numpy torch");
    expect(known, 0, "Traceback\nModuleNotFoundError: No module named 'requests'\n",
           INSTALLED ", which is all that the image has\n");
    expect(known, 0, "ModuleNotFoundError: No module named 'pandas'\n",
           INSTALLED
           ", which is all that the image has; the profile \"data\" has pandas: name it in "
           "the argument profile\n");
    expect(known, 0, "ModuleNotFoundError: No module named 'numpy'",
           INSTALLED
           ", which is all that the image has; the profiles \"data\", \"gpu\" have numpy: "
           "name one in the argument profile\n");
    expect(known, 1, "ModuleNotFoundError: No module named 'torch'; 'torch' is not a package",
           INSTALLED
           " or what there is besides: numpy, pandas, yaml; the profile \"gpu\" has torch: "
           "name it in the argument profile\n");
    /* The last one counts. */
    expect(
        known, 1,
        "ModuleNotFoundError: No module named 'torch'\n\nModuleNotFoundError: No module named 'x'",
        INSTALLED " or what there is besides: numpy, pandas, yaml\n");
    /* The module is there, a part of it is not; parts of names are no names. */
    expect(known, 1, "ModuleNotFoundError: No module named 'pandas.extra'", "");
    expect(known, 1, "ModuleNotFoundError: No module named 'os.foo'; 'os' is not a package", "");
    expect(known, 1, "ModuleNotFoundError: No module named 'panda'",
           INSTALLED " or what there is besides: numpy, pandas, yaml\n");
    expect(known, 1, "ModuleNotFoundError", "");
    expect(known, 1, "ModuleNotFoundError: No module named '", "");
    expect(known, 1, "ImportError: cannot import name 'x'", "");
    expect(known, 1, "", "");
    known_free(known);
}

/* Before a container came up, and without anyone who listens. */
static void nothing_known(void **state)
{
    struct known *known = known_new();
    static const char error[] = "ModuleNotFoundError: No module named 'pandas'";

    (void)state;
    expect(NULL, 0, error, INSTALLED " or what the image has" OTHERS);
    learn(known, 0, "", "");
    expect(known, 0, error, INSTALLED " or what the image has" OTHERS);
    assert_null(known_modules(known, 0));
    learn(known, 0, "3.12.4", "a b");
    learn(known, 0, "3.12.4", "c d");
    assert_string_equal(known_modules(known, 0), "c d");
    assert_true(known_has(known, 0, "d", 1));
    assert_false(known_has(known, 0, "a", 1));
    assert_false(known_has(known, 0, "", 0));
    known_free(known);
}

/* Nobody is sent to a profile that cannot be served; once it can be again, it is named again. */
static void closed_profiles_are_left_out(void **state)
{
    static const char error[] = "ModuleNotFoundError: No module named 'pandas'";
    const struct wire_profile absent = {.index = 1, .reason = {"no such image", 13}};
    const struct wire_profile lost = {
        .index = 2, .python = {"3.12.4", 6}, .modules = {"pandas", 6}, .reason = {"gone", 4}};
    struct known *known = known_new();

    (void)state;
    known_take(known, &absent);
    expect(known, 0, error, INSTALLED " or what the image has" GPU);
    known_take(known, &lost);
    expect(known, 0, error, INSTALLED " or what the image has\n");
    learn(known, 1, "", "");
    expect(known, 0, error,
           INSTALLED " or what the image has" NOT_YET(" \"data\" may have it, but has"));
    known_free(known);
}

static void long_lists_are_cut(void **state)
{
    struct known *known = known_new();
    auto_buf struct buf modules;
    auto_buf struct buf out;
    const struct front_options options = {.profiles = profiles, .profile_count = 3, .known = known};
    static const char error[] = "ModuleNotFoundError: No module named 'x'";

    (void)state;
    buf_init(&modules, OUT_MAX);
    for (int i = 100; i < 300; i++)
        (void)buf_addf(&modules, "%smodule%d", i > 100 ? " " : "", i);
    learn(known, 1, "3.12.4", modules.data);
    buf_init(&out, OUT_MAX);
    missing_put(&out, &options, 1, error, strlen(error));
    assert_true(out.len < 700);
    assert_non_null(strstr(out.data, ": module100, module101, "));
    assert_non_null(
        strstr(out.data, " more" NOT_YET("s \"small\", \"gpu\" may have it, but have")));
    known_free(known);
}

/* An error that a script caught long before its end is not what ended it. */
static void only_the_end_counts(void **state)
{
    struct known *known = known_new();
    auto_buf struct buf error;

    (void)state;
    buf_init(&error, OUT_MAX);
    (void)buf_add_text(&error, "ModuleNotFoundError: No module named 'x'\n");
    for (int i = 0; i < 2000; i++)
        (void)buf_add_text(&error, ".");
    expect(known, 0, error.data, "");
    known_free(known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test(nothing_known),
        cmocka_unit_test(closed_profiles_are_left_out),
        cmocka_unit_test(long_lists_are_cut),
        cmocka_unit_test(only_the_end_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
