/* excerpt, plain, words: arithmetic of what is left out, split characters, terminal output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "front/excerpt.h"
#include "front/plain.h"
#include "front/words.h"

#define E_ACUTE "\xC3\xA9"
#define EMOJI   "\xF0\x9F\x90\x8D"

/* The excerpt of these pieces with this limit, as a string that holds until the next call. */
static const char *excerpt_of(const char *head, const char *tail, uint64_t bytes, uint64_t chars,
                              size_t limit, unsigned percent, struct buf *out)
{
    struct outcome_total total = {bytes, chars};
    struct excerpt excerpt;
    struct buf first;
    struct buf last;

    buf_init(&first, 1000);
    buf_init(&last, 1000);
    buf_add_text(&first, head);
    buf_add_text(&last, tail);
    excerpt_init(&excerpt, &first, &last, &total);
    buf_done(out);
    buf_add_text(out, "");
    assert_int_equal(excerpt_put(out, &excerpt, limit, percent), 0);
    assert_true(text_is_utf8(out->data, out->len));
    excerpt_done(&excerpt);
    buf_done(&first);
    buf_done(&last);
    return out->data;
}

static void test_cuts(void **state)
{
    static const struct {
        const char *head, *tail;
        uint64_t bytes, chars;
        size_t limit;
        unsigned percent;
        const char *expected;
    } cases[] = {
        {"", "", 0, 0, 10, 50, ""},
        {"hello\n", "", 6, 6, 6, 50, "hello\n"},
        {"hello\n", "", 6, 6, 5, 50, "he\n… 1 characters left out of 6 …\nlo\n"},
        {"0123456789", "", 10, 10, 4, 25, "0\n… 6 characters left out of 10 …\n789"},
        {"0123456789", "", 10, 10, 0, 50, "… 10 characters left out of 10 …\n"},
        /* a gap that was made on the way */
        {"abc", "xyz", 2400000, 2350006, 100, 50,
         "abc\n… 2,350,000 characters left out of 2,350,006 …\nxyz"},
        {"abcdef", "uvwxyz", 1000, 1000, 4, 50, "ab\n… 996 characters left out of 1,000 …\nyz"},
        {"abcdef", "z", 1000, 1000, 4, 50, "abc\n… 996 characters left out of 1,000 …\nz"},
        {"a", "uvwxyz", 1000, 1000, 4, 50, "a\n… 996 characters left out of 1,000 …\nxyz"},
        /* the end never came */
        {"abc", "", 1000, 1000, 10, 50, "abc\n… 997 characters left out of 1,000 …\n"},
        /* no gap, though the pieces are two: a character may be cut between them */
        {"a\xC3", "\xA9z", 4, 3, 10, 50, "a" E_ACUTE "z"},
        /* characters that the gap cut in two are not shown, and counted once */
        {"a\xF0\x9F", "\x8Dz", 400, 100, 10, 50, "a\n… 98 characters left out of 100 …\nz"},
        {"\xC3\xA9\xC3", "\xA9\xA9z", 400, 100, 10, 50,
         E_ACUTE "\n… 98 characters left out of 100 …\nz"},
        /* never in the middle of a character */
        {EMOJI EMOJI EMOJI EMOJI, "", 16, 4, 2, 50,
         EMOJI "\n… 2 characters left out of 4 …\n" EMOJI},
        /* invalid bytes, also at the very end */
        {"a\xFFz\xC3", "", 4, 4, 10, 50, "a" TEXT_REPLACEMENT "z" TEXT_REPLACEMENT},
        /* totals that cannot be */
        {"abc", "xyz", 0, 0, 10, 50, "abcxyz"},
        {"abcdef", "", 0, 0, 4, 50, "ab\n… 2 characters left out of at least 6 …\nef"},
        {"abc", "xyz", 100, 1, 10, 50, "abc\n… 0 characters left out of 6 …\nxyz"},
    };
    auto_buf struct buf out;

    (void)state;
    buf_init(&out, 10000);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(excerpt_of(cases[i].head, cases[i].tail, cases[i].bytes, cases[i].chars,
                                       cases[i].limit, cases[i].percent, &out),
                            cases[i].expected);
}

/* Shown and left out always add up to the total, for every limit. */
static void test_adds_up(void **state)
{
    static const char text[] = "a" E_ACUTE EMOJI "b\n" E_ACUTE "cdefg" EMOJI;
    auto_buf struct buf out;
    size_t total = text_count(text, strlen(text));

    (void)state;
    buf_init(&out, 10000);
    for (size_t limit = 0; limit < total; limit++) {
        excerpt_of(text, "", strlen(text), total, limit, 50, &out);
        const char *line = strstr(out.data, "… ");
        char *end;
        unsigned long left_out = strtoul(line + strlen("… "), &end, 10);

        assert_int_equal(left_out, total - limit);
        assert_memory_equal(end, " characters left out of 12 …\n", 29);
    }
}

