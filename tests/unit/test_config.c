/* config: defaults, what settings accept, flags and arguments, the flags for the front. */
#include <string.h>

#include "base/mem.h"
#include "config_load.h"

static void defaults(void **state)
{
    auto_loaded struct loaded l;

    (void)state;
    LOAD_OK(l, "--config=none");
    assert_null(l.config.docker_host);
    assert_null(l.config.image);
    assert_true(l.config.pull);
    assert_int_equal(l.config.pull_timeout_s, 1800);
    assert_int_equal(l.config.timeout_s, 30);
    assert_int_equal(l.config.timeout_max_s, 300);
    assert_int_equal(l.config.memory, 512 << 20);
    assert_int_equal(l.config.cpus_milli, 1000);
    assert_int_equal(l.config.pids, 128);
    assert_int_equal(l.config.workspace, 256 << 20);
    assert_int_equal(l.config.tmp, 64 << 20);
    assert_int_equal(l.config.shm, 64 << 20);
    assert_int_equal(l.config.warm, 2);
    assert_int_equal(l.config.max_running, 8);
    assert_int_equal(l.config.memory_budget, 0);
    assert_int_equal(l.config.queue, 64);
    assert_int_equal(l.config.queue_timeout_s, 20);
    assert_int_equal(l.config.code_max, 1 << 20);
    assert_int_equal(l.config.stdin_max, 1 << 20);
    assert_int_equal(l.config.text_max, 50000);
    assert_int_equal(l.config.error_text_max, 10000);
    assert_int_equal(l.config.reply_max, 900000);
    assert_null(l.config.audit_log);
    assert_false(l.config.audit_code);
    assert_int_equal(l.config.log_level, LOG_LEVEL_INFO);
    assert_int_equal(l.arguments.count, 0);
    assert_null(l.arguments.rest[0]);
}

static void good_values(void **state)
{
    static const struct {
        const char *flag;
        size_t offset;
        int64_t value;
    } good[] = {
        {"--memory=67108864", offsetof(struct config, memory), 64 << 20},
        {"--memory=65536k", offsetof(struct config, memory), 64 << 20},
        {"--memory=64M", offsetof(struct config, memory), 64 << 20},
        {"--memory=2g", offsetof(struct config, memory), 2LL << 30},
        {"--memory=1t", offsetof(struct config, memory), 1LL << 40},
        {"--memory-budget=0", offsetof(struct config, memory_budget), 0},
        {"--memory-budget=1024t", offsetof(struct config, memory_budget), 1LL << 50},
        {"--stdin-max=0", offsetof(struct config, stdin_max), 0},
        {"--cpus=1024", offsetof(struct config, cpus_milli), 1024000},
        {"--cpus=0.1", offsetof(struct config, cpus_milli), 100},
        {"--cpus=.5", offsetof(struct config, cpus_milli), 500},
        {"--cpus=1.250", offsetof(struct config, cpus_milli), 1250},
        {"--warm=0", offsetof(struct config, warm), 0},
        {"--queue=1000", offsetof(struct config, queue), 1000},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        auto_loaded struct loaded l = {0};
        int64_t value;

        LOAD_OK(l, "--config=none", good[i].flag);
        memcpy(&value, (const char *)&l.config + good[i].offset, sizeof(value));
        if (value != good[i].value)
            fail_msg("%s gives %lld", good[i].flag, (long long)value);
    }
}

static void expect_refused(const char *const *flags, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        auto_loaded struct loaded l = {0};
        auto_free char *start = mem_printf("%s: must be ", flags[i]);

        LOAD(l, "--config=none", flags[i]);
        expect_error(&l, start);
    }
}

