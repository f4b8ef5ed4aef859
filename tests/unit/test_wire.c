/* wire: round trips, every split point, ceilings. */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "wire_sample.h"

static void round_trip(void **state)
{
    auto_buf struct buf out;
    struct wire_message m;
    size_t used;
    size_t at = 0;

    (void)state;
    buf_init(&out, OUT_MAX);
    put_all(&out);

    assert_int_equal(wire_decode(out.data, out.len, &m, &used, NULL), 1);
    assert_int_equal(m.type, WIRE_RUN);
    assert_int_equal(m.call, 1);
    assert_int_equal(m.run.profile, LIMIT_PROFILES_MAX - 1);
    assert_int_equal(m.run.timeout_ms, 30000);
    assert_int_equal(m.run.keep_head, 1000);
    assert_int_equal(m.run.keep_tail, 2000);
    assert_int_equal(m.run.label_len, 6);
    assert_memory_equal(m.run.label, "client", 6);
    assert_int_equal(m.run.code_len, 10);
    assert_memory_equal(m.run.code, sample_run.code, 10);
    assert_int_equal(m.run.stdin_len, 2);
    assert_memory_equal(m.run.stdin_bytes, "\xff\n", 2);
    assert_int_equal(m.run.artifacts.count, 64);
    assert_int_equal(m.run.artifacts.one, 1000);
    assert_int_equal(m.run.artifacts.all, 2000);
    assert_int_equal(m.run.artifacts.figures, 500);
    assert_int_equal(m.run.file_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(m.run.files[i].path_len, sample_files[i].path_len);
        assert_memory_equal(m.run.files[i].path, sample_files[i].path, sample_files[i].path_len);
        assert_int_equal(m.run.files[i].len, sample_files[i].len);
        assert_memory_equal(m.run.files[i].bytes, sample_files[i].bytes, sample_files[i].len);
    }
    wire_end(&m);

    at += used;
    assert_int_equal(wire_decode(out.data + at, out.len - at, &m, &used, NULL), 1);
    assert_int_equal(m.type, WIRE_STOP);
    assert_int_equal(m.call, UINT32_MAX);
    assert_int_equal(used, WIRE_HEADER_SIZE);

    at += used;
    assert_int_equal(wire_decode(out.data + at, out.len - at, &m, &used, NULL), 1);
    assert_int_equal(m.type, WIRE_PHASE);
    assert_int_equal(m.phase.phase, WIRE_PULLING);
    assert_int_equal(m.phase.value, 77);

    at += used;
    assert_int_equal(wire_decode(out.data + at, out.len - at, &m, &used, NULL), 1);
    assert_int_equal(m.type, WIRE_OUTPUT);
    assert_int_equal(m.output.stream, OUTCOME_STDERR);
    assert_true(m.output.tail);
    assert_int_equal(m.output.len, 4);
    assert_memory_equal(m.output.bytes, "text", 4);
}

static void round_trip_artifacts(void **state)
{
    auto_buf struct buf out;
    struct wire_message m;
    size_t used, at;

    (void)state;
    buf_init(&out, OUT_MAX);
    assert_int_equal(wire_put_artifact(&out, 4, &sample_artifact), 0);
    assert_int_equal(decode(out.data, out.len, &m, &used), 1);
    assert_int_equal(wire_decode(out.data, out.len, &m, &at, NULL), 1);
    assert_int_equal(used, out.len);
    assert_int_equal(m.type, WIRE_ARTIFACT);
    assert_int_equal(m.artifact.kind, ARTIFACT_FIGURE);
    assert_int_equal(m.artifact.reason, ARTIFACT_LARGE);
    assert_int_equal(m.artifact.size, INT64_MAX);
    assert_memory_equal(m.artifact.sha256, sample_artifact.sha256, ARTIFACT_HASH_SIZE);
    assert_int_equal(m.artifact.name_len, 12);
    assert_memory_equal(m.artifact.name, "figure-1.png", 12);

    assert_int_equal(wire_put_artifact_bytes(&out, 4, "bytes", 5), 0);
    at = used;
    assert_int_equal(wire_decode(out.data + at, out.len - at, &m, &used, NULL), 1);
    assert_int_equal(m.type, WIRE_ARTIFACT_BYTES);
    assert_int_equal(m.artifact_bytes.len, 5);
    assert_memory_equal(m.artifact_bytes.bytes, "bytes", 5);

    assert_int_equal(wire_put_artifact_rest(&out, 4, UINT64_MAX, true), 0);
    at += used;
    assert_int_equal(wire_decode(out.data + at, out.len - at, &m, &used, NULL), 1);
    assert_int_equal(m.type, WIRE_ARTIFACT_REST);
    assert_true(m.artifact_rest.count == UINT64_MAX);
    assert_true(m.artifact_rest.at_least);
}

