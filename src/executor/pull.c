#include "executor/pull.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "executor/engine.h"
#include "executor/url.h"

#define LAYERS_MAX     128
#define LINE_MAX_BYTES 65536

struct layer {
    char id[72];
    int64_t got;
    int64_t size;
};

struct pull {
    struct engine_call *call;
    void (*done)(void *arg, const struct error *err);
    void *arg;
    char *reference;
    struct buf line;
    struct layer layers[LAYERS_MAX];
    unsigned layer_count;
    bool failed;
    struct error error;
};

static struct layer *find_layer(struct pull *pull, const char *id)
{
    for (unsigned i = 0; i < pull->layer_count; i++) {
        if (strcmp(pull->layers[i].id, id) == 0)
            return &pull->layers[i];
    }
    if (pull->layer_count == LAYERS_MAX || strlen(id) >= sizeof(pull->layers[0].id))
        return NULL;
    snprintf(pull->layers[pull->layer_count].id, sizeof(pull->layers[0].id), "%s", id);
    return &pull->layers[pull->layer_count++];
}

/* One line of the engine's stream: {"status": "Downloading", "id": "...", "progressDetail": {...}}.
 * An error comes as a line too, after a 200. */
static void take_line(struct pull *pull, const char *text, size_t len)
{
    auto_json cJSON *json = json_parse(text, len, NULL);
    const char *failure = json_get_text(json, "error");
    const char *status = json_get_text(json, "status");
    const char *id = json_get_text(json, "id");
    const cJSON *detail = json_get_object(json, "progressDetail");
    struct layer *layer;
    int64_t current, total;

    if (failure) {
        pull->failed = true;
        error_set(&pull->error,
                  "image %s cannot be pulled: %s; check the name and the network, or name "
                  "another image (--image, or image of the profile)",
                  pull->reference, failure);
    }
    if (!status || !id)
        return;
    layer = find_layer(pull, id);
    if (!layer)
        return;
    if (strcmp(status, "Downloading") == 0 && json_get_int(detail, "current", &current) &&
        json_get_int(detail, "total", &total)) {
        layer->got = current;
        layer->size = total;
    } else if (strcmp(status, "Download complete") == 0 || strcmp(status, "Pull complete") == 0) {
        layer->got = layer->size;
    }
}

static void on_data(void *arg, const char *bytes, size_t len)
{
    struct pull *pull = arg;

    while (len) {
        const char *end = memchr(bytes, '\n', len);
        size_t part = end ? (size_t)(end - bytes) : len;

        if (buf_add(&pull->line, bytes, part) < 0)
            buf_done(&pull->line);
        if (!end)
            return;
        if (pull->line.len)
            take_line(pull, pull->line.data, pull->line.len);
        buf_drop(&pull->line, pull->line.len);
        bytes += part + 1;
        len -= part + 1;
    }
}

static void on_done(void *arg, const struct engine_reply *reply)
{
    struct pull *pull = arg;

    pull->call = NULL;
    if (reply->status == 200 && !pull->failed) {
        pull->done(pull->arg, NULL);
        return;
    }
    if (!pull->failed)
        error_set(&pull->error,
                  "image %s cannot be pulled: %s; check the name and the network, or name "
                  "another image (--image, or image of the profile)",
                  pull->reference, reply->error.text);
    pull->done(pull->arg, &pull->error);
}

/* "name:tag", "host:5000/name:tag" and "name@sha256:..." as the engine wants them. */
static char *pull_path(const char *reference)
{
    const char *slash = strrchr(reference, '/');
    const char *colon = strrchr(reference, ':');
    bool digest = strchr(reference, '@') != NULL;
    bool tagged = colon && (!slash || colon > slash) && !digest;
    auto_free char *name =
        tagged ? mem_strndup(reference, (size_t)(colon - reference)) : mem_strdup(reference);
    auto_free char *name_text = url_escape(name);
    auto_free char *tag_text = url_escape(tagged ? colon + 1 : digest ? "" : "latest");

    return mem_printf("/images/create?fromImage=%s%s%s", name_text, *tag_text ? "&tag=" : "",
                      tag_text);
}

struct pull *pull_start(struct engine *engine, const char *reference, int64_t timeout_ms,
                        void (*done)(void *arg, const struct error *err), void *arg)
{
    static const struct engine_ops ops = {.data = on_data, .done = on_done};
    struct pull *pull = mem_alloc(sizeof(*pull));
    auto_free char *path = pull_path(reference);

    pull->done = done;
    pull->arg = arg;
    pull->reference = mem_strdup(reference);
    buf_init(&pull->line, LINE_MAX_BYTES);
    pull->call = engine_send(engine, "POST", path, NULL, timeout_ms, &ops, pull);
    return pull;
}

void pull_free(struct pull *pull)
{
    if (!pull)
        return;
    engine_cancel(pull->call);
    buf_done(&pull->line);
    free(pull->reference);
    free(pull);
}

uint32_t pull_percent(const struct pull *pull)
{
    int64_t got = 0, size = 0;

    for (unsigned i = 0; i < pull->layer_count; i++) {
        got += pull->layers[i].got;
        size += pull->layers[i].size;
    }
    if (size <= 0 || got <= 0)
        return 0;
    return got >= size ? 99 : (uint32_t)((double)got / (double)size * 100);
}
