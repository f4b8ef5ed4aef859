/* seccomp: evaluates the profile as the kernel would, call by call, for both architectures. */
#include <errno.h>
#include <seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "executor/seccomp.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct arch {
    const char *engine_name;
    const char *name;
    uint32_t number;
} arches[] = {
    {"amd64", "SCMP_ARCH_X86_64", SCMP_ARCH_X86_64},
    {"arm64", "SCMP_ARCH_AARCH64", SCMP_ARCH_AARCH64},
};

static cJSON *profile_of(const char *engine_arch)
{
    struct error err;
    auto_free char *text = seccomp_profile(engine_arch, &err);
    cJSON *profile;

    assert_non_null(text);
    profile = json_parse(text, strlen(text), &err);
    if (!profile)
        fail_msg("the profile is not JSON: %s", err.text);
    return profile;
}

static bool names(const cJSON *entry, const char *call)
{
    const cJSON *name;

    cJSON_ArrayForEach(name, json_get_array(entry, "names"))
    {
        if (strcmp(name->valuestring, call) == 0)
            return true;
    }
    return false;
}

static bool matches(const cJSON *entry, const uint64_t args[6])
{
    const cJSON *arg;

    cJSON_ArrayForEach(arg, json_get_array(entry, "args"))
    {
        const char *op = json_get_text(arg, "op");
        int64_t index, value, second = 0;
        uint64_t given;

        assert_true(json_get_int(arg, "index", &index) && index >= 0 && index < 6);
        assert_true(json_get_int(arg, "value", &value) && value >= 0);
        assert_true(json_get_int(arg, "valueTwo", &second));
        given = args[index];
        if (strcmp(op, "SCMP_CMP_EQ") == 0) {
            if (given != (uint64_t)value)
                return false;
        } else if (strcmp(op, "SCMP_CMP_MASKED_EQ") == 0) {
            if ((given & (uint64_t)value) != (uint64_t)second)
                return false;
        } else {
            fail_msg("unknown operator %s", op);
        }
    }
    return true;
}

/* 0 where the call is allowed, else the error that it gets. */
static int evaluate(const cJSON *profile, const char *call, const uint64_t args[6])
{
    const cJSON *entry;
    int64_t error;

    cJSON_ArrayForEach(entry, json_get_array(profile, "syscalls"))
    {
        if (!names(entry, call) || !matches(entry, args))
            continue;
        if (strcmp(json_get_text(entry, "action"), "SCMP_ACT_ALLOW") == 0)
            return 0;
        assert_string_equal(json_get_text(entry, "action"), "SCMP_ACT_ERRNO");
        assert_true(json_get_int(entry, "errnoRet", &error));
        return (int)error;
    }
    assert_string_equal(json_get_text(profile, "defaultAction"), "SCMP_ACT_ERRNO");
    assert_true(json_get_int(profile, "defaultErrnoRet", &error));
    return (int)error;
}

static void expect(const cJSON *profile, const char *call, uint64_t a, uint64_t b, int wanted)
{
    const uint64_t args[6] = {a, b};
    int got = evaluate(profile, call, args);

    if (got != wanted)
        fail_msg("%s(%#llx, %#llx): %d instead of %d", call, (unsigned long long)a,
                 (unsigned long long)b, got, wanted);
}

static void architectures_are_named(void **state)
{
    static const char *const same[][2] = {{"amd64", "x86_64"}, {"arm64", "aarch64"}};

    (void)state;
    for (size_t i = 0; i < COUNT(arches); i++) {
        auto_json cJSON *profile = profile_of(arches[i].engine_name);
        cJSON *list = json_get_array(profile, "architectures");

        assert_int_equal(cJSON_GetArraySize(list), 1);
        assert_string_equal(cJSON_GetArrayItem(list, 0)->valuestring, arches[i].name);
    }
    for (size_t i = 0; i < COUNT(same); i++) {
        auto_free char *one = seccomp_profile(same[i][0], NULL);
        auto_free char *other = seccomp_profile(same[i][1], NULL);

        assert_string_equal(one, other);
    }
}

