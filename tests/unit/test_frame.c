/* frame: what the supervisor speaks. Round trips, every split point, bad input, random mutations.
 */
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
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "sandbox/frame.h"

#define OUT_MAX (1024 * 1024)

/* Decodes a copy of exactly len bytes, so that the sanitizer sees a read past the end. */
static int decode(const char *bytes, size_t len, char *ret_type, size_t *ret_len, size_t *ret_used)
{
    struct frame frame;
    struct error err;
    auto_free char *copy = malloc(len > 0 ? len : 1);

    assert_non_null(copy);
    if (len > 0)
        memcpy(copy, bytes, len);
    int result = frame_decode(copy, len, &frame, ret_used, &err);
    if (result < 0)
        assert_true(strlen(err.text) > 0);
    if (result == 1) {
        assert_ptr_equal(frame.bytes, copy + FRAME_HEADER_SIZE);
        *ret_type = (char)frame.type;
        *ret_len = frame.len;
    }
    return result;
}

static void put_frame(struct buf *out, char type, const char *bytes, size_t len)
{
    uint32_t length = htobe32((uint32_t)len);

    assert_int_equal(buf_add(out, &type, 1), 0);
    assert_int_equal(buf_add(out, &length, sizeof(length)), 0);
    if (len > 0)
        assert_int_equal(buf_add(out, bytes, len), 0);
}

static void put_exit(char *ret_bytes, const int64_t values[11])
{
    for (size_t i = 0; i < 11; i++) {
        uint64_t value = htobe64((uint64_t)values[i]);

        memcpy(ret_bytes + i * sizeof(value), &value, sizeof(value));
    }
}

static const int64_t good_exit[11] = {3, 0, 0, -1, 5, 6, 0, 8, 7, 10, 9};

/* A whole artifact of 5 bytes, named "a.csv". */
static const char good_artifact[] = "\1\0"
                                    "\0\0\0\0\0\0\0\5"
                                    "0123456789abcdef0123456789abcdef"
                                    "a.csv";
static const char good_rest[] = "\0\0\0\0\0\0\3\1\1";

static void put_all(struct buf *out)
{
    char end[FRAME_EXIT_SIZE];

    put_exit(end, good_exit);
    put_frame(out, FRAME_HELLO, "{}", 2);
    put_frame(out, FRAME_STARTED, NULL, 0);
    put_frame(out, FRAME_STDOUT, "a\0b", 3);
    put_frame(out, FRAME_STDERR, "\xff", 1);
    put_frame(out, FRAME_STDOUT_TAIL, "tail", 4);
    put_frame(out, FRAME_STDERR_TAIL, NULL, 0);
    put_frame(out, FRAME_COLLECTING, NULL, 0);
    put_frame(out, FRAME_ARTIFACT, good_artifact, sizeof(good_artifact) - 1);
    put_frame(out, FRAME_ARTIFACT_BYTES, "a,b\n\0", 5);
    put_frame(out, FRAME_ARTIFACT_REST, good_rest, FRAME_REST_SIZE);
    put_frame(out, FRAME_VALUE, "42", 2);
    put_frame(out, FRAME_EXIT, end, sizeof(end));
}

static void every_prefix_needs_more(void **state)
{
    static const char types[] = "HSOEoeCAaRVX";
    auto_buf struct buf out;
    size_t at = 0;

    (void)state;
    buf_init(&out, OUT_MAX);
    put_all(&out);
    for (size_t i = 0; i < strlen(types); i++) {
        char type;
        size_t len;
        size_t used;

        assert_int_equal(decode(out.data + at, out.len - at, &type, &len, &used), 1);
        assert_int_equal(type, types[i]);
        assert_int_equal(used, len + FRAME_HEADER_SIZE);
        for (size_t part = 0; part < used; part++) {
            size_t untouched = 12345;

            assert_int_equal(decode(out.data + at, part, &type, &len, &untouched), 0);
            assert_int_equal(untouched, 12345);
        }
        at += used;
    }
    assert_int_equal(at, out.len);
}

