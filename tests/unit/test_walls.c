/* walls: the rows of what was measured, and the verdict on them. */
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "executor/attest.h"
#include "executor/walls.h"
#include "hello_sample.h"

static void the_first_that_fell_is_told(void **state)
{
    auto_json cJSON *walls = cJSON_CreateArray();
    struct error err = {"untouched"};

    (void)state;
    assert_int_equal(walls_verdict(walls, &err), -1);
    assert_string_equal(err.text, "no wall was measured");
    walls_stand(walls, "a", "1", "1");
    err = (struct error){"untouched"};
    assert_int_equal(walls_verdict(walls, &err), 0);
    assert_string_equal(err.text, "untouched");
    walls_fall(walls, "b", "2", NULL, "mend it");
    walls_fall_because(walls, "c", "3", "it leans", "prop it");
    assert_int_equal(walls_verdict(walls, &err), -1);
    assert_string_equal(err.text,
                        "the wall 'b' does not stand: asked for 2, found nothing; mend it");
    cJSON_DeleteItemFromArray(walls, 1);
    assert_int_equal(walls_verdict(walls, &err), -1);
    assert_string_equal(err.text, "the wall 'c' does not stand: it leans; prop it");
    assert_int_equal(walls_verdict(NULL, &err), -1);
}

static void long_findings_are_cut(void **state)
{
    auto_json cJSON *walls = cJSON_CreateArray();
    char text[1000];
    const char *found;

    (void)state;
    for (size_t i = 0; i + 2 < sizeof(text); i += 3)
        memcpy(text + i, "\xe2\x82\xac", 3);
    text[999] = '\0';
    walls_stand(walls, "a", "1", text);
    found = json_get_text(cJSON_GetArrayItem(walls, 0), "found");
    assert_int_equal(strlen(found), 198);
    assert_true(text_is_utf8(found, strlen(found)));
}

/* Every row of a good container stands; each broken wall is its own row, and the others stand. */
static void rows_are_complete(void **state)
{
    static const char *const names[] = {
        "user",          "groups",           "CapEff",       "CapPrm",         "CapBnd",
        "CapInh",        "CapAmb",           "no_new_privs", "seccomp",        "host name",
        "network",       "cgroup namespace", "masked paths", "devices",        "device nodes",
        "environment",   "RLIMIT_NOFILE",    "RLIMIT_CORE",  "RLIMIT_MEMLOCK", "RLIMIT_NICE",
        "RLIMIT_RTPRIO", "localhost",        "mounts",       "memory",         "swap",
        "processes",     "cpu (thousandths)"};
    auto_json cJSON *hello = hello_v2();
    auto_json cJSON *walls = attest_walls(hello, &profile, &plain);
    auto_json cJSON *broken = NULL;

    (void)state;
    assert_int_equal(cJSON_GetArraySize(walls), COUNT(names));
    for (size_t i = 0; i < COUNT(names); i++) {
        const cJSON *wall = cJSON_GetArrayItem(walls, (int)i);

        assert_string_equal(json_get_text(wall, "wall"), names[i]);
        assert_true(cJSON_IsTrue(json_get(wall, "good")));
        assert_true(*json_get_text(wall, "asked") && *json_get_text(wall, "found"));
        assert_null(json_get(wall, "mend"));
    }
    change(hello, "interfaces", "[\"lo\",\"eth0\"]");
    broken = attest_walls(hello, &profile, &plain);
    assert_int_equal(cJSON_GetArraySize(broken), COUNT(names));
    for (size_t i = 0; i < COUNT(names); i++) {
        const cJSON *wall = cJSON_GetArrayItem(broken, (int)i);
        bool network = strcmp(names[i], "network") == 0;

        assert_int_equal(cJSON_IsTrue(json_get(wall, "good")), !network);
        assert_int_equal(json_get(wall, "mend") != NULL, network);
    }
}

static void every_row_is_there_without_a_hello(void **state)
{
    auto_json cJSON *walls = attest_walls(NULL, &profile, &plain);
    const cJSON *wall;

    (void)state;
    assert_int_equal(cJSON_GetArraySize(walls), 27);
    cJSON_ArrayForEach(wall, walls)
    {
        assert_false(cJSON_IsTrue(json_get(wall, "good")));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_fell_is_told),
        cmocka_unit_test(long_findings_are_cut),
        cmocka_unit_test(rows_are_complete),
        cmocka_unit_test(every_row_is_there_without_a_hello),
    };

    return cmocka_run_group_tests_name("walls", tests, NULL, NULL);
}
