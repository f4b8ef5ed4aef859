/* owner: marks of living, dead and foreign servers, and what is no mark. */
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "executor/owner.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

struct parts {
    uint64_t pid;
    uint64_t start;
    uint64_t pidns;
    char boot[64];
    char container[80]; /* "": none */
};

static uint64_t number_after(const char *mark, const char *name)
{
    const char *found = strstr(mark, name);

    assert_non_null(found);
    return strtoull(found + strlen(name), NULL, 10);
}

static void take_apart(const char *mark, struct parts *ret)
{
    const char *boot = strstr(mark, " boot=");
    const char *container = strstr(mark, " container=");

    assert_non_null(boot);
    boot += 6;
    ret->pid = number_after(mark, "pid=");
    ret->start = number_after(mark, " start=");
    ret->pidns = number_after(mark, " pidns=");
    snprintf(ret->boot, sizeof(ret->boot), "%.*s", (int)strcspn(boot, " "), boot);
    snprintf(ret->container, sizeof(ret->container), "%s",
             container ? container + strlen(" container=") : "");
}

static char *put_together(const struct parts *parts)
{
    return mem_printf("pid=%" PRIu64 " start=%" PRIu64 " boot=%s pidns=%" PRIu64 "%s%s", parts->pid,
                      parts->start, parts->boot, parts->pidns,
                      *parts->container ? " container=" : "", parts->container);
}

static void self(struct parts *ret)
{
    char mark[OWNER_TEXT_MAX];

    assert_int_equal(owner_self(mark, NULL), 0);
    take_apart(mark, ret);
}

static enum owner_fate fate(const struct parts *parts)
{
    auto_free char *mark = put_together(parts);

    return owner_fate(mark);
}

static void own_mark_is_alive(void **state)
{
    char mark[OWNER_TEXT_MAX], again[OWNER_TEXT_MAX];
    auto_free char *rebuilt = NULL;
    struct parts parts;

    (void)state;
    assert_int_equal(owner_self(mark, NULL), 0);
    assert_int_equal(owner_fate(mark), OWNER_ALIVE);
    take_apart(mark, &parts);
    assert_int_equal(parts.pid, getpid());
    assert_int_equal(strlen(parts.boot), 36);
    assert_true(parts.start > 0 && parts.pidns > 0);
    rebuilt = put_together(&parts);
    assert_string_equal(mark, rebuilt);
    assert_int_equal(owner_self(again, NULL), 0);
    assert_string_equal(mark, again);
}

/* Field 2 of /proc/PID/stat is the name as it is. */
static void a_name_with_blanks_and_parentheses_changes_nothing(void **state)
{
    static const char *const names[] = {"a b", "x) S 1 1 1", "((", "))", ") 1 2 3 4 5 6", ""};
    char before[OWNER_TEXT_MAX], after[OWNER_TEXT_MAX], old[32];

    (void)state;
    assert_int_equal(owner_self(before, NULL), 0);
    assert_int_equal(prctl(PR_GET_NAME, old), 0);
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_int_equal(prctl(PR_SET_NAME, names[i]), 0);
        assert_int_equal(owner_self(after, NULL), 0);
        assert_string_equal(before, after);
        assert_int_equal(owner_fate(before), OWNER_ALIVE);
    }
    assert_int_equal(prctl(PR_SET_NAME, old), 0);
}

