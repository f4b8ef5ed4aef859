#include "front/attach.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/text.h"
#include "front/artifacts.h"
#include "front/filetype.h"
#include "front/options.h"
#include "front/picture.h"
#include "front/words.h"

#define REASON_MAX 160

/* What API and clients take: see attach.h. */
#define IMAGE_TEXT_MAX ((size_t)5242880)
#define PIXELS_MAX     64000000u

/* Room for what is told of one artifact, its name escaped in every way. */
#define ENTRY_MAX (16 * LIMIT_ARTIFACT_NAME_MAX)

enum form { FORM_NAME, FORM_IMAGE, FORM_TEXT, FORM_BYTES };

struct attachment {
    const struct artifacts_item *item;
    enum form form; /* as which it could come along */
    bool attached;
    const char *type;
    struct picture picture;
    char reason[REASON_MAX]; /* why it does not come along, or not as an image; "" */
};

static void set_reason(struct attachment *it, const char *reason)
{
    snprintf(it->reason, sizeof(it->reason), "%s", reason);
}

static bool has_hash(const struct artifact *artifact)
{
    static const unsigned char zeros[ARTIFACT_HASH_SIZE];

    return memcmp(artifact->sha256, zeros, sizeof(zeros)) != 0;
}

/* Why one is not attached. */
static const char *reason_of(const struct attachment *it)
{
    if (it->form == FORM_NAME)
        return it->reason;
    return "the answer has no room left for it";
}

/* Whether the bytes are text; others go as they are. */
static bool is_text(const struct buf *bytes)
{
    static const char allowed[] = "\t\n\r\f\x1b";

    for (size_t i = 0; i < bytes->len; i++) {
        unsigned char c = (unsigned char)bytes->data[i];

        if (c < 0x20 && (c == 0 || !strchr(allowed, c)))
            return false;
    }
    return bytes->len == 0 || text_is_utf8(bytes->data, bytes->len);
}

static bool is_blank(const struct buf *bytes)
{
    return bytes->len == 0 || bytes->data[strspn(bytes->data, " \t\n\r\f")] == '\0';
}

/* As another file than an image. */
static void decide_file(struct attachment *it, const struct front_options *options)
{
    const struct artifact *artifact = &it->item->artifact;
    const struct buf *bytes = &it->item->bytes;
    bool text = is_text(bytes);

    it->type = filetype_of(artifact->name, artifact->name_len, text);
    if (text && is_blank(bytes))
        set_reason(it, bytes->len == 0 ? "it is empty" : "it holds nothing but blanks");
    else if (bytes->len <= options->resource_max)
        it->form = text ? FORM_TEXT : FORM_BYTES;
    else if (!*it->reason)
        snprintf(it->reason, sizeof(it->reason),
                 "larger than the %s bytes of a file that comes along",
                 words_count(options->resource_max).text);
}

/* Why a picture cannot be shown; "" where it can. */
static void check_picture(struct attachment *it, const struct front_options *options)
{
    const struct picture *picture = &it->picture;
    size_t len = it->item->bytes.len;

    if (picture->kind == PICTURE_BAD)
        set_reason(it, "it begins like an image, and is damaged or cut off");
    else if (picture->width > options->side_max || picture->height > options->side_max)
        snprintf(it->reason, sizeof(it->reason),
                 "an image of %s × %s pixels, where %s a side can be shown",
                 words_count(picture->width).text, words_count(picture->height).text,
                 words_count(options->side_max).text);
    else if (picture->pixels > PIXELS_MAX)
        set_reason(it, "an animation of more pixels than can be shown");
    else if ((options->image_max > 0 && len > options->image_max) ||
             base64_size(len) > IMAGE_TEXT_MAX)
        snprintf(it->reason, sizeof(it->reason),
                 "larger than the %s bytes of an image that is shown",
                 words_count(options->image_max).text);
}

static void decide(struct attachment *it, const struct artifacts_item *item,
                   const struct front_options *options)
{
    const struct artifact *artifact = &item->artifact;

    *it = (struct attachment){.item = item};
    if (artifact->reason != ARTIFACT_WHOLE) {
        it->type = filetype_guess(artifact->name, artifact->name_len);
        set_reason(it, artifact_reason_text(artifact->reason));
        return;
    }
    picture_look(item->bytes.data, item->bytes.len, &it->picture);
    if (it->picture.kind != PICTURE_NONE)
        check_picture(it, options);
    if (it->picture.kind == PICTURE_NONE || *it->reason) {
        decide_file(it, options);
        return;
    }
    it->type = picture_type(it->picture.kind);
    if (options->image_max > 0)
        it->form = FORM_IMAGE;
    else
        set_reason(it, "images are switched off (image-max)");
}

