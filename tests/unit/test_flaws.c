/* flaws and about: versions as engines tell them, and what an engine says of itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "executor/about.h"
#include "executor/flaws.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void versions_are_compared_by_branch(void **state)
{
    static const struct flaw one = {"x", "n", "w", {"1.1.12"}};
    static const struct flaw three = {"x", "n", "w", {"1.2.8", "1.3.3", "1.4.0"}};
    static const struct {
        const struct flaw *flaw;
        const char *version;
        bool touched;
    } cases[] = {
        {&one, "1.1.11", true},
        {&one, "1.1.12", false},
        {&one, "1.1.5+ds1", true},
        {&one, "1.1.5+ds1-1+deb12u1", true},
        {&one, "v1.1.13", false},
        {&one, "1.1", true},
        {&one, "1.2.0", false},
        {&one, "1.0.3", true},
        {&one, "0.9", true},
        {&one, "2", false},
        {&one, "1.1.12-rc.1", true},
        {&one, "1.1.12~rc1", true},
        {&one, "", false},
        {&one, "unknown", false},
        {&one, "-1", false},
        {&three, "1.1.15", true},
        {&three, "1.2.7", true},
        {&three, "1.2.8", false},
        {&three, "1.2.10", false},
        {&three, "1.3.2", true},
        {&three, "1.3.3", false},
        {&three, "1.4.0-rc.2", true},
        {&three, "1.4.0", false},
        {&three, "1.5.0-rc.1", false},
        {&three, "99999999999999999999.0.0", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (flaws_touch(cases[i].flaw, cases[i].version) != cases[i].touched)
            fail_msg("%s: not %d", cases[i].version, cases[i].touched);
    }
}

static void the_table_is_whole(void **state)
{
    const struct flaw *flaw;
    size_t count = 0;

    (void)state;
    for (; (flaw = flaws_at(count)); count++) {
        assert_true(*flaw->part && *flaw->what);
        assert_int_equal(strncmp(flaw->name, "CVE-", 4), 0);
        assert_non_null(flaw->fixed[0]);
        assert_true(flaws_touch(flaw, "0.1.0"));
        assert_false(flaws_touch(flaw, "99.0.0"));
        for (size_t i = 0; i < COUNT(flaw->fixed) && flaw->fixed[i]; i++)
            assert_false(flaws_touch(flaw, flaw->fixed[i]));
    }
    assert_true(count > 0);
}

static cJSON *parsed(const char *text)
{
    cJSON *json = json_parse(text, strlen(text), NULL);

    assert_non_null(json);
    return json;
}

static void docker_is_understood(void **state)
{
    auto_json cJSON *version =
        parsed("{\"Components\":[{\"Name\":\"Engine\",\"Version\":\"20.10.24+dfsg1\"},"
               "{\"Name\":\"containerd\",\"Version\":\"v1.7.24\"},"
               "{\"Name\":\"runc\",\"Version\":\"1.1.5+ds1\"}]}");
    auto_json cJSON *info =
        parsed("{\"CgroupVersion\":\"2\",\"CgroupDriver\":\"systemd\",\"Driver\":\"overlay2\","
               "\"NCPU\":4,\"OperatingSystem\":\"Debian\",\"KernelVersion\":\"6.1\","
               "\"DefaultRuntime\":\"runc\",\"Runtimes\":{\"nvidia\":{},\"runc\":{}},"
               "\"SecurityOptions\":[\"name=apparmor\",\"name=seccomp,profile=builtin\","
               "\"name=rootless\",7,\"selinux\"]}");
    struct about about;

    (void)state;
    memset(&about, 'x', sizeof(about));
    about_version(&about, version);
    about_info(&about, info);
    assert_string_equal(about.runc, "1.1.5+ds1");
    assert_string_equal(about.containerd, "1.7.24");
    assert_string_equal(about.toolkit, "");
    assert_string_equal(about.cgroup_version, "2");
    assert_string_equal(about.cgroup_driver, "systemd");
    assert_string_equal(about.storage, "overlay2");
    assert_string_equal(about.security, "apparmor, seccomp, rootless, selinux");
    assert_string_equal(about.runtime, "runc");
    assert_string_equal(about.runtimes, "nvidia, runc");
    assert_string_equal(about.system, "Debian");
    assert_string_equal(about.kernel, "6.1");
    assert_int_equal(about.processors, 4);
}

static void podman_is_understood(void **state)
{
    auto_json cJSON *version = parsed(
        "{\"Components\":[{\"Name\":\"Podman Engine\",\"Version\":\"4.3.1\"},"
        "{\"Name\":\"Conmon\",\"Version\":\"conmon version 2.1.6\"},"
        "{\"Name\":\"OCI Runtime (runc)\",\"Version\":\"runc version 1.1.5\\ncommit: x\"}]}");
    struct about about = {.containerd = "1"};

    (void)state;
    about_version(&about, version);
    assert_string_equal(about.runc, "1.1.5");
    assert_string_equal(about.containerd, "");
}

static void what_is_absent_is_empty(void **state)
{
    static const char *const texts[] = {"null", "[]", "{}", "{\"Components\":[{}],\"Runtimes\":[]}",
                                        "{\"Components\":[{\"Name\":\"runc\"}],\"NCPU\":\"x\"}"};

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        auto_json cJSON *json = parsed(texts[i]);
        struct about about;

        memset(&about, 'x', sizeof(about));
        about_version(&about, json);
        about_info(&about, json);
        assert_string_equal(about.runc, "");
        assert_string_equal(about.security, "");
        assert_string_equal(about.runtimes, "");
        assert_string_equal(about.kernel, "");
        assert_int_equal(about.processors, 0);
        assert_int_equal(about.clock, 0);
    }
}

static void the_clock_is_read(void **state)
{
    static const struct {
        const char *text;
        int64_t clock;
    } rows[] = {
        {"2026-11-29T21:04:31.123456789Z", 1795986271},
        {"2026-11-29T21:04:31Z", 1795986271},
        {"2026-11-29T22:04:31.5+01:00", 1795986271},
        {"2026-11-29T15:34:31-05:30", 1795986271},
        {"2026-11-29T21:04:31", 0},
        {"2026-11-29T21:04:31+0100", 0},
        {"2026-11-29T21:04:31+01:00x", 0},
        {"2026-11-29T21:04:31.5", 0},
        {"2026-11-29 21:04:31Z", 0},
        {"now", 0},
        {"", 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        auto_json cJSON *info = cJSON_CreateObject();
        struct about about;

        cJSON_AddStringToObject(info, "SystemTime", rows[i].text);
        about_info(&about, info);
        assert_int_equal(about.clock, rows[i].clock);
    }
}

static void long_texts_are_cut(void **state)
{
    auto_json cJSON *info = cJSON_CreateObject();
    cJSON *options = cJSON_AddArrayToObject(info, "SecurityOptions");
    char text[1000];
    struct about about;

    (void)state;
    memset(text, 'y', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    cJSON_AddStringToObject(info, "Driver", text);
    for (int i = 0; i < 100; i++)
        cJSON_AddItemToArray(options, cJSON_CreateString(text));
    about_info(&about, info);
    assert_int_equal(strlen(about.storage), sizeof(about.storage) - 1);
    assert_int_equal(strlen(about.security), sizeof(about.security) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_are_compared_by_branch),
        cmocka_unit_test(the_table_is_whole),
        cmocka_unit_test(docker_is_understood),
        cmocka_unit_test(the_clock_is_read),
        cmocka_unit_test(podman_is_understood),
        cmocka_unit_test(what_is_absent_is_empty),
        cmocka_unit_test(long_texts_are_cut),
    };

    return cmocka_run_group_tests_name("flaws", tests, NULL, NULL);
}
