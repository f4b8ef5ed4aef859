#include "executor/collect.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/text.h"
#include "executor/run.h"
#include "sandbox/frame.h"

/* The wire's numbers are the frames' own. */
_Static_assert((int)ARTIFACT_FILE == (int)FRAME_KIND_FILE &&
                   (int)ARTIFACT_FIGURE == (int)FRAME_KIND_FIGURE &&
                   (int)ARTIFACT_KIND_END == (int)FRAME_KIND_END,
               "kinds of artifacts");
_Static_assert((int)ARTIFACT_WHOLE == (int)FRAME_REASON_NONE &&
                   (int)ARTIFACT_LARGE == (int)FRAME_REASON_LARGE &&
                   (int)ARTIFACT_NO_ROOM == (int)FRAME_REASON_TOTAL &&
                   (int)ARTIFACT_SPECIAL == (int)FRAME_REASON_SPECIAL &&
                   (int)ARTIFACT_SPARSE == (int)FRAME_REASON_SPARSE &&
                   (int)ARTIFACT_UNREADABLE == (int)FRAME_REASON_UNREADABLE &&
                   (int)ARTIFACT_BAD_NAME == (int)FRAME_REASON_NAME &&
                   (int)ARTIFACT_REASON_END == (int)FRAME_REASON_END,
               "reasons of artifacts");

void collect_init(struct collect *collect, const struct artifact_limits *limits)
{
    *collect = (struct collect){.limits = *limits};
}

static int check_artifact(const struct collect *collect, const struct frame_artifact *artifact,
                          struct error *err)
{
    if (collect->over || collect->named >= collect->limits.count)
        return error_set(err, "the sandbox names more artifacts than it may");
    if (collect->files_began && artifact->kind == FRAME_KIND_FIGURE)
        return error_set(err, "the sandbox sends a figure after a file");
    if (artifact->reason == FRAME_REASON_NONE &&
        (artifact->size > collect->limits.one ||
         artifact->size > collect->limits.all - collect->bytes))
        return error_set(err,
                         "the sandbox sends an artifact of %" PRIu64 " bytes, more than it may",
                         artifact->size);
    return 0;
}

/* A name that may go on: as it came, or with what cannot be shown replaced. */
static size_t take_name(struct collect *collect, const char *name, size_t len)
{
    auto_buf struct buf line;

    buf_init(&line, sizeof(collect->name) - 1);
    (void)text_put_line(&line, name, len);
    memcpy(collect->name, line.data, line.len + 1);
    if (line.len > LIMIT_ARTIFACT_NAME_MAX)
        return text_whole_end(collect->name, LIMIT_ARTIFACT_NAME_MAX);
    return line.len;
}

static int take_artifact(struct collect *collect, const struct frame *frame,
                         const struct run_ops *ops, void *arg, struct error *err)
{
    struct artifact artifact = {.name = collect->name};
    struct frame_artifact raw;

    if (collect_end(collect, err) < 0 ||
        frame_decode_artifact(frame->bytes, frame->len, &raw, err) < 0 ||
        check_artifact(collect, &raw, err) < 0)
        return -1;
    collect->named++;
    collect->files_began = raw.kind == FRAME_KIND_FILE;
    if (raw.reason == FRAME_REASON_NONE) {
        collect->left = raw.size;
        collect->bytes += raw.size;
    }
    artifact.kind = (enum artifact_kind)raw.kind;
    artifact.reason = (enum artifact_reason)raw.reason;
    artifact.size = raw.size;
    memcpy(artifact.sha256, raw.sha256, sizeof(artifact.sha256));
    artifact.name_len = take_name(collect, raw.name, raw.name_len);
    if (ops->artifact)
        ops->artifact(arg, &artifact);
    return 0;
}

static int take_bytes(struct collect *collect, const struct frame *frame, const struct run_ops *ops,
                      void *arg, struct error *err)
{
    if (frame->len == 0 || frame->len > collect->left)
        return error_set(err,
                         "the sandbox sends %zu bytes of an artifact where %" PRIu64 " are to come",
                         frame->len, collect->left);
    collect->left -= frame->len;
    if (ops->artifact_bytes)
        ops->artifact_bytes(arg, frame->bytes, frame->len);
    return 0;
}

static int take_rest(struct collect *collect, const struct frame *frame, const struct run_ops *ops,
                     void *arg, struct error *err)
{
    struct frame_rest rest;

    if (collect_end(collect, err) < 0 ||
        frame_decode_rest(frame->bytes, frame->len, &rest, err) < 0)
        return -1;
    if (collect->over)
        return error_set(err, "the sandbox counts its artifacts twice");
    collect->over = true;
    if (ops->artifact_rest)
        ops->artifact_rest(arg, rest.count, rest.at_least);
    return 0;
}

int collect_take(struct collect *collect, const struct frame *frame, const struct run_ops *ops,
                 void *arg, struct error *err)
{
    if (frame->type == FRAME_ARTIFACT)
        return take_artifact(collect, frame, ops, arg, err);
    if (frame->type == FRAME_ARTIFACT_BYTES)
        return take_bytes(collect, frame, ops, arg, err);
    return take_rest(collect, frame, ops, arg, err);
}

int collect_end(const struct collect *collect, struct error *err)
{
    if (collect->left > 0)
        return error_set(err, "the sandbox left %" PRIu64 " bytes of an artifact out",
                         collect->left);
    return 0;
}