static void ceilings(void **state)
{
    auto_free char *big = mem_alloc(FRAME_MAX + 1);
    auto_buf struct buf out;
    struct frame frame;
    size_t used;

    (void)state;
    buf_init(&out, OUT_MAX);
    put_frame(&out, FRAME_STDOUT, big, FRAME_MAX);
    assert_int_equal(frame_decode(out.data, out.len, &frame, &used, NULL), 1);
    assert_int_equal(frame.len, FRAME_MAX);
    buf_drop(&out, out.len);
    put_frame(&out, FRAME_VALUE, big, LIMIT_VALUE_MAX);
    assert_int_equal(frame_decode(out.data, out.len, &frame, &used, NULL), 1);
}

#define BAD(text) text, sizeof(text) - 1

static const struct bad {
    const char *why;
    const char *bytes;
    size_t len;
} bad_input[] = {
    {"type 0", BAD("\0")},
    {"unknown type, known from one byte", BAD("h")},
    {"type above ASCII", BAD("\xff\0\0\0\0")},
    {"what a script prints", BAD("Hello, world\n")},
    {"a byte too long", BAD("O\0\4\0\1")},
    {"4 GiB", BAD("E\xff\xff\xff\xff")},
    {"S with a payload", BAD("S\0\0\0\1")},
    {"V too long", BAD("V\0\1\0\1")},
    {"X too long", BAD("X\0\0\0\x59")},
    {"C with a payload", BAD("C\0\0\0\1")},
    {"A too long", BAD("A\0\0\4\x2b")},
    {"a too long", BAD("a\0\4\0\1")},
    {"R too long", BAD("R\0\0\0\x0a")},
};

static void bad_input_is_refused(void **state)
{
    char type;
    size_t len;
    size_t used;

    (void)state;
    for (size_t i = 0; i < sizeof(bad_input) / sizeof(bad_input[0]); i++)
        if (decode(bad_input[i].bytes, bad_input[i].len, &type, &len, &used) != -1)
            fail_msg("accepted: %s", bad_input[i].why);
}

static void exit_round_trip(void **state)
{
    static const int64_t killed[11] = {-1, 9, 1, 2, INT64_MAX, 0, 1, 0, 0, 0, 0};
    char bytes[FRAME_EXIT_SIZE];
    struct frame_exit end;

    (void)state;
    put_exit(bytes, good_exit);
    assert_int_equal(frame_decode_exit(bytes, sizeof(bytes), &end, NULL), 0);
    assert_int_equal(end.exit_code, 3);
    assert_int_equal(end.oom_kills, -1);
    assert_int_equal(end.cpu_us, 5);
    assert_int_equal(end.duration_us, 6);
    assert_int_equal(end.stdout_bytes, 8);
    assert_int_equal(end.stdout_chars, 7);
    assert_int_equal(end.stderr_bytes, 10);
    assert_int_equal(end.stderr_chars, 9);
    put_exit(bytes, killed);
    assert_int_equal(frame_decode_exit(bytes, sizeof(bytes), &end, NULL), 0);
    assert_int_equal(end.signal, 9);
    assert_int_equal(end.timed_out, 1);
    assert_int_equal(end.peak_memory_bytes, 1);
}

static void bad_exit_is_refused(void **state)
{
    static const struct {
        size_t index;
        int64_t value;
    } changes[] = {{0, -1},        {0, -2}, {0, 256}, {1, 9},  {1, -1}, {1, 65},
                   {2, 2},         {2, -1}, {3, -2},  {4, -1}, {5, -1}, {3, INT64_MAX},
                   {6, INT64_MIN}, {7, 6},  {7, -1},  {8, -1}, {8, 9},  {10, 11}};
    char bytes[FRAME_EXIT_SIZE + 1] = {0};
    struct frame_exit end;

    (void)state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        int64_t values[11];

        memcpy(values, good_exit, sizeof(values));
        values[changes[i].index] = changes[i].value;
        put_exit(bytes, values);
        if (frame_decode_exit(bytes, FRAME_EXIT_SIZE, &end, NULL) != -1)
            fail_msg("accepted: value %zu of %lld", changes[i].index, (long long)changes[i].value);
    }
    put_exit(bytes, good_exit);
    assert_int_equal(frame_decode_exit(bytes, FRAME_EXIT_SIZE - 1, &end, NULL), -1);
    assert_int_equal(frame_decode_exit(bytes, FRAME_EXIT_SIZE + 1, &end, NULL), -1);
    assert_int_equal(frame_decode_exit(bytes, 0, &end, NULL), -1);
}

