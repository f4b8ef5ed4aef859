/* config: named profiles. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "config_load.h"

/* Loads the text as a file, with up to two flags more. */
static void load_text(struct loaded *loaded, const char *text, const char *first,
                      const char *second)
{
    auto_free char *path = file_with(text, strlen(text));
    auto_free char *flag = mem_printf("--config=%s", path);

    if (second)
        LOAD(*loaded, flag, first, second);
    else if (first)
        LOAD(*loaded, flag, first);
    else
        LOAD(*loaded, flag);
    unlink(path);
    if (loaded->result < 0 && strncmp(loaded->err.text, path, strlen(path)) != 0)
        fail_msg("the file is not named in \"%s\"", loaded->err.text);
}

static void one_without_a_file(void **state)
{
    auto_loaded struct loaded l = {0};

    (void)state;
    LOAD_OK(l, "--memory=1g", "--image=python:3.8", "--warm=4", "--profile=default");
    assert_int_equal(l.config.profile_count, 1);
    assert_int_equal(l.config.profile_default, 0);
    assert_false(l.config.profiles_named);
    assert_string_equal(l.config.profiles[0].name, "default");
    assert_string_equal(l.config.profiles[0].image, "python:3.8");
    assert_int_equal(l.config.profiles[0].memory, 1 << 30);
    assert_int_equal(l.config.profiles[0].warm, 4);
    assert_int_equal(l.config.profiles[0].timeout_s, 30);
    assert_null(l.config.profiles[0].description);
    assert_false(l.config.profiles[0].exec);
    assert_int_equal(l.config.profiles[0].gpus.kind, GRANTS_GPUS_NONE);
}

static const char every_key[] =
    "{\"memory\": \"1g\", \"image\": \"outer\", \"timeout_max\": 60, \"profiles\": {"
    "\"small\": {\"description\": \"Standard library.\"},"
    "\"data-1_x\": {\"image\": \"inner\", \"memory\": \"2g\", \"cpus\": 1.5, \"pids\": 64,"
    "\"workspace\": \"1m\", \"tmp\": \"2m\", \"shm\": \"3m\", \"timeout\": 50, \"timeout_max\": 70,"
    "\"warm\": 1, \"exec\": true, \"preload\": [\"pandas\", \"matplotlib.pyplot\"],"
    "\"gpus\": [\"0\", \"GPU-1\"], \"data\": {\"/data/sales\": \"/srv/sales\"},"
    "\"description\": \"pandas\", \"runtime\": \"runsc\"}}, \"profile\": \"data-1_x\"}";

static void every_key_of_a_profile(void **state)
{
    auto_loaded struct loaded l = {0};
    const struct config_profile *p;

    (void)state;
    load_text(&l, every_key, NULL, NULL);
    assert_string_equal(l.err.text, "");
    assert_true(l.config.profiles_named);
    assert_int_equal(l.config.profile_count, 2);
    assert_int_equal(l.config.profile_default, 1);
    p = &l.config.profiles[0];
    assert_string_equal(p->name, "small");
    assert_string_equal(p->description, "Standard library.");
    assert_string_equal(p->image, "outer");
    assert_int_equal(p->memory, 1 << 30);
    assert_int_equal(p->timeout_max_s, 60);
    assert_int_equal(p->warm, 2);
    assert_int_equal(p->preload_count, 0);

    p = &l.config.profiles[1];
    assert_string_equal(p->name, "data-1_x");
    assert_string_equal(p->image, "inner");
    assert_true(p->memory == 2LL << 30);
    assert_int_equal(p->cpus_milli, 1500);
    assert_int_equal(p->pids, 64);
    assert_int_equal(p->workspace, 1 << 20);
    assert_int_equal(p->tmp, 2 << 20);
    assert_int_equal(p->shm, 3 << 20);
    assert_int_equal(p->timeout_s, 50);
    assert_int_equal(p->timeout_max_s, 70);
    assert_int_equal(p->warm, 1);
    assert_true(p->exec);
    assert_int_equal(p->preload_count, 2);
    assert_string_equal(p->preload[1], "matplotlib.pyplot");
    assert_null(p->preload[2]);
    assert_int_equal(p->gpus.kind, GRANTS_GPUS_IDS);
    assert_int_equal(p->gpus.id_count, 2);
    assert_string_equal(p->gpus.ids[1], "GPU-1");
    assert_int_equal(p->data_count, 1);
    assert_string_equal(p->data[0].path, "/data/sales");
    assert_string_equal(p->data[0].source, "/srv/sales");
    assert_string_equal(p->runtime, "runsc");
}

