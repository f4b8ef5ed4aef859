/* cgroup: the limits of both versions, each absent, wider, narrower or unreadable. */
#include "base/mem.h"
#include "base/text.h"
#include "executor/cgroup.h"
#include "executor/walls.h"
#include "hello_sample.h"

/* member NULL: nothing changes; value NULL: the file is missing. Values are JSON. */
struct change_case {
    const char *member;
    const char *value;
    const char *wall; /* that the error names; NULL: accepted */
};

static const struct change_case v1_cases[] = {
    {NULL, NULL, NULL},
    {"memory.limit_in_bytes", "\"536866816\"", NULL}, /* rounded down to a page */
    {"memory.limit_in_bytes", "\"536805376\"", NULL}, /* of 64 KiB */
    {"memory.limit_in_bytes", "\"536805375\"", "memory"},
    {"memory.limit_in_bytes", "\"536870913\"", "memory"},
    {"memory.limit_in_bytes", "\"9223372036854771712\"", "memory"},
    {"memory.limit_in_bytes", "\"99999999999999999999999\"", "memory"},
    {"memory.limit_in_bytes", "\"-1\"", "memory"},
    {"memory.limit_in_bytes", "\"0\"", "memory"},
    {"memory.limit_in_bytes", "\"max\"", "memory"},
    {"memory.limit_in_bytes", "\"\"", "memory"},
    {"memory.limit_in_bytes", "\"536870912x\"", "memory"},
    {"memory.limit_in_bytes", "\"536870912k\"", "memory"},
    {"memory.limit_in_bytes", "\"0x20000000\"", "memory"},
    {"memory.limit_in_bytes", "536870912", "memory"}, /* no text */
    {"memory.limit_in_bytes", "null", "memory"},
    {"memory.limit_in_bytes", NULL, "memory"},
    {"cpu.cfs_quota_us", "\"50000\"", "cpu (thousandths)"},
    {"cpu.cfs_quota_us", "\"200000\"", "cpu (thousandths)"},
    {"cpu.cfs_quota_us", "\"-1\"", "cpu (thousandths)"},
    {"cpu.cfs_quota_us", "\"0\"", "cpu (thousandths)"},
    {"cpu.cfs_quota_us", "\"max\"", "cpu (thousandths)"},
    {"cpu.cfs_quota_us", "\"100000x\"", "cpu (thousandths)"},
    {"cpu.cfs_quota_us", "\"9223372036854775807\"", "cpu (thousandths)"},
    {"cpu.cfs_quota_us", "\"9223372036854775\"", "cpu (thousandths)"},
    {"cpu.cfs_quota_us", "\"9223372036854776\"", "cpu (thousandths)"},
    {"cpu.cfs_quota_us", NULL, "cpu (thousandths)"},
    {"cpu.cfs_period_us", "\"0\"", "cpu (thousandths)"},
    {"cpu.cfs_period_us", "\"-100000\"", "cpu (thousandths)"},
    {"cpu.cfs_period_us", "\"x\"", "cpu (thousandths)"},
    {"cpu.cfs_period_us", NULL, "cpu (thousandths)"},
};

static const struct change_case v2_cases[] = {
    {NULL, NULL, NULL},
    {"memory.max", "\"536866816\"", NULL},
    {"memory.max", "\"1073741824\"", "memory"},
    {"memory.max", "\"268435456\"", "memory"},
    {"memory.max", "\"max\"", "memory"},
    {"memory.max", "\"512x\"", "memory"},
    {"memory.max", NULL, "memory"},
    {"cpu.max", "\"50000 50000\"", NULL},
    {"cpu.max", "\"max 100000\"", "cpu (thousandths)"},
    {"cpu.max", "\"max\"", "cpu (thousandths)"},
    {"cpu.max", "\"100000\"", "cpu (thousandths)"},
    {"cpu.max", "\"100000 \"", "cpu (thousandths)"},
    {"cpu.max", "\"100000 max\"", "cpu (thousandths)"},
    {"cpu.max", "\"100000 0\"", "cpu (thousandths)"},
    {"cpu.max", "\"100000 -1\"", "cpu (thousandths)"},
    {"cpu.max", "\"100000 100000x\"", "cpu (thousandths)"},
    {"cpu.max", "\"200000 100000\"", "cpu (thousandths)"},
    {"cpu.max", "\"50000 100000\"", "cpu (thousandths)"},
    {"cpu.max", "\"\"", "cpu (thousandths)"},
    {"cpu.max", NULL, "cpu (thousandths)"},
};

static const struct change_case pids_cases[] = {
    {"pids.max", "\"max\"", "processes"},   {"pids.max", "\"129\"", "processes"},
    {"pids.max", "\"127\"", "processes"},   {"pids.max", "\"0\"", "processes"},
    {"pids.max", "\"-1\"", "processes"},    {"pids.max", "\"128x\"", "processes"},
    {"pids.max", "\"\"", "processes"},      {"pids.max", "128", "processes"},
    {"pids.max", "[\"128\"]", "processes"}, {"pids.max", NULL, "processes"},
};

