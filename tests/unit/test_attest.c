/* attest: what a container says of itself against what was asked for. Each wall broken in turn. */
#include <stdbool.h>

#include "base/mem.h"
#include "base/text.h"
#include "executor/attest.h"
#include "hello_sample.h"

static void good_hellos_pass(void **state)
{
    static const struct {
        const char *mounts;
        const char *cgroup;
    } engines[] = {
        {mounts_docker_v1, cgroup_v1}, {mounts_docker_v2, cgroup_v2}, {mounts_crun, cgroup_v2}};

    (void)state;
    for (size_t i = 0; i < COUNT(engines); i++) {
        auto_json cJSON *hello = good_hello(engines[i].mounts, engines[i].cgroup);
        struct error err = {"untouched"};

        if (attest(hello, &profile, &plain, &err) < 0)
            fail_msg("engine %zu: %s", i, err.text);
        assert_string_equal(err.text, "untouched");
        assert_int_equal(attest(hello, &profile, &plain, NULL), 0);
    }
}

static const struct variant {
    const char *in; /* the object that has the member; NULL: the hello */
    const char *member;
    const char *value; /* as JSON; NULL: the member is missing */
} good_variants[] = {
    {NULL, "groups", "[]"},
    {NULL, "interfaces", "[]"},
    {NULL, "python", NULL},
    {NULL, "executable", NULL},
    {NULL, "CapBnd", "\"0\""},
    {NULL, "devices", "[]"},
    {NULL, "devices", "[\"core\",\"null\"]"},
    {NULL, "cgroup_roots", "[]"},
    {NULL, "refused", "{\"bpf\":38}"},
    {NULL, "swap_bytes", "17179869184"},
    {NULL, "swap_bytes", NULL},
    {NULL, "another", "{\"member\":[1]}"},
    {"rlimits", "RLIMIT_AS", NULL},
    {"environ", "HOSTNAME", NULL},
};

static void good_variants_pass(void **state)
{
    struct error err;

    (void)state;
    for (size_t i = 0; i < COUNT(good_variants); i++) {
        const struct variant *one = &good_variants[i];
        auto_json cJSON *hello = hello_v2();

        change(one->in ? json_get_object(hello, one->in) : hello, one->member, one->value);
        if (attest(hello, &profile, &plain, &err) < 0)
            fail_msg("%s: %s", one->member, err.text);
    }
}

