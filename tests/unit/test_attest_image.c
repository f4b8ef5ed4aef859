/* attest: what the image, or somebody else, adds to a container. */
#include <stdbool.h>

#include "base/mem.h"
#include "executor/attest.h"
#include "hello_sample.h"

/* A variable that was put in by somebody else may be a secret: its name is told, never its value.
 */
static void values_of_variables_are_never_told(void **state)
{
    static const char *const names[] = {"HTTP_PROXY", "https_proxy", "AWS_SECRET_ACCESS_KEY",
                                        "container",  "HOME",        "PATH",
                                        "HOSTNAME"};

    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        auto_json cJSON *hello = hello_v2();
        struct error err = {""};

        change(json_get_object(hello, "environ"), names[i], "\"http://u:hunter2@proxy:3128\"");
        assert_int_equal(attest(hello, &profile, &plain, &err), -1);
        assert_non_null(strstr(err.text, "the wall 'environment' does not stand: "));
        assert_non_null(strstr(err.text, names[i]));
        assert_null(strstr(err.text, "hunter2"));
        assert_null(strstr(err.text, "3128"));
    }
}

static void the_images_variables_are_expected(void **state)
{
    static const struct {
        const char *name;
        const char *value;
        bool good;
    } cases[] = {
        {"GPG_KEY", "\"7169\"", true},
        {"GPG_KEY", "\"7168\"", false},
        {"EMPTY", "\"\"", true},
        {"EMPTY", "\"x\"", false},
        {"EQUAL", "\"a=b=c\"", true},
        {"EQUAL", "\"a\"", false},
        {"HOSTNAME", "\"own\"", true},
        {"HOSTNAME", "\"sandbox\"", false},
        {"LANG", "\"C.UTF-8\"", true},
        {"LANG", "\"de_DE\"", false}, /* the profile's stands above the image's */
        {"PATH", "\"/opt/python/bin:/bin\"", true},
        {"PATH", "\"/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin\"", false},
        {"NONE", "\"\"", false},
        {"GPG", "\"_KEY=7169\"", false},
        {"OTHER", "\"x\"", false},
    };
    auto_json cJSON *env = parsed("[\"PATH=/opt/python/bin:/bin\",\"GPG_KEY=7169\",\"EMPTY=\","
                                  "\"EQUAL=a=b=c\",\"HOSTNAME=own\",\"LANG=de_DE\",\"NONE\",1,"
                                  "null,{\"OTHER=x\":1}]");
    struct spec_instance one = plain;

    (void)state;
    one.image_env = env;
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_json cJSON *hello = hello_v2();
        cJSON *environ_said = json_get_object(hello, "environ");
        struct error err = {""};

        change(environ_said, "PATH", "\"/opt/python/bin:/bin\"");
        change(environ_said, "HOSTNAME", "\"own\"");
        change(environ_said, cases[i].name, cases[i].value);
        if ((attest(hello, &profile, &one, &err) == 0) != cases[i].good)
            fail_msg("%s=%s: %s", cases[i].name, cases[i].value, err.text);
        if (!cases[i].good)
            assert_non_null(strstr(err.text, cases[i].name));
    }
}

static void the_images_volumes_are_expected(void **state)
{
    auto_free char *mounts =
        mem_printf("%s9 1 0:9 / /data ro,nosuid,nodev,noexec - tmpfs t rw\n", mounts_docker_v2);
    auto_json cJSON *hello = good_hello(mounts, cgroup_v2);
    auto_json cJSON *volumes = parsed("{\"/data\":{},\"/never/mounted\":{}}");
    struct spec_instance one = plain;
    struct error err = {""};

    (void)state;
    assert_int_equal(attest(hello, &profile, &one, &err), -1);
    assert_non_null(strstr(err.text, "a tmpfs at /data; "));
    one.image_volumes = volumes;
    if (attest(hello, &profile, &one, &err) < 0)
        fail_msg("%s", err.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_variables_are_never_told),
        cmocka_unit_test(the_images_variables_are_expected),
        cmocka_unit_test(the_images_volumes_are_expected),
    };

    return cmocka_run_group_tests_name("attest_image", tests, NULL, NULL);
}
