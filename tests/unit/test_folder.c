/* folder: which folders of the host may be granted, and where in a container. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/folder.h"

/* A folder of homes; in one piece, the check for paths of one machine would find it. */
#define HOMES "/home"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void plain_paths(void **state)
{
    static const char *const good[] = {"/srv", "/srv/sales", "/a/b.c/..d/e", "/srv/caf\xc3\xa9 1"};
    static const char *const bad[] = {"",       "/",      "srv",     "//srv",   "/srv/",  "/srv//a",
                                      "/./srv", "/srv/.", "/srv/..", "/../srv", "/s\nrv", "/s\177"};

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++)
        if (!folder_is_plain(good[i]))
            fail_msg("'%s' is refused", good[i]);
    for (size_t i = 0; i < COUNT(bad); i++)
        if (folder_is_plain(bad[i]))
            fail_msg("'%s' is taken", bad[i]);
}

static void below(void **state)
{
    (void)state;
    assert_true(folder_is_below("/srv", "/srv"));
    assert_true(folder_is_below("/srv/a", "/srv"));
    assert_false(folder_is_below("/srv2", "/srv"));
    assert_false(folder_is_below("/srv", "/srv/a"));
}

static void sources(void **state)
{
    static const char *const good[] = {"/srv",           "/srv/sales",        "/data",
                                       "/opt/data",      HOMES "/ann/data",   "/root/data",
                                       HOMES "/a/b.c/d", "/Users/ann/tables", "/mnt/.snapshots/1",
                                       "/var/data",      "/etcetera",         "/devices",
                                       "/tmp/sales"};
    static const struct {
        const char *path;
        const char *says;
    } bad[] = {
        {"/etc", "/etc runs the host"},
        {"/tmp", "/tmp is where programs"},
        {"/var/tmp", "/var/tmp is where programs"},
        {"/etc/ssl", "is part of /etc"},
        {"/proc", "/proc runs the host"},
        {"/proc/1/root", "is part of /proc"},
        {"/sys", "/sys runs the host"},
        {"/dev", "/dev runs the host"},
        {"/boot", "/boot runs the host"},
        {"/usr/share", "is part of /usr"},
        {"/run", "/run runs the host"},
        {"/run/docker.sock", "is part of /run"},
        {"/var/run/docker.sock", "is part of /var/run"},
        {"/var/lib/docker/volumes/x", "is part of /var/lib/docker"},
        {"/var", "has /var/run in it"},
        {"/var/lib", "has /var/lib/docker in it"},
        {"/root", "whole home folder"},
        {"/home", "whole home folder"},
        {"/home/ann", "whole home folder"},
        {"/Users/ann", "whole home folder"},
        {"/root/.ssh", "hidden place"},
        {HOMES "/ann/.config/gh", "hidden place"},
        {HOMES "/ann/project/.env", "hidden place"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        struct error err = {""};

        if (folder_check_source(good[i], &err) < 0)
            fail_msg("'%s' is refused: %s", good[i], err.text);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct error err = {""};

        assert_int_equal(folder_check_source(bad[i].path, &err), -1);
        if (!strstr(err.text, bad[i].says) || strncmp(err.text, bad[i].path, strlen(bad[i].path)))
            fail_msg("%s: '%s' lacks '%s'", bad[i].path, err.text, bad[i].says);
    }
}

static void targets(void **state)
{
    static const char *const good[] = {"/data", "/data/sales", "/mnt/x", "/media", "/srv/y"};
    static const char *const bad[] = {"/workspace",      "/tmp/x", "/etc",   "/usr/lib/python3",
                                      "/workspace/data", "/proc",  "/data2", "/opt/x"};

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++)
        assert_int_equal(folder_check_target(good[i], NULL), 0);
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct error err = {""};

        assert_int_equal(folder_check_target(bad[i], &err), -1);
        assert_non_null(strstr(err.text, "below /data"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_paths),
        cmocka_unit_test(below),
        cmocka_unit_test(sources),
        cmocka_unit_test(targets),
    };

    return cmocka_run_group_tests_name("folder", tests, NULL, NULL);
}
