#include "executor/image.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "executor/engine.h"
#include "executor/pull.h"
#include "executor/url.h"

#define INSPECT_TIMEOUT_MS 10000

struct image {
    struct engine *engine;
    struct image_options options;
    enum image_state state;
    const char *candidates[2]; /* tried in this order; borrowed */
    unsigned candidate_count;
    unsigned candidate;
    struct engine_call *inspect;
    struct pull *pull;
    bool pulled;    /* and not looked up since */
    cJSON *found;   /* the engine's description of the image */
    cJSON *volumes; /* of the image, by their clean paths */
    struct error reason;
};

static void look(struct image *image);

static void fail(struct image *image)
{
    image->state = IMAGE_FAILED;
    log_error("%s", image->reason.text);
}

static void on_pulled(void *arg, const struct error *err)
{
    struct image *image = arg;

    if (err)
        error_set(&image->reason, "%s", err->text); /* before its owner goes */
    pull_free(image->pull);
    image->pull = NULL;
    if (err) {
        fail(image);
        return;
    }
    image->candidate = 0;
    image->pulled = true;
    look(image);
}

static void start_pull(struct image *image)
{
    const char *reference = image->candidates[0];

    if (!image->options.pull) {
        error_set(&image->reason,
                  "the engine has no image %s, and --pull=never forbids to pull it; "
                  "run `docker pull %s`, or name another (--image, or image of the profile)",
                  reference, reference);
        fail(image);
        return;
    }
    log_info("pulling image %s", reference);
    image->state = IMAGE_PULLING;
    image->pulled = false;
    image->pull =
        pull_start(image->engine, reference, image->options.pull_timeout_ms, on_pulled, image);
}

/* Images may write "/data/": in a mount table it is "/data". */
static cJSON *clean_volumes(const cJSON *found)
{
    cJSON *volumes = cJSON_CreateObject();
    const cJSON *volume;

    cJSON_ArrayForEach(volume, json_get_object(json_get_object(found, "Config"), "Volumes"))
    {
        auto_free char *path = path_clean(volume->string);

        if (!json_get(volumes, path))
            cJSON_AddItemToObject(volumes, path, cJSON_CreateObject());
    }
    return volumes;
}

static void on_inspected(void *arg, const struct engine_reply *reply)
{
    struct image *image = arg;
    image->inspect = NULL;
    if (reply->status == 200) {
        image->found = json_parse(reply->body, reply->len, &image->reason);
        if (image->found && json_get_text(image->found, "Id")) {
            image->volumes = clean_volumes(image->found);
            image->state = IMAGE_READY;
            log_info("image %s (%s)", image_reference(image), image_id(image));
            return;
        }
        error_wrap(&image->reason, "image %s", image->candidates[image->candidate]);
        fail(image);
    } else if (reply->status == 404 && image->candidate + 1 < image->candidate_count) {
        image->candidate++;
        look(image);
    } else if (reply->status == 404 && image->pulled) {
        error_set(&image->reason, "image %s was pulled, and still the engine does not have it",
                  image->candidates[0]);
        fail(image);
    } else if (reply->status == 404) {
        start_pull(image);
    } else {
        error_set(&image->reason, "image %s: %s", image->candidates[image->candidate],
                  reply->error.text);
        fail(image);
    }
}

static void look(struct image *image)
{
    static const struct engine_ops ops = {.done = on_inspected};
    auto_free char *name = url_escape(image->candidates[image->candidate]);
    auto_free char *path = mem_printf("/images/%s/json", name);

    image->state = IMAGE_LOOKING;
    image->inspect = engine_send(image->engine, "GET", path, NULL, INSPECT_TIMEOUT_MS, &ops, image);
}

struct image *image_new(struct engine *engine, const struct image_options *options)
{
    struct image *image = mem_alloc(sizeof(*image));

    image->engine = engine;
    image->options = *options;
    image->candidates[0] = options->reference ? options->reference : IMAGE_DEFAULT;
    image->candidates[1] = IMAGE_LOCAL;
    image->candidate_count = options->reference ? 1 : 2;
    return image;
}

void image_reset(struct image *image)
{
    engine_cancel(image->inspect);
    image->inspect = NULL;
    pull_free(image->pull);
    image->pull = NULL;
    cJSON_Delete(image->found);
    image->found = NULL;
    cJSON_Delete(image->volumes);
    image->volumes = NULL;
    image->state = IMAGE_UNKNOWN;
}

void image_free(struct image *image)
{
    if (!image)
        return;
    image_reset(image);
    free(image);
}

void image_look(struct image *image)
{
    if (image->state != IMAGE_UNKNOWN && image->state != IMAGE_FAILED)
        return;
    image->candidate = 0;
    image->pulled = false;
    look(image);
}

enum image_state image_state(const struct image *image)
{
    return image->state;
}

const char *image_reference(const struct image *image)
{
    return image->candidates[image->candidate];
}

const char *image_id(const struct image *image)
{
    return json_get_text(image->found, "Id");
}

const cJSON *image_env(const struct image *image)
{
    return json_get_array(json_get_object(image->found, "Config"), "Env");
}

const cJSON *image_volumes(const struct image *image)
{
    return image->volumes;
}

const char *image_reason(const struct image *image)
{
    return image->reason.text;
}

uint32_t image_percent(const struct image *image)
{
    return image->pull ? pull_percent(image->pull) : 0;
}

char *image_progress_text(const struct image *image)
{
    return mem_printf("image %s is being pulled: %" PRIu32 " %% is here; try again in a minute",
                      image->candidates[0], image_percent(image));
}