static const struct broken {
    const char *in;
    const char *member;
    const char *value;
    const char *wall;  /* as the error names it */
    const char *found; /* what the error quotes, or NULL */
} broken_walls[] = {
    {NULL, "uid", "0", "user", "another"},
    {NULL, "uid", "60602", "user", "another"},
    {NULL, "uid", "60601.5", "user", NULL},
    {NULL, "uid", "\"60601\"", "user", NULL},
    {NULL, "uid", "null", "user", NULL},
    {NULL, "uid", NULL, "user", NULL},
    {NULL, "gid", "0", "user", "another"},
    {NULL, "gid", NULL, "user", NULL},
    {NULL, "groups", "[0]", "groups", "more"},
    {NULL, "groups", "[60601,27]", "groups", "more"},
    {NULL, "groups", "[\"60601\"]", "groups", NULL},
    {NULL, "groups", "[60601.5]", "groups", NULL},
    {NULL, "groups", "60601", "groups", "nothing"},
    {NULL, "groups", NULL, "groups", "nothing"},
    {NULL, "CapEff", "\"00000000a80425fb\"", "CapEff", "00000000a80425fb"},
    {NULL, "CapPrm", "\"0000000000000400\"", "CapPrm", "0000000000000400"},
    {NULL, "CapBnd", "\"000001ffffffffff\"", "CapBnd", "000001ffffffffff"},
    {NULL, "CapInh", "\"0000000000000001\"", "CapInh", "0000000000000001"},
    {NULL, "CapAmb", "\"8000000000000000\"", "CapAmb", "8000000000000000"},
    {NULL, "CapEff", "\"\"", "CapEff", NULL},
    {NULL, "CapEff", "\"0 0\"", "CapEff", "0 0"},
    {NULL, "CapEff", "\"0x0\"", "CapEff", "0x0"},
    {NULL, "CapEff", "0", "CapEff", "nothing"},
    {NULL, "CapEff", NULL, "CapEff", "nothing"},
    {NULL, "CapPrm", NULL, "CapPrm", "nothing"},
    {NULL, "CapBnd", NULL, "CapBnd", "nothing"},
    {NULL, "CapInh", NULL, "CapInh", "nothing"},
    {NULL, "CapAmb", NULL, "CapAmb", "nothing"},
    {NULL, "no_new_privs", "0", "no_new_privs", NULL},
    {NULL, "no_new_privs", "true", "no_new_privs", NULL},
    {NULL, "no_new_privs", NULL, "no_new_privs", NULL},
    {NULL, "seccomp", "0", "seccomp", "another mode"},
    {NULL, "seccomp", "1", "seccomp", "another mode"},
    {NULL, "seccomp", "\"2\"", "seccomp", NULL},
    {NULL, "seccomp", NULL, "seccomp", NULL},
    {NULL, "refused", "{}", "seccomp", "nothing"},
    {NULL, "refused", "[]", "seccomp", "nothing"},
    {NULL, "refused", NULL, "seccomp", "nothing"},
    {"refused", "mount", "0", "seccomp", "mount"}, /* it worked */
    {"refused", "AF_NETLINK", "0", "seccomp", "AF_NETLINK"},
    {"refused", "bpf", "22", "seccomp", "bpf"}, /* the kernel looked at the arguments */
    {"refused", "unshare", "\"1\"", "seccomp", "unshare"},
    {"refused", "unshare", "true", "seccomp", "unshare"},
    {NULL, "hostname", "\"host.example\"", "host name", "host.example"},
    {NULL, "hostname", "\"sandbox2\"", "host name", "sandbox2"},
    {NULL, "hostname", "\"\"", "host name", NULL},
    {NULL, "hostname", NULL, "host name", "nothing"},
    {NULL, "interfaces", "[\"lo\",\"eth0\"]", "network", "eth0"},
    {NULL, "interfaces", "[\"eth0\"]", "network", "eth0"},
    {NULL, "interfaces", "[\"lo0\"]", "network", "lo0"},
    {NULL, "interfaces", "[\"\"]", "network", NULL},
    {NULL, "interfaces", "[1]", "network", "nothing"},
    {NULL, "interfaces", "\"lo\"", "network", "nothing"},
    {NULL, "interfaces", NULL, "network", "nothing"},
    {NULL, "cgroup_roots", "[\"/\",\"/docker/0123\"]", "cgroup namespace", "/docker/0123"},
    {NULL, "cgroup_roots", "[\"/..\"]", "cgroup namespace", "/.."},
    {NULL, "cgroup_roots", NULL, "cgroup namespace", "nothing"},
    {NULL, "devices", "[\"null\",\"sda\"]", "devices", "sda"},
    {NULL, "devices", "[\"kmsg\"]", "devices", "kmsg"},
    {NULL, "devices", "[\"console\"]", "devices", "console"},
    {NULL, "devices", "{}", "devices", "nothing"},
    {NULL, "devices", NULL, "devices", "nothing"},
    {NULL, "unmasked", "[\"/proc/kcore\"]", "masked paths", "/proc/kcore"},
    {NULL, "unmasked", "[\"/proc/sys\",\"/sys/firmware\"]", "masked paths", "/proc/sys"},
    {NULL, "unmasked", NULL, "masked paths", "nothing"},
    {NULL, "environ", NULL, "environment", "nothing"},
    {NULL, "environ", "[]", "environment", "nothing"},
    {NULL, "environ", "{}", "environment", "nothing"},
    {"environ", "HOME", NULL, "environment", "nothing"},
    {"environ", "PATH", NULL, "environment", "nothing"},
    {"environ", "HOME", "\"/root\"", "environment", "HOME"},
    {"environ", "HOME", "\"/workspace/\"", "environment", "HOME"},
    {"environ", "HOME", "null", "environment", "HOME"},
    {"environ", "OMP_NUM_THREADS", "1", "environment", "OMP_NUM_THREADS"},
    {"environ", "HOSTNAME", "\"host\"", "environment", "HOSTNAME"},
    {"environ", "LD_PRELOAD", "\"/x.so\"", "environment", "LD_PRELOAD"},
    {"environ", "HOM", "\"/workspace\"", "environment", "HOM"},
    {"environ", "home", "\"/workspace\"", "environment", "home"},
    {"environ", "", "\"\"", "environment", NULL},
    {NULL, "rlimits", NULL, "RLIMIT_NOFILE", "nothing"},
    {NULL, "rlimits", "[]", "RLIMIT_NOFILE", "nothing"},
    {"rlimits", "RLIMIT_NOFILE", NULL, "RLIMIT_NOFILE", "nothing"},
    {"rlimits", "RLIMIT_NOFILE", "8192", "RLIMIT_NOFILE", "nothing"},
    {"rlimits", "RLIMIT_NOFILE", "[8192]", "RLIMIT_NOFILE", "nothing"},
    {"rlimits", "RLIMIT_NOFILE", "[8192,1048576]", "RLIMIT_NOFILE", "another limit"},
    {"rlimits", "RLIMIT_NOFILE", "[1048576,8192]", "RLIMIT_NOFILE", "another limit"},
    {"rlimits", "RLIMIT_NOFILE", "[-1,-1]", "RLIMIT_NOFILE", "another limit"},
    {"rlimits", "RLIMIT_NOFILE", "[\"8192\",\"8192\"]", "RLIMIT_NOFILE", "another limit"},
    {"rlimits", "RLIMIT_CORE", "[0,-1]", "RLIMIT_CORE", "another limit"},
    {"rlimits", "RLIMIT_CORE", "[-1,-1]", "RLIMIT_CORE", "another limit"},
    {"rlimits", "RLIMIT_CORE", NULL, "RLIMIT_CORE", "nothing"},
    {"rlimits", "RLIMIT_MEMLOCK", "[65536,-1]", "RLIMIT_MEMLOCK", "another limit"},
    {"rlimits", "RLIMIT_MEMLOCK", NULL, "RLIMIT_MEMLOCK", "nothing"},
    {"rlimits", "RLIMIT_NICE", "[0,20]", "RLIMIT_NICE", "another limit"},
    {"rlimits", "RLIMIT_NICE", NULL, "RLIMIT_NICE", "nothing"},
    {"rlimits", "RLIMIT_RTPRIO", "[0,99]", "RLIMIT_RTPRIO", "another limit"},
    {"rlimits", "RLIMIT_RTPRIO", NULL, "RLIMIT_RTPRIO", "nothing"},
    {NULL, "resolver", "false", "localhost", NULL},
    {NULL, "resolver", "1", "localhost", NULL},
    {NULL, "resolver", NULL, "localhost", NULL},
    {NULL, "mountinfo", "[]", "mounts", "nothing"},
    {NULL, "mountinfo", NULL, "mounts", "nothing"},
    {NULL, "cgroup", "[]", "memory", "no limit to read"},
    {NULL, "cgroup", NULL, "memory", "no limit to read"},
    {"cgroup", "memory.max", "\"max\"", "memory", "max"},
    {"cgroup", "pids.max", "\"max\"", "processes", "max"},
    {"cgroup", "cpu.max", "\"max 100000\"", "cpu (thousandths)", "max 100000"},
};

