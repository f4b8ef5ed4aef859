/* spec: what GPUs and folders add to the body of a container, and that they add nothing else. */
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

#define GOLDEN   "tests/unit/golden/spec_granted.json"
#define FILE_MAX (1024 * 1024)

static char path[] = "/data/sales", source[] = "/srv/sales";
static const struct grants_folder folders[] = {{path, source}};
static const struct spec_profile plain = {.memory = 1 << 29, .cpus_milli = 1000, .pids = 128};

static cJSON *body_of(const struct spec_profile *profile, enum gpus_way way, const cJSON *volumes)
{
    const struct spec_instance one = {.image_id = "sha256:0123",
                                      .seccomp = "{}",
                                      .owner = "x",
                                      .uid = 60601,
                                      .gpus = way,
                                      .image_volumes = volumes};
    auto_free char *text = spec_body(profile, &one);
    cJSON *body = json_parse(text, strlen(text), NULL);

    assert_non_null(body);
    return body;
}

static void assert_same(const cJSON *got, const cJSON *golden, const char *what)
{
    if (!cJSON_Compare(got, golden, true)) {
        char *text = cJSON_PrintUnformatted(got);

        fail_msg("%s differs from " GOLDEN ": %s", what, text ? text : "missing");
    }
}

static void grants_add_what_is_golden_and_no_more(void **state)
{
    auto_free char *golden_text = fd_read_file(GOLDEN, FILE_MAX, NULL);
    auto_json cJSON *without = body_of(&plain, GPUS_NONE, NULL);
    auto_json cJSON *with = NULL, *golden = NULL, *variables = cJSON_CreateArray();
    struct spec_profile granted = plain;
    cJSON *host, *env;
    int before = cJSON_GetArraySize(json_get_array(without, "Env"));

    (void)state;
    assert_non_null(golden_text);
    golden = json_parse(golden_text, strlen(golden_text), NULL);
    granted.data = folders;
    granted.data_count = 1;
    granted.gpus = (struct grants_gpus){.kind = GRANTS_GPUS_COUNT, .count = 2};
    with = body_of(&granted, GPUS_RUNTIME, NULL);
    host = json_get_object(with, "HostConfig");
    assert_same(json_get(host, "Mounts"), json_get(golden, "Mounts"), "Mounts");
    assert_same(json_get(host, "DeviceRequests"), json_get(golden, "DeviceRequests"),
                "DeviceRequests");
    env = json_get_array(with, "Env");
    while (cJSON_GetArraySize(env) > before)
        cJSON_AddItemToArray(variables, cJSON_DetachItemFromArray(env, before));
    assert_same(variables, json_get(golden, "Env"), "Env");
    cJSON_DeleteItemFromObjectCaseSensitive(host, "Mounts");
    cJSON_DeleteItemFromObjectCaseSensitive(host, "DeviceRequests");
    assert_true(cJSON_Compare(with, without, true));
}

/* Two mounts in one place would keep every container from starting. */
static void a_volume_gives_way_to_a_granted_folder(void **state)
{
    static const char text[] = "{\"/data/sales\":{},\"/data/other\":{}}";
    auto_json cJSON *volumes = json_parse(text, strlen(text), NULL);
    auto_json cJSON *body = NULL;
    struct spec_profile granted = plain;
    const cJSON *tmpfs;

    (void)state;
    granted.data = folders;
    granted.data_count = 1;
    body = body_of(&granted, GPUS_NONE, volumes);
    tmpfs = json_get_object(json_get_object(body, "HostConfig"), "Tmpfs");
    assert_null(json_get(tmpfs, "/data/sales"));
    assert_non_null(json_get(tmpfs, "/data/other"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grants_add_what_is_golden_and_no_more),
        cmocka_unit_test(a_volume_gives_way_to_a_granted_folder),
    };

    return cmocka_run_group_tests_name("spec_grants", tests, NULL, NULL);
}
