/* gpus: what an engine offers, what is asked of it, and what must be there then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "executor/about.h"
#include "executor/gpus.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static char zero[] = "0", uuid[] = "GPU-8f3c", cdi_name[] = "nvidia.com/gpu=1", number[] = "2";
static char *numbers[] = {zero, uuid};
static char *names[] = {cdi_name, number};

static const struct grants_gpus none = {.kind = GRANTS_GPUS_NONE};
static const struct grants_gpus all = {.kind = GRANTS_GPUS_ALL};
static const struct grants_gpus two = {.kind = GRANTS_GPUS_COUNT, .count = 2};
static const struct grants_gpus ids = {.kind = GRANTS_GPUS_IDS, .ids = numbers, .id_count = 2};
static const struct grants_gpus cdi = {.kind = GRANTS_GPUS_IDS, .ids = names, .id_count = 2};

#define PLAIN   "\"Runtimes\":{\"runc\":{},\"io.containerd.runc.v2\":{}}"
#define NVIDIA  "\"Runtimes\":{\"runc\":{},\"nvidia\":{}}"
#define CDI_ON  "\"CDISpecDirs\":[\"/etc/cdi\",\"/var/run/cdi\"]"
#define CDI_OFF "\"CDISpecDirs\":[]"
#define FOUND   "\"DiscoveredDevices\":[{\"Source\":\"cdi\",\"ID\":\"nvidia.com/gpu=0\"}]"
#define OTHERS  "\"DiscoveredDevices\":[{\"Source\":\"cdi\",\"ID\":\"vendor.com/net=0\"}]"

static const struct {
    const char *info;
    const struct grants_gpus *asked;
    enum gpus_way way;
    const char *says; /* NULL: there is a way */
} offers[] = {
    {"{}", &none, GPUS_NONE, NULL},
    {"{" NVIDIA "}", &none, GPUS_NONE, NULL},
    {"{" NVIDIA "}", &all, GPUS_RUNTIME, NULL},
    {"{" NVIDIA "," CDI_ON "," FOUND "}", &two, GPUS_RUNTIME, NULL},
    {"{" NVIDIA "," CDI_ON "," FOUND "}", &ids, GPUS_RUNTIME, NULL},
    {"{" NVIDIA "," CDI_ON "," FOUND "}", &cdi, GPUS_CDI, NULL},
    {"{" PLAIN "," CDI_ON "," FOUND "}", &all, GPUS_CDI, NULL},
    {"{" PLAIN "," CDI_ON "}", &all, GPUS_CDI, NULL},
    {"{" PLAIN "," CDI_ON "," OTHERS "}", &all, GPUS_NONE, "nvidia-ctk cdi generate"},
    {"{" PLAIN "," CDI_ON ",\"DiscoveredDevices\":[]}", &cdi, GPUS_NONE, "nvidia-ctk cdi"},
    {"{" PLAIN "," CDI_OFF "}", &all, GPUS_NONE, "it has runc, io.containerd.runc.v2"},
    {"{" PLAIN "}", &two, GPUS_NONE, "NVIDIA Container Toolkit"},
    {"{" NVIDIA "}", &cdi, GPUS_NONE, "does not offer CDI"},
    {"{}", &ids, GPUS_NONE, "it has none"},
};

static void what_info_says_decides(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(offers); i++) {
        auto_json cJSON *info = json_parse(offers[i].info, strlen(offers[i].info), NULL);
        struct about about = {0};
        struct error err = {""};
        enum gpus_way way = GPUS_NONE;
        int r;

        assert_non_null(info);
        about_info(&about, info);
        r = gpus_find_way(&about, offers[i].asked, &way, &err);
        if (r != (offers[i].says ? -1 : 0) || way != offers[i].way ||
            (offers[i].says && !strstr(err.text, offers[i].says)))
            fail_msg("row %zu: %d, way %d: %s", i, r, (int)way, err.text);
    }
}

static void requests_have_the_engines_form(void **state)
{
    static const struct {
        const struct grants_gpus *asked;
        enum gpus_way way;
        const char *body;
    } rows[] = {
        {&all, GPUS_RUNTIME, "[{\"Driver\":\"\",\"Count\":-1,\"Capabilities\":[[\"gpu\"]]}]"},
        {&two, GPUS_RUNTIME, "[{\"Driver\":\"\",\"Count\":2,\"Capabilities\":[[\"gpu\"]]}]"},
        {&ids, GPUS_RUNTIME,
         "[{\"Driver\":\"\",\"DeviceIDs\":[\"0\",\"GPU-8f3c\"],\"Capabilities\":[[\"gpu\"]]}]"},
        {&all, GPUS_CDI, "[{\"Driver\":\"cdi\",\"DeviceIDs\":[\"nvidia.com/gpu=all\"]}]"},
        {&two, GPUS_CDI,
         "[{\"Driver\":\"cdi\",\"DeviceIDs\":[\"nvidia.com/gpu=0\",\"nvidia.com/gpu=1\"]}]"},
        {&cdi, GPUS_CDI,
         "[{\"Driver\":\"cdi\",\"DeviceIDs\":[\"nvidia.com/gpu=1\",\"nvidia.com/gpu=2\"]}]"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        auto_json cJSON *requests = gpus_requests(rows[i].asked, rows[i].way);
        char *text = cJSON_PrintUnformatted(requests);

        assert_string_equal(text, rows[i].body);
        cJSON_free(text);
    }
}

static void texts(void **state)
{
    auto_free char *visible_all = gpus_visible(&all);
    auto_free char *visible_two = gpus_visible(&two);
    auto_free char *visible_ids = gpus_visible(&ids);
    auto_free char *text_two = gpus_text(&two);
    auto_free char *text_ids = gpus_text(&ids);
    auto_free char *text_none = gpus_text(&none);

    (void)state;
    assert_string_equal(visible_all, "all");
    assert_string_equal(visible_two, "0,1");
    assert_string_equal(visible_ids, "0,GPU-8f3c");
    assert_string_equal(text_two, "2");
    assert_string_equal(text_ids, "0, GPU-8f3c");
    assert_string_equal(text_none, "none");
}

static void devices_of_a_gpu(void **state)
{
    static const struct {
        const char *devices;
        bool there;
    } rows[] = {
        {"[\"null\",\"nvidia0\",\"nvidiactl\",\"nvidia-uvm\"]", true},
        {"[\"nvidia12\",\"nvidiactl\"]", true},
        {"[\"nvidiactl\"]", false},
        {"[\"nvidia0\"]", false},
        {"[\"nvidia\",\"nvidiax\",\"nvidiactl\"]", false},
        {"[1,null]", false},
        {"[]", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        auto_json cJSON *devices = json_parse(rows[i].devices, strlen(rows[i].devices), NULL);

        assert_int_equal(gpus_are_there(devices), rows[i].there);
    }
    assert_false(gpus_are_there(NULL));
    assert_true(gpus_is_device("nvidia3"));
    assert_true(gpus_is_device("nvidia-uvm-tools"));
    assert_false(gpus_is_device("nvidia3p1"));
    assert_false(gpus_is_device("sda"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_info_says_decides),
        cmocka_unit_test(requests_have_the_engines_form),
        cmocka_unit_test(texts),
        cmocka_unit_test(devices_of_a_gpu),
    };

    return cmocka_run_group_tests_name("gpus", tests, NULL, NULL);
}
