#include "executor/mounts.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "executor/spec.h"

/* Options that a mount must have, as letters: r(o), s (nosuid), d (nodev), x (noexec). */
struct rule {
    const char *where; /* a trailing * stands for anything behind it */
    const char *type;  /* NULL: any */
    const char *options;
};

/* What engines mount by themselves. The first row that fits place and type decides. */
static const struct rule rules[] = {
    {"/", NULL, "r"},
    {"/proc", "proc", "sdx"},
    {"/proc/*", "proc", "r"},
    {"/proc/*", "tmpfs", ""}, /* masks; what they hide is checked from inside */
    {"/dev", "tmpfs", "s"},
    {"/dev/pts", "devpts", "sx"},
    {"/dev/mqueue", "mqueue", "sdx"},
    {"/dev/shm", "tmpfs", "sdx"},
    {"/sys", "sysfs", "rsdx"},
    {"/sys/fs/cgroup", "tmpfs", "sdx"},
    {"/sys/fs/cgroup", "cgroup2", "rsdx"},
    {"/sys/fs/cgroup/*", "cgroup", "rsdx"},
    {"/sys/*", "tmpfs", "r"},
    {"/etc/hostname", NULL, "r"},
    {"/etc/hosts", NULL, "r"},
    {"/etc/resolv.conf", NULL, "r"},
    {"/workspace", "tmpfs", "sdx"},
    {"/tmp", "tmpfs", "sdx"},
};

/* What NVIDIA's runtime and CDI bring with a GPU: device nodes, the driver's libraries and
 * programs, the sockets of its services. As libnvidia-container mounts them; the folders of /proc
 * are above.
 */
static const struct rule gpu_rules[] = {
    {"/dev/nvidia*", NULL, "s"},          {"/usr/lib/*", NULL, "rsd"},
    {"/usr/lib64/*", NULL, "rsd"},        {"/usr/bin/nvidia-*", NULL, "rsd"},
    {"/usr/share/nvidia/*", NULL, "rsd"}, {"/lib/firmware/nvidia/*", NULL, "rsd"},
    {"/run/nvidia-*", NULL, "sdx"},
};

static const struct rule data_rule = {NULL, NULL, "rsdx"};
static const struct rule volume_rule = {NULL, "tmpfs", "rsdx"};

/* Places that must be in the table, each once. */
static const char *const required[] = {"/",          "/proc",    "/proc/sys",   "/proc/irq",
                                       "/proc/bus",  "/proc/fs", "/dev/mqueue", "/dev/shm",
                                       "/workspace", "/tmp"};
#define REQUIRED_COUNT (sizeof(required) / sizeof(required[0]))

struct mount {
    char *where, *options, *type, *super; /* pieces of one line */
    bool propagates;                      /* from or to another mount, as of the host */
};

struct check {
    const struct spec_profile *profile;
    int64_t uid;
    const cJSON *volumes;
    unsigned seen[REQUIRED_COUNT];
    unsigned data_seen[LIMIT_FOLDERS_MAX];
};

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* The kernel writes a blank, tab, newline or backslash as a backslash and three octal digits. */
static void unescape(char *text)
{
    char *out = text;

    while (*text) {
        if (text[0] == '\\' && is_octal(text[1]) && is_octal(text[2]) && is_octal(text[3])) {
            *out++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
            text += 4;
        } else {
            *out++ = *text++;
        }
    }
    *out = '\0';
}

/* "id parent dev root WHERE OPTIONS [optional...] - TYPE source SUPER" */
static bool split(char *line, struct mount *ret)
{
    char *rest = line, *word;
    int field = 0;

    memset(ret, 0, sizeof(*ret));
    while ((word = strsep(&rest, " "))) {
        field++;
        if (field == 5)
            ret->where = word;
        else if (field == 6)
            ret->options = word;
        else if (field > 6 && strcmp(word, "-") == 0)
            break;
        else if (field > 6 &&
                 (strncmp(word, "shared:", 7) == 0 || strncmp(word, "master:", 7) == 0))
            ret->propagates = true;
    }
    if (!rest)
        return false;
    ret->type = strsep(&rest, " ");
    (void)strsep(&rest, " ");
    ret->super = rest;
    if (!ret->where || !ret->options || !ret->super)
        return false;
    unescape(ret->where);
    return true;
}

static bool has_option(const char *options, const char *name)
{
    size_t len = strlen(name);

    for (const char *p = options; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        if (strncmp(p, name, len) == 0 && (p[len] == '\0' || p[len] == ','))
            return true;
    }
    return false;
}

static bool number_option(const char *options, const char *name, int64_t *ret)
{
    size_t len = strlen(name);

    for (const char *p = options; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        if (strncmp(p, name, len) == 0 && p[len] == '=') {
            *ret = strtoll(p + len + 1, NULL, 10);
            return true;
        }
    }
    return false;
}

static const char *missing_option(const struct mount *mount, const char *letters)
{
    static const struct {
        char letter;
        const char *name;
    } names[] = {{'r', "ro"}, {'s', "nosuid"}, {'d', "nodev"}, {'x', "noexec"}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strchr(letters, names[i].letter) && !has_option(mount->options, names[i].name))
            return names[i].name;
    }
    return NULL;
}

