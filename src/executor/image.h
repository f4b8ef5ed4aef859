/* Which image containers are made of: looks it up, pulls it in the background where it is missing.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

struct engine;
struct image;

enum image_state {
    IMAGE_UNKNOWN, /* not looked up since image_reset() */
    IMAGE_LOOKING,
    IMAGE_PULLING,
    IMAGE_READY,
    IMAGE_FAILED, /* image_reason() says why; looked up again by image_look() */
};

/* The image that is taken when none is configured, and the one that the set-up builds where no
 * registry answers. */
#define IMAGE_DEFAULT "python:3.12-slim"
#define IMAGE_LOCAL   "python-sandbox:slim"

struct image_options {
    const char
        *reference; /* borrowed; NULL: IMAGE_DEFAULT, else IMAGE_LOCAL, else a pull of the former */
    bool pull;
    int64_t pull_timeout_ms;
};

struct image *image_new(struct engine *engine, const struct image_options *options);
void image_free(struct image *image);

/* Starts to look, unless that is under way or done. */
void image_look(struct image *image);

/* Forgets what was found: the engine went away, or says that the image is gone. */
void image_reset(struct image *image);

enum image_state image_state(const struct image *image);

/* IMAGE_READY: the reference as people write it, the id "sha256:...", its environment (may be
 * NULL), and its volumes, whose paths are clean. */
const char *image_reference(const struct image *image);
const char *image_id(const struct image *image);
const cJSON *image_env(const struct image *image);
const cJSON *image_volumes(const struct image *image);

/* IMAGE_FAILED: why, and the mend. */
const char *image_reason(const struct image *image);

/* IMAGE_PULLING: per cent of the bytes announced so far, and a sentence that says so. */
uint32_t image_percent(const struct image *image);
char *image_progress_text(const struct image *image);
