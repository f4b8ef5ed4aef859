/* spec: the body of a container's creation against a golden file, member by member. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"
#include "executor/spec.h"
#include "profile_sample.h"
#include "sandbox/supervisor.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

#define GOLDEN   "tests/unit/golden/spec_default.json"
#define FILE_MAX (1024 * 1024)

static struct spec_instance instance(void)
{
    return (struct spec_instance){
        .image_id = "sha256:0123",
        .seccomp = "{\"defaultAction\":\"SCMP_ACT_ERRNO\"}",
        .owner = "pid=1 start=2 boot=b pidns=3",
        .uid = 60601,
    };
}

static cJSON *parsed(const char *text, const char *what)
{
    struct error err;
    cJSON *json = json_parse(text, strlen(text), &err);

    if (!json)
        fail_msg("%s: %s", what, err.text);
    return json;
}

static cJSON *body_of(const struct spec_profile *asked, const struct spec_instance *one)
{
    auto_free char *text = spec_body(asked, one);

    return parsed(text, "the body");
}

static cJSON *host_of(const cJSON *body)
{
    cJSON *host = json_get_object(body, "HostConfig");

    assert_non_null(host);
    return host;
}

/* Puts a placeholder where a long text is, once that text was compared. */
static void replace(cJSON *array, int index, const char *expected, const char *placeholder)
{
    cJSON *item = cJSON_GetArrayItem(array, index);

    assert_true(cJSON_IsString(item));
    assert_string_equal(item->valuestring, expected);
    assert_true(cJSON_ReplaceItemInArray(array, index, cJSON_CreateString(placeholder)));
}

static void add_line(struct buf *out, const char *mark, const char *path, const cJSON *value)
{
    char *text = cJSON_PrintUnformatted(value);

    assert_int_equal(buf_addf(out, "  %s %s: %s\n", mark, path, text), 0);
    cJSON_free(text);
}

/* "- path: golden value" and "+ path: value" for each difference; order counts in arrays only. */
static void compare(struct buf *out, const char *path, const cJSON *golden, const cJSON *got)
{
    const cJSON *item;
    int index = 0;

    if ((cJSON_IsObject(golden) && cJSON_IsObject(got)) ||
        (cJSON_IsArray(golden) && cJSON_IsArray(got))) {
        bool object = cJSON_IsObject(golden);

        cJSON_ArrayForEach(item, golden)
        {
            auto_free char *below = object ? mem_printf("%s.%s", path, item->string)
                                           : mem_printf("%s[%d]", path, index);
            const cJSON *other =
                object ? json_get(got, item->string) : cJSON_GetArrayItem(got, index);

            if (other)
                compare(out, below, item, other);
            else
                add_line(out, "-", below, item);
            index++;
        }
        index = 0;
        cJSON_ArrayForEach(item, got)
        {
            auto_free char *below = object ? mem_printf("%s.%s", path, item->string)
                                           : mem_printf("%s[%d]", path, index);

            if (object ? !json_get(golden, item->string) : !cJSON_GetArrayItem(golden, index))
                add_line(out, "+", below, item);
            index++;
        }
    } else if (!cJSON_Compare(golden, got, true)) {
        add_line(out, "-", path, golden);
        add_line(out, "+", path, got);
    }
}

static void default_body_is_the_golden_one(void **state)
{
    auto_free char *golden_text = fd_read_file(GOLDEN, FILE_MAX, NULL);
    struct spec_instance one = instance();
    auto_json cJSON *body = body_of(&profile, &one);
    auto_json cJSON *golden = NULL;
    auto_buf struct buf difference;

    (void)state;
    if (!golden_text)
        fail_msg("run this in the top folder of the source: no " GOLDEN);
    golden = parsed(golden_text, GOLDEN);
    replace(json_get_array(body, "Cmd"), 3, supervisor_py, "SUPERVISOR");
    replace(json_get_array(host_of(body), "SecurityOpt"), 1,
            "seccomp={\"defaultAction\":\"SCMP_ACT_ERRNO\"}", "seccomp=PROFILE");
    buf_init(&difference, FILE_MAX);
    compare(&difference, "", golden, body);
    if (difference.len)
        fail_msg("the body differs from " GOLDEN " (-):\n%s", difference.data);
}

static bool is_in(const char *text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i], text) == 0)
            return true;
    }
    return false;
}

