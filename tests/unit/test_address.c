/* address: every form in which an engine may be named, and what is said of the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/mem.h"
#include "executor/address.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

#define LABEL_63 "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0"

static void sockets(void **state)
{
    static const struct {
        const char *text;
        const char *path;
    } rows[] = {
        {"/run/x.sock", "/run/x.sock"},
        {"unix:///run/x.sock", "/run/x.sock"},
        {"unix:/run/x.sock", "/run/x.sock"},
        {" \tunix:///run/x.sock/// \r\n", "/run/x.sock"},
        {"/", "/"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct address address;
        struct error err = {"untouched"};

        assert_int_equal(address_parse(rows[i].text, "x", &address, &err), 0);
        assert_string_equal(address.path, rows[i].path);
        assert_null(address.host);
        assert_string_equal(err.text, "untouched");
        address_done(&address);
        assert_null(address.path);
    }
}

static void machines(void **state)
{
    static const struct {
        const char *text;
        const char *host;
        unsigned port;
    } rows[] = {
        {"tcp://engine", "engine", 2376},
        {"tcp://engine/", "engine", 2376},
        {"tcp://engine:1", "engine", 1},
        {"tcp://engine:65535///", "engine", 65535},
        {"tcp://engine:02376", "engine", 2376},
        {" tcp://Engine-1.example.com.:2375\n", "Engine-1.example.com.", 2375},
        {"tcp://a_b:1", "a_b", 1},
        {"tcp://10.0.0.1:2376", "10.0.0.1", 2376},
        {"tcp://[::1]", "::1", 2376},
        {"tcp://[fd00::a:1]:99", "fd00::a:1", 99},
        {"tcp://[::ffff:1.2.3.4]:99/", "::ffff:1.2.3.4", 99},
        {"tcp://" LABEL_63 "." LABEL_63 "." LABEL_63 ".a", LABEL_63 "." LABEL_63 "." LABEL_63 ".a",
         2376},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct address address;
        struct error err = {"untouched"};

        if (address_parse(rows[i].text, "x", &address, &err) < 0)
            fail_msg("%s", err.text);
        assert_null(address.path);
        assert_string_equal(address.host, rows[i].host);
        assert_int_equal(address.port, rows[i].port);
        address_done(&address);
    }
}

static void refused(const char *text, const char *told)
{
    struct address address = {.port = 7};
    struct error err = {""};

    assert_int_equal(address_parse(text, "SOURCE", &address, &err), -1);
    assert_int_equal(address_parse(text, "SOURCE", &address, NULL), -1);
    if (!strstr(err.text, told) || strncmp(err.text, "SOURCE: '", 9) != 0)
        fail_msg("'%s': lacks '%s': %s", text, told, err.text);
    assert_int_equal(address.port, 7);
}

static void what_is_neither_is_refused(void **state)
{
    static const char *const bad[] = {"",           " ",       "run/docker.sock",
                                      "unix:",      "unix://", "unix://run/x.sock",
                                      "unix:run/x", "fd://",   "npipe:////./pipe/docker_engine",
                                      "TCP://h:1",  "tcp:/h",  "UNIX:///run/x.sock",
                                      "~/x.sock",   "h:2376",  "file:///run/docker.sock"};

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        refused(bad[i], "is neither a unix socket nor tcp://HOST:PORT; give unix:///path");
}

static void bad_hosts_and_ports_are_refused(void **state)
{
    static const char *const bad[] = {
        "tcp://",
        "tcp:///",
        "tcp://:2376",
        "tcp://h:",
        "tcp://h:0",
        "tcp://h:65536",
        "tcp://h:-1",
        "tcp://h:+1",
        "tcp://h:1x",
        "tcp://h:0x10",
        "tcp://h:000002376",
        "tcp://h:1/path",
        "tcp://u@h:1",
        "tcp://u:p@h:1",
        "tcp://-h:1",
        "tcp://h?x",
        "tcp://h#x",
        "tcp://h%00",
        "tcp://a,b:1",
        "tcp://h\\x",
        "tcp://::1",
        "tcp://[::1",
        "tcp://[]",
        "tcp://[h]:1",
        "tcp://[1.2.3.4]",
        "tcp://[::1]x:1",
        "tcp://[fe80::1%lo]",
        "tcp://\xc3\xa9:1",
        "tcp://" LABEL_63 "." LABEL_63 "." LABEL_63 "." LABEL_63 "x",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        refused(bad[i], "is not tcp://HOST:PORT");
}

static void other_schemes_name_the_way(void **state)
{
    (void)state;
    refused("ssh://user@host", "ssh -nNT -L ");
    refused("ssh://user@host", "unix:///");
    refused("https://host:2376", "tcp://HOST:PORT, which means TLS here");
    refused("http://host:2375", "without TLS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sockets),
        cmocka_unit_test(machines),
        cmocka_unit_test(what_is_neither_is_refused),
        cmocka_unit_test(bad_hosts_and_ports_are_refused),
        cmocka_unit_test(other_schemes_name_the_way),
    };

    return cmocka_run_group_tests_name("address", tests, NULL, NULL);
}