static void bad_values(void **state)
{
    static const char *const bad[] = {
        "--warm=x",
        "--warm=",
        "--warm=65",
        "--warm=-1",
        "--warm=1.0",
        "--timeout=0",
        "--timeout=1s",
        "--memory=63m",
        "--memory=1025g",
        "--memory=64mb",
        "--memory=m",
        "--memory=64 m",
        "--memory=0x10m",
        "--memory=-64m",
        "--memory=1e9",
        "--memory=9999999999999999t",
        "--memory=99999999999999999999",
        "--memory=",
        "--cpus=",
        "--cpus=.",
        "--cpus=1.",
        "--cpus=0.0999",
        "--cpus=0.05",
        "--cpus=1024.001",
        "--cpus=1,5",
        "--cpus=1e1",
        "--cpus=-1",
        "--cpus=9999999999999999",
        "--pull=always",
        "--pull=",
        "--log-level=INFO",
        "--image=",
        "--image=a b",
        "--image=-x",
        "--docker-host=",
        "--docker-host=x",
        "--docker-host=ssh://h",
        "--docker-host=https://h:1",
        "--docker-cert-path=",
        "--docker-host=unix://x",
        "--docker-host=/",
        "--queue-timeout=3601",
    };

    (void)state;
    expect_refused(bad, sizeof(bad) / sizeof(bad[0]));
}

static void unknown_flags(void **state)
{
    static const char *const bad[] = {"--wram=1", "--network", "-x", "--help=1"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        auto_loaded struct loaded l = {0};

        LOAD(l, "--config=none", bad[i], "--warm=1");
        expect_error(&l, bad[i]);
        expect_error(&l, "python-sandbox serve --help");
    }
    auto_loaded struct loaded l = {0};
    LOAD(l, "--config=none", "--warm");
    expect_error(&l, "--warm: not a flag, or one without the value");
}

static void cross_checks(void **state)
{
    auto_loaded struct loaded l = {0};

    (void)state;
    LOAD(l, "--config=none", "--timeout=301");
    expect_error(&l, "timeout (301 seconds) is above timeout-max (300 seconds)");
    unload(&l);
    LOAD(l, "--config=none", "--timeout-max=10");
    expect_error(&l, "timeout (30 seconds) is above timeout-max (10 seconds)");
    unload(&l);
    LOAD(l, "--config=none", "--memory-budget=511m");
    expect_error(&l, "memory-budget is below memory");
    unload(&l);
    LOAD_OK(l, "--config=none", "--timeout=86400", "--timeout-max=86400", "--memory-budget=512m");
}

static void arguments(void **state)
{
    auto_loaded struct loaded l = {0};

    (void)state;
    LOAD_OK(l, "--config=none", "a", "--warm=1", "--", "--warm=3");
    assert_int_equal(l.config.warm, 1);
    assert_int_equal(l.arguments.count, 2);
    assert_string_equal(l.arguments.rest[0], "a");
    assert_string_equal(l.arguments.rest[1], "--warm=3");
    assert_null(l.arguments.rest[2]);
    unload(&l);

    load(&l, true,
         (const char *const[]){"--config=none", "--warm=1", "x.py", "--warm=3", "--", "-v", NULL});
    assert_int_equal(l.result, 0);
    assert_int_equal(l.config.warm, 1);
    assert_int_equal(l.arguments.count, 4);
    assert_string_equal(l.arguments.rest[0], "x.py");
    assert_string_equal(l.arguments.rest[1], "--warm=3");
    assert_string_equal(l.arguments.rest[2], "--");
    assert_string_equal(l.arguments.rest[3], "-v");
    unload(&l);

    load(&l, true, (const char *const[]){"--config=none", "--", "-x.py", "--warm=3", NULL});
    assert_int_equal(l.result, 0);
    assert_int_equal(l.arguments.count, 2);
    assert_string_equal(l.arguments.rest[0], "-x.py");
    unload(&l);

    load(&l, true, (const char *const[]){"--config=none", "-", "-v", NULL});
    assert_int_equal(l.result, 0);
    assert_int_equal(l.arguments.count, 2);
    assert_string_equal(l.arguments.rest[0], "-");
}

static void bad_http_values(void **state)
{
    static const char *const bad[] = {
        "--http=",
        "--http=localhost",
        "--http=localhost:",
        "--http=localhost:65536",
        "--http=localhost:+1",
        "--http=8000",
        "--http=http://localhost:8000",
        "--token-file=",
        "--allowed-host=",
        "--allowed-host= ,",
        "--allowed-host=http://a",
        "--allowed-host=a/b",
        "--allowed-host=a, *.b",
        "--allowed-host=a:",
        "--allowed-host=a:b",
        "--allowed-host=[::1",
        "--allowed-host=a:0",
        "--allowed-host=a: 80",
        "--allowed-host=a:65536",
        "--allowed-host=[::1]:0 b",
        "--allowed-origin=",
        "--allowed-origin=a",
        "--allowed-origin=*",
        "--allowed-origin=null",
        "--allowed-origin=https://",
        "--allowed-origin=https://a/",
        "--allowed-origin=https://a:0",
        "--allowed-origin=https://a, b",
        "--drain=3601",
        "--http-without-token-is-unsafe=",
        "--http-without-token-is-unsafe=true",
    };

    (void)state;
    expect_refused(bad, sizeof(bad) / sizeof(bad[0]));
}