/* The mark of a child, which lives until *ret_hold is closed. */
static pid_t start_child(struct parts *ret, int *ret_hold)
{
    char mark[OWNER_TEXT_MAX] = "";
    int told[2], hold[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(told), 0);
    assert_int_equal(pipe(hold), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(hold[1]);
        if (owner_self(mark, NULL) < 0 || write(told[1], mark, sizeof(mark)) != sizeof(mark))
            _exit(1);
        _exit(read(hold[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(told[1]);
    close(hold[0]);
    assert_int_equal(read(told[0], mark, sizeof(mark)), sizeof(mark));
    close(told[0]);
    take_apart(mark, ret);
    assert_int_equal(ret->pid, pid);
    *ret_hold = hold[1];
    return pid;
}

static void a_process_that_ended_is_gone(void **state)
{
    struct parts child;
    int hold, status;
    pid_t pid = start_child(&child, &hold);

    (void)state;
    assert_int_equal(fate(&child), OWNER_ALIVE);
    close(hold);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(fate(&child), OWNER_GONE);
}

static void a_reused_process_id_is_gone(void **state)
{
    struct parts parts;

    (void)state;
    self(&parts);
    parts.start--;
    assert_int_equal(fate(&parts), OWNER_GONE);
    parts.start += 2;
    assert_int_equal(fate(&parts), OWNER_GONE);
    parts.start = 0;
    assert_int_equal(fate(&parts), OWNER_GONE);
}

static void another_boot_is_unsure(void **state)
{
    struct parts parts;

    (void)state;
    self(&parts);
    parts.container[0] = '\0';
    parts.boot[0] = parts.boot[0] == '0' ? '1' : '0';
    assert_int_equal(fate(&parts), OWNER_UNSURE);
    parts.pid = (uint64_t)INT32_MAX;
    assert_int_equal(fate(&parts), OWNER_UNSURE);
    parts.pidns++;
    assert_int_equal(fate(&parts), OWNER_UNSURE);
}

static void another_namespace_is_unsure(void **state)
{
    struct parts parts;
    int hold;
    pid_t pid = start_child(&parts, &hold);

    (void)state;
    close(hold);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(fate(&parts), OWNER_GONE);
    parts.container[0] = '\0';
    parts.pidns++;
    assert_int_equal(fate(&parts), OWNER_UNSURE);
    snprintf(parts.container, sizeof(parts.container), "%064d", 0);
    assert_int_equal(fate(&parts), OWNER_UNSURE);
    self(&parts);
    parts.container[0] = '\0';
    parts.pidns = 1;
    assert_int_equal(fate(&parts), OWNER_UNSURE);
}

#define NOBODY 65534

/* As another user, with a /proc that hides the processes of others. The exit status tells. */
static void look_from_behind_hidepid(const struct parts *other, bool hidden)
{
    if (hidden &&
        (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
         mount("proc", "/proc", "proc", 0, "hidepid=2") < 0))
        _exit(2);
    if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
        _exit(2);
    _exit(fate(other) == OWNER_GONE ? 1 : 0);
}

static void what_is_hidden_is_unsure(void **state)
{
    struct parts parts;
    int hold, status;
    pid_t pid, looker;

    (void)state;
    if (geteuid() != 0)
        skip();
    for (int hidden = 0; hidden < 2; hidden++) {
        pid = start_child(&parts, &hold);
        if (!hidden) {
            close(hold);
            assert_int_equal(waitpid(pid, NULL, 0), pid);
        }
        looker = fork();
        assert_true(looker >= 0);
        if (looker == 0)
            look_from_behind_hidepid(&parts, hidden);
        assert_int_equal(waitpid(looker, &status, 0), looker);
        assert_true(WIFEXITED(status));
        if (hidden) {
            close(hold);
            assert_int_equal(waitpid(pid, NULL, 0), pid);
        }
        if (WEXITSTATUS(status) == 2)
            skip();
        assert_int_equal(WEXITSTATUS(status), hidden ? 0 : 1);
    }
}

/* Each of these would be gone, were it a mark; B and N stand for this boot and this namespace. */
static const char *const bad_marks[] = {
    "",
    "1",
    "pid",
    "pid=",
    "pid=1",
    "pid= start=2 boot=B pidns=N",
    "pid=x start=2 boot=B pidns=N",
    "pid=-1 start=2 boot=B pidns=N",
    "pid=+1 start=2 boot=B pidns=N",
    "pid= 1 start=2 boot=B pidns=N",
    " pid=1 start=2 boot=B pidns=N",
    "PID=1 start=2 boot=B pidns=N",
    "pid=1  start=2 boot=B pidns=N",
    "pid=1\tstart=2 boot=B pidns=N",
    "pid=1x start=2 boot=B pidns=N",
    "pid=0x1 start=2 boot=B pidns=N",
    "pid=1.0 start=2 boot=B pidns=N",
    "pid=2147483648 start=2 boot=B pidns=N",
    "pid=99999999999999999999 start=2 boot=B pidns=N",
    "pid=1 start= boot=B pidns=N",
    "pid=1 start=-2 boot=B pidns=N",
    "pid=1 start=99999999999999999999 boot=B pidns=N",
    "pid=1 boot=B start=2 pidns=N",
    "pid=1 start=2 boot= pidns=N",
    "pid=1 start=2 pidns=N",
    "pid=1 start=2 boot=B",
    "pid=1 start=2 boot=B ",
    "pid=1 start=2 boot=B c pidns=N",
    "pid=1 start=2 boot=0123456789012345678901234567890123456789 pidns=N",
    "pid=1 start=2 boot=B pidns=",
    "pid=1 start=2 boot=B pidns=x",
    "pid=1 start=2 boot=B pidns=N ",
    "pid=1 start=2 boot=B pidns=N\n",
    "pid=1 start=2 boot=B pidns=N more=4",
    "pid=1 start=2 boot=B pidns=N container=",
    "pid=1 start=2 boot=B pidns=N container= ",
    "pid=1 start=2 boot=B pidns=N container=0 more=4",
    "pid=1 start=2 boot=B pidns=N container=0 container=0",
    "pid=1 start=2 boot=B container=0 pidns=N",
    "pid=1 start=2 boot=B pidns=N container="
    "00000000000000000000000000000000000000000000000000000000000000000",
    "pid=1 start=2 boot=B pidns=99999999999999999999",
};

static char *filled_in(const char *template)
{
    struct parts here;
    auto_buf struct buf out;

    self(&here);
    buf_init(&out, 4096);
    for (const char *p = template; *p; p++) {
        if (*p == 'B')
            assert_int_equal(buf_add_text(&out, here.boot), 0);
        else if (*p == 'N')
            assert_int_equal(buf_addf(&out, "%" PRIu64, here.pidns), 0);
        else
            assert_int_equal(buf_add(&out, p, 1), 0);
    }
    return mem_strndup(out.data ? out.data : "", out.len);
}

static enum owner_fate fate_of_template(const char *template)
{
    auto_free char *mark = filled_in(template);

    return owner_fate(mark);
}

static void what_is_no_mark_is_unsure(void **state)
{
    auto_free char *long_text = mem_alloc(100001);

    (void)state;
    assert_int_equal(fate_of_template("pid=1 start=2 boot=B pidns=N"), OWNER_GONE);
    assert_int_equal(fate_of_template("pid=1 start=2 boot=B pidns=N container=0"), OWNER_GONE);
    for (size_t i = 0; i < COUNT(bad_marks); i++) {
        if (fate_of_template(bad_marks[i]) != OWNER_UNSURE)
            fail_msg("taken for a mark: '%s'", bad_marks[i]);
    }
    memset(long_text, '9', 100000);
    assert_int_equal(owner_fate(long_text), OWNER_UNSURE);
    memcpy(long_text, "pid=1 start=2 boot=", 19);
    assert_int_equal(owner_fate(long_text), OWNER_UNSURE);
}

#define ID_A "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
#define ID_B "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"

/* Gives this process the /etc/hostname of a container; false where it may not mount. */
static bool enter_container(const char *folder)
{
    auto_free char *outer = mem_printf("%s/containers", folder);
    auto_free char *inner = mem_printf("%s/" ID_A, outer);
    auto_free char *file = mem_printf("%s/hostname", inner);
    auto_close int fd = -1;

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return false;
    if (mkdir(outer, 0700) < 0 || mkdir(inner, 0700) < 0)
        return false;
    fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd >= 0 && mount(file, "/etc/hostname", NULL, MS_BIND, NULL) == 0;
}

static void remove_folder(const char *folder)
{
    static const char *const inside[] = {"/containers/" ID_A "/hostname", "/containers/" ID_A,
                                         "/containers", ""};

    for (size_t i = 0; i < COUNT(inside); i++) {
        auto_free char *path = mem_printf("%s%s", folder, inside[i]);

        (void)remove(path);
    }
}

/* In a child: 0 is well, 1 a wrong answer, 2 no container could be entered. */
static int judge_inside(const char *folder)
{
    char mark[OWNER_TEXT_MAX];
    struct parts parts;

    if (!enter_container(folder))
        return 2;
    if (owner_self(mark, NULL) < 0 || owner_fate(mark) != OWNER_ALIVE)
        return 1;
    take_apart(mark, &parts);
    if (strcmp(parts.container, ID_A) != 0)
        return 1;
    parts.pidns++; /* what ran in this container before it was started again */
    if (fate(&parts) != OWNER_GONE)
        return 1;
    parts.boot[0] = parts.boot[0] == '0' ? '1' : '0';
    if (fate(&parts) != OWNER_GONE)
        return 1;
    memcpy(parts.container, ID_B, sizeof(ID_B));
    if (fate(&parts) != OWNER_UNSURE)
        return 1;
    take_apart(mark, &parts);
    memcpy(parts.container, ID_B, sizeof(ID_B)); /* a sibling that shares this namespace */
    if (fate(&parts) != OWNER_ALIVE)
        return 1;
    parts.pidns++;
    return fate(&parts) == OWNER_UNSURE ? 0 : 1;
}

static void an_earlier_life_of_this_container_is_gone(void **state)
{
    char folder[] = "/tmp/test-owner-XXXXXX";
    int status;
    pid_t pid;

    (void)state;
    assert_non_null(mkdtemp(folder));
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(judge_inside(folder));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    remove_folder(folder);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
        skip();
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_mark_is_alive),
        cmocka_unit_test(a_name_with_blanks_and_parentheses_changes_nothing),
        cmocka_unit_test(a_process_that_ended_is_gone),
        cmocka_unit_test(a_reused_process_id_is_gone),
        cmocka_unit_test(another_boot_is_unsure),
        cmocka_unit_test(another_namespace_is_unsure),
        cmocka_unit_test(what_is_hidden_is_unsure),
        cmocka_unit_test(what_is_no_mark_is_unsure),
        cmocka_unit_test(an_earlier_life_of_this_container_is_gone),
    };

    return cmocka_run_group_tests_name("owner", tests, NULL, NULL);
}
