/* mounts: whole mount tables of engines, then each deviation from them. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "executor/mounts.h"
#include "hello_sample.h"

static const struct {
    const char *name;
    const char *text;
} tables[] = {
    {"docker v1", mounts_docker_v1},
    {"docker v2", mounts_docker_v2},
    {"crun", mounts_crun},
};

static void check_good(const char *name, const char *table, const char *volumes)
{
    auto_json cJSON *json = volumes ? parsed(volumes) : NULL;
    struct error err = {"untouched"};

    if (mounts_check(table, &profile, UID, json, &err) < 0)
        fail_msg("%s: %s", name, err.text);
    assert_string_equal(err.text, "untouched");
}

static void check_bad(const char *table, const char *volumes, const char *says)
{
    auto_json cJSON *json = volumes ? parsed(volumes) : NULL;
    auto_free char *text = NULL;
    struct error err = {""};

    if (mounts_check(table, &profile, UID, json, &err) != -1)
        fail_msg("accepted, instead of '%s'", says);
    text = mem_printf("%s; ", err.text);
    if (!strstr(text, says))
        fail_msg("'%s' lacks '%s'", text, says);
    assert_true(strlen(err.text) < 700);
    assert_true(text_is_utf8(err.text, strlen(err.text)));
    assert_int_equal(mounts_check(table, &profile, UID, json, NULL), -1);
}

static void tables_of_engines_pass(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(tables); i++)
        check_good(tables[i].name, tables[i].text, NULL);
}

/* The table with one line changed: the line that mounts at `where`. NULL for `from` takes the line
 * out; NULL for `where` adds a line. */
static char *edited(const char *table, const char *where, const char *from, const char *to)
{
    auto_free char *mark = where ? mem_printf(" %s r", where) : NULL;
    const char *line, *end, *at;

    if (!where)
        return mem_printf("%s%s\n", table, to);
    at = strstr(table, mark);
    if (!at)
        fail_msg("the table has no %s", where);
    line = at;
    while (line > table && line[-1] != '\n')
        line--;
    end = strchr(at, '\n');
    if (!from)
        return mem_printf("%.*s%s", (int)(line - table), table, end + 1);
    at = strstr(at + strlen(where) + 1, from);
    if (!at || at > end)
        fail_msg("the line of %s has no %s", where, from);
    return mem_printf("%.*s%s%s", (int)(at - table), table, to, at + strlen(from));
}

/* Where a profile asks for exec, the two places have it, and the others do not. */
static void exec_is_as_asked(void **state)
{
    struct spec_profile asked = profile;
    struct error err;

    (void)state;
    asked.exec = true;
    for (size_t i = 0; i < COUNT(tables); i++) {
        auto_free char *one = edited(tables[i].text, "/workspace", ",noexec", "");
        auto_free char *both = edited(one, "/tmp", ",noexec", "");
        auto_free char *shm = edited(both, "/dev/shm", ",noexec", "");

        assert_int_equal(mounts_check(both, &asked, UID, NULL, NULL), 0);
        assert_int_equal(mounts_check(both, &profile, UID, NULL, &err), -1);
        assert_non_null(strstr(err.text, "is not mounted noexec ("));
        assert_int_equal(mounts_check(one, &asked, UID, NULL, &err), -1);
        assert_non_null(
            strstr(err.text, "/tmp is mounted noexec, where the profile asks for exec"));
        assert_int_equal(mounts_check(shm, &asked, UID, NULL, &err), -1);
        assert_non_null(strstr(err.text, "/dev/shm is not mounted noexec ("));
    }
}