static void kinds_of_gpus(void **state)
{
    auto_loaded struct loaded l = {0};

    (void)state;
    load_text(&l, "{\"profiles\": {\"a\": {\"gpus\": \"all\"}, \"b\": {\"gpus\": 2}}}", NULL, NULL);
    assert_string_equal(l.err.text, "");
    assert_int_equal(l.config.profile_default, 0);
    assert_int_equal(l.config.profiles[0].gpus.kind, GRANTS_GPUS_ALL);
    assert_int_equal(l.config.profiles[1].gpus.kind, GRANTS_GPUS_COUNT);
    assert_int_equal(l.config.profiles[1].gpus.count, 2);
}

/* A flag beats the file in the default profile; the others have it where they say nothing. */
static void flags(void **state)
{
    static const char text[] =
        "{\"profiles\": {\"a\": {\"memory\": \"1g\"}, \"b\": {\"memory\": \"2g\"}, \"c\": {}}}";
    auto_loaded struct loaded l = {0};

    (void)state;
    load_text(&l, text, "--memory=128m", "--profile=b");
    assert_string_equal(l.err.text, "");
    assert_int_equal(l.config.profile_default, 1);
    assert_int_equal(l.config.profiles[0].memory, 1 << 30);
    assert_int_equal(l.config.profiles[1].memory, 128 << 20);
    assert_int_equal(l.config.profiles[2].memory, 128 << 20);
    unload(&l);

    setenv("PYTHON_SANDBOX_MEMORY", "256m", 1);
    setenv("PYTHON_SANDBOX_PROFILE", "b", 1);
    load_text(&l, text, NULL, NULL);
    assert_int_equal(l.config.profile_default, 1);
    assert_true(l.config.profiles[1].memory == 2LL << 30);
    assert_int_equal(l.config.profiles[2].memory, 256 << 20);
    unload(&l);
    load_text(&l, text, "--profile=c", NULL);
    assert_int_equal(l.config.profile_default, 2);
    clearenv();
}

static void a_lower_ceiling_lowers_what_is_inherited(void **state)
{
    auto_loaded struct loaded l = {0};

    (void)state;
    load_text(&l, "{\"profiles\": {\"quick\": {\"timeout_max\": 5}}}", NULL, NULL);
    assert_string_equal(l.err.text, "");
    assert_int_equal(l.config.profiles[0].timeout_s, 5);
}

struct bad {
    const char *text, *error;
};

static void expect_bad(const struct bad *bad, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        auto_loaded struct loaded l = {0};

        load_text(&l, bad[i].text, NULL, NULL);
        expect_error(&l, bad[i].error);
    }
}

static void bad_profiles(void **state)
{
    static const struct bad bad[] = {
        {"{\"profiles\": []}", "\"profiles\": must be an object with 1 to 16 profiles by name"},
        {"{\"profiles\": {}}", "\"profiles\": must be an object with 1 to 16 profiles by name"},
        {"{\"profiles\": {\"a\": {}, \"a\": {}}}", "\"profiles\": \"a\": occurs twice"},
        {"{\"profiles\": {\"A\": {}}}", "\"profiles\": \"A\": a profile's name must be 1 to 32 of"},
        {"{\"profiles\": {\"\": {}}}", "a profile's name must be"},
        {"{\"profiles\": {\"a.b\": {}}}", "a profile's name must be"},
        {"{\"profiles\": {\"a\": 1}}", "\"profiles\": \"a\": must be an object such as"},
        {"{\"profiles\": {\"a\": {\"memory\": \"1g\", \"memory\": \"2g\"}}}",
         "\"profiles\": \"a\": \"memory\": occurs twice"},
        {"{\"profiles\": {\"a\": {\"memory\": \"1\"}}}",
         "\"profiles\": \"a\": \"memory\": must be a size from 64m to 1t"},
        {"{\"profiles\": {\"a\": {\"queue\": 1}}}",
         "\"profiles\": \"a\": \"queue\": unknown key; accepted are image, timeout, timeout_max, "
         "memory, cpus, pids, workspace, tmp, shm, warm, description, exec, runtime, preload, "
         "gpus, data"},
        {"{\"profiles\": {\"a\": {\"timeout\": 400}}}",
         "profile a: timeout (400 seconds) is above timeout-max (300 seconds)"},
        {"{\"memory_budget\": \"512m\", \"profiles\": {\"a\": {}, \"b\": {\"memory\": \"1g\"}}}",
         "profile b: memory-budget is below memory"},
        {"{\"profile\": \"c\", \"profiles\": {\"a\": {}, \"b\": {}}}",
         "profile: there is none named \"c\"; the JSON file has a, b"},
        {"{\"profile\": \"C\", \"profiles\": {\"a\": {}}}",
         "\"profile\": must be the name of a profile"},
    };

    (void)state;
    expect_bad(bad, sizeof(bad) / sizeof(bad[0]));
}

