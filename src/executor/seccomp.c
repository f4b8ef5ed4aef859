#include "executor/seccomp.h"

#include <errno.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "executor/seccomp_calls.h"

/* Flags of clone(2) that make a new namespace: NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID,
 * NEWNET. */
#define CLONE_NAMESPACES 0x7E020000

/* ioprio_set(2): this header constant is not in user space. */
#define IOPRIO_PROCESS 1

/* personality(2): query only, and the default. */
#define PERSONALITY_QUERY 0xffffffffU

struct group {
    const char *const *names;
    size_t count;
};

#define GROUP(array)                                                                               \
    {                                                                                              \
        array, sizeof(array) / sizeof((array)[0])                                                  \
    }

static const struct group allowed[] = {
    GROUP(calls_files),      GROUP(calls_waiting), GROUP(calls_memory), GROUP(calls_processes),
    GROUP(calls_scheduling), GROUP(calls_signals), GROUP(calls_time),   GROUP(calls_ipc),
    GROUP(calls_sockets),    GROUP(calls_system),
};

struct condition {
    unsigned index;
    uint64_t value;
    uint64_t masked; /* with op SCMP_CMP_MASKED_EQ: value is the mask, this the result */
    const char *op;
};

/* Calls that are fine for oneself, or for a few values, only. All conditions of a row must hold; a
 * call with several rows may meet any of them. Process 1 relays the verdict: no row may reach
 * another process. */
static const struct rule {
    const char *name;
    struct condition conditions[2];
    unsigned count;
} rules[] = {
    {"clone", {{0, CLONE_NAMESPACES, 0, "SCMP_CMP_MASKED_EQ"}}, 1},
    {"prlimit64", {{0, 0, 0, "SCMP_CMP_EQ"}}, 1},
    {"sched_setaffinity", {{0, 0, 0, "SCMP_CMP_EQ"}}, 1},
    {"sched_setattr", {{0, 0, 0, "SCMP_CMP_EQ"}}, 1},
    {"sched_setparam", {{0, 0, 0, "SCMP_CMP_EQ"}}, 1},
    {"sched_setscheduler", {{0, 0, 0, "SCMP_CMP_EQ"}}, 1},
    {"setpriority", {{0, PRIO_PROCESS, 0, "SCMP_CMP_EQ"}, {1, 0, 0, "SCMP_CMP_EQ"}}, 2},
    {"ioprio_set", {{0, IOPRIO_PROCESS, 0, "SCMP_CMP_EQ"}, {1, 0, 0, "SCMP_CMP_EQ"}}, 2},
    {"personality", {{0, 0, 0, "SCMP_CMP_EQ"}}, 1},
    {"personality", {{0, PERSONALITY_QUERY, 0, "SCMP_CMP_EQ"}}, 1},
    {"socket", {{0, AF_UNIX, 0, "SCMP_CMP_EQ"}}, 1},
    {"socket", {{0, AF_INET, 0, "SCMP_CMP_EQ"}}, 1},
    {"socket", {{0, AF_INET6, 0, "SCMP_CMP_EQ"}}, 1},
    {"socketpair", {{0, AF_UNIX, 0, "SCMP_CMP_EQ"}}, 1},
};

static bool exists(uint32_t arch, const char *name)
{
    return seccomp_syscall_resolve_name_arch(arch, name) >= 0;
}

static cJSON *add_entry(cJSON *syscalls, const char *action)
{
    cJSON *entry = cJSON_CreateObject();

    cJSON_AddItemToObject(entry, "names", cJSON_CreateArray());
    cJSON_AddItemToObject(entry, "action", cJSON_CreateString(action));
    cJSON_AddItemToArray(syscalls, entry);
    return entry;
}

static void add_names(cJSON *entry, uint32_t arch, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (exists(arch, names[i]))
            cJSON_AddItemToArray(json_get(entry, "names"), cJSON_CreateString(names[i]));
    }
}

static void add_rule(cJSON *syscalls, uint32_t arch, const struct rule *rule)
{
    cJSON *entry, *args;

    if (!exists(arch, rule->name))
        return;
    entry = add_entry(syscalls, "SCMP_ACT_ALLOW");
    add_names(entry, arch, &rule->name, 1);
    args = cJSON_AddArrayToObject(entry, "args");
    for (unsigned i = 0; i < rule->count; i++) {
        cJSON *arg = cJSON_CreateObject();

        cJSON_AddNumberToObject(arg, "index", rule->conditions[i].index);
        cJSON_AddNumberToObject(arg, "value", (double)rule->conditions[i].value);
        cJSON_AddNumberToObject(arg, "valueTwo", (double)rule->conditions[i].masked);
        cJSON_AddStringToObject(arg, "op", rule->conditions[i].op);
        cJSON_AddItemToArray(args, arg);
    }
}

char *seccomp_profile(const char *engine_arch, struct error *err)
{
    auto_json cJSON *profile = cJSON_CreateObject();
    cJSON *architectures, *syscalls, *entry;
    const char *name;
    char *printed, *text;
    uint32_t arch;

    if (strcmp(engine_arch, "amd64") == 0 || strcmp(engine_arch, "x86_64") == 0) {
        arch = SCMP_ARCH_X86_64;
        name = "SCMP_ARCH_X86_64";
    } else if (strcmp(engine_arch, "arm64") == 0 || strcmp(engine_arch, "aarch64") == 0) {
        arch = SCMP_ARCH_AARCH64;
        name = "SCMP_ARCH_AARCH64";
    } else {
        error_set(err, "the engine's architecture '%s' has no seccomp profile; amd64 and arm64 do",
                  engine_arch);
        return NULL;
    }
    cJSON_AddStringToObject(profile, "defaultAction", "SCMP_ACT_ERRNO");
    cJSON_AddNumberToObject(profile, "defaultErrnoRet", EPERM);
    architectures = cJSON_AddArrayToObject(profile, "architectures");
    cJSON_AddItemToArray(architectures, cJSON_CreateString(name));
    syscalls = cJSON_AddArrayToObject(profile, "syscalls");
    entry = add_entry(syscalls, "SCMP_ACT_ALLOW");
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
        add_names(entry, arch, allowed[i].names, allowed[i].count);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        add_rule(syscalls, arch, &rules[i]);
    entry = add_entry(syscalls, "SCMP_ACT_ERRNO");
    cJSON_AddNumberToObject(entry, "errnoRet", ENOSYS);
    add_names(entry, arch, calls_unknown, sizeof(calls_unknown) / sizeof(calls_unknown[0]));
    printed = cJSON_PrintUnformatted(profile);
    text = mem_strdup(printed ? printed : "");
    cJSON_free(printed);
    return text;
}