static void unknown_architectures_are_refused(void **state)
{
    static const char *const unknown[] = {"",        "?",      "AMD64", "amd64 ", "386",
                                          "riscv64", "armv7l", "s390x", "ppc64le"};

    (void)state;
    for (size_t i = 0; i < COUNT(unknown); i++) {
        struct error err = {""};

        assert_null(seccomp_profile(unknown[i], &err));
        assert_non_null(strstr(err.text, unknown[i]));
        assert_non_null(strstr(err.text, "amd64 and arm64"));
    }
}

/* What the engine knows of an entry; it would silently ignore anything else. */
static void every_member_is_known(void **state)
{
    static const char *const known[] = {"names", "action", "args", "errnoRet"};

    (void)state;
    for (size_t i = 0; i < COUNT(arches); i++) {
        auto_json cJSON *profile = profile_of(arches[i].engine_name);
        const cJSON *entry, *member;

        cJSON_ArrayForEach(entry, json_get_array(profile, "syscalls"))
        {
            assert_true(cJSON_GetArraySize(json_get_array(entry, "names")) > 0);
            cJSON_ArrayForEach(member, entry)
            {
                size_t at = 0;

                while (at < COUNT(known) && strcmp(known[at], member->string) != 0)
                    at++;
                if (at == COUNT(known))
                    fail_msg("unknown member %s", member->string);
            }
        }
    }
}

/* A name may come back only in entries that each have conditions. */
static void no_name_twice(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(arches); i++) {
        auto_json cJSON *profile = profile_of(arches[i].engine_name);
        const cJSON *entry, *name, *other;

        cJSON_ArrayForEach(entry, json_get_array(profile, "syscalls"))
        {
            cJSON_ArrayForEach(name, json_get_array(entry, "names"))
            {
                int times = 0;

                for (const cJSON *n = json_get_array(entry, "names")->child; n; n = n->next)
                    times += strcmp(n->valuestring, name->valuestring) == 0;
                cJSON_ArrayForEach(other, json_get_array(profile, "syscalls"))
                {
                    if (other != entry && names(other, name->valuestring) &&
                        (!json_get(other, "args") || !json_get(entry, "args")))
                        times++;
                }
                if (times != 1)
                    fail_msg("%s is there more than once", name->valuestring);
            }
        }
    }
}

static void every_name_exists_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(arches); i++) {
        auto_json cJSON *profile = profile_of(arches[i].engine_name);
        const cJSON *entry, *name;

        cJSON_ArrayForEach(entry, json_get_array(profile, "syscalls"))
        {
            cJSON_ArrayForEach(name, json_get_array(entry, "names"))
            {
                if (seccomp_syscall_resolve_name_arch(arches[i].number, name->valuestring) < 0)
                    fail_msg("%s has no %s", arches[i].name, name->valuestring);
            }
        }
    }
}