static void expect_broken(const cJSON *hello, const struct broken *broken)
{
    auto_free char *wall = mem_printf("the wall '%s' does not stand: asked for ", broken->wall);
    auto_free char *found = broken->found ? mem_printf(", found %s; ", broken->found) : NULL;
    struct error err = {""};
    const char *mend;

    if (attest(hello, &profile, &plain, &err) != -1)
        fail_msg("accepted: %s %s", broken->member, broken->value ? broken->value : "is missing");
    if (strncmp(err.text, wall, strlen(wall)) != 0)
        fail_msg("%s: not the wall '%s': %s", broken->member, broken->wall, err.text);
    if (found && !strstr(err.text, found))
        fail_msg("%s: the error lacks '%s': %s", broken->member, found, err.text);
    mend = strstr(err.text, "; ");
    if (!mend || !strstr(err.text, ", found ") || strlen(mend) < 10)
        fail_msg("what was found, and the mend: %s", err.text);
    assert_int_equal(attest(hello, &profile, &plain, NULL), -1);
}

static void broken_walls_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(broken_walls); i++) {
        const struct broken *one = &broken_walls[i];
        auto_json cJSON *hello = hello_v2();

        change(one->in ? json_get_object(hello, one->in) : hello, one->member, one->value);
        expect_broken(hello, one);
    }
}

