#include "executor/news.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "executor/executor.h"
#include "wire/wire.h"

#define PAUSE_MS     200
#define STATUS_BYTES 1024

/* What was told of a profile last. */
struct told {
    uint64_t version;
    char *image, *reason; /* NULL: nothing was told */
};

struct news {
    const struct executor *executor;
    bool status;
    bool draining;
    struct buf told_status;
    struct told told[LIMIT_PROFILES_MAX];
    int64_t not_before;
};

struct news *news_new(const struct executor *executor, bool status)
{
    struct news *news = mem_alloc(sizeof(*news));

    news->executor = executor;
    news->status = status;
    buf_init(&news->told_status, STATUS_BYTES);
    return news;
}

void news_free(struct news *news)
{
    if (!news)
        return;
    for (size_t i = 0; i < LIMIT_PROFILES_MAX; i++) {
        free(news->told[i].image);
        free(news->told[i].reason);
    }
    buf_done(&news->told_status);
    free(news);
}

/* Whether the status is another than the one told last; then *ret is the message. */
static bool status_is_new(const struct news *news, bool draining, struct buf *ret)
{
    const struct buf *told = &news->told_status;
    struct wire_status status;

    if (!news->status)
        return false;
    executor_status(news->executor, &status);
    status.draining = draining;
    (void)wire_put_status(ret, &status);
    return ret->len != told->len || memcmp(ret->data, told->data, ret->len) != 0;
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static bool profile_is_new(const struct told *told, const struct executor_profile_facts *facts)
{
    return !told->image || told->version != facts->version ||
           strcmp(told->image, facts->image_reference) != 0 ||
           strcmp(told->reason, or_empty(facts->reason)) != 0;
}

static struct wire_text text_of(const char *text, size_t max)
{
    struct wire_text piece = {.at = or_empty(text)};

    piece.len = strnlen(piece.at, max);
    return piece;
}

static int tell_profile(struct told *told, size_t index, const struct executor_profile_facts *facts,
                        struct buf *out)
{
    const struct wire_profile profile = {
        .index = (uint32_t)index,
        .image = text_of(facts->image_reference, LIMIT_IMAGE_MAX),
        .python = text_of(facts->python, LIMIT_PYTHON_MAX),
        .modules = text_of(facts->modules, LIMIT_MODULES_MAX),
        .reason = text_of(facts->reason, LIMIT_MESSAGE_MAX),
    };

    free(told->image);
    free(told->reason);
    told->version = facts->version;
    told->image = mem_strdup(facts->image_reference);
    told->reason = mem_strdup(or_empty(facts->reason));
    return wire_put_profile(out, &profile);
}

static int tell_profiles(struct news *news, struct buf *out, bool *ret_told)
{
    struct executor_profile_facts facts;
    int r = 0;

    for (size_t i = 0; i < executor_profile_count(news->executor); i++) {
        executor_tell_profile(news->executor, i, &facts);
        if (!profile_is_new(&news->told[i], &facts))
            continue;
        *ret_told = true;
        if (tell_profile(&news->told[i], i, &facts, out) < 0)
            r = -1;
    }
    return r;
}

int news_tell(struct news *news, bool draining, struct buf *out)
{
    auto_buf struct buf status;
    bool told = false;
    int r;

    buf_init(&status, STATUS_BYTES);
    if (clock_ms() < news->not_before && draining == news->draining)
        return 0;
    news->draining = draining;
    r = tell_profiles(news, out, &told);
    if (status_is_new(news, draining, &status)) {
        told = true;
        if (buf_add(out, status.data, status.len) < 0)
            r = -1;
        buf_drop(&news->told_status, news->told_status.len);
        (void)buf_add(&news->told_status, status.data, status.len);
    }
    if (told)
        news->not_before = clock_ms() + PAUSE_MS;
    return r;
}

int64_t news_deadline(const struct news *news, bool draining)
{
    struct executor_profile_facts facts;
    auto_buf struct buf status;
    bool is_new;

    buf_init(&status, STATUS_BYTES);
    is_new = status_is_new(news, draining, &status);
    for (size_t i = 0; !is_new && i < executor_profile_count(news->executor); i++) {
        executor_tell_profile(news->executor, i, &facts);
        is_new = profile_is_new(&news->told[i], &facts);
    }
    return is_new ? news->not_before : CLOCK_NEVER;
}
