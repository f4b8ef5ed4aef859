/* collect: what goes on of a container's artifacts, and every promise that one may break. */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/text.h"
#include "executor/collect.h"
#include "executor/run.h"
#include "sandbox/frame.h"

/* What ops was told, as text. */
struct told {
    struct buf text;
};

static void on_artifact(void *arg, const struct artifact *artifact)
{
    struct told *told = arg;

    assert_true(artifact->name_len > 0 && artifact->name_len <= LIMIT_ARTIFACT_NAME_MAX);
    assert_true(text_is_line(artifact->name, artifact->name_len));
    buf_addf(&told->text, "[%d %d %llu %.*s]", (int)artifact->kind, (int)artifact->reason,
             (unsigned long long)artifact->size, (int)artifact->name_len, artifact->name);
}

static void on_bytes(void *arg, const char *bytes, size_t len)
{
    struct told *told = arg;

    buf_addf(&told->text, "(%.*s)", (int)len, bytes);
}

static void on_rest(void *arg, uint64_t count, bool at_least)
{
    struct told *told = arg;

    buf_addf(&told->text, "{%llu%s}", (unsigned long long)count, at_least ? "+" : "");
}

static const struct run_ops ops = {
    .artifact = on_artifact, .artifact_bytes = on_bytes, .artifact_rest = on_rest};
static const struct run_ops no_ops;

static const struct artifact_limits limits = {4, 10, 15, 0};

static int artifact(struct collect *collect, const struct run_ops *to, struct told *told, int kind,
                    int reason, uint64_t size, const char *name)
{
    char payload[FRAME_ARTIFACT_FIXED + LIMIT_ARTIFACT_NAME_MAX] = {(char)kind, (char)reason};
    uint64_t big = htobe64(size);
    struct frame frame = {.type = FRAME_ARTIFACT, .bytes = payload};

    memcpy(payload + 2, &big, sizeof(big));
    memcpy(payload + FRAME_ARTIFACT_FIXED, name, strlen(name));
    frame.len = FRAME_ARTIFACT_FIXED + strlen(name);
    return collect_take(collect, &frame, to, told, NULL);
}

static int bytes(struct collect *collect, struct told *told, const char *text)
{
    struct frame frame = {.type = FRAME_ARTIFACT_BYTES, .bytes = text, .len = strlen(text)};

    return collect_take(collect, &frame, &ops, told, NULL);
}

static int rest(struct collect *collect, struct told *told)
{
    static const char payload[FRAME_REST_SIZE] = {0, 0, 0, 0, 0, 0, 0, 7, 1};
    struct frame frame = {.type = FRAME_ARTIFACT_REST, .bytes = payload, .len = sizeof(payload)};

    return collect_take(collect, &frame, &ops, told, NULL);
}

static int setup(void **state)
{
    static struct told told;

    buf_init(&told.text, 1 << 20);
    buf_add_text(&told.text, "");
    *state = &told;
    return 0;
}

static int teardown(void **state)
{
    struct told *told = *state;

    buf_done(&told->text);
    return 0;
}

static void all_is_told(void **state)
{
    struct told *told = *state;
    struct collect collect;

    collect_init(&collect, &limits);
    assert_int_equal(artifact(&collect, &ops, told, 2, 0, 3, "figure-1.png"), 0);
    assert_int_equal(bytes(&collect, told, "ab"), 0);
    assert_int_equal(bytes(&collect, told, "c"), 0);
    assert_int_equal(artifact(&collect, &ops, told, 1, 0, 0, "empty"), 0);
    assert_int_equal(artifact(&collect, &ops, told, 1, 4, 5368709120, "giant"), 0);
    assert_int_equal(rest(&collect, told), 0);
    assert_int_equal(collect_end(&collect, NULL), 0);
    assert_string_equal(told->text.data, "[2 0 3 figure-1.png](ab)(c)[1 0 0 empty]"
                                         "[1 4 5368709120 giant]{7+}");
}

/* Those who are not asked are not called. */
static void nobody_listens(void **state)
{
    struct collect collect;

    (void)state;
    collect_init(&collect, &limits);
    assert_int_equal(artifact(&collect, &no_ops, NULL, 1, 3, 0, "link"), 0);
}

static void names_are_made_fit(void **state)
{
    struct told *told = *state;
    struct collect collect;
    char name[LIMIT_ARTIFACT_NAME_MAX + 1];

    collect_init(&collect, &limits);
    assert_int_equal(artifact(&collect, &ops, told, 1, 6, 1, "a\nb\x1b\xff\xc2\x85/../\xc3\xa9"),
                     0);
    assert_string_equal(told->text.data,
                        "[1 6 1 a" TEXT_REPLACEMENT
                        "b" TEXT_REPLACEMENT TEXT_REPLACEMENT TEXT_REPLACEMENT "/../\xc3\xa9]");
    memset(name, 0xff, sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(artifact(&collect, &ops, told, 1, 6, 1, name), 0);
}

static void promises(void **state)
{
    struct told *told = *state;
    struct collect collect;

    collect_init(&collect, &limits);
    assert_int_equal(bytes(&collect, told, "x"), -1);
    assert_int_equal(artifact(&collect, &ops, told, 1, 0, 11, "one is too large"), -1);
    assert_int_equal(artifact(&collect, &ops, told, 3, 0, 1, "of no kind"), -1);
    assert_int_equal(artifact(&collect, &ops, told, 1, 0, UINT64_MAX, "negative"), -1);
    assert_int_equal(told->text.len, 0);

    assert_int_equal(artifact(&collect, &ops, told, 1, 0, 10, "a"), 0);
    assert_int_equal(bytes(&collect, told, ""), -1);
    assert_int_equal(bytes(&collect, told, "12345678901"), -1);
    assert_int_equal(bytes(&collect, told, "123456789"), 0);
    assert_int_equal(collect_end(&collect, NULL), -1);
    assert_int_equal(artifact(&collect, &ops, told, 1, 0, 1, "too early"), -1);
    assert_int_equal(rest(&collect, told), -1);
    assert_int_equal(bytes(&collect, told, "0"), 0);
    assert_int_equal(collect_end(&collect, NULL), 0);

    assert_int_equal(artifact(&collect, &ops, told, 1, 0, 6, "all are too large"), -1);
    assert_int_equal(artifact(&collect, &ops, told, 2, 1, 6, "a figure after a file"), -1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(artifact(&collect, &ops, told, 1, 2, INT64_MAX, "b"), 0);
    assert_int_equal(artifact(&collect, &ops, told, 1, 2, 6, "too many"), -1);
    assert_int_equal(rest(&collect, told), 0);
    assert_int_equal(rest(&collect, told), -1);

    collect_init(&collect, &limits);
    assert_int_equal(rest(&collect, told), 0);
    assert_int_equal(artifact(&collect, &ops, told, 1, 2, 6, "after the rest"), -1);
}

#define with_told(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_told(all_is_told),
        with_told(nobody_listens),
        with_told(names_are_made_fit),
        with_told(promises),
    };

    return cmocka_run_group_tests_name("collect", tests, NULL, NULL);
}
