/* devices: nodes and cgroup rules, the usual ones and any other. */
#include "base/mem.h"
#include "base/text.h"
#include "executor/devices.h"
#include "executor/walls.h"
#include "hello_sample.h"

#define NODES "device nodes"
#define RULES "device rules"

static int check(const cJSON *hello, const struct spec_profile *asked, struct error *err)
{
    auto_json cJSON *walls = cJSON_CreateArray();

    devices_walls(walls, hello, asked);
    return walls_verdict(walls, err);
}

static void expect(const cJSON *hello, const struct spec_profile *asked, const char *what,
                   const char *wall, const char *found)
{
    auto_free char *start = wall ? mem_printf("the wall '%s' does not stand: ", wall) : NULL;
    auto_free char *quoted = found ? mem_printf(", found %s; stop whatever", found) : NULL;
    struct error err = {"untouched"};

    if (!wall) {
        if (check(hello, asked, &err) < 0)
            fail_msg("%s: %s", what, err.text);
        assert_string_equal(err.text, "untouched");
        return;
    }
    if (check(hello, asked, &err) != -1)
        fail_msg("accepted: %s", what);
    if (strncmp(err.text, start, strlen(start)) != 0 || (quoted && !strstr(err.text, quoted)))
        fail_msg("%s: not '%s' with '%s': %s", what, wall, found ? found : "", err.text);
    assert_int_equal(check(hello, asked, NULL), -1);
}

static const struct node_case {
    const char *nodes;
    const char *found; /* NULL: accepted */
} node_cases[] = {
    {"{}", NULL},
    {"{\"/dev/null\":\"c 1:3\"}", NULL},
    {"{\"/dev/random\":\"c 1:8\",\"/dev/urandom\":\"c 1:9\",\"/dev/full\":\"c 1:7\"}", NULL},
    {"{\"/opt/nothing\":\"c 1:3\"}", NULL}, /* as harmless there */
    {"{\"/opt/fuse\":\"c 10:229\"}", "/opt/fuse (c 10:229)"},
    {"{\"/dev/null\":\"c 1:3\",\"/dev/zero\":\"c 1:1\"}", "/dev/zero (c 1:1)"},
    {"{\"/dev/null\":\"b 1:3\"}", "/dev/null (b 1:3)"},
    {"{\"/dev/null\":\"c 1:33\"}", "/dev/null (c 1:33)"},
    {"{\"/dev/null\":\"c 1:\"}", "/dev/null (c 1:)"},
    {"{\"/dev/null\":\"c 1:3 \"}", "/dev/null (c 1:3 )"},
    {"{\"/dev/console\":\"c 5:1\"}", "/dev/console (c 5:1)"},
    {"{\"/dev/net/tun\":\"c 10:200\"}", "/dev/net/tun (c 10:200)"},
    {"{\"/dev/nvidia0\":\"c 195:0\"}", "/dev/nvidia0 (c 195:0)"},
    {"{\"/dev/sda\":\"\"}", "/dev/sda ()"},
    {"{\"/dev/sda\":1}", "/dev/sda (no device)"},
    {"{\"/dev/sda\":null}", "/dev/sda (no device)"},
    {"[]", "nothing"},
    {"\"\"", "nothing"},
    {"null", "nothing"},
    {NULL, "nothing"},
};

static void nodes_are_the_usual_ones(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(node_cases); i++) {
        const struct node_case *one = &node_cases[i];
        auto_json cJSON *hello = hello_v2();

        change(hello, "nodes", one->nodes);
        expect(hello, &profile, one->nodes ? one->nodes : "missing", one->found ? NODES : NULL,
               one->found);
    }
    assert_int_equal(check(NULL, &profile, NULL), -1);
}

static const struct rule_case {
    const char *list; /* JSON */
    const char *found;
} rule_cases[] = {
    {"\"c 1:3 rwm\"", NULL},
    {"\"c 1:3 rw\\nc 136:* rwm\\nb *:* m\"", NULL},
    {"\"a *:* rwm\"", "a *:* rwm"}, /* everything: no rule was ever set */
    {"\"c 1:3 rwm\\nc 10:229 rwm\"", "c 10:229 rwm"},
    {"\"c 10:229 r\\nc 1:3 rwm\"", "c 10:229 r"},
    {"\"c *:* rwm\"", "c *:* rwm"},
    {"\"c *:* rm\"", "c *:* rm"},
    {"\"b *:* rm\"", "b *:* rm"},
    {"\"b 254:0 r\"", "b 254:0 r"},
    {"\"c 1:* rwm\"", "c 1:* rwm"},
    {"\"c 1:11 r\"", "c 1:11 r"},
    {"\"b 1:3 rwm\"", "b 1:3 rwm"},
    {"\"c 195:0 rw\"", "c 195:0 rw"},
    {"\"c 1:3\"", "c 1:3"},
    {"\"\"", ""},
    {"\"c 1:3 rwm\\n\"", ""},
    {"[\"c 1:3 rwm\"]", "no list to read"},
    {"null", "no list to read"},
    {NULL, "no list to read"},
};

