/* spec: what a profile's exec, runtime, preload and sizes change in the body of a container, and
 * that they change nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"
#include "executor/spec.h"

#define GOLDEN   "tests/unit/golden/spec_shaped.json"
#define FILE_MAX (1024 * 1024)
#define MIB      (1024 * 1024)

static const struct spec_profile plain = {.memory = 1 << 29, .cpus_milli = 1000, .pids = 128};

static cJSON *body_of(const struct spec_profile *profile)
{
    const struct spec_instance one = {
        .image_id = "sha256:0123", .seccomp = "{}", .owner = "x", .uid = 60601};
    auto_free char *text = spec_body(profile, &one);
    cJSON *body = json_parse(text, strlen(text), NULL);

    assert_non_null(body);
    return body;
}

/* The member must be golden; then it becomes that of the plain body. */
static void settle(cJSON *object, const cJSON *plain_object, const char *name, const cJSON *golden)
{
    const cJSON *before = json_get(plain_object, name);

    if (!cJSON_Compare(json_get(object, name), json_get(golden, name), true)) {
        char *text = cJSON_PrintUnformatted(json_get(object, name));

        fail_msg("%s differs from " GOLDEN ": %s", name, text ? text : "missing");
    }
    cJSON_DeleteItemFromObjectCaseSensitive(object, name);
    if (before)
        cJSON_AddItemToObject(object, name, cJSON_Duplicate(before, true));
}

/* Keeps the last items of an array; those before must be those of the plain one. */
static void keep_last(cJSON *array, const cJSON *plain_array, int count)
{
    for (int i = 0; cJSON_GetArraySize(array) > count; i++) {
        cJSON *item = cJSON_DetachItemFromArray(array, 0);

        assert_true(cJSON_Compare(item, cJSON_GetArrayItem(plain_array, i), true));
        cJSON_Delete(item);
    }
}

static void a_shape_changes_what_is_golden_and_no_more(void **state)
{
    static const char *const modules[] = {"pandas", "matplotlib.pyplot"};
    auto_free char *text = fd_read_file(GOLDEN, FILE_MAX, NULL);
    auto_json cJSON *golden = NULL, *without = body_of(&plain), *with = NULL;
    struct spec_profile shaped = plain;
    cJSON *host, *plain_host = json_get_object(without, "HostConfig");

    (void)state;
    assert_non_null(text);
    golden = json_parse(text, strlen(text), NULL);
    shaped.exec = true;
    shaped.runtime = "runsc";
    shaped.preload = modules;
    shaped.preload_count = 2;
    shaped.workspace = 1 * MIB;
    shaped.tmp = 2 * MIB;
    shaped.shm = 3 * MIB;
    shaped.cpus_milli = 2001;
    with = body_of(&shaped);
    host = json_get_object(with, "HostConfig");
    settle(host, plain_host, "Runtime", golden);
    settle(host, plain_host, "Tmpfs", golden);
    settle(host, plain_host, "ShmSize", golden);
    assert_int_equal(json_get(host, "NanoCpus")->valuedouble, 2001000000);
    cJSON_SetNumberValue(json_get(host, "NanoCpus"), 1000000000);
    keep_last(json_get_array(with, "Cmd"), json_get_array(without, "Cmd"), 2);
    settle(with, without, "Cmd", golden);
    keep_last(json_get_array(with, "Env"), json_get_array(without, "Env"), 4);
    settle(with, without, "Env", golden);
    assert_true(cJSON_Compare(with, without, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shape_changes_what_is_golden_and_no_more),
    };

    return cmocka_run_group_tests_name("spec_shape", tests, NULL, NULL);
}