static const struct rule {
    const char *call;
    uint64_t args[2];
    int wanted;
} rules[] = {
    /* Limits and scheduling: one's own only. Process 1 has the same user id. */
    {"prlimit64", {0, RLIMIT_NOFILE}, 0},
    {"prlimit64", {1, RLIMIT_NOFILE}, EPERM},
    {"prlimit64", {7, RLIMIT_CPU}, EPERM},
    {"sched_setscheduler", {0, 5}, 0},
    {"sched_setscheduler", {1, 5}, EPERM},
    {"sched_setparam", {0, 0}, 0},
    {"sched_setparam", {1, 0}, EPERM},
    {"sched_setattr", {0, 0}, 0},
    {"sched_setattr", {1, 0}, EPERM},
    {"sched_setaffinity", {0, 8}, 0},
    {"sched_setaffinity", {1, 8}, EPERM},
    {"setpriority", {PRIO_PROCESS, 0}, 0},
    {"setpriority", {PRIO_PROCESS, 1}, EPERM},
    {"setpriority", {PRIO_PGRP, 0}, EPERM},
    {"setpriority", {PRIO_PGRP, 1}, EPERM},
    {"setpriority", {PRIO_USER, 0}, EPERM},
    {"ioprio_set", {1, 0}, 0},
    {"ioprio_set", {1, 1}, EPERM},
    {"ioprio_set", {2, 0}, EPERM},
    {"ioprio_set", {3, 0}, EPERM},
    /* Reading is fine. */
    {"sched_getaffinity", {1, 8}, 0},
    {"sched_getscheduler", {1, 0}, 0},
    {"getpriority", {PRIO_PROCESS, 1}, 0},
    /* The personality of every process, and the question for it. */
    {"personality", {0, 0}, 0},
    {"personality", {0xffffffff, 0}, 0},
    {"personality", {0x0040000, 0}, EPERM}, /* ADDR_NO_RANDOMIZE */
    {"personality", {0x0400000, 0}, EPERM}, /* READ_IMPLIES_EXEC */
    {"personality", {8, 0}, EPERM},         /* LINUX32 */
    /* New processes and threads, but no namespace. */
    {"clone", {0x11, 0}, 0},
    {"clone", {0x3d0f00, 0}, 0},
    {"clone", {0x00020000, 0}, EPERM}, /* CLONE_NEWNS */
    {"clone", {0x02000000, 0}, EPERM}, /* CLONE_NEWCGROUP */
    {"clone", {0x04000000, 0}, EPERM}, /* CLONE_NEWUTS */
    {"clone", {0x08000000, 0}, EPERM}, /* CLONE_NEWIPC */
    {"clone", {0x10000000, 0}, EPERM}, /* CLONE_NEWUSER */
    {"clone", {0x20000000, 0}, EPERM}, /* CLONE_NEWPID */
    {"clone", {0x40000000, 0}, EPERM}, /* CLONE_NEWNET */
    {"clone", {0x10000011, 0}, EPERM},
    {"clone", {0x7e020011, 0}, EPERM},
    {"clone3", {0, 0}, ENOSYS},
    /* Sockets by family. */
    {"socket", {AF_UNIX, SOCK_STREAM}, 0},
    {"socket", {AF_INET, SOCK_DGRAM}, 0},
    {"socket", {AF_INET6, SOCK_STREAM}, 0},
    {"socket", {AF_UNSPEC, 0}, EPERM},
    {"socket", {AF_NETLINK, SOCK_RAW}, EPERM},
    {"socket", {AF_PACKET, SOCK_RAW}, EPERM},
    {"socket", {AF_ALG, SOCK_SEQPACKET}, EPERM},
    {"socket", {AF_VSOCK, SOCK_STREAM}, EPERM},
    {"socket", {AF_BLUETOOTH, SOCK_RAW}, EPERM},
    {"socket", {AF_KEY, SOCK_RAW}, EPERM},
    {"socket", {AF_TIPC, SOCK_STREAM}, EPERM},
    {"socketpair", {AF_UNIX, SOCK_STREAM}, 0},
    {"socketpair", {AF_TIPC, SOCK_STREAM}, EPERM},
    {"socketpair", {AF_VSOCK, SOCK_STREAM}, EPERM},
};

static void rules_hold(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(arches); i++) {
        auto_json cJSON *profile = profile_of(arches[i].engine_name);

        for (size_t j = 0; j < COUNT(rules); j++)
            expect(profile, rules[j].call, rules[j].args[0], rules[j].args[1], rules[j].wanted);
    }
}

static void every_bit_of_clone(void **state)
{
    const uint64_t namespaces = 0x7e020000;

    (void)state;
    for (size_t i = 0; i < COUNT(arches); i++) {
        auto_json cJSON *profile = profile_of(arches[i].engine_name);

        for (int bit = 0; bit < 32; bit++) {
            uint64_t flag = UINT64_C(1) << bit;

            expect(profile, "clone", flag, 0, flag & namespaces ? EPERM : 0);
            expect(profile, "clone", flag | 0x11, 0, flag & namespaces ? EPERM : 0);
        }
    }
}