static const struct change_case swap_v1_cases[] = {
    {NULL, NULL, NULL},
    {"memory.memsw.limit_in_bytes", "\"536866816\"", NULL},
    {"memory.memsw.limit_in_bytes", "\"1073741824\"", "swap"},
    {"memory.memsw.limit_in_bytes", "\"9223372036854771712\"", "swap"},
    {"memory.memsw.limit_in_bytes", "\"-1\"", "swap"},
    {"memory.memsw.limit_in_bytes", "\"512x\"", "swap"},
    {"memory.memsw.limit_in_bytes", NULL, "swap"},
};

static const struct change_case swap_v2_cases[] = {
    {NULL, NULL, NULL},
    {"memory.swap.max", "\"max\"", "swap"},
    {"memory.swap.max", "\"536870912\"", "swap"},
    {"memory.swap.max", "\"-1\"", "swap"},
    {"memory.swap.max", "\"0x\"", "swap"},
    {"memory.swap.max", "\"\"", "swap"},
    {"memory.swap.max", NULL, "swap"},
};

static int cgroup_check(const cJSON *files, double swap_bytes, const struct spec_profile *asked,
                        struct error *err)
{
    auto_json cJSON *walls = cJSON_CreateArray();

    cgroup_walls(walls, files, swap_bytes, asked);
    assert_int_equal(cJSON_GetArraySize(walls), 4);
    return walls_verdict(walls, err);
}

static void check_case(const char *good, const struct change_case *one, double swap_bytes)
{
    auto_json cJSON *files = parsed(good);
    struct error err = {"untouched"};
    const char *value = one->value ? one->value : "missing";
    auto_free char *wall = NULL;

    if (one->member)
        change(files, one->member, one->value);
    if (!one->wall) {
        if (cgroup_check(files, swap_bytes, &profile, &err) < 0)
            fail_msg("%s %s: %s", one->member ? one->member : "good", value, err.text);
        assert_string_equal(err.text, "untouched");
        return;
    }
    wall = mem_printf("the wall '%s' does not stand: asked for ", one->wall);
    if (cgroup_check(files, swap_bytes, &profile, &err) != -1)
        fail_msg("accepted: %s %s", one->member, value);
    if (strncmp(err.text, wall, strlen(wall)) != 0)
        fail_msg("not the wall '%s': %s", one->wall, err.text);
    if (!strstr(err.text, ", found ") || !strstr(err.text, "; give the engine control "))
        fail_msg("what was found, and the mend: %s", err.text);
    if (!one->value && !strstr(err.text, "cpu") && !strstr(err.text, "found no limit to read"))
        fail_msg("that it is missing: %s", err.text);
    assert_int_equal(cgroup_check(files, swap_bytes, &profile, NULL), -1);
}

static void check_cases(const char *good, const struct change_case *cases, size_t count,
                        double swap_bytes)
{
    for (size_t i = 0; i < count; i++)
        check_case(good, &cases[i], swap_bytes);
}

static void limits_of_version_1(void **state)
{
    (void)state;
    check_cases(cgroup_v1, v1_cases, COUNT(v1_cases), 0);
    check_cases(cgroup_v1, v1_cases, COUNT(v1_cases), 1e12);
    check_cases(cgroup_v1, pids_cases, COUNT(pids_cases), 0);
}

static void limits_of_version_2(void **state)
{
    (void)state;
    check_cases(cgroup_v2, v2_cases, COUNT(v2_cases), 0);
    check_cases(cgroup_v2, v2_cases, COUNT(v2_cases), 1e12);
    check_cases(cgroup_v2, pids_cases, COUNT(pids_cases), 0);
}

/* Where the host has no swap there is none to limit, and some kernels have no file for it. */
static void swap_counts_where_the_host_has_some(void **state)
{
    struct change_case one;

    (void)state;
    check_cases(cgroup_v1, swap_v1_cases, COUNT(swap_v1_cases), 1);
    check_cases(cgroup_v2, swap_v2_cases, COUNT(swap_v2_cases), 4096);
    for (size_t i = 0; i < COUNT(swap_v1_cases); i++) {
        one = swap_v1_cases[i];
        one.wall = NULL;
        check_case(cgroup_v1, &one, 0);
    }
    for (size_t i = 0; i < COUNT(swap_v2_cases); i++) {
        one = swap_v2_cases[i];
        one.wall = NULL;
        check_case(cgroup_v2, &one, 0);
    }
}

/* Both at once: memory of one version does not stand for the other's. */
static void versions_are_not_mixed_up(void **state)
{
    auto_json cJSON *files = parsed(cgroup_v2);
    struct error err = {""};

    (void)state;
    change(files, "memory.limit_in_bytes", "\"9223372036854771712\"");
    assert_int_equal(cgroup_check(files, 0, &profile, &err), -1);
    assert_non_null(strstr(err.text, "'memory'"));
    change(files, "memory.limit_in_bytes", "\"536870912\"");
    assert_int_equal(cgroup_check(files, 1, &profile, &err), -1);
    assert_non_null(strstr(err.text, "'swap'"));
    change(files, "memory.memsw.limit_in_bytes", "\"536870912\"");
    assert_int_equal(cgroup_check(files, 1, &profile, &err), 0);
}