static void artifact_bytes_are_split(void **state)
{
    size_t len = 2 * WIRE_OUTPUT_MAX + 5, got = 0, count = 0, used;
    auto_free char *bytes = mem_alloc(len);
    auto_buf struct buf out;
    struct wire_message m;

    (void)state;
    buf_init(&out, len + 3 * WIRE_HEADER_SIZE);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)(i % 251);
    assert_int_equal(wire_put_artifact_bytes(&out, 9, bytes, len), 0);
    for (size_t at = 0; at < out.len; at += used, count++) {
        assert_int_equal(wire_decode(out.data + at, out.len - at, &m, &used, NULL), 1);
        assert_memory_equal(m.artifact_bytes.bytes, bytes + got, m.artifact_bytes.len);
        got += m.artifact_bytes.len;
    }
    assert_int_equal(got, len);
    assert_int_equal(count, 3);

    out.max = out.len - 1;
    buf_drop(&out, out.len);
    assert_int_equal(wire_put_artifact_bytes(&out, 9, bytes, len), -1);
    assert_int_equal(wire_put_artifact_bytes(&out, 9, NULL, 0), 0);
    assert_int_equal(out.len, 0);
}

static void round_trip_done(void **state)
{
    auto_buf struct buf out;
    struct outcome full = sample_outcome();
    struct outcome bare = {.status = OUTCOME_BUSY, .exit_code = 255};
    struct wire_message m;
    size_t used;

    (void)state;
    buf_init(&out, OUT_MAX);
    assert_int_equal(wire_put_done(&out, 5, &full), 0);
    assert_int_equal(wire_decode(out.data, out.len, &m, &used, NULL), 1);
    assert_int_equal(used, out.len);
    assert_int_equal(m.type, WIRE_DONE);
    assert_int_equal(m.done.status, OUTCOME_KILLED);
    assert_int_equal(m.done.exit_code, -1);
    assert_int_equal(m.done.oom_kills, 3);
    assert_true(m.done.duration_us == UINT64_MAX);
    assert_true(m.done.cpu_us == 2);
    assert_true(m.done.peak_memory_bytes == 1ULL << 40);
    assert_memory_equal(m.done.total, full.total, sizeof(full.total));
    assert_string_equal(m.done.message, full.message);
    assert_int_equal(m.done.value_len, 3);
    assert_memory_equal(m.done.value, "a\0b", 4);
    assert_string_equal(m.done.image, full.image);
    assert_string_equal(m.done.python, full.python);
    outcome_done(&m.done);
    outcome_done(&full);

    buf_drop(&out, out.len);
    assert_int_equal(wire_put_done(&out, 5, &bare), 0);
    assert_int_equal(wire_decode(out.data, out.len, &m, &used, NULL), 1);
    assert_int_equal(m.done.status, OUTCOME_BUSY);
    assert_int_equal(m.done.exit_code, 255);
    assert_null(m.done.message);
    assert_null(m.done.value);
    assert_null(m.done.image);
    assert_null(m.done.python);
}

static void every_prefix_needs_more(void **state)
{
    auto_buf struct buf out;
    struct wire_message m;
    size_t used;

    (void)state;
    buf_init(&out, OUT_MAX);
    put_all(&out);
    for (size_t at = 0; at < out.len; at += used) {
        size_t whole;

        assert_int_equal(decode(out.data + at, out.len - at, &m, &whole), 1);
        wire_end(&m);
        for (used = 0; used < whole; used++) {
            size_t untouched = 12345;

            assert_int_equal(decode(out.data + at, used, &m, &untouched), 0);
            assert_int_equal(untouched, 12345);
        }
    }
}