/* With any argument. */
static const char *const denied[] = {
    "_sysctl",
    "acct",
    "add_key",
    "adjtimex",
    "bpf",
    "chroot",
    "clock_adjtime",
    "clock_settime",
    "delete_module",
    "fanotify_init",
    "fanotify_mark",
    "finit_module",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "get_kernel_syms",
    "init_module",
    "io_setup",
    "io_submit",
    "io_uring_enter",
    "io_uring_register",
    "ioperm",
    "iopl",
    "kcmp",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "lookup_dcookie",
    "mbind",
    "memfd_secret",
    "migrate_pages",
    "modify_ldt",
    "mount",
    "mount_setattr",
    "move_mount",
    "move_pages",
    "name_to_handle_at",
    "nfsservctl",
    "no_such_call",
    "open_by_handle_at",
    "open_tree",
    "perf_event_open",
    "pidfd_getfd",
    "pivot_root",
    "process_madvise",
    "process_mrelease",
    "process_vm_readv",
    "process_vm_writev",
    "ptrace",
    "quotactl",
    "quotactl_fd",
    "reboot",
    "request_key",
    "seccomp",
    "set_mempolicy",
    "setdomainname",
    "setfsgid",
    "setfsuid",
    "setgid",
    "setgroups",
    "sethostname",
    "setns",
    "setregid",
    "setresgid",
    "setresuid",
    "setreuid",
    "settimeofday",
    "setuid",
    "stime",
    "swapoff",
    "swapon",
    "syslog",
    "umount",
    "umount2",
    "unshare",
    "uselib",
    "userfaultfd",
    "vhangup",
    "vm86",
};

/* A script and its libraries come to nothing without these. */
static const char *const needed[] = {
    "read",       "write",         "openat",    "close",         "mmap",      "munmap",
    "mprotect",   "brk",           "futex",     "execve",        "exit",      "exit_group",
    "wait4",      "rt_sigaction",  "pipe2",     "dup3",          "kill",      "getrandom",
    "fcntl",      "clock_gettime", "nanosleep", "epoll_create1", "connect",   "bind",
    "listen",     "sendto",        "recvfrom",  "accept4",       "unlinkat",  "mkdirat",
    "newfstatat", "getdents64",    "ftruncate", "memfd_create",  "setrlimit", "set_robust_list",
    "mq_open",    "semget",        "shmget",    "eventfd2",      "prctl",     "rt_sigreturn",
    "tgkill",     "inotify_init1", "setsid",    "ppoll",         "statx",     "sched_yield",
};

static void denied_and_needed_calls(void **state)
{
    static const uint64_t values[] = {0, 1, 2, 0x10000000, 0xffffffff, UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < COUNT(arches); i++) {
        auto_json cJSON *profile = profile_of(arches[i].engine_name);

        for (size_t v = 0; v < COUNT(values); v++) {
            for (size_t j = 0; j < COUNT(denied); j++)
                expect(profile, denied[j], values[v], values[v], EPERM);
            for (size_t j = 0; j < COUNT(needed); j++)
                expect(profile, needed[j], values[v], values[v], 0);
        }
        expect(profile, "io_uring_setup", 1, 0, ENOSYS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(architectures_are_named),
        cmocka_unit_test(unknown_architectures_are_refused),
        cmocka_unit_test(every_member_is_known),
        cmocka_unit_test(no_name_twice),
        cmocka_unit_test(every_name_exists_there),
        cmocka_unit_test(rules_hold),
        cmocka_unit_test(every_bit_of_clone),
        cmocka_unit_test(denied_and_needed_calls),
    };

    return cmocka_run_group_tests_name("seccomp", tests, NULL, NULL);
}