static const struct deviation {
    const char *where;
    const char *from;
    const char *to;
    const char *says;
} deviations[] = {
    /* Added. */
    {NULL, NULL, "9 1 8:1 /home /mnt rw - ext4 /dev/sda1 rw", "nobody asked for a ext4 at /mnt; "},
    {NULL, NULL, "9 1 8:1 /home /mnt ro - ext4 /dev/sda1 rw", "nobody asked for a ext4 at /mnt; "},
    {NULL, NULL, "9 1 8:1 /v /data rw - ext4 /dev/sda1 rw", "nobody asked for a ext4 at /data; "},
    {NULL, NULL, "9 1 0:9 / /run rw,nosuid,nodev,noexec - tmpfs tmpfs rw", "a tmpfs at /run; "},
    {NULL, NULL, "9 1 0:9 / /data ro,nosuid,nodev,noexec - tmpfs tmpfs rw", "a tmpfs at /data; "},
    {NULL, NULL, "9 1 0:9 / /run/docker.sock ro - tmpfs tmpfs rw", "a tmpfs at /run/docker.sock; "},
    {NULL, NULL, "9 1 0:9 / /dev/sda rw,nosuid - devtmpfs udev rw", "a devtmpfs at /dev/sda; "},
    {NULL, NULL, "9 1 0:9 / /proc/x rw - nsfs nsfs rw", "a nsfs at /proc/x; "},
    {NULL, NULL, "9 1 0:9 / /sys/kernel/debug rw - debugfs d rw",
     "a debugfs at /sys/kernel/debug; "},
    {NULL, NULL, "9 1 0:9 / /sys/fs/bpf ro - bpf bpf rw", "a bpf at /sys/fs/bpf; "},
    {NULL, NULL, "9 1 0:9 / /sys/fs/cgroup/x ro - cgroup2 c rw", "cgroup2 at /sys/fs/cgroup/x; "},
    {NULL, NULL, "9 1 8:1 / /workspace/x rw - ext4 /dev/sda1 rw", "ext4 at /workspace/x; "},
    {NULL, NULL, "9 1 8:1 / /workspac rw - ext4 /dev/sda1 rw", "ext4 at /workspac; "},
    {NULL, NULL, "9 1 8:1 / // ro - ext4 /dev/sda1 rw", "ext4 at //; "},
    /* Over one that was asked for. */
    {NULL, NULL, "9 1 8:1 / /workspace rw - ext4 /dev/sda1 rw", "a ext4 at /workspace; "},
    {NULL, NULL, "9 1 8:1 / /tmp ro - ext4 /dev/sda1 rw", "a ext4 at /tmp; "},
    {NULL, NULL, "9 1 8:1 / / ro - ext4 /dev/sda1 rw", "something is mounted over /; "},
    {NULL, NULL, "9 1 0:9 / /proc rw,nosuid,nodev,noexec - proc p rw", "mounted over /proc; "},
    {NULL, NULL, "9 1 0:9 / /proc/sys ro - proc p rw", "mounted over /proc/sys; "},
    {NULL, NULL, "9 1 0:9 / /proc/sys rw - tmpfs t rw", "mounted over /proc/sys; "},
    {NULL, NULL, "9 1 0:9 / /dev/shm rw,nosuid,nodev,noexec - tmpfs t rw,size=65536k",
     "/dev/shm; "},
    {NULL, NULL,
     "9 1 0:9 / /workspace rw,nosuid,nodev,noexec - tmpfs t "
     "rw,size=262144k,nr_inodes=16384,mode=700,uid=60601",
     "something is mounted over /workspace; "},
    /* Missing. */
    {"/", NULL, NULL, "/ is not a mount of its own; "},
    {"/proc", NULL, NULL, "/proc is not a mount of its own; "},
    {"/proc/sys", NULL, NULL, "/proc/sys is not a mount of its own; "},
    {"/proc/irq", NULL, NULL, "/proc/irq is not a mount of its own; "},
    {"/proc/bus", NULL, NULL, "/proc/bus is not a mount of its own; "},
    {"/proc/fs", NULL, NULL, "/proc/fs is not a mount of its own; "},
    {"/dev/mqueue", NULL, NULL, "/dev/mqueue is not a mount of its own; "},
    {"/dev/shm", NULL, NULL, "/dev/shm is not a mount of its own; "},
    {"/workspace", NULL, NULL, "/workspace is not a mount of its own; "},
    {"/tmp", NULL, NULL, "/tmp is not a mount of its own; "},
    /* With other options. */
    {"/", "ro", "rw", "/ is not mounted ro (rw,"},
    {"/", "ro,", "rom,", "/ is not mounted ro (rom,"},
    {"/proc", ",nosuid", "", "/proc is not mounted nosuid ("},
    {"/proc", ",nodev", "", "/proc is not mounted nodev ("},
    {"/proc", ",noexec", "", "/proc is not mounted noexec ("},
    {"/proc/sys", "ro", "rw", "/proc/sys is not mounted ro ("},
    {"/proc/bus", "ro", "rw", "/proc/bus is not mounted ro ("},
    {"/dev", ",nosuid", "", "/dev is not mounted nosuid ("},
    {"/dev/pts", ",noexec", "", "/dev/pts is not mounted noexec ("},
    {"/dev/mqueue", ",nodev", "", "/dev/mqueue is not mounted nodev ("},
    {"/dev/shm", ",noexec", "", "/dev/shm is not mounted noexec ("},
    {"/sys", "ro", "rw", "/sys is not mounted ro ("},
    {"/sys/fs/cgroup", ",nosuid", "", "/sys/fs/cgroup is not mounted nosuid ("},
    {"/sys/firmware", "ro", "rw", "/sys/firmware is not mounted ro ("},
    {"/etc/hostname", "ro", "rw", "/etc/hostname is not mounted ro ("},
    {"/workspace", ",nosuid", "", "/workspace is not mounted nosuid ("},
    {"/workspace", ",nodev", "", "/workspace is not mounted nodev ("},
    {"/workspace", ",noexec", "", "/workspace is not mounted noexec ("},
    {"/tmp", ",nosuid", "", "/tmp is not mounted nosuid ("},
    {"/tmp", ",nodev", "", "/tmp is not mounted nodev ("},
    {"/tmp", ",noexec", ",noexecs", "/tmp is not mounted noexec ("},
    /* Of another size or kind. */
    {"/workspace", "tmpfs", "ext4", "nobody asked for a ext4 at /workspace; "},
    {"/workspace", "size=262144k", "size=262148k", "size=262148, asked for 262144; "},
    {"/workspace", "size=262144k,", "", "/workspace has no size; asked for 262144; "},
    {"/workspace", "size=", "xsize=", "/workspace has no size; asked for 262144; "},
    {"/workspace", "nr_inodes=16384", "nr_inodes=16385", "nr_inodes=16385, asked for 16384; "},
    {"/workspace", "nr_inodes=16384,", "", "/workspace has no nr_inodes; asked for 16384; "},
    {"/workspace", "mode=700", "mode=1777", "/workspace has mode=1777, asked for 700; "},
    {"/workspace", "uid=60601", "uid=0", "/workspace has uid=0, asked for 60601; "},
    {"/workspace", "uid=60601,", "", "/workspace has no uid; asked for 60601; "},
    {"/tmp", "size=65536k", "size=50%", "/tmp has size=50, asked for 65536; "},
    {"/tmp", "nr_inodes=16384", "nr_inodes=0", "/tmp has nr_inodes=0, asked for 16384; "},
    {"/tmp", "mode=700", "mode=777", "/tmp has mode=777, asked for 700; "},
    {"/tmp", "uid=60601", "uid=60602", "/tmp has uid=60602, asked for 60601; "},
    {"/dev/shm", "size=65536k", "size=4096k", "/dev/shm has size=4096, asked for 65536; "},
    {"/dev/shm", ",size=65536k", "", "/dev/shm has no size; asked for 65536; "},
};

