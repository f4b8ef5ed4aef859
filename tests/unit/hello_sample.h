/* What good containers say of themselves, for the tests of attest, mounts and cgroup. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/json.h"
#include "profile_sample.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

#define UID INT64_C(60601)

/* Docker 20.10 with runc on cgroup v1; as are the others, but for the lengths of names. */
static const char mounts_docker_v1[] =
    "160 80 0:69 / / ro,relatime master:2 - overlay overlay rw,lowerdir=/l/A:/l/B,workdir=/w\n"
    "161 160 0:72 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw\n"
    "162 160 0:73 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755\n"
    "163 162 0:74 / /dev/pts rw,nosuid,noexec,relatime - devpts devpts rw,gid=5,mode=620\n"
    "164 160 0:75 / /sys ro,nosuid,nodev,noexec,relatime - sysfs sysfs ro\n"
    "165 164 0:76 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs rw,mode=755\n"
    "166 165 0:29 / /sys/fs/cgroup/cpu ro,nosuid,nodev,noexec,relatime - cgroup cgroup rw,cpu\n"
    "169 165 0:32 / /sys/fs/cgroup/memory ro,nosuid,nodev,noexec,relatime - cgroup cgroup rw\n"
    "173 165 0:36 / /sys/fs/cgroup/pids ro,nosuid,nodev,noexec,relatime - cgroup cgroup rw,pids\n"
    "174 165 0:37 / /sys/fs/cgroup/systemd ro,nosuid,nodev,noexec - cgroup systemd rw,name=s\n"
    "179 162 0:71 / /dev/mqueue rw,nosuid,nodev,noexec,relatime - mqueue mqueue rw\n"
    "180 162 0:77 / /dev/shm rw,nosuid,nodev,noexec,relatime - tmpfs shm rw,size=65536k\n"
    "181 160 0:78 / /workspace rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs "
    "rw,size=262144k,nr_inodes=16384,mode=700,uid=60601,gid=60601\n"
    "182 160 0:79 / /tmp rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs "
    "rw,size=65536k,nr_inodes=16384,mode=700,uid=60601,gid=60601\n"
    "185 160 254:0 /var/lib/docker/containers/b/hostname /etc/hostname ro,relatime - ext4 /dev/vda "
    "rw,discard\n"
    "81 161 0:72 /bus /proc/bus ro,nosuid,nodev,noexec,relatime - proc proc rw\n"
    "82 161 0:72 /fs /proc/fs ro,nosuid,nodev,noexec,relatime - proc proc rw\n"
    "83 161 0:72 /irq /proc/irq ro,nosuid,nodev,noexec,relatime - proc proc rw\n"
    "84 161 0:72 /sys /proc/sys ro,nosuid,nodev,noexec,relatime - proc proc rw\n"
    "85 161 0:82 / /proc/acpi ro,relatime - tmpfs tmpfs ro\n"
    "111 161 0:73 /null /proc/keys rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755\n"
    "112 161 0:73 /null /proc/timer_list rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755\n"
    "113 164 0:83 / /sys/firmware ro,relatime - tmpfs tmpfs ro\n";