/* Whatever grants more than these must be added here on purpose. */
static void no_member_is_there_by_accident(void **state)
{
    static const char *const body_members[] = {
        "Image",           "Entrypoint",   "Cmd",       "User",
        "WorkingDir",      "Hostname",     "Env",       "Healthcheck",
        "NetworkDisabled", "Tty",          "OpenStdin", "AttachStdin",
        "AttachStdout",    "AttachStderr", "StdinOnce", "Labels",
        "HostConfig",
    };
    static const char *const host_members[] = {
        "NetworkMode", "IpcMode",   "CgroupnsMode", "ReadonlyRootfs", "Privileged", "CapDrop",
        "SecurityOpt", "Init",      "AutoRemove",   "LogConfig",      "Sysctls",    "Memory",
        "MemorySwap",  "PidsLimit", "NanoCpus",     "Ulimits",        "ShmSize",    "Tmpfs",
    };
    struct spec_instance one = instance();
    auto_json cJSON *volumes = parsed("{\"/data\":{}}", "volumes");
    auto_json cJSON *body = NULL;
    const cJSON *item;

    (void)state;
    one.image_volumes = volumes;
    body = body_of(&profile, &one);
    assert_null(json_duplicate(body));
    assert_null(json_duplicate(host_of(body)));
    cJSON_ArrayForEach(item, body)
    {
        if (!is_in(item->string, body_members, COUNT(body_members)))
            fail_msg("%s is not on the list", item->string);
    }
    cJSON_ArrayForEach(item, host_of(body))
    {
        if (!is_in(item->string, host_members, COUNT(host_members)))
            fail_msg("HostConfig.%s is not on the list", item->string);
    }
}

/* How often the environment sets the name; *ret_value is its last value. */
static int env_count(const cJSON *body, const char *name, const char **ret_value)
{
    size_t len = strlen(name);
    const cJSON *item;
    int count = 0;

    cJSON_ArrayForEach(item, json_get_array(body, "Env"))
    {
        if (strncmp(item->valuestring, name, len) == 0 && item->valuestring[len] == '=') {
            *ret_value = item->valuestring + len + 1;
            count++;
        }
    }
    return count;
}