static void deviations_are_named(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT(tables); t++) {
        for (size_t i = 0; i < COUNT(deviations); i++) {
            const struct deviation *one = &deviations[i];
            auto_free char *table = edited(tables[t].text, one->where, one->from, one->to);

            check_bad(table, NULL, one->says);
            check_bad(table, NULL, "; ");
        }
    }
}

/* What hides something of the kernel is checked from inside, whatever it is like. */
static void masks_are_welcome(void **state)
{
    static const char *const masks[] = {
        "9 1 0:9 / /proc/latency_stats rw - tmpfs tmpfs rw",
        "9 1 0:9 / /proc/a/b/c ro,relatime - tmpfs tmpfs ro",
        "9 1 0:9 / /proc/sysrq-trigger ro - proc proc rw",
        "9 1 0:9 / /sys/devices/virtual/powercap ro - tmpfs tmpfs ro",
        "9 1 8:1 / /etc/resolv.conf ro - btrfs /dev/sda1 rw",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(masks); i++) {
        auto_free char *table = edited(mounts_docker_v2, NULL, NULL, masks[i]);

        check_good(masks[i], table, NULL);
    }
}

static void malformed_lines_are_refused(void **state)
{
    static const char *const lines[] = {
        " ",
        "mount",
        "\t",
        "9 1 0:9 / /mnt rw",
        "9 1 0:9 / /mnt rw -",
        "9 1 0:9 / /mnt rw - ",
        "9 1 0:9 / /mnt rw - tmpfs",
        "9 1 0:9 / /mnt rw - tmpfs tmpfs",
        "9 1 0:9 / - tmpfs tmpfs rw",
        "9 1 0:9 / /mnt - tmpfs tmpfs rw",
        "- - - - - - - -",
        "%s%n%s%n",
        "\xc3\xa9\xe2\x82\xac",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(lines); i++) {
        auto_free char *table = edited(mounts_docker_v1, NULL, NULL, lines[i]);

        check_bad(table, NULL, "'");
    }
    check_bad("", NULL, "/ is not a mount of its own");
    check_bad("\n\n\n", NULL, "/ is not a mount of its own");
    check_bad("9 1 0:9 /  rw - tmpfs tmpfs rw", NULL, "nobody asked for a tmpfs at ; ");
}