static void expect_bad_data(const char *path, const char *source, const char *error)
{
    auto_free char *text =
        mem_printf("{\"profiles\": {\"a\": {\"data\": {\"%s\": \"%s\"}}}}", path, source);
    const struct bad bad = {text, error};

    expect_bad(&bad, 1);
}

static void bad_data_paths(void **state)
{
#define PLAIN "without \"..\" or \".\", double slashes, a slash at the end or control characters"
    static const char *const paths[] = {"data", "/",   "/data/", "/data/../etc",
                                        "/./x", "//x", "",       "/data/a\\u0001"};
    char longest[LIMIT_FOLDER_PATH_MAX + 2] = "/data/";

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        expect_bad_data(paths[i], "/srv/x", "must be below /data, /mnt, /media or /srv, " PLAIN);
        expect_bad_data("/data", paths[i], "must be an absolute path, " PLAIN ", and not / itself");
    }
    expect_bad_data("/data/../x", "/srv/x", "the path in the container, \"/data/../x\", must be");
    expect_bad_data("/data", "/srv/x/", "the folder of the host, \"/srv/x/\", must be");
    memset(longest + 6, 'x', sizeof(longest) - 7);
    expect_bad_data("/data", longest, "must be at most 1024 bytes");
    longest[LIMIT_TARGET_PATH_MAX + 1] = '\0';
    expect_bad_data(longest, "/srv/x", "must be at most 200 bytes");
#undef PLAIN
}

static void bad_grants(void **state)
{
    static const struct bad bad[] = {
        {"{\"profiles\": {\"a\": {\"exec\": \"yes\"}}}", "\"exec\": must be true or false"},
        {"{\"profiles\": {\"a\": {\"description\": \"\"}}}", "\"description\": must be one line"},
        {"{\"profiles\": {\"a\": {\"description\": \"a\\nb\"}}}",
         "\"description\": must be one line"},
        {"{\"profiles\": {\"a\": {\"runtime\": \"a b\"}}}", "\"runtime\": must be the name"},
        {"{\"profiles\": {\"a\": {\"preload\": \"pandas\"}}}", "\"preload\": must be an array"},
        {"{\"profiles\": {\"a\": {\"preload\": [1]}}}", "\"preload\": must be an array"},
        {"{\"profiles\": {\"a\": {\"preload\": [\"a-b\"]}}}", "\"preload\": must be an array"},
        {"{\"profiles\": {\"a\": {\"preload\": [\"a.\"]}}}", "\"preload\": must be an array"},
        {"{\"profiles\": {\"a\": {\"preload\": [\".a\"]}}}", "\"preload\": must be an array"},
        {"{\"profiles\": {\"a\": {\"preload\": [\"1a\"]}}}", "\"preload\": must be an array"},
        {"{\"profiles\": {\"a\": {\"gpus\": 0}}}", "\"gpus\": must be \"all\", a whole number"},
        {"{\"profiles\": {\"a\": {\"gpus\": 1.5}}}", "\"gpus\": must be"},
        {"{\"profiles\": {\"a\": {\"gpus\": 65}}}", "\"gpus\": must be"},
        {"{\"profiles\": {\"a\": {\"gpus\": \"some\"}}}", "\"gpus\": must be"},
        {"{\"profiles\": {\"a\": {\"gpus\": []}}}", "\"gpus\": must be"},
        {"{\"profiles\": {\"a\": {\"gpus\": [\"a,b\"]}}}", "\"gpus\": must be"},
        {"{\"profiles\": {\"a\": {\"data\": []}}}", "\"data\": must be an object"},
        {"{\"profiles\": {\"a\": {\"data\": {\"/data\": 1}}}}", "\"data\": must be an object"},
        {"{\"profiles\": {\"a\": {\"data\": {\"/srv\": \"/s\", \"/srv\": \"/t\"}}}}",
         "\"data\": /srv occurs twice"},
        {"{\"profiles\": {\"a\": {\"data\": {\"/srv\": \"/s\", \"/srv/t\": \"/t\"}}}}",
         "\"data\": /srv and /srv/t are inside each other"},
        {"{\"profiles\": {\"a\": {\"data\": {\"/srv/t\": \"/t\", \"/srv\": \"/s\"}}}}",
         "\"data\": /srv/t and /srv are inside each other"},
        {"{\"profiles\": {\"a\": {\"data\": {\"/tmp/x\": \"/s\"}}}}", "\"data\": /tmp/x: choose"},
        {"{\"profiles\": {\"a\": {\"data\": {\"/data\": \"/etc/x\"}}}}",
         "\"data\": /etc/x is part of /etc"},
    };

    (void)state;
    expect_bad(bad, sizeof(bad) / sizeof(bad[0]));
}