static void the_images_path_is_kept(void **state)
{
    static const struct {
        const char *env; /* of the image; NULL: none */
        int paths;       /* that the body sets */
    } images[] = {
        {NULL, 1},
        {"[]", 1},
        {"[\"PATH=/opt/python/bin:/bin\"]", 0},
        {"[\"LANG=C\",\"PATH=\"]", 0},
        {"[\"PATHS=/x\",\"PYTHONPATH=/y\"]", 1},
        {"[1,null,{\"PATH=\":1}]", 1},
        {"[\"PATH\"]", 1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(images); i++) {
        auto_json cJSON *env = images[i].env ? parsed(images[i].env, "the image's Env") : NULL;
        struct spec_instance one = instance();
        auto_json cJSON *body = NULL;
        const char *path = NULL;

        one.image_env = env;
        body = body_of(&profile, &one);
        if (env_count(body, "PATH", &path) != images[i].paths)
            fail_msg("PATH of an image with %s: %s", images[i].env, path);
        if (path)
            assert_non_null(strstr(path, "/usr/local/bin:"));
        assert_int_equal(env_count(body, "HOME", &path), 1);
        assert_string_equal(path, "/workspace");
    }
}

static void threads_follow_the_processors(void **state)
{
    static const struct {
        int64_t milli;
        const char *threads;
    } cpus[] = {{100, "1"}, {1000, "1"}, {1001, "2"}, {2500, "3"}, {64000, "64"}};
    static const char *const names[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                        "MKL_NUM_THREADS", "NUMEXPR_MAX_THREADS"};

    (void)state;
    for (size_t i = 0; i < COUNT(cpus); i++) {
        struct spec_instance one = instance();
        struct spec_profile asked = profile;
        auto_json cJSON *body = NULL;
        int64_t nano;

        asked.cpus_milli = cpus[i].milli;
        body = body_of(&asked, &one);
        assert_true(json_get_int(host_of(body), "NanoCpus", &nano));
        assert_int_equal(nano, cpus[i].milli * 1000000);
        for (size_t j = 0; j < COUNT(names); j++) {
            const char *value = NULL;

            assert_int_equal(env_count(body, names[j], &value), 1);
            assert_string_equal(value, cpus[i].threads);
        }
    }
}

static void limits_are_the_profiles(void **state)
{
    const struct spec_profile large = {.memory = INT64_C(1) << 40,
                                       .cpus_milli = 1024000,
                                       .pids = 32768,
                                       .workspace = INT64_C(1) << 40,
                                       .tmp = INT64_C(123456789012),
                                       .shm = INT64_C(98765432109)};
    struct spec_instance one = instance();
    auto_json cJSON *body = body_of(&large, &one);
    const cJSON *host = host_of(body), *tmpfs = json_get_object(host, "Tmpfs");
    int64_t number;

    (void)state;
    assert_true(json_get_int(host, "Memory", &number) && number == large.memory);
    assert_true(json_get_int(host, "MemorySwap", &number) && number == large.memory);
    assert_true(json_get_int(host, "PidsLimit", &number) && number == large.pids);
    assert_true(json_get_int(host, "NanoCpus", &number) && number == 1024000000000);
    assert_true(json_get_int(host, "ShmSize", &number) && number == large.shm);
    assert_non_null(strstr(json_get_text(tmpfs, "/workspace"), ",size=1099511627776,"));
    assert_non_null(strstr(json_get_text(tmpfs, "/tmp"), ",size=123456789012,"));
}

static void volumes_are_covered(void **state)
{
    auto_json cJSON *volumes =
        parsed("{\"/data\":{},\"/workspace\":{},\"/tmp\":{},\"/var/lib/x\":{},\"/a b\":{}}", "");
    struct spec_instance one = instance();
    auto_json cJSON *plain = body_of(&profile, &one);
    const cJSON *plain_tmpfs = json_get_object(host_of(plain), "Tmpfs");
    static const char *const read_only[] = {"/data", "/var/lib/x", "/a b"};
    static const char *const kept[] = {"/workspace", "/tmp"};
    auto_json cJSON *body = NULL;
    const cJSON *tmpfs;

    (void)state;
    one.image_volumes = volumes;
    body = body_of(&profile, &one);
    tmpfs = json_get_object(host_of(body), "Tmpfs");
    assert_null(json_duplicate(tmpfs));
    assert_int_equal(cJSON_GetArraySize(tmpfs), COUNT(read_only) + COUNT(kept));
    for (size_t i = 0; i < COUNT(read_only); i++)
        assert_string_equal(json_get_text(tmpfs, read_only[i]),
                            "ro,nosuid,nodev,noexec,size=4096,nr_inodes=1");
    for (size_t i = 0; i < COUNT(kept); i++)
        assert_string_equal(json_get_text(tmpfs, kept[i]), json_get_text(plain_tmpfs, kept[i]));
}

static void the_user_is_the_containers_own(void **state)
{
    struct spec_instance one = instance();
    auto_json cJSON *body = NULL;
    const char *workspace;

    (void)state;
    one.uid = 65499;
    body = body_of(&profile, &one);
    assert_string_equal(json_get_text(body, "User"), "65499:65499");
    workspace = json_get_text(json_get_object(host_of(body), "Tmpfs"), "/workspace");
    assert_non_null(strstr(workspace, ",mode=0700,uid=65499,gid=65499"));
}

static void names_carry_the_user(void **state)
{
    char name[SPEC_NAME_MAX];

    (void)state;
    spec_name(60600, name);
    assert_string_equal(name, "python-sandbox-60600");
    spec_name(INT64_MIN, name);
    assert_string_equal(name, "python-sandbox--9223372036854775808");
}

/* Text from outside cannot become a member of its own. */
static void odd_texts_stay_texts(void **state)
{
    static const char odd[] = "\",\"Privileged\":true,\"x\":\"\\\n\x01\x7f\xc3\xa9";
    struct spec_instance one = instance();
    auto_json cJSON *volumes = cJSON_CreateObject();
    auto_json cJSON *body = NULL;
    bool privileged;

    (void)state;
    cJSON_AddItemToObject(volumes, odd, cJSON_CreateObject());
    one.image_volumes = volumes;
    one.image_id = one.owner = one.seccomp = odd;
    body = body_of(&profile, &one);
    assert_string_equal(json_get_text(body, "Image"), odd);
    assert_string_equal(json_get_text(json_get_object(body, "Labels"), "python-sandbox.owner"),
                        odd);
    assert_non_null(json_get_text(json_get_object(host_of(body), "Tmpfs"), odd));
    privileged = cJSON_IsTrue(json_get(host_of(body), "Privileged"));
    assert_false(privileged);
    assert_null(json_get(body, "Privileged"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_body_is_the_golden_one),
        cmocka_unit_test(no_member_is_there_by_accident),
        cmocka_unit_test(the_images_path_is_kept),
        cmocka_unit_test(threads_follow_the_processors),
        cmocka_unit_test(limits_are_the_profiles),
        cmocka_unit_test(volumes_are_covered),
        cmocka_unit_test(the_user_is_the_containers_own),
        cmocka_unit_test(names_carry_the_user),
        cmocka_unit_test(odd_texts_stay_texts),
    };

    return cmocka_run_group_tests_name("spec", tests, NULL, NULL);
}