/* A table without its last newline, or with empty lines, is the same table. */
static void newlines_do_not_matter(void **state)
{
    auto_free char *cut = mem_strndup(mounts_docker_v1, strlen(mounts_docker_v1) - 1);
    auto_free char *wide = mem_printf("\n\n%s\n\n", mounts_docker_v1);

    (void)state;
    check_good("no last newline", cut, NULL);
    check_good("empty lines", wide, NULL);
}

static void volumes_must_be_covered(void **state)
{
    static const char volumes[] = "{\"/data\":{},\"/a b\":{},\"/t\\tab\":{},\"/back\\\\slash\":{},"
                                  "\"/n\\n\":{},\"/workspace\":{}}";
    static const char *const covers[] = {
        "9 1 0:9 / /data ro,nosuid,nodev,noexec - tmpfs tmpfs rw,size=4k,nr_inodes=1",
        "9 1 0:9 / /a\\040b ro,nosuid,nodev,noexec - tmpfs tmpfs rw,size=4k,nr_inodes=1",
        "9 1 0:9 / /t\\011ab ro,nosuid,nodev,noexec - tmpfs tmpfs rw,size=4k,nr_inodes=1",
        "9 1 0:9 / /n\\012 ro,nosuid,nodev,noexec - tmpfs tmpfs rw,size=4k,nr_inodes=1",
        "9 1 0:9 / /back\\134slash ro,nosuid,nodev,noexec - tmpfs tmpfs rw,size=4k,nr_inodes=1",
    };
    static const struct {
        const char *line;
        const char *says;
    } bad[] = {
        {"9 1 0:9 / /data rw,nosuid,nodev,noexec - tmpfs t rw", "/data is not mounted ro ("},
        {"9 1 0:9 / /data ro,nodev,noexec - tmpfs t rw", "/data is not mounted nosuid ("},
        {"9 1 0:9 / /data ro,nosuid,noexec - tmpfs t rw", "/data is not mounted nodev ("},
        {"9 1 0:9 / /data ro,nosuid,nodev - tmpfs t rw", "/data is not mounted noexec ("},
        {"9 1 8:1 / /data ro,nosuid,nodev,noexec - ext4 t rw", "a ext4 at /data; "},
        {"9 1 8:1 / /data/x ro,nosuid,nodev,noexec - tmpfs t rw", "a tmpfs at /data/x; "},
        {"9 1 8:1 / /data\\040 ro,nosuid,nodev,noexec - tmpfs t rw", "a tmpfs at /data ; "},
        {"9 1 8:1 / /data\\04 ro,nosuid,nodev,noexec - tmpfs t rw", "a tmpfs at /data\\04; "},
        {"9 1 8:1 / /data\\ ro,nosuid,nodev,noexec - tmpfs t rw", "a tmpfs at /data\\; "},
        {"9 1 8:1 / /data\\089 ro,nosuid,nodev,noexec - tmpfs t rw", "a tmpfs at /data\\089; "},
        {"9 1 8:1 / /a ro,nosuid,nodev,noexec - tmpfs t rw", "a tmpfs at /a; "},
        {"9 1 8:1 / /workspace rw - ext4 /dev/sda1 rw", "a ext4 at /workspace; "},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(covers); i++) {
        auto_free char *table = edited(mounts_docker_v1, NULL, NULL, covers[i]);

        check_good(covers[i], table, volumes);
        check_bad(table, NULL, "nobody asked for a tmpfs at ");
        check_bad(table, "{\"/other\":{}}", "nobody asked for a tmpfs at ");
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        auto_free char *table = edited(mounts_docker_v1, NULL, NULL, bad[i].line);

        check_bad(table, volumes, bad[i].says);
    }
}