static void artifact_round_trip(void **state)
{
    size_t len = sizeof(good_artifact) - 1;
    auto_free char *exact = malloc(len);
    struct frame_artifact artifact;
    struct frame_rest rest;

    (void)state;
    assert_non_null(exact);
    memcpy(exact, good_artifact, len);
    assert_int_equal(frame_decode_artifact(exact, len, &artifact, NULL), 0);
    assert_int_equal(artifact.kind, FRAME_KIND_FILE);
    assert_int_equal(artifact.reason, FRAME_REASON_NONE);
    assert_int_equal(artifact.size, 5);
    assert_memory_equal(artifact.sha256, "0123456789abcdef0123456789abcdef", 32);
    assert_int_equal(artifact.name_len, 5);
    assert_memory_equal(artifact.name, "a.csv", 5);

    assert_int_equal(frame_decode_rest(good_rest, FRAME_REST_SIZE, &rest, NULL), 0);
    assert_int_equal(rest.count, 769);
    assert_true(rest.at_least);
}

static void bad_artifact_is_refused(void **state)
{
    static const struct {
        size_t at;
        char value;
    } changes[] = {{0, 0}, {0, 3}, {0, -1}, {1, FRAME_REASON_END}, {1, -1}, {2, -1}};
    char bytes[FRAME_ARTIFACT_FIXED + LIMIT_ARTIFACT_NAME_MAX + 1] = "";
    struct frame_artifact artifact;
    struct frame_rest rest;

    (void)state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        memcpy(bytes, good_artifact, sizeof(good_artifact));
        bytes[changes[i].at] = changes[i].value;
        if (frame_decode_artifact(bytes, sizeof(good_artifact) - 1, &artifact, NULL) != -1)
            fail_msg("accepted: %d at %zu", changes[i].value, changes[i].at);
    }
    memcpy(bytes, good_artifact, sizeof(good_artifact));
    assert_int_equal(frame_decode_artifact(bytes, FRAME_ARTIFACT_FIXED + 1, &artifact, NULL), 0);
    assert_int_equal(frame_decode_artifact(bytes, sizeof(bytes) - 1, &artifact, NULL), 0);
    assert_int_equal(frame_decode_artifact(bytes, 0, &artifact, NULL), -1);
    assert_int_equal(frame_decode_artifact(bytes, FRAME_ARTIFACT_FIXED, &artifact, NULL), -1);
    assert_int_equal(frame_decode_artifact(bytes, sizeof(bytes), &artifact, NULL), -1);

    assert_int_equal(frame_decode_rest("\0\0\0\0\0\0\0\1\2", 9, &rest, NULL), -1);
    assert_int_equal(frame_decode_rest(good_rest, FRAME_REST_SIZE - 1, &rest, NULL), -1);
    assert_int_equal(frame_decode_rest(good_rest, sizeof(good_rest), &rest, NULL), -1);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void mutations_do_no_harm(void **state)
{
    auto_buf struct buf out;
    uint32_t seed = 1;

    (void)state;
    buf_init(&out, OUT_MAX);
    put_all(&out);
    for (int round = 0; round < 20000; round++) {
        auto_free char *copy = mem_strndup(out.data, out.len);
        size_t at = 0;
        size_t used = 0;
        struct frame frame;
        struct frame_exit end;
        struct frame_artifact artifact;
        struct frame_rest rest;

        for (uint32_t n = next_random(&seed) % 4 + 1; n > 0; n--)
            copy[next_random(&seed) % out.len] = (char)next_random(&seed);
        size_t len = next_random(&seed) % (out.len + 1);
        auto_free char *exact = malloc(len > 0 ? len : 1);
        assert_non_null(exact);
        memcpy(exact, copy, len);
        while (frame_decode(exact + at, len - at, &frame, &used, NULL) == 1) {
            (void)frame_decode_exit(frame.bytes, frame.len, &end, NULL);
            (void)frame_decode_artifact(frame.bytes, frame.len, &artifact, NULL);
            (void)frame_decode_rest(frame.bytes, frame.len, &rest, NULL);
            at += used;
            assert_true(at <= len);
        }
    }
}