static const char mounts_docker_v2[] =
    "714 600 0:52 / / ro,relatime master:300 - overlay overlay rw,lowerdir=/l/A:/l/B,workdir=/w\n"
    "715 714 0:55 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw\n"
    "716 714 0:56 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755,inode64\n"
    "717 716 0:57 / /dev/pts rw,nosuid,noexec,relatime - devpts devpts rw,gid=5,mode=620\n"
    "718 714 0:58 / /sys ro,nosuid,nodev,noexec,relatime - sysfs sysfs ro\n"
    "719 718 0:26 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup "
    "rw,nsdelegate,memory_recursiveprot\n"
    "720 716 0:54 / /dev/mqueue rw,nosuid,nodev,noexec,relatime - mqueue mqueue rw\n"
    "721 716 0:59 / /dev/shm rw,nosuid,nodev,noexec,relatime - tmpfs shm rw,size=65536k,inode64\n"
    "722 714 0:60 / /tmp rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs "
    "rw,size=65536k,nr_inodes=16384,mode=700,uid=60601,gid=60601,inode64\n"
    "723 714 0:61 / /workspace rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs "
    "rw,size=262144k,nr_inodes=16384,mode=700,uid=60601,gid=60601,inode64\n"
    "724 714 8:1 /var/lib/docker/containers/c/resolv.conf /etc/resolv.conf ro - ext4 /dev/sda1 rw\n"
    "725 714 8:1 /var/lib/docker/containers/c/hostname /etc/hostname ro - ext4 /dev/sda1 rw\n"
    "726 714 8:1 /var/lib/docker/containers/c/hosts /etc/hosts ro - ext4 /dev/sda1 rw\n"
    "601 715 0:55 /bus /proc/bus ro,nosuid,nodev,noexec,relatime - proc proc rw\n"
    "602 715 0:55 /fs /proc/fs ro,nosuid,nodev,noexec,relatime - proc proc rw\n"
    "603 715 0:55 /irq /proc/irq ro,nosuid,nodev,noexec,relatime - proc proc rw\n"
    "604 715 0:55 /sys /proc/sys ro,nosuid,nodev,noexec,relatime - proc proc rw\n"
    "605 715 0:55 /sysrq-trigger /proc/sysrq-trigger ro,nosuid,nodev,noexec - proc proc rw\n"
    "606 715 0:62 / /proc/acpi ro,relatime - tmpfs tmpfs ro,inode64\n"
    "607 715 0:56 /null /proc/interrupts rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755,inode64\n"
    "608 715 0:56 /null /proc/kcore rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755,inode64\n"
    "609 715 0:63 / /proc/scsi ro,relatime - tmpfs tmpfs ro,inode64\n"
    "610 718 0:64 / /sys/firmware ro,relatime - tmpfs tmpfs ro,inode64\n"
    "611 718 0:65 / /sys/devices/virtual/powercap ro,relatime - tmpfs tmpfs ro,inode64\n";

/* As crun mounts it: propagation between the options and the dash, sizes of 0, another order. */
static const char mounts_crun[] =
    "489 418 0:48 / / ro,nodev,relatime - fuse.fuse-overlayfs fuse-overlayfs rw,user_id=0\n"
    "490 489 0:51 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw\n"
    "491 489 0:52 / /dev rw,nosuid,noexec - tmpfs tmpfs rw,size=65536k,mode=755,uid=1000,gid=1000\n"
    "492 489 0:53 / /sys ro,nosuid,nodev,noexec,relatime - sysfs sysfs rw\n"
    "493 491 0:54 / /dev/pts rw,nosuid,noexec,relatime - devpts devpts rw,gid=100004,mode=620\n"
    "494 491 0:50 / /dev/mqueue rw,nosuid,nodev,noexec,relatime - mqueue mqueue rw\n"
    "495 489 0:44 /containers/o/hostname /etc/hostname ro,nosuid,nodev,noexec - tmpfs tmpfs rw\n"
    "496 489 0:44 /containers/o/hosts /etc/hosts ro,nosuid,nodev,noexec master:9 - tmpfs tmpfs rw\n"
    "497 491 0:47 / /dev/shm rw,nosuid,nodev,noexec,relatime shared:3 master:4 - tmpfs shm "
    "rw,size=65536k,uid=1000,gid=1000\n"
    "498 492 0:28 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup2 rw\n"
    "499 489 0:55 / /workspace rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs "
    "rw,size=262144k,nr_inodes=16384,mode=700,uid=60601,gid=60601,inode64\n"
    "500 489 0:56 / /tmp rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs "
    "rw,size=65536k,nr_inodes=16384,mode=700,uid=60601,gid=60601,inode64\n"
    "419 490 0:57 / /proc/acpi ro,relatime - tmpfs tmpfs rw,size=0k,uid=1000,gid=1000\n"
    "420 490 0:52 /null /proc/kcore ro,nosuid - tmpfs tmpfs rw,size=65536k,mode=755\n"
    "421 490 0:58 / /proc/scsi ro,relatime - tmpfs tmpfs rw,size=0k\n"
    "422 492 0:59 / /sys/firmware ro,relatime - tmpfs tmpfs rw,size=0k\n"
    "423 492 0:60 / /sys/dev/block ro,relatime - tmpfs tmpfs rw,size=0k\n"
    "424 490 0:51 /asound /proc/asound ro,relatime - proc proc rw\n"
    "425 490 0:51 /bus /proc/bus ro,relatime - proc proc rw\n"
    "426 490 0:51 /fs /proc/fs ro,relatime - proc proc rw\n"
    "427 490 0:51 /irq /proc/irq ro,relatime - proc proc rw\n"
    "428 490 0:51 /sys /proc/sys ro,relatime - proc proc rw\n";