static bool place_fits(const char *pattern, const char *where)
{
    size_t len = strlen(pattern);

    if (len && pattern[len - 1] == '*')
        return strncmp(pattern, where, len - 1) == 0;
    return strcmp(pattern, where) == 0;
}

static const struct rule *find_in(const struct rule *table, size_t count, const struct mount *mount)
{
    for (size_t i = 0; i < count; i++) {
        if (place_fits(table[i].where, mount->where) &&
            (!table[i].type || strcmp(table[i].type, mount->type) == 0))
            return &table[i];
    }
    return NULL;
}

static const struct rule *find_rule(const struct check *check, const struct mount *mount)
{
    const struct rule *rule = find_in(rules, sizeof(rules) / sizeof(rules[0]), mount);

    for (size_t i = 0; !rule && i < check->profile->data_count; i++)
        if (strcmp(check->profile->data[i].path, mount->where) == 0)
            rule = &data_rule;
    if (!rule && check->profile->gpus.kind != GRANTS_GPUS_NONE)
        rule = find_in(gpu_rules, sizeof(gpu_rules) / sizeof(gpu_rules[0]), mount);
    if (!rule && json_get(check->volumes, mount->where) &&
        strcmp(mount->type, volume_rule.type) == 0)
        rule = &volume_rule;
    return rule;
}

static int check_number(const struct mount *mount, const char *name, int64_t asked,
                        struct error *err)
{
    int64_t found;

    if (!number_option(mount->super, name, &found))
        return error_set(err, "%s has no %s; asked for %" PRId64 "", mount->where, name, asked);
    if (found != asked)
        return error_set(err, "%s has %s=%" PRId64 ", asked for %" PRId64 "", mount->where, name,
                         found, asked);
    return 0;
}

/* The kernel tells sizes in KiB, rounded up to pages. */
static int64_t in_pages(int64_t bytes)
{
    return (bytes + 4095) / 4096 * 4;
}

static int check_tmpfs(const struct check *check, const struct mount *mount, struct error *err)
{
    bool workspace = strcmp(mount->where, "/workspace") == 0;

    if (strcmp(mount->where, "/dev/shm") == 0)
        return check_number(mount, "size", in_pages(check->profile->shm), err);
    if (!workspace && strcmp(mount->where, "/tmp") != 0)
        return 0;
    if (check_number(mount, "size",
                     in_pages(workspace ? check->profile->workspace : check->profile->tmp),
                     err) < 0 ||
        check_number(mount, "nr_inodes", SPEC_TMPFS_INODES, err) < 0 ||
        check_number(mount, "mode", 700, err) < 0)
        return -1;
    return check_number(mount, "uid", check->uid, err);
}

/* A tmpfs for the script's files. */
static bool is_workplace(const struct mount *mount)
{
    return strcmp(mount->type, "tmpfs") == 0 &&
           (strcmp(mount->where, "/workspace") == 0 || strcmp(mount->where, "/tmp") == 0);
}

static int check_mount(struct check *check, const struct mount *mount, struct error *err)
{
    const struct rule *rule = find_rule(check, mount);
    const char *missing;
    bool exec;

    if (!rule)
        return error_set(err, "nobody asked for a %.40s at %.200s", mount->type, mount->where);
    exec = check->profile->exec && is_workplace(mount);
    missing = missing_option(mount, exec ? "sd" : rule->options);
    if (exec && has_option(mount->options, "noexec"))
        return error_set(err, "%.200s is mounted noexec, where the profile asks for exec (%.100s)",
                         mount->where, mount->options);
    if (missing)
        return error_set(err, "%.200s is not mounted %s (%.100s)", mount->where, missing,
                         mount->options);
    if (rule == &data_rule && mount->propagates)
        return error_set(err,
                         "%.200s is not mounted private: mounts of the host would appear in it",
                         mount->where);
    for (size_t i = 0; i < REQUIRED_COUNT; i++) {
        if (strcmp(required[i], mount->where) == 0 && check->seen[i]++)
            return error_set(err, "something is mounted over %s", mount->where);
    }
    for (size_t i = 0; i < check->profile->data_count; i++) {
        if (strcmp(check->profile->data[i].path, mount->where) == 0 && check->data_seen[i]++)
            return error_set(err, "something is mounted over %.200s", mount->where);
    }
    return check_tmpfs(check, mount, err);
}

int mounts_check(const char *mountinfo, const struct spec_profile *profile, int64_t uid,
                 const cJSON *volumes, struct error *err)
{
    auto_free char *text = mem_strdup(mountinfo);
    struct check check = {.profile = profile, .uid = uid, .volumes = volumes};
    char *rest = text, *line;
    struct mount mount;

    while ((line = strsep(&rest, "\n"))) {
        if (!*line)
            continue;
        if (!split(line, &mount))
            return error_set(err, "'%.100s' is no mount", line);
        if (check_mount(&check, &mount, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < REQUIRED_COUNT; i++) {
        if (!check.seen[i])
            return error_set(err, "%s is not a mount of its own", required[i]);
    }
    for (size_t i = 0; i < profile->data_count; i++) {
        if (!check.data_seen[i])
            return error_set(err, "%.200s, which the profile grants, is not mounted",
                             profile->data[i].path);
    }
    return 0;
}