static void no_files_is_no_limit(void **state)
{
    static const char *const texts[] = {"null", "true", "0", "\"memory.max\"", "[]", "{}"};
    struct error err = {""};

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        auto_json cJSON *files = parsed(texts[i]);

        assert_int_equal(cgroup_check(files, 0, &profile, &err), -1);
        assert_non_null(strstr(err.text, "'memory'"));
    }
    assert_int_equal(cgroup_check(NULL, 0, &profile, &err), -1);
}

static void processors_may_be_fractions(void **state)
{
    static const struct {
        int64_t milli;
        const char *v2;
        const char *quota;
        const char *period;
        int result;
    } cases[] = {
        {1, "\"1000 1000000\"", "\"1000\"", "\"1000000\"", 0},
        {10, "\"1000 100000\"", "\"1000\"", "\"100000\"", 0},
        {500, "\"50000 100000\"", "\"50000\"", "\"100000\"", 0},
        {333, "\"33300 100000\"", "\"33300\"", "\"100000\"", 0},
        {333, "\"33333 100000\"", "\"33333\"", "\"100000\"", 0},
        {1500, "\"150000 100000\"", "\"150000\"", "\"100000\"", 0},
        {1500, "\"150100 100000\"", "\"150100\"", "\"100000\"", 0}, /* a rounding */
        {1500, "\"150200 100000\"", "\"150200\"", "\"100000\"", -1},
        {1500, "\"149800 100000\"", "\"149800\"", "\"100000\"", -1},
        {2500, "\"2500 1000\"", "\"2500\"", "\"1000\"", 0},
        {64000, "\"6400000 100000\"", "\"6400000\"", "\"100000\"", 0},
        {500, "\"100000 100000\"", "\"100000\"", "\"100000\"", -1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_json cJSON *v1 = parsed(cgroup_v1);
        auto_json cJSON *v2 = parsed(cgroup_v2);
        struct spec_profile asked = profile;
        struct error err = {""};

        asked.cpus_milli = cases[i].milli;
        change(v1, "cpu.cfs_quota_us", cases[i].quota);
        change(v1, "cpu.cfs_period_us", cases[i].period);
        change(v2, "cpu.max", cases[i].v2);
        if (cgroup_check(v1, 0, &asked, &err) != cases[i].result ||
            cgroup_check(v2, 0, &asked, &err) != cases[i].result)
            fail_msg("case %zu: %s", i, err.text);
    }
}

/* The limits are the profile's, not constants. */
static void other_profiles_have_other_limits(void **state)
{
    auto_json cJSON *files = parsed("{\"memory.max\":\"1099511627776\",\"memory.swap.max\":\"0\","
                                    "\"cpu.max\":\"200000 100000\",\"pids.max\":\"32768\"}");
    const struct spec_profile large = {
        .memory = INT64_C(1) << 40, .cpus_milli = 2000, .pids = 32768};
    struct error err = {""};

    (void)state;
    assert_int_equal(cgroup_check(files, 1, &large, &err), 0);
    assert_int_equal(cgroup_check(files, 1, &profile, &err), -1);
    assert_non_null(strstr(err.text, "asked for 536870912, found 1099511627776; "));
}

/* The image speaks here: its text is quoted, but never at length. */
static void long_texts_are_cut(void **state)
{
    static const char *const members[] = {"memory.max", "memory.swap.max", "pids.max", "cpu.max"};
    static const char *const units[] = {"9", "max\n", "%s%n", "\xc3\xa9", "x\xf0\x9f\x90\x8d"};

    (void)state;
    for (size_t i = 0; i < COUNT(members) * COUNT(units); i++) {
        const char *member = members[i / COUNT(units)], *unit = units[i % COUNT(units)];
        const size_t len = strlen(unit);
        auto_json cJSON *files = parsed(cgroup_v2);
        auto_free char *text = mem_alloc(100000 + len + 1);
        struct error err = {""};

        for (size_t at = 0; at < 100000; at += len)
            memcpy(text + at, unit, len);
        change(files, member, NULL);
        cJSON_AddItemToObject(files, member, cJSON_CreateString(text));
        assert_int_equal(cgroup_check(files, 1, &profile, &err), -1);
        assert_true(strlen(err.text) < 400);
        assert_true(text_is_utf8(err.text, strlen(err.text)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_of_version_1),
        cmocka_unit_test(limits_of_version_2),
        cmocka_unit_test(swap_counts_where_the_host_has_some),
        cmocka_unit_test(versions_are_not_mixed_up),
        cmocka_unit_test(no_files_is_no_limit),
        cmocka_unit_test(processors_may_be_fractions),
        cmocka_unit_test(other_profiles_have_other_limits),
        cmocka_unit_test(long_texts_are_cut),
    };

    return cmocka_run_group_tests_name("cgroup", tests, NULL, NULL);
}
