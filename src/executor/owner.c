#include "executor/owner.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "executor/inside.h"

#define STAT_FIELDS_TO_START                                                                       \
    20 /* from the state (field 3) to the start time (field 22) of proc(5) */

struct owner {
    int64_t pid;
    uint64_t start;
    uint64_t pidns;
    char boot[40];
    char container[INSIDE_ID_SIZE]; /* "": not in one */
};

/* The process name in field 2 may hold blanks and parentheses: fields count from the last ')'. */
static int start_time(int64_t pid, uint64_t *ret)
{
    auto_free char *path = mem_printf("/proc/%" PRId64 "/stat", pid);
    auto_free char *text = fd_read_file(path, 4096, NULL);
    char *p = text ? strrchr(text, ')') : NULL;

    for (int i = 0; p && i < STAT_FIELDS_TO_START; i++)
        p = strchr(p + 1, ' ');
    if (!p)
        return -1;
    *ret = strtoull(p + 1, NULL, 10);
    return 0;
}

static int here(struct owner *ret)
{
    auto_free char *boot = fd_read_file("/proc/sys/kernel/random/boot_id", 64, NULL);
    struct stat ns;

    if (!boot || stat("/proc/self/ns/pid", &ns) < 0)
        return -1;
    boot[strcspn(boot, "\n")] = '\0';
    snprintf(ret->boot, sizeof(ret->boot), "%s", boot);
    ret->pidns = ns.st_ino;
    if (!inside_id(ret->container))
        ret->container[0] = '\0';
    return 0;
}

static bool take_number(const char **p, const char *name, uint64_t *ret)
{
    char *end;

    if (strncmp(*p, name, strlen(name)) != 0)
        return false;
    *p += strlen(name);
    if (**p < '0' || **p > '9')
        return false;
    errno = 0;
    *ret = strtoull(*p, &end, 10);
    *p = end;
    return errno == 0;
}

static bool take_word(const char **p, const char *name, char *ret, size_t size)
{
    size_t len;

    if (strncmp(*p, name, strlen(name)) != 0)
        return false;
    *p += strlen(name);
    len = strcspn(*p, " ");
    if (len == 0 || len >= size)
        return false;
    memcpy(ret, *p, len);
    ret[len] = '\0';
    *p += len;
    return true;
}

static bool parse(const char *mark, struct owner *ret)
{
    const char *p = mark;
    uint64_t pid;

    *ret = (struct owner){0};
    if (!take_number(&p, "pid=", &pid) || pid > INT32_MAX ||
        !take_number(&p, " start=", &ret->start) ||
        !take_word(&p, " boot=", ret->boot, sizeof(ret->boot)) ||
        !take_number(&p, " pidns=", &ret->pidns))
        return false;
    ret->pid = (int64_t)pid;
    if (*p != '\0' && !take_word(&p, " container=", ret->container, sizeof(ret->container)))
        return false;
    return *p == '\0';
}

int owner_self(char ret[OWNER_TEXT_MAX], struct error *err)
{
    struct owner self = {.pid = getpid()};

    if (here(&self) < 0 || start_time(self.pid, &self.start) < 0)
        return error_set(err, "cannot read /proc: is it mounted?");
    snprintf(ret, OWNER_TEXT_MAX, "pid=%" PRId64 " start=%" PRIu64 " boot=%s pidns=%" PRIu64 "%s%s",
             self.pid, self.start, self.boot, self.pidns, *self.container ? " container=" : "",
             self.container);
    return 0;
}

enum owner_fate owner_fate(const char *mark)
{
    struct owner owner, self;
    uint64_t start;

    if (!parse(mark, &owner) || here(&self) < 0)
        return OWNER_UNSURE;
    if (*owner.container && strcmp(owner.container, self.container) == 0 &&
        (strcmp(owner.boot, self.boot) != 0 || owner.pidns != self.pidns))
        return OWNER_GONE;
    if (strcmp(owner.boot, self.boot) != 0 || owner.pidns != self.pidns)
        return OWNER_UNSURE;
    if (start_time(owner.pid, &start) == 0)
        return start == owner.start ? OWNER_ALIVE : OWNER_GONE;
    /* A /proc mounted with hidepid shows no process of another user, the first one included. */
    return start_time(1, &start) == 0 ? OWNER_GONE : OWNER_UNSURE;
}
