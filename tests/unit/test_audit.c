/* audit: what a line holds, how lines follow from each other, and which files are refused. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "executor/audit.h"
#include "executor/spec.h"
#include "wire/outcome.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

#define FILE_MAX (64 * 1024 * 1024)
#define ZEROES   "0000000000000000000000000000000000000000000000000000000000000000"
#define CODE     "print('hunter2')\n"

static const struct spec_profile profile = {.memory = 536870912, .cpus_milli = 1500, .pids = 128};

struct place {
    char folder[32];
    char *path;
};

static int set_up(void **state)
{
    struct place *place = mem_alloc(sizeof(*place));

    snprintf(place->folder, sizeof(place->folder), "/tmp/test_audit.XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    place->path = mem_printf("%s/log", place->folder);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;

    unlink(place->path);
    assert_int_equal(rmdir(place->folder), 0);
    free(place->path);
    free(place);
    return 0;
}

static const char *path_of(void **state)
{
    const struct place *place = *state;

    return place->path;
}

static struct audit *opened(const char *path, bool with_code)
{
    struct error err;
    struct audit *audit = audit_open(path, with_code, &err);

    if (!audit)
        fail_msg("%s", err.text);
    return audit;
}

static void write_code(struct audit *audit, uint32_t number, const char *client, size_t client_len,
                       const char *code, size_t code_len)
{
    char message[] = "hunter2 in the message", value[] = "'hunter2 in the value'";
    const struct outcome outcome = {.status = OUTCOME_ERROR,
                                    .exit_code = -1,
                                    .oom_kills = 3,
                                    .duration_us = 1234567,
                                    .message = message,
                                    .value = value,
                                    .value_len = strlen(value)};
    const struct audit_call call = {.number = number,
                                    .client = client,
                                    .client_len = client_len,
                                    .profile = "small",
                                    .image_id = "sha256:0123",
                                    .code = code,
                                    .code_len = code_len,
                                    .stdin_len = 7,
                                    .timeout_ms = 30000,
                                    .total_ms = 1300,
                                    .outcome = &outcome};
    struct error err;

    if (audit_write(audit, &call, &profile, &err) < 0)
        fail_msg("%s", err.text);
}

static void write_lines(struct audit *audit, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        write_code(audit, first + i, "a client", 8, CODE, strlen(CODE));
}

static char *content(const char *path, size_t *ret_len)
{
    char *text = fd_read_file(path, FILE_MAX, ret_len);

    assert_non_null(text);
    return text;
}

static void put_file(const char *path, const char *text, size_t len)
{
    auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), len);
}

static uint64_t verified(const char *path, char ret_last[AUDIT_HASH_SIZE])
{
    char last[AUDIT_HASH_SIZE] = "";
    struct error err;
    uint64_t lines = 0;

    if (audit_verify(path, &lines, ret_last ? ret_last : last, &err) < 0)
        fail_msg("%s", err.text);
    return lines;
}

/* Refused by both, the file unchanged. */
static void check_refused(const char *path, const char *says)
{
    char last[AUDIT_HASH_SIZE] = "untouched";
    uint64_t lines = 99;
    struct error err = {""};
    struct audit *audit;

    assert_int_equal(audit_verify(path, &lines, last, &err), -1);
    if (!strstr(err.text, says) || !strstr(err.text, path))
        fail_msg("'%s' lacks '%s' or the path", err.text, says);
    assert_int_equal(lines, 99);
    assert_string_equal(last, "untouched");
    audit = audit_open(path, false, &err);
    assert_null(audit);
    if (!strstr(err.text, says) || !strstr(err.text, path))
        fail_msg("'%s' lacks '%s' or the path", err.text, says);
    assert_null(audit_open(path, true, NULL));
    assert_int_equal(audit_verify(path, &lines, last, NULL), -1);
}

static void check_number(const cJSON *line, const char *name, int64_t expected)
{
    int64_t number;

    assert_true(json_get_int(line, name, &number));
    assert_int_equal(number, expected);
}

