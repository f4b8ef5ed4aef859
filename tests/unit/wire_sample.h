/* Sample messages for the tests of wire. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "wire/wire.h"

#define OUT_MAX (128 * 1024 * 1024)

static struct file sample_files[] = {
    {"data/a.csv", 10, "x,y\n\0\xff", 6},
    {"\xc3\xa9", 2, "", 0},
};

static const struct artifact sample_artifact = {
    .kind = ARTIFACT_FIGURE,
    .reason = ARTIFACT_LARGE,
    .size = INT64_MAX,
    .sha256 = "0123456789abcdef0123456789abcde",
    .name = "figure-1.png",
    .name_len = 12,
};

static const struct wire_run sample_run = {
    .profile = LIMIT_PROFILES_MAX - 1,
    .timeout_ms = 30000,
    .keep_head = 1000,
    .keep_tail = 2000,
    .artifacts = {64, 1000, 2000, 500},
    .label = "client",
    .label_len = 6,
    .code = "print(1)\0x",
    .code_len = 10,
    .stdin_bytes = "\xff\n",
    .stdin_len = 2,
    .files = sample_files,
    .file_count = 2,
};

static const struct wire_status sample_status = {
    .engine = true,
    .draining = true,
    .running = 1,
    .queued = 2,
    .engine_losses = 6,
    .profile_count = 2,
    .pools = {{.image = true},
              {.walls = true,
               .warm = 3,
               .alive = UINT32_MAX,
               .starts = UINT64_MAX,
               .start_failures = 5}},
};

#define SAMPLE_TEXT(text)                                                                          \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static const struct wire_profile sample_profile = {
    .index = 1,
    .image = SAMPLE_TEXT("python:3.12-slim"),
    .python = SAMPLE_TEXT("3.12.4"),
    .modules = SAMPLE_TEXT("numpy pandas"),
    .reason = SAMPLE_TEXT("none"),
};

static inline struct outcome sample_outcome(void)
{
    return (struct outcome){
        .status = OUTCOME_KILLED,
        .exit_code = -1,
        .oom_kills = 3,
        .duration_us = UINT64_MAX,
        .cpu_us = 2,
        .peak_memory_bytes = 1ULL << 40,
        .total = {{11, 10}, {21, 20}},
        .message = mem_strdup("signal 11"),
        .value = mem_strndup("a\0b", 3),
        .value_len = 3,
        .image = mem_strdup("python:3.12-slim"),
        .python = mem_strdup("3.12.4"),
    };
}

/* Decodes a copy of exactly len bytes, so that the sanitizer sees a read past the end. */
static inline int decode(const char *bytes, size_t len, struct wire_message *ret, size_t *ret_used)
{
    struct error err;
    auto_free char *copy = malloc(len > 0 ? len : 1);

    assert_non_null(copy);
    if (len > 0)
        memcpy(copy, bytes, len);
    int result = wire_decode(copy, len, ret, ret_used, &err);
    if (result < 0)
        assert_true(strlen(err.text) > 0);
    return result;
}

/* One of each message, the last empty-handed. */
static inline void put_all(struct buf *out)
{
    struct outcome full = sample_outcome();
    struct outcome bare = {.status = OUTCOME_OK};

    assert_int_equal(wire_put_run(out, 1, &sample_run), 0);
    assert_int_equal(wire_put_stop(out, UINT32_MAX), 0);
    assert_int_equal(wire_put_phase(out, 3, WIRE_PULLING, 77), 0);
    assert_int_equal(wire_put_output(out, 4, OUTCOME_STDERR, true, "text", 4), 0);
    assert_int_equal(wire_put_artifact(out, 4, &sample_artifact), 0);
    assert_int_equal(wire_put_artifact_bytes(out, 4, "bytes", 5), 0);
    assert_int_equal(wire_put_artifact_rest(out, 4, 9936, true), 0);
    assert_int_equal(wire_put_done(out, 5, &full), 0);
    assert_int_equal(wire_put_done(out, 6, &bare), 0);
    assert_int_equal(wire_put_status(out, &sample_status), 0);
    assert_int_equal(wire_put_profile(out, &sample_profile), 0);
    outcome_done(&full);
    assert_null(full.message);
}
