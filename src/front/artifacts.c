#include "front/artifacts.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sha256.h"

#define FIRST_ROOM 8

/* More than there can be. */
#define REST_MAX (UINT64_C(1) << 53)

void artifacts_init(struct artifacts *artifacts, const struct artifact_limits *limits)
{
    *artifacts = (struct artifacts){.limits = *limits};
}

void artifacts_done(struct artifacts *artifacts)
{
    for (size_t i = 0; i < artifacts->count; i++) {
        char *name;

        /* Not const at heart: artifacts_add() made it. */
        memcpy(&name, &artifacts->items[i].artifact.name, sizeof(name));
        free(name);
        buf_done(&artifacts->items[i].bytes);
    }
    free(artifacts->items);
    artifacts_init(artifacts, &artifacts->limits);
}

static struct artifacts_item *grow(struct artifacts *artifacts)
{
    if (artifacts->count == artifacts->room) {
        artifacts->room = artifacts->room ? 2 * artifacts->room : FIRST_ROOM;
        artifacts->items =
            mem_realloc(artifacts->items, artifacts->room * sizeof(*artifacts->items));
    }
    return &artifacts->items[artifacts->count++];
}

int artifacts_add(struct artifacts *artifacts, const struct artifact *artifact, struct error *err)
{
    bool whole = artifact->reason == ARTIFACT_WHOLE;
    struct artifacts_item *item;

    if (artifacts->left > 0)
        return error_set(err, "an artifact begins before the one before it is complete");
    if (artifacts->count >= artifacts->limits.count)
        return error_set(err, "more artifacts than were asked for");
    if (whole && (artifact->size > artifacts->limits.one ||
                  artifact->size > artifacts->limits.all - artifacts->all))
        return error_set(err, "more bytes of artifacts than were asked for");
    item = grow(artifacts);
    item->artifact = *artifact;
    item->artifact.name = mem_strndup(artifact->name, artifact->name_len);
    buf_init(&item->bytes, whole ? (size_t)artifact->size : 0);
    if (whole) {
        artifacts->left = artifact->size;
        artifacts->all += artifact->size;
    }
    return 0;
}

int artifacts_add_bytes(struct artifacts *artifacts, const char *bytes, size_t len,
                        struct error *err)
{
    if (len > artifacts->left)
        return error_set(err, "bytes of no artifact");
    artifacts->left -= len;
    (void)buf_add(&artifacts->items[artifacts->count - 1].bytes, bytes, len);
    return 0;
}

int artifacts_add_rest(struct artifacts *artifacts, uint64_t count, bool at_least,
                       struct error *err)
{
    if (artifacts->left > 0)
        return error_set(err, "artifacts are counted before the last one is complete");
    artifacts->rest = count < REST_MAX ? count : REST_MAX;
    artifacts->at_least = at_least;
    return 0;
}

void artifacts_settle(struct artifacts *artifacts)
{
    if (artifacts->left > 0) {
        struct artifacts_item *last = &artifacts->items[artifacts->count - 1];

        last->artifact.reason = ARTIFACT_UNREADABLE;
        buf_done(&last->bytes);
        artifacts->left = 0;
    }
    for (size_t i = 0; i < artifacts->count; i++) {
        struct artifacts_item *item = &artifacts->items[i];

        if (item->artifact.reason == ARTIFACT_WHOLE)
            sha256_bytes(item->bytes.len > 0 ? item->bytes.data : "", item->bytes.len,
                         item->artifact.sha256);
    }
}