static void a_line_holds_the_call(void **state)
{
    static const char time_pattern[] = "0000-00-00T00:00:00.000Z";
    const char *path = path_of(state);
    struct audit *audit = opened(path, false);
    char hash[SHA256_HEX_SIZE];
    auto_free char *text = NULL;
    auto_json cJSON *line = NULL;
    const char *when;
    size_t len;

    write_lines(audit, 42, 1);
    audit_free(audit);
    text = content(path, &len);
    assert_int_equal(text[len - 1], '\n');
    line = json_parse(text, len - 1, NULL);
    assert_non_null(line);
    when = json_get_text(line, "time");
    assert_int_equal(strlen(when), strlen(time_pattern));
    for (size_t i = 0; when[i]; i++)
        assert_true(time_pattern[i] == '0' ? when[i] >= '0' && when[i] <= '9'
                                           : when[i] == time_pattern[i]);
    assert_string_equal(json_get_text(line, "client"), "a client");
    assert_string_equal(json_get_text(line, "profile"), "small");
    assert_string_equal(json_get_text(line, "image"), "sha256:0123");
    assert_string_equal(json_get_text(line, "status"), "error");
    assert_string_equal(json_get_text(line, "previous"), ZEROES);
    sha256_hex(CODE, strlen(CODE), hash);
    assert_string_equal(json_get_text(line, "code_sha256"), hash);
    check_number(line, "call", 42);
    check_number(line, "code_bytes", (int64_t)strlen(CODE));
    check_number(line, "stdin_bytes", 7);
    check_number(line, "timeout_ms", 30000);
    check_number(line, "memory_bytes", profile.memory);
    check_number(line, "cpus_milli", profile.cpus_milli);
    check_number(line, "pids", profile.pids);
    check_number(line, "exit_code", -1);
    check_number(line, "oom_kills", 3);
    check_number(line, "duration_ms", 1234);
    check_number(line, "total_ms", 1300);
    assert_null(json_duplicate(line));
}

/* Neither the script nor what it wrote, unless asked for; its output never. */
static void code_is_there_when_asked_for(void **state)
{
    const char *path = path_of(state);

    for (int with_code = 0; with_code < 2; with_code++) {
        struct audit *audit = opened(path, with_code);
        auto_free char *text = NULL;
        auto_json cJSON *line = NULL;
        const char *code;
        size_t len;

        write_lines(audit, 1, 1);
        audit_free(audit);
        text = content(path, &len);
        line = json_parse(text, len - 1, NULL);
        code = json_get_text(line, "code");
        assert_null(strstr(text, "in the message"));
        assert_null(strstr(text, "in the value"));
        if (with_code) {
            assert_string_equal(code, CODE);
        } else {
            assert_null(json_get(line, "code"));
            assert_null(strstr(text, "hunter2"));
        }
        assert_int_equal(unlink(path), 0);
    }
}

static void the_chain_goes_on_after_a_restart(void **state)
{
    const char *path = path_of(state);
    auto_free char *text = NULL;
    char previous[AUDIT_HASH_SIZE] = ZEROES, last[AUDIT_HASH_SIZE];
    uint32_t lines = 0;
    size_t len;

    for (uint32_t turn = 0; turn < 4; turn++) {
        struct audit *audit = opened(path, turn % 2);

        write_lines(audit, lines + 1, turn);
        lines += turn;
        audit_free(audit);
        assert_int_equal(verified(path, last), lines);
    }
    text = content(path, &len);
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        auto_json cJSON *json = json_parse(line, (size_t)(end - line), NULL);

        assert_string_equal(json_get_text(json, "previous"), previous);
        sha256_hex(line, (size_t)(end - line), previous);
        lines--;
    }
    assert_int_equal(lines, 0);
    assert_string_equal(last, previous);
    audit_free(NULL);
}

static void an_empty_log_is_whole(void **state)
{
    char last[AUDIT_HASH_SIZE];

    put_file(path_of(state), "", 0);
    assert_int_equal(verified(path_of(state), last), 0);
    assert_string_equal(last, ZEROES);
    audit_free(opened(path_of(state), false));
}

