/* inside: which container a process runs in, and what is said there of a socket that is closed to
 * it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "executor/inside.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

#define ID    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
#define OTHER "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"
#define LINE(root, point)                                                                          \
    "613 604 254:0 " root " " point " rw,relatime - ext4 /dev/vda rw,discard\n"

static const struct {
    const char *mountinfo;
    const char *id; /* NULL: none */
} cases[] = {
    {"", NULL},
    {LINE("/", "/"), NULL},
    {LINE("/etc/hostname", "/etc/hostname"), NULL},
    {LINE("/var/lib/docker/containers/" ID "/hostname", "/etc/hostname"), ID},
    {LINE("/containers/" ID "/hostname", "/etc/hostname"), ID},
    {LINE("/srv/u/docker/containers/" ID "/hostname", "/etc/hostname"), ID},
    {LINE("/srv/containers/docker/containers/" ID "/hostname", "/etc/hostname"), ID},
    {LINE("/", "/") LINE("/docker/containers/" ID "/resolv.conf", "/etc/resolv.conf")
         LINE("/docker/containers/" ID "/hostname", "/etc/hostname"),
     ID},
    /* a host that sees the files of its containers, or hands them on to one */
    {LINE("/", "/docker/containers/" ID "/mounts/shm"), NULL},
    {LINE("/docker/containers/" OTHER "/hostname", "/mnt/hostname")
         LINE("/docker/containers/" ID "/hostname", "/etc/hostname"),
     ID},
    {LINE("/docker/containers/" ID "/hosts", "/etc/hosts"), NULL},
    /* a pod's sandbox, which several containers share */
    {LINE("/containerd/io.containerd.grpc.v1.cri/sandboxes/" ID "/hostname", "/etc/hostname"),
     NULL},
    {LINE("/overlay-containers/" ID "/userdata/hostname", "/etc/hostname"), NULL},
    {LINE("/docker/containers/" ID "0/hostname", "/etc/hostname"), NULL},
    {LINE("/docker/containers/9f86d081884c/hostname", "/etc/hostname"), NULL},
    {"/containers/" ID, NULL},
    {"/containers/", NULL},
};

static void the_id_is_found_where_the_engine_put_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char id[INSIDE_ID_SIZE] = "untouched";
        bool found = inside_find_id(cases[i].mountinfo, id);

        if (found != (cases[i].id != NULL) || strcmp(id, found ? cases[i].id : "untouched") != 0)
            fail_msg("%s: %d, %s", cases[i].mountinfo, found, id);
    }
}

static void the_mend_fits_the_place(void **state)
{
    auto_free char *host = inside_permission(false, 998, false);
    auto_free char *group = inside_permission(true, 998, false);
    auto_free char *member = inside_permission(true, 998, true);
    auto_free char *unmapped = inside_permission(true, INSIDE_NO_GROUP, false);

    (void)state;
    assert_non_null(strstr(host, "usermod"));
    assert_non_null(strstr(group, "group_add: [\"998\"]"));
    assert_non_null(strstr(group, "user: \"60599:998\"` in a stack"));
    assert_non_null(strstr(group, "--group-add 998"));
    assert_non_null(strstr(group, "stat -c %g"));
    assert_null(strstr(group, "usermod"));
    assert_non_null(strstr(member, "label=disable"));
    assert_null(strstr(member, "group_add"));
    assert_non_null(strstr(unmapped, "rootless"));
    assert_non_null(strstr(inside_misplaced(true), "path on the host is wrong"));
    assert_non_null(strstr(inside_misplaced(false), "--docker-host"));
    assert_non_null(strstr(inside_silence(true, false), "-v /var/run/docker.sock:/var/run/docker"));
    assert_null(strstr(inside_silence(true, false), "systemctl"));
    assert_non_null(strstr(inside_silence(true, true), "on the host (`sudo systemctl start"));
    assert_non_null(strstr(inside_silence(false, true), "Start one (`sudo systemctl start"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_id_is_found_where_the_engine_put_it),
        cmocka_unit_test(the_mend_fits_the_place),
    };

    return cmocka_run_group_tests_name("inside", tests, NULL, NULL);
}