static void other_mounts_are_named(void **state)
{
    auto_free char *more =
        mem_printf("%s9 1 8:1 / /mnt rw - ext4 /dev/sda1 rw\n", mounts_docker_v2);
    auto_json cJSON *hello = good_hello(more, cgroup_v2);
    struct error err = {""};

    (void)state;
    assert_int_equal(attest(hello, &profile, &plain, &err), -1);
    assert_non_null(strstr(err.text, "the wall 'mounts' does not stand: nobody asked for a ext4"));
}

/* A host that cannot be asked for its swap counts as one that has some. */
static void swap_is_refused_where_the_host_has_some(void **state)
{
    static const char *const swaps[] = {"1", "17179869184", "\"0\"", "null", NULL};
    static const struct broken wall = {"cgroup", "memory.swap.max", NULL, "swap",
                                       "no limit to read"};

    (void)state;
    for (size_t i = 0; i < COUNT(swaps); i++) {
        auto_json cJSON *hello = hello_v2();

        change(json_get_object(hello, "cgroup"), "memory.swap.max", NULL);
        assert_int_equal(attest(hello, &profile, &plain, NULL), 0);
        change(hello, "swap_bytes", swaps[i]);
        expect_broken(hello, &wall);
    }
}

static void no_object_is_no_hello(void **state)
{
    static const char *const texts[] = {"null", "true", "0", "\"uid\"", "[]", "{}"};

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        auto_json cJSON *hello = parsed(texts[i]);
        struct error err = {""};

        assert_int_equal(attest(hello, &profile, &plain, &err), -1);
        assert_non_null(strstr(err.text, "'user'"));
    }
    assert_int_equal(attest(NULL, &profile, &plain, NULL), -1);
}

/* The image speaks here: its text is quoted, but never at length. */
static void long_texts_are_cut(void **state)
{
    static const char *const members[] = {"CapEff", "hostname", "mountinfo"};
    static const char *const units[] = {"f", "\xc3\xa9", "x\xf0\x9f\x90\x8d", "%s%n"};

    (void)state;
    for (size_t i = 0; i < COUNT(members) * COUNT(units); i++) {
        const char *member = members[i / COUNT(units)], *unit = units[i % COUNT(units)];
        const size_t len = strlen(unit);
        auto_json cJSON *hello = hello_v2();
        auto_free char *text = mem_alloc(100000 + len + 1);
        struct error err = {""};

        for (size_t at = 0; at < 100000; at += len)
            memcpy(text + at, unit, len);
        change(hello, member, NULL);
        cJSON_AddItemToObject(hello, member, cJSON_CreateString(text));
        assert_int_equal(attest(hello, &profile, &plain, &err), -1);
        assert_true(strlen(err.text) < 500);
        assert_true(text_is_utf8(err.text, strlen(err.text)));
        change(hello, member, NULL);
        change(json_get_object(hello, "environ"), text, "\"x\"");
        assert_int_equal(attest(hello, &profile, &plain, &err), -1);
        assert_true(strlen(err.text) < 600);
    }
}