enum harm { CHANGED, REMOVED, REPEATED, CUT, BLANK, EXTRA };

/* Five lines, of which number `at`, from 0, suffers. */
static void harm_line(const char *path, int at, enum harm harm)
{
    size_t len;
    auto_free char *text = content(path, &len);
    auto_free char *harmed = NULL;
    char *line = text, *end, *pids;

    for (int i = 0; i < at; i++)
        line = strchr(line, '\n') + 1;
    end = strchr(line, '\n') + 1;
    if (harm == CHANGED) {
        pids = strstr(line, "\"pids\":128");
        pids[strlen("\"pids\":")] = '9';
        harmed = mem_strdup(text);
    } else if (harm == REMOVED) {
        harmed = mem_printf("%.*s%s", (int)(line - text), text, end);
    } else if (harm == REPEATED) {
        harmed = mem_printf("%.*s%s", (int)(end - text), text, line);
    } else if (harm == CUT) {
        harmed = mem_strndup(text, (size_t)(end - text) - 1);
    } else {
        harmed = mem_printf("%.*s%s%s", (int)(end - text), text,
                            harm == BLANK ? "\n" : "{\"previous\":\"" ZEROES "\"}\n", end);
    }
    put_file(path, harmed, strlen(harmed));
}

static void harm_shows(void **state)
{
    static const struct {
        int at;
        enum harm harm;
        const char *says;
    } cases[] = {
        {0, CHANGED, "line 2: it does not follow the line before it"},
        {3, CHANGED, "line 5: it does not follow the line before it"},
        {0, REMOVED, "line 1: it does not follow the line before it"},
        {2, REMOVED, "line 3: it does not follow the line before it"},
        {1, REPEATED, "line 3: it does not follow the line before it"},
        {4, REPEATED, "line 6: it does not follow the line before it"},
        {0, CUT, "line 1: it is cut short"},
        {4, CUT, "line 5: it is cut short"},
        {2, BLANK, "line 4: "},
        {4, EXTRA, "line 6: it does not follow the line before it"},
    };
    const char *path = path_of(state);

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct audit *audit = opened(path, false);

        write_lines(audit, 1, 5);
        audit_free(audit);
        harm_line(path, cases[i].at, cases[i].harm);
        check_refused(path, cases[i].says);
        assert_int_equal(unlink(path), 0);
    }
}

/* The end of the chain is held by whoever wrote its hash down. */
static void harm_at_the_end_shows_in_the_hash(void **state)
{
    static const struct {
        enum harm harm;
        uint64_t lines;
    } cases[] = {{CHANGED, 5}, {REMOVED, 4}};
    const char *path = path_of(state);
    char before[AUDIT_HASH_SIZE], after[AUDIT_HASH_SIZE];

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct audit *audit = opened(path, false);

        write_lines(audit, 1, 5);
        audit_free(audit);
        assert_int_equal(verified(path, before), 5);
        harm_line(path, 4, cases[i].harm);
        assert_int_equal(verified(path, after), cases[i].lines);
        assert_string_not_equal(before, after);
        assert_int_equal(unlink(path), 0);
    }
}

static void files_of_others_are_refused(void **state)
{
    static const struct {
        const char *text;
        size_t len;
    } cases[] = {
        {"hello\n", 6},
        {"hello", 5},
        {"\n", 1},
        {"{}\n", 3},
        {"[]\n", 3},
        {"null\n", 5},
        {"{\"previous\":1}\n", 15},
        {"\0\0\0\n", 4},
        {"\xff\n", 2},
        {"#!/bin/sh\nrm\n", 13},
        {"{\"previous\":\"\"}\n", 16},
    };
    const char *path = path_of(state);

    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_free char *after = NULL;
        size_t len;

        put_file(path, cases[i].text, cases[i].len);
        check_refused(path, "line 1: ");
        after = content(path, &len);
        assert_int_equal(len, cases[i].len);
        assert_memory_equal(after, cases[i].text, len);
    }
}