static void status_round_trip(void **state)
{
    auto_buf struct buf out;
    struct wire_message m;
    size_t used;

    (void)state;
    buf_init(&out, OUT_MAX);
    assert_int_equal(wire_put_status(&out, &sample_status), 0);
    assert_int_equal(decode(out.data, out.len, &m, &used), 1);
    assert_int_equal(used, out.len);
    assert_int_equal(m.type, WIRE_STATUS);
    assert_int_equal(m.call, 0);
    assert_true(m.status.engine);
    assert_false(m.status.room);
    assert_true(m.status.draining);
    assert_int_equal(m.status.running, 1);
    assert_int_equal(m.status.queued, 2);
    assert_int_equal(m.status.engine_losses, 6);
    assert_int_equal(m.status.profile_count, 2);
    assert_true(m.status.pools[0].image);
    assert_false(m.status.pools[0].walls);
    assert_false(m.status.pools[1].image);
    assert_true(m.status.pools[1].walls);
    assert_int_equal(m.status.pools[1].warm, 3);
    assert_int_equal(m.status.pools[1].alive, UINT32_MAX);
    assert_true(m.status.pools[1].starts == UINT64_MAX);
    assert_int_equal(m.status.pools[1].start_failures, 5);
}

static void expect_text(struct wire_text text, const char *expected)
{
    assert_int_equal(text.len, strlen(expected));
    if (text.len > 0)
        assert_memory_equal(text.at, expected, text.len);
}

static void profile_round_trip(void **state)
{
    static const struct wire_profile bare = {.index = LIMIT_PROFILES_MAX - 1};
    auto_free char *modules = mem_alloc(LIMIT_MODULES_MAX + 1);
    struct wire_profile full = sample_profile;
    auto_buf struct buf out;
    struct wire_message m;
    size_t used;

    (void)state;
    memset(modules, 'm', LIMIT_MODULES_MAX);
    full.modules = (struct wire_text){modules, LIMIT_MODULES_MAX};
    buf_init(&out, OUT_MAX);
    assert_int_equal(wire_put_profile(&out, &full), 0);
    assert_int_equal(wire_decode(out.data, out.len, &m, &used, NULL), 1);
    assert_int_equal(used, out.len);
    assert_int_equal(m.type, WIRE_PROFILE);
    assert_int_equal(m.call, 0);
    assert_int_equal(m.profile.index, 1);
    expect_text(m.profile.image, "python:3.12-slim");
    expect_text(m.profile.python, "3.12.4");
    expect_text(m.profile.modules, modules);
    expect_text(m.profile.reason, "none");

    buf_drop(&out, out.len);
    assert_int_equal(wire_put_profile(&out, &bare), 0);
    assert_int_equal(wire_decode(out.data, out.len, &m, &used, NULL), 1);
    assert_int_equal(m.profile.index, LIMIT_PROFILES_MAX - 1);
    expect_text(m.profile.image, "");
    expect_text(m.profile.reason, "");
}

static void output_is_split(void **state)
{
    size_t len = 2 * WIRE_OUTPUT_MAX + 5;
    auto_free char *text = mem_alloc(len);
    auto_buf struct buf out;
    struct wire_message m;
    size_t used;
    size_t got = 0;
    size_t count = 0;

    (void)state;
    buf_init(&out, OUT_MAX);
    for (size_t i = 0; i < len; i++)
        text[i] = (char)(i % 251);
    assert_int_equal(wire_put_output(&out, 9, OUTCOME_STDOUT, false, text, len), 0);
    for (size_t at = 0; at < out.len; at += used, count++) {
        assert_int_equal(wire_decode(out.data + at, out.len - at, &m, &used, NULL), 1);
        assert_false(m.output.tail);
        assert_memory_equal(m.output.bytes, text + got, m.output.len);
        got += m.output.len;
    }
    assert_int_equal(got, len);
    assert_int_equal(count, 3);

    buf_drop(&out, out.len);
    assert_int_equal(wire_put_output(&out, 9, OUTCOME_STDOUT, false, NULL, 0), 0);
    assert_int_equal(out.len, 0);
}

static void full_buffer_stays_as_it_is(void **state)
{
    auto_buf struct buf all;
    struct outcome outcome = sample_outcome();
    auto_free char *text = mem_alloc(WIRE_OUTPUT_MAX + 1);

    (void)state;
    buf_init(&all, OUT_MAX);
    assert_int_equal(wire_put_done(&all, 5, &outcome), 0);
    for (size_t room = 0; room < all.len; room++) {
        auto_buf struct buf small;

        buf_init(&small, room);
        assert_int_equal(wire_put_done(&small, 5, &outcome), -1);
        assert_int_equal(small.len, 0);
    }
    outcome_done(&outcome);

    auto_buf struct buf small;
    buf_init(&small, WIRE_OUTPUT_MAX + 1 + WIRE_HEADER_SIZE + 2);
    assert_int_equal(wire_put_output(&small, 1, OUTCOME_STDOUT, false, text, WIRE_OUTPUT_MAX + 1),
                     -1);
    assert_int_equal(small.len, 0);
    buf_done(&small);
    buf_init(&small, 20);
    assert_int_equal(wire_put_run(&small, 1, &sample_run), -1);
    assert_int_equal(wire_put_phase(&small, 1, WIRE_RUNNING, 0), 0);
    assert_int_equal(wire_put_stop(&small, 1), -1);
    assert_int_equal(small.len, 17);
}