/* The limits are the profile's, not constants. */
static void other_profiles_have_other_limits(void **state)
{
    struct spec_instance neighbour = plain;
    struct spec_profile other = profile;
    auto_json cJSON *hello = hello_v2();
    struct error err = {""};

    (void)state;
    other.memory *= 2;
    assert_int_equal(attest(hello, &other, &plain, &err), -1);
    assert_non_null(strstr(err.text, "'memory'"));
    other = profile;
    other.pids *= 2;
    assert_int_equal(attest(hello, &other, &plain, &err), -1);
    assert_non_null(strstr(err.text, "'processes'"));
    other = profile;
    other.workspace /= 2;
    assert_int_equal(attest(hello, &other, &plain, &err), -1);
    assert_non_null(strstr(err.text, "'mounts'"));
    other = profile;
    other.cpus_milli = 2000; /* OMP_NUM_THREADS follows it */
    assert_int_equal(attest(hello, &other, &plain, &err), -1);
    assert_non_null(strstr(err.text, "found OMP_NUM_THREADS"));
    neighbour.uid++;
    assert_int_equal(attest(hello, &profile, &neighbour, &err), -1);
    assert_non_null(strstr(err.text, "'user'"));
}

#define CARD "[\"null\",\"nvidia0\",\"nvidiactl\",\"nvidia-uvm\"]"

static void gpus_are_there_where_granted_and_nowhere_else(void **state)
{
    static const struct {
        const char *devices;
        const char *variable; /* the value of NVIDIA_VISIBLE_DEVICES; NULL: not set */
        bool granted;
        const char *says; /* NULL: good */
    } rows[] = {
        {CARD, "\"0,1\"", true, NULL},
        {CARD, NULL, true, NULL},
        {"[\"null\"]", "\"0,1\"", true, "'gpus' does not stand: asked for 2, found no device"},
        {"[\"nvidiactl\"]", NULL, true, "'gpus' does not stand"},
        {"[\"nvidia0\",\"nvidiactl\",\"sda\"]", NULL, true, "'devices' does not stand"},
        {CARD, "\"all\"", true, "found NVIDIA_VISIBLE_DEVICES"},
        {CARD, NULL, false, "'devices' does not stand: asked for the usual ones alone, found nvid"},
        {"[\"null\"]", "\"0,1\"", false, "found NVIDIA_VISIBLE_DEVICES"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        auto_json cJSON *hello = hello_v2();
        struct spec_profile asked = profile;
        struct error err = {""};
        int r;

        if (rows[i].granted) {
            asked.gpus = (struct grants_gpus){.kind = GRANTS_GPUS_COUNT, .count = 2};
            change(json_get_object(hello, "environ"), "NVIDIA_DRIVER_CAPABILITIES",
                   "\"compute,utility\"");
        }
        change(hello, "devices", rows[i].devices);
        if (rows[i].variable)
            change(json_get_object(hello, "environ"), "NVIDIA_VISIBLE_DEVICES", rows[i].variable);
        r = attest(hello, &asked, &plain, &err);
        if (r != (rows[i].says ? -1 : 0) || (rows[i].says && !strstr(err.text, rows[i].says)))
            fail_msg("row %zu: %s", i, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_hellos_pass),
        cmocka_unit_test(good_variants_pass),
        cmocka_unit_test(broken_walls_are_named),
        cmocka_unit_test(other_mounts_are_named),
        cmocka_unit_test(swap_is_refused_where_the_host_has_some),
        cmocka_unit_test(no_object_is_no_hello),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(other_profiles_have_other_limits),
        cmocka_unit_test(gpus_are_there_where_granted_and_nowhere_else),
    };

    return cmocka_run_group_tests_name("attest", tests, NULL, NULL);
}