static void test_share(void **state)
{
    size_t limits[3];

    (void)state;
    excerpt_share(100, (size_t[]){10, 20, 30}, limits, 3);
    assert_memory_equal(limits, ((size_t[]){10, 20, 30}), sizeof(limits));
    excerpt_share(100, (size_t[]){1000, 10, 0}, limits, 3);
    assert_memory_equal(limits, ((size_t[]){90, 10, 0}), sizeof(limits));
    excerpt_share(100, (size_t[]){1000, 1000, 0}, limits, 3);
    assert_memory_equal(limits, ((size_t[]){50, 50, 0}), sizeof(limits));
    excerpt_share(90, (size_t[]){1000, 40, 1000}, limits, 3);
    assert_memory_equal(limits, ((size_t[]){30, 30, 30}), sizeof(limits));
    excerpt_share(0, (size_t[]){1, 0, 1}, limits, 3);
    assert_memory_equal(limits, ((size_t[]){0, 0, 0}), sizeof(limits));
}

static void test_plain(void **state)
{
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"", ""},
        {"plain\n\ntext", "plain\n\ntext"},
        {"a\na\na\na\na", "a\na\na\na\na"},
        {"a\na\na\na\na\na\na", "a\na\na\na\na\n(the line above came 2 more times)\n"},
        {"b\na\na\na\na\na\na\nb\n", "b\na\na\na\na\na\n(the line above came 1 more time)\nb\n"},
        {"\n\n\n\n\n\n\n", "\n\n\n\n\n\n\n"},
        {"\x1b[31mred\x1b[0m\n", "red\n"},
        {"\x1b[1;38;2;1;2;3mx\x1b[K\x1b[?25l", "x"},
        {"\x1b]0;title\x07y\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "ylink"},
        {"\x1b]0;no end", "0;no end"},
        {"\x1b(Bx\x1b=y\x1b", "xy"},
        {"\x1b[", ""},
        {"\x1b[31", ""},
        {"\x1b[3\nx", "\nx"},
        {"a\r\nb\r\n", "a\nb\n"},
        {"0 %\r50 %\r100 %\n", "100 %\n"},
        {"0 %\r50 %\r", "50 %"},
        {"0 %\r\r\n", "0 %\n"},
        {"\r1\r2\r3", "3"},
        {"busy\r\x1b[K\n", "\n"},
        {E_ACUTE "\x1b[m" EMOJI, E_ACUTE EMOJI},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        auto_buf struct buf out;

        buf_init(&out, 1000);
        buf_add_text(&out, "");
        assert_int_equal(plain_put(&out, cases[i].from, strlen(cases[i].from), true), 0);
        assert_string_equal(out.data, cases[i].to);
    }
}

static void test_plain_without_folds(void **state)
{
    static const char text[] = "a\na\na\na\na\na\na\n";
    auto_buf struct buf out;

    (void)state;
    buf_init(&out, 1000);
    assert_int_equal(plain_put(&out, text, strlen(text), false), 0);
    assert_string_equal(out.data, text);
}

/* A copy as plain text still counts what the script wrote. */
static void test_plain_keeps_totals(void **state)
{
    struct outcome_total total = {1000, 1000};
    struct excerpt raw;
    struct excerpt plain;
    struct buf head;
    struct buf tail;
    auto_buf struct buf out;

    (void)state;
    buf_init(&out, 1000);
    buf_init(&head, 100);
    buf_init(&tail, 100);
    buf_add_text(&head, "\r1\r2\r3");
    buf_add_text(&tail, "\r998\r999\n");
    excerpt_init(&raw, &head, &tail, &total);
    excerpt_init_plain(&plain, &raw, true);
    assert_int_equal(excerpt_put(&out, &plain, 100, 50), 0);
    assert_string_equal(out.data, "3\n… 985 characters left out of 1,000 …\n999\n");
    excerpt_done(&raw);
    excerpt_done(&plain);
    buf_done(&head);
    buf_done(&tail);
}

static void test_words(void **state)
{
    (void)state;
    assert_string_equal(words_count(0).text, "0");
    assert_string_equal(words_count(999).text, "999");
    assert_string_equal(words_count(1000).text, "1,000");
    assert_string_equal(words_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
    assert_string_equal(words_size(512u << 20).text, "512 MB");
    assert_string_equal(words_size(1u << 30).text, "1 GB");
    assert_string_equal(words_size(1536u << 20).text, "1,536 MB");
    assert_string_equal(words_size(1000).text, "1,000 bytes");
    assert_string_equal(words_size(0).text, "0 bytes");
    assert_string_equal(words_duration(0).text, "0 ms");
    assert_string_equal(words_duration(12345).text, "12 ms");
    assert_string_equal(words_duration(999499).text, "999 ms");
    assert_string_equal(words_duration(999500).text, "1 s");
    assert_string_equal(words_duration(2004000).text, "2 s");
    assert_string_equal(words_duration(2349000).text, "2.3 s");
    assert_string_equal(words_duration(300000000).text, "300 s");
    assert_string_equal(words_cpus(1000).text, "1 CPU");
    assert_string_equal(words_cpus(500).text, "0.5 CPUs");
    assert_string_equal(words_cpus(2000).text, "2 CPUs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_adds_up),
        cmocka_unit_test(test_share),
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_plain_without_folds),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_plain_keeps_totals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
