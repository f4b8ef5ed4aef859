/* A call that ended, and its result as JSON. */
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
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "front/artifacts.h"
#include "front/known.h"
#include "front/options.h"
#include "front/result.h"

#define OUT_MAX (16 * 1024 * 1024)

#define IMAGE  "python-sandbox:slim"
#define PYTHON "3.11.2"

static char image[] = IMAGE;
static char python[] = PYTHON;

static const struct front_options defaults = {
    .timeout_ms = 30000,
    .timeout_max_ms = 300000,
    .memory = 512u << 20,
    .text_max = 50000,
    .error_text_max = 10000,
    .artifacts_max = 64,
    .image_max = 512 << 10,
    .resource_max = 32 << 10,
    .side_max = 2000,
    .reply_max = 900000,
};

static const struct artifact_limits limits = {1000, 1u << 20, 16u << 20, 0};

/* A call that ended, and the pieces that its result is made of. */
struct fixture {
    struct front_options options;
    struct outcome outcome;
    struct buf head[OUTCOME_STREAM_COUNT];
    struct buf tail[OUTCOME_STREAM_COUNT];
    struct artifacts artifacts;
    struct result result;
    struct known *known;
    struct buf reply;
    cJSON *json;
};

static inline int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->options = defaults;
    f->outcome = (struct outcome){.duration_us = 12345, .image = image, .python = python};
    f->result =
        (struct result){.outcome = &f->outcome, .artifacts = &f->artifacts, .structured = true};
    artifacts_init(&f->artifacts, &limits);
    for (int i = 0; i < OUTCOME_STREAM_COUNT; i++) {
        buf_init(&f->head[i], LIMIT_KEEP_MAX);
        buf_init(&f->tail[i], LIMIT_KEEP_MAX);
        f->result.head[i] = &f->head[i];
        f->result.tail[i] = &f->tail[i];
    }
    buf_init(&f->reply, OUT_MAX);
    f->known = known_new();
    *state = f;
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < OUTCOME_STREAM_COUNT; i++) {
        buf_done(&f->head[i]);
        buf_done(&f->tail[i]);
    }
    artifacts_done(&f->artifacts);
    buf_done(&f->reply);
    known_free(f->known);
    json_free_at(&f->json);
    free(f);
    return 0;
}

static inline void print(struct fixture *f, enum outcome_stream stream, const char *text)
{
    buf_add_text(&f->head[stream], text);
    f->outcome.total[stream].bytes = f->head[stream].len;
    f->outcome.total[stream].chars = f->head[stream].len;
}

static inline void make(struct fixture *f)
{
    struct error err = {""};

    buf_done(&f->reply);
    json_free_at(&f->json);
    result_put(&f->reply, "7", 1, &f->result, &f->options);
    assert_true(f->reply.len + 1 < f->options.reply_max);
    assert_null(memchr(f->reply.data, '\n', f->reply.len));
    f->json = json_parse(f->reply.data, f->reply.len, &err);
    assert_string_equal(err.text, "");
}

static inline const cJSON *structured(const struct fixture *f)
{
    return json_get_object(json_get_object(f->json, "result"), "structuredContent");
}

static inline const char *text_of(const struct fixture *f)
{
    const cJSON *content = json_get_array(json_get_object(f->json, "result"), "content");

    assert_string_equal(json_get_text(cJSON_GetArrayItem(content, 0), "type"), "text");
    return json_get_text(cJSON_GetArrayItem(content, 0), "text");
}

static inline bool is_error(const struct fixture *f)
{
    return cJSON_IsTrue(json_get(json_get_object(f->json, "result"), "isError"));
}

#define with_fixture(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
