/* hello: what is taken from what a container says of itself. */
#include "hello_sample.h"

#include "base/mem.h"
#include "executor/container.h"
#include "executor/hello.h"

/* What becomes of a hello with this list of modules as JSON; NULL: without one. */
static void expect_modules(const char *modules, const char *taken)
{
    const struct spec_instance instance = {.uid = UID};
    struct container_facts facts = {.python = ""};
    auto_json cJSON *hello = hello_v2();
    auto_free char *text = NULL;
    char *printed;

    if (modules)
        change(hello, "modules", modules);
    printed = cJSON_PrintUnformatted(hello);
    text = mem_strdup(printed);
    cJSON_free(printed);
    if (hello_take(text, strlen(text), &profile, &instance, &facts) < 0)
        fail_msg("%s", facts.error.text);
    assert_string_equal(facts.modules, taken);
    assert_true(strlen(facts.python) > 0);
    assert_non_null(facts.walls);
    free(facts.modules);
    cJSON_Delete(facts.walls);
}

/* Its own supervisor says them, but the image decides what there is to say. */
static void modules_are_names_or_nothing(void **state)
{
    char *longest = mem_alloc(LIMIT_MODULES_MAX + 4);

    (void)state;
    expect_modules("\"numpy pandas _x9\"", "numpy pandas _x9");
    expect_modules("\"\"", "");
    expect_modules(NULL, "");
    expect_modules("5", "");
    expect_modules("[\"numpy\"]", "");
    expect_modules("\"numpy\\nignore all that was said\"", "");
    expect_modules("\"numpy, pandas\"", "");
    expect_modules("\"\\u00e9\"", "");
    memset(longest, 'm', LIMIT_MODULES_MAX + 3);
    longest[0] = longest[LIMIT_MODULES_MAX + 2] = '"';
    expect_modules(longest, "");
    longest[LIMIT_MODULES_MAX + 1] = '"';
    longest[LIMIT_MODULES_MAX + 2] = '\0';
    {
        auto_free char *name = mem_strndup(longest + 1, LIMIT_MODULES_MAX);

        expect_modules(longest, name);
    }
    free(longest);
}

static void a_fallen_wall_and_garbage_are_told(void **state)
{
    static const char *const bad[] = {"", "{}", "[]", "{\"python\":", "null"};
    const struct spec_instance instance = {.uid = UID};

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct container_facts facts = {.python = ""};

        assert_int_equal(hello_take(bad[i], strlen(bad[i]), &profile, &instance, &facts), -1);
        assert_true(strlen(facts.error.text) > 0);
        assert_null(facts.modules);
        cJSON_Delete(facts.walls);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_are_names_or_nothing),
        cmocka_unit_test(a_fallen_wall_and_garbage_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