#define SALES "9 1 8:1 /srv/sales /data/sales ro,nosuid,nodev,noexec,relatime - ext4 /dev/sda1 rw"

static void granted_folders_are_there_once_and_closed(void **state)
{
    static char path[] = "/data/sales", source[] = "/srv/sales";
    const struct grants_folder folders[] = {{path, source}};
    static const struct {
        const char *lines;
        const char *says; /* NULL: good */
    } rows[] = {
        {SALES, NULL},
        {"", "/data/sales, which the profile grants, is not mounted; "},
        {SALES "\n" SALES, "something is mounted over /data/sales; "},
        {SALES "\n9 1 8:1 / /data/sales/x ro,nosuid,nodev,noexec - ext4 t rw",
         "at /data/sales/x; "},
        {"9 1 8:1 / /data/sales rw,nosuid,nodev,noexec - ext4 t rw", "is not mounted ro ("},
        {"9 1 8:1 / /data/sales ro,nodev,noexec - ext4 t rw", "is not mounted nosuid ("},
        {"9 1 8:1 / /data/sales ro,nosuid,noexec - ext4 t rw", "is not mounted nodev ("},
        {"9 1 8:1 / /data/sales ro,nosuid,nodev - ext4 t rw", "is not mounted noexec ("},
        {"9 1 8:1 / /data/sales ro,nosuid,nodev,noexec master:4 - ext4 t rw",
         "not mounted private"},
        {"9 1 8:1 / /data/sales ro,nosuid,nodev,noexec shared:4 - ext4 t rw",
         "not mounted private"},
        {"9 1 8:1 / /data/sales ro,nosuid,nodev,noexec unbindable - ext4 t rw", NULL},
    };
    struct spec_profile asked = profile;

    (void)state;
    asked.data = folders;
    asked.data_count = COUNT(folders);
    for (size_t i = 0; i < COUNT(rows); i++) {
        auto_free char *table = mem_printf("%s%s\n", mounts_docker_v1, rows[i].lines);
        auto_free char *text = NULL;
        struct error err = {""};
        int r = mounts_check(table, &asked, UID, NULL, &err);

        text = mem_printf("%s; ", err.text);
        if (r != (rows[i].says ? -1 : 0) || (rows[i].says && !strstr(text, rows[i].says)))
            fail_msg("%s: %s", rows[i].lines, err.text);
        if (!rows[i].says)
            check_bad(table, NULL, "nobody asked for a ext4 at /data/sales; ");
    }
}

static void a_drivers_files_come_with_a_gpu_only(void **state)
{
    static const struct {
        const char *line;
        const char *says; /* NULL: good */
    } rows[] = {
        {"9 1 0:5 /nvidia0 /dev/nvidia0 rw,nosuid,noexec - devtmpfs udev rw", NULL},
        {"9 1 8:1 /l /usr/lib/x86_64-linux-gnu/libcuda.so.550.1 ro,nosuid,nodev - ext4 t rw", NULL},
        {"9 1 8:1 /b /usr/bin/nvidia-smi ro,nosuid,nodev,relatime - ext4 t rw", NULL},
        {"9 1 8:1 /f /lib/firmware/nvidia/550.1/gsp.bin ro,nosuid,nodev - ext4 t rw", NULL},
        {"9 1 0:9 / /proc/driver/nvidia rw,nosuid,nodev,noexec - tmpfs tmpfs rw,mode=555", NULL},
        {"9 1 0:9 /s /run/nvidia-persistenced/socket rw,nosuid,nodev,noexec - tmpfs t rw", NULL},
        {"9 1 0:5 /nvidia0 /dev/nvidia0 rw,noexec - devtmpfs udev rw", "not mounted nosuid ("},
        {"9 1 8:1 /l /usr/lib/libcuda.so rw,nosuid,nodev - ext4 t rw", "not mounted ro ("},
        {"9 1 0:5 /sda /dev/sda rw,nosuid,noexec - devtmpfs udev rw", "a devtmpfs at /dev/sda; "},
        {"9 1 8:1 / /usr ro,nosuid,nodev - ext4 t rw", "a ext4 at /usr; "},
        {"9 1 0:9 /s /run/docker.sock rw,nosuid,nodev,noexec - tmpfs t rw", "/run/docker.sock; "},
    };
    struct spec_profile asked = profile;

    (void)state;
    asked.gpus.kind = GRANTS_GPUS_ALL;
    for (size_t i = 0; i < COUNT(rows); i++) {
        auto_free char *table = mem_printf("%s%s\n", mounts_docker_v1, rows[i].line);
        auto_free char *text = NULL;
        struct error err = {""};
        int r = mounts_check(table, &asked, UID, NULL, &err);

        text = mem_printf("%s; ", err.text);
        if (r != (rows[i].says ? -1 : 0) || (rows[i].says && !strstr(text, rows[i].says)))
            fail_msg("%s: %s", rows[i].line, err.text);
        if (!rows[i].says && !strstr(rows[i].line, "/proc/driver"))
            check_bad(table, NULL, "nobody asked for ");
    }
}

