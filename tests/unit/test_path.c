/* path: what is a path below a folder, and which two cannot both be files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/path.h"

/* Checks an exact copy, so that the sanitizer sees a read past the end. */
static int check(const char *path, size_t len, struct error *err)
{
    auto_free char *copy = malloc(len > 0 ? len : 1);

    assert_non_null(copy);
    memcpy(copy, path, len);
    return path_check(copy, len, err);
}

static void good_paths(void **state)
{
    static const char *const good[] = {
        "a",
        "a.csv",
        "data/a.csv",
        "...",
        "..a",
        "a..",
        ".hidden",
        "a/.b/c",
        "a b",
        "a\nb",
        "\xc3\xa9/\xe5\xa3\xb2",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(check(good[i], strlen(good[i]), NULL), 0);
}

#define BAD(text) text, sizeof(text) - 1

static void bad_paths(void **state)
{
    static const struct {
        const char *path;
        size_t len;
        const char *says;
    } bad[] = {
        {BAD(""), "is empty"},
        {BAD("/"), "relative"},
        {BAD("/etc/passwd"), "relative"},
        {BAD("."), "part \".\""},
        {BAD(".."), "part \"..\""},
        {BAD("../a"), "part \"..\""},
        {BAD("a/../b"), "part \"..\""},
        {BAD("a/.."), "part \"..\""},
        {BAD("./a"), "part \".\""},
        {BAD("a//b"), "empty part"},
        {BAD("a/"), "empty part"},
        {BAD("a\0b"), "NUL"},
        {BAD("a\xff"), "UTF-8"},
        {BAD("\xed\xa0\x80"), "UTF-8"},
    };
    char text[LIMIT_PATH_MAX + 1];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct error err = {""};

        assert_int_equal(check(bad[i].path, bad[i].len, &err), -1);
        assert_non_null(strstr(err.text, bad[i].says));
    }
    memset(text, 'a', sizeof(text));
    assert_int_equal(check(text, LIMIT_PATH_PART_MAX, NULL), 0);
    assert_int_equal(check(text, LIMIT_PATH_PART_MAX + 1, NULL), -1);
    for (size_t i = 1; i < sizeof(text); i += 2)
        text[i] = '/';
    text[LIMIT_PATH_MAX - 1] = 'b';
    assert_int_equal(check(text, LIMIT_PATH_MAX, NULL), 0);
    assert_int_equal(check(text, LIMIT_PATH_MAX + 1, NULL), -1);
}

static void clashes(void **state)
{
    static const struct {
        const char *one;
        const char *other;
        bool clash;
    } cases[] = {
        {"a", "a", true},      {"a", "b", false},     {"a", "a/b", true},     {"a/b", "a", true},
        {"a", "ab", false},    {"a/b", "a/c", false}, {"a/b", "a/b/c", true}, {"a.b", "a/b", false},
        {"a", "a.csv", false}, {"ab/c", "a", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *one = cases[i].one, *other = cases[i].other;

        assert_int_equal(path_clash(one, strlen(one), other, strlen(other)), cases[i].clash);
        assert_int_equal(path_clash(other, strlen(other), one, strlen(one)), cases[i].clash);
    }
}

static void cleaned_paths(void **state)
{
    static const char *const cases[][2] = {
        {"/data", "/data"},
        {"/data/", "/data"},
        {"/data///", "/data"},
        {"//data//x", "/data/x"},
        {"/./data/.", "/data"},
        {"/data/..", "/"},
        {"/data/../x/y/..", "/x"},
        {"/../../x", "/x"},
        {"/data/...", "/data/..."},
        {"/.x/..y", "/.x/..y"},
        {"data", "/data"},
        {"../data", "/data"},
        {"a b/\xc3\xa9/", "/a b/\xc3\xa9"},
        {"/", "/"},
        {".", "/"},
        {"", "/"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        auto_free char *exact = mem_strdup(cases[i][0]);
        auto_free char *clean = path_clean(exact);

        assert_string_equal(clean, cases[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_paths),
        cmocka_unit_test(bad_paths),
        cmocka_unit_test(clashes),
        cmocka_unit_test(cleaned_paths),
    };

    return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
