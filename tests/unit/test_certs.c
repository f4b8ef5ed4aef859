/* certs: the three files of a folder, and what is said of each that will not do. */
#include "pem_sample.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "executor/certs.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

#define NOBODY 65534

static const char *const names[] = {"ca.pem", "cert.pem", "key.pem"};

static const char *folder_of(void **state)
{
    return *state;
}

static void put(const char *folder, const char *name, const char *text)
{
    auto_free char *path = mem_printf("%s/%s", folder, name);
    auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void take_away(const char *folder, const char *name)
{
    auto_free char *path = mem_printf("%s/%s", folder, name);

    (void)unlink(path);
}

static int put_good_ones(void **state)
{
    put(folder_of(state), "ca.pem", pem_long);
    put(folder_of(state), "cert.pem", pem_good);
    put(folder_of(state), "key.pem", pem_key);
    return 0;
}

static void refused(const char *folder, const char *told)
{
    struct certs certs = {.until = 7};
    struct error err = {""};

    assert_int_equal(certs_load(folder, &certs, &err), -1);
    assert_int_equal(certs_load(folder, &certs, NULL), -1);
    assert_int_equal(certs.until, 7);
    if (!strstr(err.text, told) || strncmp(err.text, folder, strlen(folder)) != 0)
        fail_msg("lacks '%s': %s", told, err.text);
}

static void good_ones_are_read(void **state)
{
    struct error err = {"untouched"};
    struct certs certs;

    assert_int_equal(certs_load(folder_of(state), &certs, &err), 0);
    assert_string_equal(certs.folder, folder_of(state));
    assert_string_equal(certs.ca, pem_long);
    assert_string_equal(certs.cert, pem_good);
    assert_string_equal(certs.key, pem_key);
    assert_int_equal(certs.until, PEM_GOOD_UNTIL);
    assert_string_equal(err.text, "untouched");
    certs_done(&certs);
    assert_null(certs.key);
    certs_done(&certs);
}

static void each_missing_one_is_named(void **state)
{
    for (size_t i = 0; i < COUNT(names); i++) {
        auto_free char *told =
            mem_printf("/%s: No such file or directory; an engine with TLS needs", names[i]);

        put_good_ones(state);
        take_away(folder_of(state), names[i]);
        refused(folder_of(state), told);
    }
}

static void each_that_holds_something_else_is_named(void **state)
{
    static const char *const told[] = {"/ca.pem holds no certificate",
                                       "/cert.pem holds no certificate",
                                       "/key.pem holds no private key"};

    for (size_t i = 0; i < COUNT(names); i++) {
        put_good_ones(state);
        put(folder_of(state), names[i], "");
        refused(folder_of(state), told[i]);
        put(folder_of(state), names[i], i < 2 ? pem_key : pem_good);
        refused(folder_of(state), told[i]);
    }
}

static void a_key_with_a_passphrase_is_refused(void **state)
{
    put(folder_of(state), "key.pem",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n-----END ENCRYPTED PRIVATE KEY-----\n");
    refused(folder_of(state), "/key.pem wants a passphrase");
    put(folder_of(state), "key.pem",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAA==\n"
        "-----END RSA PRIVATE KEY-----\n");
    refused(folder_of(state), "/key.pem wants a passphrase");
    put(folder_of(state), "key.pem", "-----BEGIN EC PRIVATE KEY-----\nAA==\n");
    refused("/nowhere", "/ca.pem: No such file");
}

static void a_file_that_is_too_long_is_refused(void **state)
{
    auto_free char *text = mem_alloc(1024 * 1024 + 2);

    memset(text, ' ', 1024 * 1024 + 1);
    put(folder_of(state), "ca.pem", text);
    refused(folder_of(state), "/ca.pem: File too large");
}

static void a_key_without_permission_is_named(void **state)
{
    auto_free char *path = mem_printf("%s/key.pem", folder_of(state));
    bool root = geteuid() == 0;

    assert_int_equal(chmod(path, 0), 0);
    if (root)
        assert_int_equal(seteuid(NOBODY), 0);
    refused(folder_of(state), "/key.pem: Permission denied: whoever runs this must be able to");
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

static void an_end_is_told_with_its_date(void **state)
{
    struct error err = {"untouched"};
    struct certs certs;

    put(folder_of(state), "cert.pem", pem_ended);
    assert_int_equal(certs_load(folder_of(state), &certs, &err), 0);
    assert_int_equal(certs_check(&certs, PEM_ENDED_UNTIL - 1, &err), 0);
    assert_string_equal(err.text, "untouched");
    assert_int_equal(certs_check(&certs, PEM_ENDED_UNTIL, &err), -1);
    assert_non_null(strstr(err.text, "/cert.pem has expired, on 2021-01-31: have the engine's CA"));
    certs_done(&certs);
}

static int set_up(void **state)
{
    char *folder = mem_strdup("/tmp/test_certs.XXXXXX");

    if (!mkdtemp(folder))
        return -1;
    (void)chmod(folder, 0755);
    *state = folder;
    return 0;
}

static int tear_down(void **state)
{
    for (size_t i = 0; i < COUNT(names); i++)
        take_away(folder_of(state), names[i]);
    (void)rmdir(folder_of(state));
    free(*state);
    return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, put_good_ones)
    const struct CMUnitTest tests[] = {
        TEST(good_ones_are_read),
        TEST(each_missing_one_is_named),
        TEST(each_that_holds_something_else_is_named),
        TEST(a_key_with_a_passphrase_is_refused),
        TEST(a_file_that_is_too_long_is_refused),
        TEST(a_key_without_permission_is_named),
        TEST(an_end_is_told_with_its_date),
    };

    return cmocka_run_group_tests_name("certs", tests, set_up, tear_down);
}