static void start_line(void **state)
{
    static const char *const argv[] = {"", "a \"quoted\"\nline", "\xc3\xa9"};
    static const struct frame_file files[] = {{"a.csv...", 5, 7}, {"d/\"\xc3\xa9\n", 6, 0}};
    struct frame_start start = {.timeout_ms = 30000,
                                .name = "script.py",
                                .argv = argv,
                                .argc = 3,
                                .code_len = 8,
                                .stdin_len = -1,
                                .head = -1,
                                .tail = 4096,
                                .files = files,
                                .file_count = 2,
                                .outputs = {64, 1000, 2000, 500}};
    auto_buf struct buf out;

    (void)state;
    buf_init(&out, OUT_MAX);
    assert_int_equal(frame_put_start(&out, &start), 0);
    assert_ptr_equal(strchr(out.data, '\n'), out.data + out.len - 1);
    auto_json cJSON *json = json_parse(out.data, out.len, NULL);
    int64_t number;
    assert_non_null(json);
    assert_true(json_get_int(json, "timeout_ms", &number) && number == 30000);
    assert_true(json_get_int(json, "code", &number) && number == 8);
    assert_true(json_get_int(json, "stdin", &number) && number == -1);
    assert_true(json_get_int(json, "head", &number) && number == -1);
    assert_true(json_get_int(json, "tail", &number) && number == 4096);
    assert_string_equal(json_get_text(json, "name"), "script.py");
    const cJSON *outputs = json_get_object(json, "outputs");
    assert_true(json_get_int(outputs, "files", &number) && number == 64);
    assert_true(json_get_int(outputs, "file", &number) && number == 1000);
    assert_true(json_get_int(outputs, "total", &number) && number == 2000);
    assert_true(json_get_int(outputs, "figures", &number) && number == 500);
    cJSON *array = json_get_array(json, "files");
    assert_int_equal(cJSON_GetArraySize(array), 2);
    assert_string_equal(json_get_text(cJSON_GetArrayItem(array, 0), "path"), "a.csv");
    assert_string_equal(json_get_text(cJSON_GetArrayItem(array, 1), "path"), "d/\"\xc3\xa9\n");
    assert_true(json_get_int(cJSON_GetArrayItem(array, 0), "size", &number) && number == 7);
    assert_true(json_get_int(cJSON_GetArrayItem(array, 1), "size", &number) && number == 0);
    array = json_get_array(json, "argv");
    assert_int_equal(cJSON_GetArraySize(array), 3);
    for (int i = 0; i < 3; i++)
        assert_string_equal(cJSON_GetArrayItem(array, i)->valuestring, argv[i]);

    for (size_t room = 0; room < out.len; room++) {
        auto_buf struct buf small;

        buf_init(&small, room);
        assert_int_equal(frame_put_start(&small, &start), -1);
        assert_int_equal(small.len, 0);
    }
}

static void input_chunks(void **state)
{
    auto_buf struct buf out;

    (void)state;
    buf_init(&out, 12);
    assert_int_equal(frame_put_input(&out, "ab\n", 3), 0);
    assert_int_equal(frame_put_input(&out, "ab", 2), -1);
    assert_int_equal(frame_put_input(&out, NULL, 0), 0);
    assert_int_equal(out.len, 11);
    assert_memory_equal(out.data, "\0\0\0\3ab\n\0\0\0\0", 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_prefix_needs_more),
        cmocka_unit_test(ceilings),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(exit_round_trip),
        cmocka_unit_test(bad_exit_is_refused),
        cmocka_unit_test(artifact_round_trip),
        cmocka_unit_test(bad_artifact_is_refused),
        cmocka_unit_test(mutations_do_no_harm),
        cmocka_unit_test(start_line),
        cmocka_unit_test(input_chunks),
    };

    return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