static const char cgroup_v1[] =
    "{\"memory.limit_in_bytes\":\"536870912\",\"memory.memsw.limit_in_bytes\":\"536870912\","
    "\"cpu.cfs_quota_us\":\"100000\",\"cpu.cfs_period_us\":\"100000\",\"pids.max\":\"128\","
    "\"devices.list\":\"b *:* m\\nc *:* m\\nc 1:3 rwm\\nc 1:5 rwm\\nc 1:7 rwm\\nc 1:8 rwm\\n"
    "c 1:9 rwm\\nc 5:0 rwm\\nc 5:1 rwm\\nc 5:2 rwm\\nc 10:200 rwm\\nc 136:* rwm\"}";

static const char cgroup_v2[] =
    "{\"memory.max\":\"536870912\",\"memory.swap.max\":\"0\",\"cpu.max\":\"100000 100000\","
    "\"pids.max\":\"128\"}";

static inline cJSON *parsed(const char *text)
{
    struct error err;
    cJSON *json = json_parse(text, strlen(text), &err);

    if (!json)
        fail_msg("the test's own JSON: %s: %s", err.text, text);
    return json;
}

/* value is JSON; NULL takes the member away. */
static inline void change(cJSON *object, const char *name, const char *value)
{
    cJSON_DeleteItemFromObjectCaseSensitive(object, name);
    if (value)
        cJSON_AddItemToObject(object, name, parsed(value));
}

static const struct spec_instance plain = {.image_id = "sha256:0123", .uid = UID};

static const char hello_text[] =
    "{\"python\":\"3.12.4\",\"executable\":\"/usr/local/bin/python3\",\"uid\":60601,\"gid\":60601,"
    "\"groups\":[60601],\"hostname\":\"sandbox\",\"environ\":{\"HOSTNAME\":\"sandbox\","
    "\"PATH\":\"/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin\","
    "\"HOME\":\"/workspace\",\"USER\":\"sandbox\",\"LOGNAME\":\"sandbox\",\"LANG\":\"C.UTF-8\","
    "\"TMPDIR\":\"/tmp\",\"XDG_CACHE_HOME\":\"/tmp/.cache\",\"MPLBACKEND\":\"Agg\","
    "\"MPLCONFIGDIR\":\"/tmp/.config/matplotlib\",\"NUMBA_CACHE_DIR\":\"/tmp/.cache/numba\","
    "\"JOBLIB_TEMP_FOLDER\":\"/tmp\",\"OMP_NUM_THREADS\":\"1\",\"OPENBLAS_NUM_THREADS\":\"1\","
    "\"MKL_NUM_THREADS\":\"1\",\"NUMEXPR_MAX_THREADS\":\"1\"},"
    "\"CapInh\":\"0000000000000000\",\"CapPrm\":\"0000000000000000\","
    "\"CapEff\":\"0000000000000000\",\"CapBnd\":\"0000000000000000\","
    "\"CapAmb\":\"0000000000000000\",\"no_new_privs\":1,\"seccomp\":2,\"interfaces\":[\"lo\"],"
    "\"refused\":{\"bpf\":1,\"io_uring_setup\":38,\"mount\":1,\"unshare\":1,\"AF_NETLINK\":1},"
    "\"devices\":[\"fd\",\"full\",\"mqueue\",\"null\",\"ptmx\",\"pts\",\"random\",\"shm\","
    "\"stderr\",\"stdin\",\"stdout\",\"tty\",\"urandom\",\"zero\"],\"cgroup_roots\":[\"/\"],"
    "\"nodes\":{\"/dev/null\":\"c 1:3\",\"/dev/pts/ptmx\":\"c 5:2\",\"/dev/tty\":\"c 5:0\"},"
    "\"unmasked\":[],\"swap_bytes\":0,"
    "\"rlimits\":{\"RLIMIT_AS\":[-1,-1],\"RLIMIT_NOFILE\":[8192,8192],\"RLIMIT_CORE\":[0,0],"
    "\"RLIMIT_MEMLOCK\":[65536,65536],\"RLIMIT_NICE\":[0,0],\"RLIMIT_RTPRIO\":[0,0]},"
    "\"resolver\":true}";

static inline cJSON *good_hello(const char *mounts, const char *cgroup)
{
    cJSON *hello = parsed(hello_text);

    cJSON_AddItemToObject(hello, "mountinfo", cJSON_CreateString(mounts));
    cJSON_AddItemToObject(hello, "cgroup", parsed(cgroup));
    return hello;
}

static inline cJSON *hello_v2(void)
{
    return good_hello(mounts_docker_v2, cgroup_v2);
}