/* What the client would lose the whole result for is not attached. */
static void spare(struct attachment *it, enum quirk_blocks blocks)
{
    if (blocks == QUIRK_BLOCKS_ALL || it->form == FORM_NAME ||
        (blocks == QUIRK_BLOCKS_NO_BYTES && it->form != FORM_BYTES))
        return;
    it->form = FORM_NAME;
    set_reason(it, blocks == QUIRK_BLOCKS_NONE ? "this client takes text alone"
                                               : "this client takes no files but text and images");
}

/* "- a.csv: text/csv, 1,234 bytes, attached" */
static int put_line(struct buf *out, const struct attachment *it)
{
    const struct artifact *artifact = &it->item->artifact;
    char hash[SHA256_HEX_SIZE];

    if (buf_addf(out, "- %.*s: ", (int)artifact->name_len, artifact->name) < 0)
        return -1;
    if (artifact->reason != ARTIFACT_SPECIAL &&
        buf_addf(out, "%s, %s bytes, ", it->type, words_count(artifact->size).text) < 0)
        return -1;
    if (it->form == FORM_IMAGE &&
        buf_addf(out, "%s × %s pixels, ", words_count(it->picture.width).text,
                 words_count(it->picture.height).text) < 0)
        return -1;
    if (it->attached)
        return buf_addf(out, "attached%s%s\n", *it->reason ? " as a file: " : "", it->reason);
    if (has_hash(artifact) && artifact->size > 0) {
        sha256_to_hex(artifact->sha256, hash);
        if (buf_addf(out, "SHA-256 %s, ", hash) < 0)
            return -1;
    }
    return buf_addf(out, "not attached: %s\n", reason_of(it));
}

static int put_entry(struct buf *out, const struct attachment *it)
{
    const struct artifact *artifact = &it->item->artifact;
    const char *reason = it->attached ? it->reason : reason_of(it);
    char hash[SHA256_HEX_SIZE];

    if (buf_add_text(out, "{\"name\":") < 0 ||
        json_put_bytes(out, artifact->name, artifact->name_len) < 0 ||
        buf_addf(out, ",\"kind\":\"%s\",\"mime_type\":\"%s\",\"size\":%" PRIu64,
                 artifact->kind == ARTIFACT_FIGURE ? "figure" : "file", it->type,
                 artifact->size) < 0)
        return -1;
    if (has_hash(artifact)) {
        sha256_to_hex(artifact->sha256, hash);
        if (buf_addf(out, ",\"sha256\":\"%s\"", hash) < 0)
            return -1;
    }
    if (buf_addf(out, ",\"included\":%s", it->attached ? "true" : "false") < 0)
        return -1;
    if (*reason && (json_put_name(out, "reason") < 0 || json_put_text(out, reason) < 0))
        return -1;
    return buf_add_text(out, "}");
}

/* Bytes that both copies spend on one that is not attached. */
static size_t cost_of(const struct attachment *it)
{
    auto_buf struct buf line, out;

    buf_init(&line, ENTRY_MAX);
    buf_init(&out, ENTRY_MAX);
    (void)put_line(&line, it);
    (void)json_put_bytes(&out, line.data, line.len);
    (void)put_entry(&out, it);
    return out.len;
}

void attach_init(struct attach *attach, const struct artifacts *artifacts,
                 const struct front_options *options, enum quirk_blocks blocks, size_t list_max)
{
    bool room = true;

    *attach = (struct attach){
        .artifacts = artifacts, .count = artifacts->count, .files_room = 2 * options->text_max};
    attach->list = mem_alloc(artifacts->count * sizeof(*attach->list));
    for (size_t i = 0; i < artifacts->count; i++) {
        size_t cost;

        decide(&attach->list[i], &artifacts->items[i], options);
        spare(&attach->list[i], blocks);
        cost = cost_of(&attach->list[i]);
        room = room && cost <= list_max;
        if (room) {
            list_max -= cost;
            attach->listed++;
        }
    }
}

void attach_done(struct attach *attach)
{
    free(attach->list);
    *attach = (struct attach){0};
}

bool attach_is_empty(const struct attach *attach)
{
    return attach->count == 0 && attach->artifacts->rest == 0;
}