static void ceilings(void **state)
{
    auto_free char *big = mem_alloc(LIMIT_CODE_MAX + 1);
    struct file files[LIMIT_FILES_MAX];
    char paths[LIMIT_FILES_MAX][LIMIT_PATH_MAX];
    struct wire_run run = {.timeout_ms = LIMIT_TIMEOUT_MS_MAX,
                           .keep_head = LIMIT_KEEP_MAX,
                           .label = big,
                           .label_len = LIMIT_LABEL_MAX,
                           .code = big,
                           .code_len = LIMIT_CODE_MAX,
                           .stdin_bytes = big,
                           .stdin_len = LIMIT_STDIN_MAX,
                           .artifacts = {LIMIT_ARTIFACTS_MAX, LIMIT_ARTIFACTS_BYTES_MAX,
                                         LIMIT_ARTIFACTS_BYTES_MAX, LIMIT_ARTIFACTS_BYTES_MAX},
                           .files = files,
                           .file_count = LIMIT_FILES_MAX};
    auto_buf struct buf out;
    struct wire_message m;
    size_t used;

    (void)state;
    memset(paths, 'x', sizeof(paths));
    for (int i = 0; i < LIMIT_FILES_MAX; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%03d", i);
        paths[i][3] = 'x';
        paths[i][LIMIT_PATH_PART_MAX] = paths[i][2 * LIMIT_PATH_PART_MAX + 1] = '/';
        files[i] = (struct file){paths[i], LIMIT_PATH_MAX - 1, big,
                                 LIMIT_FILES_BYTES_MAX / LIMIT_FILES_MAX};
    }
    buf_init(&out, OUT_MAX);
    assert_int_equal(wire_put_run(&out, 1, &run), 0);
    assert_int_equal(wire_decode(out.data, out.len, &m, &used, NULL), 1);
    assert_int_equal(used, out.len);
    assert_int_equal(m.run.code_len, LIMIT_CODE_MAX);
    assert_int_equal(m.run.file_count, LIMIT_FILES_MAX);
    wire_end(&m);

    memset(big, 'x', LIMIT_CODE_MAX);
    struct outcome outcome = {.message = mem_strndup(big, LIMIT_MESSAGE_MAX),
                              .value = mem_strndup(big, LIMIT_VALUE_MAX),
                              .value_len = LIMIT_VALUE_MAX,
                              .image = mem_strndup(big, LIMIT_IMAGE_MAX),
                              .python = mem_strndup(big, LIMIT_PYTHON_MAX)};
    buf_drop(&out, out.len);
    assert_int_equal(wire_put_done(&out, 1, &outcome), 0);
    assert_int_equal(wire_decode(out.data, out.len, &m, &used, NULL), 1);
    assert_int_equal(m.done.value_len, LIMIT_VALUE_MAX);
    outcome_done(&m.done);
    outcome_done(&outcome);
}

static void status_names(void **state)
{
    (void)state;
    assert_string_equal(outcome_status_name(OUTCOME_OK), "ok");
    assert_string_equal(outcome_status_name(OUTCOME_OUT_OF_MEMORY), "out_of_memory");
    for (int i = 0; i < OUTCOME_STATUS_COUNT; i++)
        assert_non_null(outcome_status_name((enum outcome_status)i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(round_trip_artifacts),
        cmocka_unit_test(artifact_bytes_are_split),
        cmocka_unit_test(round_trip_done),
        cmocka_unit_test(every_prefix_needs_more),
        cmocka_unit_test(status_round_trip),
        cmocka_unit_test(profile_round_trip),
        cmocka_unit_test(output_is_split),
        cmocka_unit_test(full_buffer_stays_as_it_is),
        cmocka_unit_test(ceilings),
        cmocka_unit_test(status_names),
    };

    return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