static void what_is_no_file_is_refused(void **state)
{
    const char *path = path_of(state);
    struct error err = {""};

    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(audit_verify(path, NULL, NULL, &err), -1);
    assert_non_null(strstr(err.text, "not a regular file"));
    assert_null(audit_open(path, false, &err));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(audit_verify("/tmp", NULL, NULL, &err), -1);
    assert_non_null(strstr(err.text, "/tmp: not a regular file"));
    assert_null(audit_open("/tmp", false, &err));
    assert_non_null(strstr(err.text, "cannot write the audit log: /tmp: "));
    check_refused("/dev/zero", "not a regular file");
    check_refused("/nowhere/at/all", "No such file or directory");
    check_refused("", "No such file or directory");
}

static void links_are_refused(void **state)
{
    const char *path = path_of(state);
    auto_free char *link = mem_printf("%s.link", path);
    struct error err = {""};

    assert_int_equal(symlink(path, link), 0);
    assert_null(audit_open(link, false, &err));
    assert_non_null(strstr(err.text, "cannot write the audit log: "));
    assert_non_null(strstr(err.text, "a symbolic link, which is not followed; name the file"));
    assert_int_equal(access(path, F_OK), -1); /* not made through the link */
    put_file(path, "", 0);
    assert_null(audit_open(link, false, &err));
    assert_int_equal(unlink(link), 0);
}

static void the_file_is_its_owners(void **state)
{
    const char *path = path_of(state);
    mode_t before = umask(0);
    struct stat status;

    audit_free(opened(path, false));
    umask(before);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
}

/* Text from a client stays text: one line each, and the log stays whole. */
static void odd_texts_stay_texts(void **state)
{
    static const struct {
        const char *text;
        size_t len;
        const char *read; /* NULL: the same */
    } cases[] = {
        {"", 0, NULL},
        {"claude-code \xe2\x9c\x93", 15, NULL},
        {"two\nlines\r\n", 11, NULL},
        {"\",\"status\":\"ok", 14, NULL},
        {"\"}\n{\"previous\":\"", 16, NULL},
        {"\\u0000\\", 7, NULL},
        {"a\0b", 3,
         "a\xef\xbf\xbd"
         "b"},
        {"\0", 1, "\xef\xbf\xbd"},
        {"\xc3", 1, "\xef\xbf\xbd"},
        {"\xff\xfe", 2, "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\x01\x1b[31m\x7f", 7, NULL},
        {"\xe2\x80\xa8\xe2\x80\xa9", 6, NULL},
        {"%s%n", 4, NULL},
    };
    const char *path = path_of(state);

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct audit *audit = opened(path, true);
        const char *read = cases[i].read ? cases[i].read : cases[i].text;
        auto_free char *text = NULL;
        auto_json cJSON *line = NULL;
        size_t len;

        write_code(audit, 1, cases[i].text, cases[i].len, cases[i].text, cases[i].len);
        audit_free(audit);
        assert_int_equal(verified(path, NULL), 1);
        text = content(path, &len);
        assert_ptr_equal(strchr(text, '\n'), text + len - 1);
        line = json_parse(text, len - 1, NULL);
        assert_null(json_duplicate(line));
        assert_string_equal(json_get_text(line, "client"), read);
        assert_string_equal(json_get_text(line, "code"), read);
        assert_string_equal(json_get_text(line, "status"), "error");
        assert_int_equal(unlink(path), 0);
    }
}

/* The longest script that any setting allows, of what JSON makes longest. */
static void the_largest_code_fits(void **state)
{
    enum { LEN = 16 * 1024 * 1024 };
    auto_free char *code = mem_alloc(LEN);
    struct audit *audit = opened(path_of(state), true);

    memset(code, 1, LEN);
    write_code(audit, 1, "c", 1, code, LEN);
    write_lines(audit, 2, 1);
    audit_free(audit);
    assert_int_equal(verified(path_of(state), NULL), 2);
}