static void rules_of_version_1_are_the_usual_ones(void **state)
{
    auto_json cJSON *good = good_hello(mounts_docker_v1, cgroup_v1);

    (void)state;
    expect(good, &profile, "good", NULL, NULL);
    for (size_t i = 0; i < COUNT(rule_cases); i++) {
        const struct rule_case *one = &rule_cases[i];
        auto_json cJSON *hello = good_hello(mounts_docker_v1, cgroup_v1);

        change(json_get_object(hello, "cgroup"), "devices.list", one->list);
        expect(hello, &profile, one->list ? one->list : "missing", one->found ? RULES : NULL,
               one->found);
    }
}

/* Version 2 has no such file; where there is one, it counts. */
static void version_2_has_no_rules_to_read(void **state)
{
    auto_json cJSON *hello = hello_v2();
    auto_json cJSON *walls = cJSON_CreateArray();

    (void)state;
    devices_walls(walls, hello, &profile);
    assert_int_equal(cJSON_GetArraySize(walls), 1);
    change(json_get_object(hello, "cgroup"), "devices.list", "\"a *:* rwm\"");
    expect(hello, &profile, "a list on version 2", RULES, "a *:* rwm");
}

/* Of a profile with GPUs: their nodes, and the rules of those nodes; nothing else. */
static void gpus_are_let_in_where_they_are_granted(void **state)
{
    static const char gpus[] = "{\"/dev/null\":\"c 1:3\",\"/dev/nvidia0\":\"c 195:0\","
                               "\"/dev/nvidiactl\":\"c 195:255\",\"/dev/nvidia-uvm\":\"c 237:0\","
                               "\"/dev/dri/renderD128\":\"c 226:128\"}";
    static const char rules[] =
        "\"c 1:3 rwm\\nc 195:0 rw\\nc 195:255 rw\\nc 237:0 rw\\nc 226:128 rw\"";
    static const struct rule_case others[] = {
        {"\"c 1:3 rwm\\nc 195:1 rw\"", "c 195:1 rw"},
        {"\"c 195:* rw\"", "c 195:* rw"},
        {"\"a *:* rwm\"", "a *:* rwm"},
    };
    static const struct node_case elsewhere[] = {
        {"{\"/opt/nvidia0\":\"c 195:0\"}", "/opt/nvidia0 (c 195:0)"},
        {"{\"/dev/nvidia0x\":\"c 195:0\"}", "/dev/nvidia0x (c 195:0)"},
        {"{\"/dev/\":\"c 195:0\"}", "/dev/ (c 195:0)"},
        {"{\"/dev/fuse\":\"c 10:229\"}", "/dev/fuse (c 10:229)"},
    };
    struct spec_profile granted = profile;
    auto_json cJSON *hello = good_hello(mounts_docker_v1, cgroup_v1);

    (void)state;
    granted.gpus.kind = GRANTS_GPUS_ALL;
    change(hello, "nodes", gpus);
    change(json_get_object(hello, "cgroup"), "devices.list", rules);
    expect(hello, &granted, "with GPUs", NULL, NULL);
    expect(hello, &profile, "without", NODES, "/dev/nvidia0 (c 195:0)");
    for (size_t i = 0; i < COUNT(others); i++) {
        change(json_get_object(hello, "cgroup"), "devices.list", others[i].list);
        expect(hello, &granted, others[i].list, RULES, others[i].found);
    }
    for (size_t i = 0; i < COUNT(elsewhere); i++) {
        change(hello, "nodes", elsewhere[i].nodes);
        expect(hello, &granted, elsewhere[i].nodes, NODES, elsewhere[i].found);
    }
}

/* The image may choose names: they are quoted, but never at length. */
static void long_names_are_cut(void **state)
{
    auto_json cJSON *hello = hello_v2();
    auto_free char *name = mem_alloc(100001);
    cJSON *nodes = cJSON_CreateObject();
    struct error err;

    (void)state;
    memset(name, 'x', 100000);
    cJSON_AddStringToObject(nodes, name, "b 8:0");
    change(hello, "nodes", NULL);
    cJSON_AddItemToObject(hello, "nodes", nodes);
    assert_int_equal(check(hello, &profile, &err), -1);
    assert_true(strlen(err.text) < 500 && text_is_utf8(err.text, strlen(err.text)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_the_usual_ones),
        cmocka_unit_test(rules_of_version_1_are_the_usual_ones),
        cmocka_unit_test(version_2_has_no_rules_to_read),
        cmocka_unit_test(gpus_are_let_in_where_they_are_granted),
        cmocka_unit_test(long_names_are_cut),
    };

    return cmocka_run_group_tests_name("devices", tests, NULL, NULL);
}