static void no_such_profile_without_a_file(void **state)
{
    auto_loaded struct loaded l = {0};

    (void)state;
    LOAD(l, "--profile=other");
    expect_error(&l, "profile: there is none named \"other\"; the JSON file names none, which "
                     "leaves default");
}

static void too_many(void **state)
{
    for (int count = LIMIT_PROFILES_MAX; count <= LIMIT_PROFILES_MAX + 1; count++) {
        auto_loaded struct loaded l = {0};
        auto_free char *text = mem_strdup("{\"profiles\": {");

        (void)state;
        for (int i = 0; i < count; i++) {
            char *more = mem_printf("%s%s\"p%d\": {}", text, i ? ", " : "", i);

            free(text);
            text = more;
        }
        auto_free char *whole = mem_printf("%s}}", text);
        load_text(&l, whole, NULL, NULL);
        if (count > LIMIT_PROFILES_MAX)
            expect_error(&l, "with 1 to 16 profiles");
        else
            assert_int_equal(l.config.profile_count, LIMIT_PROFILES_MAX);
    }
}

/* What the front gets on its command line: all that it tells of, nothing that it need not know. */
static void flags_for_the_front(void **state)
{
    auto_loaded struct loaded l = {0};
    auto_loaded struct loaded front = {0};
    char **all;
    char *profiles = NULL;

    (void)state;
    load_text(&l, every_key, "--pids=32", NULL);
    all = config_flags(&l.config);
    for (char **flag = all; *flag; flag++)
        if (strncmp(*flag, "--profiles=", strlen("--profiles=")) == 0)
            profiles = *flag;
    assert_non_null(profiles);
    assert_null(strstr(profiles, "/srv"));
    assert_null(strstr(profiles, "inner"));
    load(&front, false, (const char *const *)all);
    assert_string_equal(front.err.text, "");
    assert_int_equal(front.config.profile_count, 2);
    assert_int_equal(front.config.profile_default, 1);
    for (size_t i = 0; i < 2; i++) {
        const struct config_profile *a = &l.config.profiles[i], *b = &front.config.profiles[i];

        assert_string_equal(a->name, b->name);
        assert_string_equal(a->description, b->description);
        assert_int_equal(a->memory, b->memory);
        assert_int_equal(a->cpus_milli, b->cpus_milli);
        assert_int_equal(a->pids, b->pids);
        assert_int_equal(a->workspace, b->workspace);
        assert_int_equal(a->tmp, b->tmp);
        assert_int_equal(a->timeout_s, b->timeout_s);
        assert_int_equal(a->timeout_max_s, b->timeout_max_s);
    }
    assert_int_equal(front.config.profiles[1].pids, 32);
    config_flags_free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_without_a_file, clean_environment),
        cmocka_unit_test_setup(every_key_of_a_profile, clean_environment),
        cmocka_unit_test_setup(kinds_of_gpus, clean_environment),
        cmocka_unit_test_setup(flags, clean_environment),
        cmocka_unit_test_setup(a_lower_ceiling_lowers_what_is_inherited, clean_environment),
        cmocka_unit_test_setup(bad_profiles, clean_environment),
        cmocka_unit_test_setup(bad_data_paths, clean_environment),
        cmocka_unit_test_setup(bad_grants, clean_environment),
        cmocka_unit_test_setup(no_such_profile_without_a_file, clean_environment),
        cmocka_unit_test_setup(too_many, clean_environment),
        cmocka_unit_test_setup(flags_for_the_front, clean_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