/* Where the disk takes a piece of a line only, the piece goes, and the next line follows. */
static void a_full_disk_leaves_the_log_whole(void **state)
{
    const char *path = path_of(state);
    struct audit *audit = opened(path, false);
    const struct outcome outcome = {.status = OUTCOME_OK};
    const struct audit_call call = {.client = "c",
                                    .client_len = 1,
                                    .profile = "small",
                                    .image_id = "",
                                    .code = "",
                                    .outcome = &outcome};
    struct rlimit before, small;
    struct error err = {""};
    struct stat status;
    int r;

    write_lines(audit, 1, 1);
    assert_int_equal(stat(path, &status), 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    for (int room = 10; room >= 0; room -= 10) {
        small = before;
        small.rlim_cur = (rlim_t)(status.st_size + room);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        r = audit_write(audit, &call, &profile, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(r, -1);
        assert_non_null(strstr(err.text, "audit log: "));
        assert_int_equal(verified(path, NULL), 1);
    }
    write_lines(audit, 2, 1);
    audit_free(audit);
    assert_int_equal(verified(path, NULL), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* Two servers with one configuration. */
static void two_writers_share_one_chain(void **state)
{
    const char *path = path_of(state);
    struct audit *one = opened(path, false), *other = opened(path, true);
    char last[AUDIT_HASH_SIZE];
    struct error err;
    uint64_t lines;

    write_lines(one, 1, 3);
    write_lines(other, 1, 2);
    write_lines(other, 3, 1);
    write_lines(one, 4, 1);
    write_lines(other, 4, 1);
    if (audit_verify(path, &lines, last, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(lines, 8);
    audit_free(one);
    audit_free(other);
}

static void refuse_write(struct audit *audit, const char *says)
{
    const struct outcome outcome = {.status = OUTCOME_OK};
    const struct audit_call call = {
        .client = "", .profile = "small", .image_id = "", .code = "", .outcome = &outcome};
    struct error err = {""};

    assert_int_equal(audit_write(audit, &call, &profile, &err), -1);
    if (!strstr(err.text, says))
        fail_msg("'%s' lacks '%s'", err.text, says);
}

static void what_others_did_to_the_file_shows(void **state)
{
    const char *path = path_of(state);
    struct audit *audit = opened(path, false);
    FILE *file;

    write_lines(audit, 1, 2);
    file = fopen(path, "a");
    assert_non_null(file);
    fputs("{\"previous\":\"" ZEROES "\"}\n", file);
    fclose(file);
    refuse_write(audit, "does not follow");
    assert_int_equal(truncate(path, 10), 0);
    refuse_write(audit, "become shorter");
    audit_free(audit);
}

static void a_lock_that_is_held_is_not_waited_for_long(void **state)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const char *path = path_of(state);
    struct audit *audit = opened(path, false);
    auto_close int fd = open(path, O_RDWR | O_CLOEXEC);

    assert_int_equal(fcntl(fd, F_OFD_SETLK, &whole), 0);
    refuse_write(audit, "another process holds its lock");
    whole.l_type = F_UNLCK;
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &whole), 0);
    write_lines(audit, 1, 1);
    audit_free(audit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_line_holds_the_call),
        TEST(code_is_there_when_asked_for),
        TEST(the_chain_goes_on_after_a_restart),
        TEST(an_empty_log_is_whole),
        TEST(harm_shows),
        TEST(harm_at_the_end_shows_in_the_hash),
        TEST(files_of_others_are_refused),
        TEST(what_is_no_file_is_refused),
        TEST(links_are_refused),
        TEST(the_file_is_its_owners),
        TEST(odd_texts_stay_texts),
        TEST(the_largest_code_fits),
        TEST(a_full_disk_leaves_the_log_whole),
        TEST(two_writers_share_one_chain),
        TEST(what_others_did_to_the_file_shows),
        TEST(a_lock_that_is_held_is_not_waited_for_long),
    };

    return cmocka_run_group_tests_name("audit", tests, NULL, NULL);
}