/* "sandbox:///outputs/a%20b.csv" */
static int put_uri(struct buf *out, const struct artifact *artifact)
{
    if (buf_addf(out, "\"uri\":\"sandbox:///%s/",
                 artifact->kind == ARTIFACT_FIGURE ? "figures" : "outputs") < 0)
        return -1;
    for (size_t i = 0; i < artifact->name_len; i++) {
        unsigned char c = (unsigned char)artifact->name[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     (c != 0 && strchr("-._~/", c));

        if (buf_addf(out, plain ? "%c" : "%%%02X", c) < 0)
            return -1;
    }
    return buf_add_text(out, "\"");
}

static int put_block(struct buf *out, const struct attachment *it)
{
    const struct buf *bytes = &it->item->bytes;

    if (it->form == FORM_IMAGE)
        return buf_add_text(out, ",{\"type\":\"image\",\"data\":\"") < 0 ||
                       base64_put(out, bytes->data, bytes->len) < 0 ||
                       buf_addf(out, "\",\"mimeType\":\"%s\"}", it->type) < 0
                   ? -1
                   : 0;
    if (buf_add_text(out, ",{\"type\":\"resource\",\"resource\":{") < 0 ||
        put_uri(out, &it->item->artifact) < 0 ||
        buf_addf(out, ",\"mimeType\":\"%s\",\"%s\":", it->type,
                 it->form == FORM_TEXT ? "text" : "blob") < 0)
        return -1;
    if (it->form == FORM_TEXT)
        return json_put_bytes(out, bytes->data, bytes->len) < 0 ? -1 : buf_add_text(out, "}}");
    return buf_add_text(out, "\"") < 0 || base64_put(out, bytes->data, bytes->len) < 0
               ? -1
               : buf_add_text(out, "\"}}");
}

/* Attaches those of one kind, images or not, that fit. */
static void fit(struct attach *attach, bool images, size_t *room)
{
    for (size_t i = 0; i < attach->listed; i++) {
        struct attachment *it = &attach->list[i];
        bool image = it->form == FORM_IMAGE;
        auto_buf struct buf block;

        buf_init(&block, image || *room < attach->files_room ? *room : attach->files_room);
        if (it->form == FORM_NAME || image != images || put_block(&block, it) < 0)
            continue;
        it->attached = true;
        *room -= block.len;
        if (!image)
            attach->files_room -= block.len;
    }
}

void attach_fit(struct attach *attach, size_t room)
{
    fit(attach, true, &room);
    fit(attach, false, &room);
}

bool attach_take_back(struct attach *attach)
{
    for (size_t i = attach->listed; i > 0; i--) {
        if (attach->list[i - 1].attached) {
            attach->list[i - 1].attached = false;
            return true;
        }
    }
    return false;
}

/* How many are not told one by one. */
static uint64_t left_out(const struct attach *attach)
{
    return attach->count - attach->listed + attach->artifacts->rest;
}

int attach_put_text(struct buf *out, const struct attach *attach)
{
    if (attach_is_empty(attach))
        return 0;
    if (buf_add_text(out, "\nfigures and files:\n") < 0)
        return -1;
    for (size_t i = 0; i < attach->listed; i++) {
        if (put_line(out, &attach->list[i]) < 0)
            return -1;
    }
    if (left_out(attach) == 0)
        return 0;
    return buf_addf(
        out, "- %s%s%s more, which are not named here\n", attach->listed > 0 ? "and " : "",
        attach->artifacts->at_least ? "at least " : "", words_count(left_out(attach)).text);
}

int attach_put_members(struct buf *out, const struct attach *attach)
{
    if (attach_is_empty(attach))
        return 0;
    if (buf_add_text(out, ",\"artifacts\":[") < 0)
        return -1;
    for (size_t i = 0; i < attach->listed; i++) {
        if ((i > 0 && buf_add_text(out, ",") < 0) || put_entry(out, &attach->list[i]) < 0)
            return -1;
    }
    if (buf_add_text(out, "]") < 0)
        return -1;
    if (left_out(attach) == 0)
        return 0;
    return buf_addf(out, ",\"artifacts_left_out\":%" PRIu64, left_out(attach));
}

int attach_put_blocks(struct buf *out, const struct attach *attach)
{
    for (size_t i = 0; i < attach->listed; i++) {
        if (attach->list[i].attached && put_block(out, &attach->list[i]) < 0)
            return -1;
    }
    return 0;
}