static void http_settings(void **state)
{
    auto_loaded struct loaded l = {0};
    auto_loaded struct loaded again = {0};
    char **flags;

    (void)state;
    LOAD_OK(l, "--config=none");
    assert_null(l.config.http);
    assert_null(l.config.token_file);
    assert_null(l.config.allowed_hosts);
    assert_null(l.config.allowed_origins);
    assert_int_equal(l.config.drain_s, 0);
    assert_false(l.config.http_without_token);
    unload(&l);

    LOAD_OK(l, "--config=none", "--http=[::1]:0", "--token-file=/t",
            "--allowed-host=a, b:80 [::1]:80", "--allowed-origin=https://a vscode-webview://b:1",
            "--drain=5", "--http-without-token-is-unsafe");
    flags = config_flags(&l.config);
    load(&again, false, (const char *const *)flags);
    config_flags_free(flags);
    assert_int_equal(again.result, 0);
    assert_string_equal(again.config.http, "[::1]:0");
    assert_string_equal(again.config.token_file, "/t");
    assert_string_equal(again.config.allowed_hosts, "a, b:80 [::1]:80");
    assert_string_equal(again.config.allowed_origins, "https://a vscode-webview://b:1");
    assert_int_equal(again.config.drain_s, 5);
    assert_true(again.config.http_without_token);
    unload(&l);

    LOAD_OK(l, "--config=none", "--http=:8000", "--http-without-token-is-unsafe=no");
    assert_string_equal(l.config.http, ":8000");
    assert_false(l.config.http_without_token);
}

static void flags_round_trip(void **state)
{
    auto_loaded struct loaded l = {0};
    auto_loaded struct loaded again = {0};
    char **flags;

    (void)state;
    LOAD_OK(l, "--config=none");
    flags = config_flags(&l.config);
    assert_string_equal(flags[0], "--config=none");
    assert_null(flags[1]);
    config_flags_free(flags);
    unload(&l);

    LOAD_OK(l, "--config=none", "--image=a:b", "--docker-host=unix:///run/x.sock",
            "--docker-cert-path=/c", "--pull=never", "--cpus=1.25", "--memory=1000000001",
            "--reply-max=1m", "--log-level=error", "--timeout=5", "--queue=0", "--audit-log=/a.log",
            "--audit-code");
    flags = config_flags(&l.config);
    load(&again, false, (const char *const *)flags);
    config_flags_free(flags);
    assert_int_equal(again.result, 0);
    assert_string_equal(again.config.image, "a:b");
    assert_string_equal(again.config.docker_host, "unix:///run/x.sock");
    assert_string_equal(again.config.docker_cert_path, "/c");
    assert_false(again.config.pull);
    assert_int_equal(again.config.cpus_milli, 1250);
    assert_int_equal(again.config.memory, 1000000001);
    assert_int_equal(again.config.reply_max, 1 << 20);
    assert_int_equal(again.config.log_level, LOG_LEVEL_ERROR);
    assert_int_equal(again.config.timeout_s, 5);
    assert_int_equal(again.config.queue, 0);
    assert_int_equal(again.config.warm, 2);
    assert_string_equal(again.config.audit_log, "/a.log");
    assert_true(again.config.audit_code);
    config_flags_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(defaults, clean_environment),
        cmocka_unit_test_setup(good_values, clean_environment),
        cmocka_unit_test_setup(bad_values, clean_environment),
        cmocka_unit_test_setup(unknown_flags, clean_environment),
        cmocka_unit_test_setup(cross_checks, clean_environment),
        cmocka_unit_test_setup(arguments, clean_environment),
        cmocka_unit_test_setup(bad_http_values, clean_environment),
        cmocka_unit_test_setup(http_settings, clean_environment),
        cmocka_unit_test_setup(flags_round_trip, clean_environment),
    };

    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