/* The kernel rounds up to pages and tells KiB. */
static void sizes_are_the_profiles(void **state)
{
    static const struct {
        int64_t bytes;
        const char *size; /* of /tmp in the table */
    } sizes[] = {
        {4096, "size=4k"},
        {4097, "size=8k"},
        {1, "size=4k"},
        {1000000, "size=980k"},
        {INT64_C(1) << 40, "size=1073741824k"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        auto_free char *table = edited(mounts_docker_v2, "/tmp", "size=65536k", sizes[i].size);
        struct spec_profile asked = profile;
        struct error err = {""};

        asked.tmp = sizes[i].bytes;
        if (mounts_check(table, &asked, UID, NULL, &err) < 0)
            fail_msg("%s: %s", sizes[i].size, err.text);
        assert_int_equal(mounts_check(mounts_docker_v2, &asked, UID, NULL, NULL), -1);
    }
    assert_int_equal(mounts_check(mounts_docker_v2, &profile, UID + 1, NULL, NULL), -1);
}

/* The image speaks here: long texts are walked once, and quoted in part. */
static void huge_tables_are_refused_quickly(void **state)
{
    static const char *const units[] = {
        "a", " ", "/", ",", "9 1 0:9 / /x r - a b c\n", "ro,", "size=", "\\040", "\xf0\x9f\x90\x8d",
        "%n"};

    (void)state;
    for (size_t i = 0; i < COUNT(units); i++) {
        auto_buf struct buf table;

        buf_init(&table, 4 * MIB);
        assert_int_equal(buf_add_text(&table, mounts_docker_v1), 0);
        while (table.len < 2 * MIB)
            assert_int_equal(buf_add_text(&table, units[i]), 0);
        check_bad(table.data, NULL, "; ");
    }
    for (size_t i = 0; i < COUNT(units); i++) {
        auto_buf struct buf table;

        buf_init(&table, 4 * MIB);
        assert_int_equal(buf_add_text(&table, "9 1 0:9 / /"), 0);
        while (table.len < 2 * MIB)
            assert_int_equal(buf_add_text(&table, units[i]), 0);
        assert_int_equal(buf_add_text(&table, " rw - tmpfs tmpfs rw\n"), 0);
        check_bad(table.data, NULL, "; ");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_of_engines_pass),
        cmocka_unit_test(exec_is_as_asked),
        cmocka_unit_test(deviations_are_named),
        cmocka_unit_test(masks_are_welcome),
        cmocka_unit_test(malformed_lines_are_refused),
        cmocka_unit_test(newlines_do_not_matter),
        cmocka_unit_test(volumes_must_be_covered),
        cmocka_unit_test(granted_folders_are_there_once_and_closed),
        cmocka_unit_test(a_drivers_files_come_with_a_gpu_only),
        cmocka_unit_test(sizes_are_the_profiles),
        cmocka_unit_test(huge_tables_are_refused_quickly),
    };

    return cmocka_run_group_tests_name("mounts", tests, NULL, NULL);
}
