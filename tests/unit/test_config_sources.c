/* config: precedence, and what file and environment may hold. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "config_load.h"

static void precedence(void **state)
{
    static const char text[] =
        "{\"warm\": 5, \"queue\": 6, \"image\": \"from-file\", \"pids\": 64}";
    auto_free char *path = file_with(text, strlen(text));
    auto_free char *flag = mem_printf("--config=%s", path);
    auto_loaded struct loaded l = {0};

    (void)state;
    setenv("PYTHON_SANDBOX_WARM", "7", 1);
    setenv("PYTHON_SANDBOX_QUEUE", "8", 1);
    setenv("PYTHON_SANDBOX_IMAGE", "from-variable", 1);
    setenv("PYTHON_SANDBOX_PIDS", "", 1);
    setenv("PYTHON_SANDBOX_CONFIG", "/nonexistent/file.json", 1);
    LOAD_OK(l, flag, "--warm=9", "--image", "from-flag");
    assert_int_equal(l.config.warm, 9);
    assert_int_equal(l.config.queue, 8);
    assert_string_equal(l.config.image, "from-flag");
    assert_int_equal(l.config.pids, 64);
    unload(&l);

    setenv("PYTHON_SANDBOX_CONFIG", path, 1);
    setenv("PYTHON_SANDBOX_WARM", "", 1);
    LOAD_OK(l, "--pids=16", "--pids=17");
    assert_int_equal(l.config.warm, 5);
    assert_int_equal(l.config.pids, 17);
    assert_string_equal(l.config.image, "from-variable");
    unload(&l);

    LOAD_OK(l, "--config=none");
    assert_int_equal(l.config.warm, 2);
    unlink(path);
}

static void files(void **state)
{
    static const char text[] =
        "// settings\n{ /* sizes: \"x\" */ \"memory\": \"1g\", \"tmp\": 2097152,"
        "\"cpus\": 0.1, \"image\": \"a//b/*c\", \"memory_budget\": "
        "1125899906842624, // \"warm\": 3\n\"queue_timeout\": \"7\"\n}\n";
    auto_loaded struct loaded l = {0};

    (void)state;
    load_file(&l, text, strlen(text));
    assert_string_equal(l.err.text, "");
    assert_int_equal(l.config.memory, 1 << 30);
    assert_int_equal(l.config.tmp, 2 << 20);
    assert_int_equal(l.config.cpus_milli, 100);
    assert_true(l.config.memory_budget == 1LL << 50);
    assert_string_equal(l.config.image, "a//b/*c");
    assert_int_equal(l.config.warm, 2);
    assert_int_equal(l.config.queue_timeout_s, 7);
}

static void bad_files(void **state)
{
    static const struct {
        const char *text;
        const char *error;
    } bad[] = {
        {"", ": "},
        {"{", ": "},
        {"[]", "must be a JSON object"},
        {"{\"warm\": 1 2}", ": "},
        {"{/\"warm\": 1}", ": "},
        {"{\"warm\": 1} x", ": "},
        {"{\"warm\": 1 /* }", "has no end"},
        {"{\"warm\": 1 /*/ }", "has no end"},
        {"{\"warn\": 1}",
         "\"warn\": unknown key; accepted are docker_host, docker_cert_path, image, "},
        {"{\"queue-timeout\": 1}", "unknown key"},
        {"{\"Warm\": 1}", "unknown key"},
        {"{\"warm\": 1, \"warm\": 2}", "\"warm\": occurs twice"},
        {"{\"warm\": 65}", "\"warm\": must be a whole number from 0 to 64"},
        {"{\"warm\": 1.5}", "\"warm\": must be a whole number"},
        {"{\"warm\": null}", "\"warm\": must be a whole number"},
        {"{\"warm\": true}", "\"warm\": must be a whole number"},
        {"{\"warm\": [1]}", "\"warm\": must be a whole number"},
        {"{\"warm\": 1e300}", "\"warm\": must be a whole number"},
        {"{\"warm\": \"\"}", "\"warm\": must be a whole number"},
        {"{\"memory\": -1}", "\"memory\": must be a size from 64m to 1t"},
        {"{\"pull\": true}", "\"pull\": must be missing or never"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        auto_loaded struct loaded l = {0};

        load_file(&l, bad[i].text, strlen(bad[i].text));
        expect_error(&l, bad[i].error);
    }
}

static void odd_files(void **state)
{
    size_t len = 64 * 1024 + 1;
    auto_free char *big = mem_alloc(len + 1);
    auto_loaded struct loaded l = {0};

    (void)state;
    memset(big, ' ', len);
    memcpy(big, "{}", 2);
    load_file(&l, big, len - 1);
    assert_int_equal(l.result, 0);
    unload(&l);
    load_file(&l, big, len);
    expect_error(&l, "larger than 64 KiB");
    unload(&l);
    load_file(&l, "{}\0", 3);
    expect_error(&l, "NUL");
    unload(&l);
    LOAD(l, "--config=/nonexistent/file.json");
    expect_error(&l, "/nonexistent/file.json: cannot be read: No such file");
    unload(&l);
    LOAD(l, "--config=/tmp");
    expect_error(&l, "/tmp: cannot be read");
    unload(&l);
    LOAD(l, "--config=");
    expect_error(&l, "--config=: must be the path of a file, or none");
}

static void variables(void **state)
{
    auto_loaded struct loaded l = {0};

    (void)state;
    setenv("PYTHON_SANDBOX_WARM", "x", 1);
    LOAD(l, "--config=none");
    expect_error(&l, "PYTHON_SANDBOX_WARM: must be a whole number from 0 to 64, not \"x\"");
    assert_int_equal(l.config.warm, 2);
    unload(&l);
    unsetenv("PYTHON_SANDBOX_WARM");

    setenv("PYTHON_SANDBOX_WRAM", "1", 1);
    LOAD(l, "--config=none");
    expect_error(&l, "PYTHON_SANDBOX_WRAM: unknown variable; accepted are PYTHON_SANDBOX_ followed "
                     "by CONFIG, TOKEN, DOCKER_HOST, ");
    unload(&l);
    setenv("PYTHON_SANDBOX_WRAM", "", 1);
    setenv("PYTHON_SANDBOX_QUEUE_TIMEOUT", "7", 1);
    setenv("PYTHON_SANDBOX_LOG_LEVEL", "debug", 1);
    setenv("PYTHON_SANDBOXER", "1", 1);
    setenv("PYTHON_SANDBOX_TOKEN", "no setting", 1);
    LOAD_OK(l, "--config=none");
    assert_int_equal(l.config.queue_timeout_s, 7);
    assert_int_equal(l.config.log_level, LOG_LEVEL_DEBUG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(precedence, clean_environment),
        cmocka_unit_test_setup(files, clean_environment),
        cmocka_unit_test_setup(bad_files, clean_environment),
        cmocka_unit_test_setup(odd_files, clean_environment),
        cmocka_unit_test_setup(variables, clean_environment),
    };

    return cmocka_run_group_tests_name("config, sources", tests, NULL, NULL);
}
