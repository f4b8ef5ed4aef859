#include "front/result.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"
#include "front/artifacts.h"
#include "front/attach.h"
#include "front/era.h"
#include "front/excerpt.h"
#include "front/hint.h"
#include "front/missing.h"
#include "front/options.h"
#include "front/rpc.h"
#include "front/verdict.h"
#include "front/words.h"

/* Texts of a result besides the output: notes, status line, message. */
#define NOTES_MAX   8192
#define MESSAGE_MAX (3 * LIMIT_MESSAGE_MAX)

/* However small a reply must be, this many characters of a message stay. */
#define MESSAGE_LEAST 200

/* Of a reply, what the list of the artifacts may take. */
#define LIST_SHARE 8

/* Where the reason of a failure stands: at the end of stderr. */
#define HEAD_PERCENT         50
#define HEAD_PERCENT_FAILURE 25

enum part { PART_STDOUT, PART_STDERR, PART_VALUE, PART_COUNT };

static const char *const part_names[PART_COUNT] = {"stdout", "stderr", "value"};

/* A result made ready to be written with any limit. */
struct view {
    const struct result *result;
    const struct front_options *options;
    bool failed;
    struct excerpt raw[PART_COUNT];
    struct excerpt plain[PART_COUNT];
    struct buf message;
    struct buf notes; /* lines, each with its newline */
    struct attach attach;
};

static void view_init_value(struct excerpt *excerpt, const struct outcome *outcome)
{
    struct buf value;
    struct buf none;
    struct outcome_total total = {.bytes = outcome->value_len};

    buf_init(&value, LIMIT_VALUE_MAX);
    buf_init(&none, 0);
    if (outcome->value != NULL)
        buf_add(&value, outcome->value, outcome->value_len);
    excerpt_init(excerpt, &value, &none, &total);
    buf_done(&value);
}

/* end: the last part of stderr. */
static void put_hints(struct view *view, const struct buf *end)
{
    const struct result *result = view->result;

    hint_put(&view->notes, result->code, result->without_stdin, end->data, end->len);
    missing_put(&view->notes, view->options, result->profile, end->data, end->len);
}

static void view_init_notes(struct view *view)
{
    const struct result *result = view->result;
    const struct outcome *outcome = result->outcome;
    const struct excerpt *error = &view->plain[PART_STDERR];
    const struct buf *end = error->tail.len > 0 ? &error->tail : &error->head;

    if (result->note != NULL)
        buf_addf(&view->notes, "%s\n", result->note);
    if (outcome->oom_kills > 0 && outcome->status != OUTCOME_OUT_OF_MEMORY)
        buf_addf(&view->notes,
                 "%" PRIu32 " process%s of the script ran into the memory limit of %s\n",
                 outcome->oom_kills, outcome->oom_kills == 1 ? "" : "es",
                 words_size(view->options->memory).text);
    if (outcome->status == OUTCOME_TIMED_OUT && result->can_wait)
        buf_addf(&view->notes, "timeout_seconds may be up to %s\n",
                 words_duration((uint64_t)view->options->timeout_max_ms * 1000).text);
    if (outcome->status == OUTCOME_ERROR)
        put_hints(view, end);
}

static void view_init(struct view *view, const struct result *result,
                      const struct front_options *options)
{
    const struct outcome *outcome = result->outcome;

    *view = (struct view){.result = result, .options = options};
    view->failed = outcome->status != OUTCOME_OK;
    for (int i = 0; i < OUTCOME_STREAM_COUNT; i++)
        excerpt_init(&view->raw[i], result->head[i], result->tail[i], &outcome->total[i]);
    view_init_value(&view->raw[PART_VALUE], outcome);
    for (int i = 0; i < PART_COUNT; i++)
        excerpt_init_plain(&view->plain[i], &view->raw[i], i == PART_STDERR);

    buf_init(&view->message, MESSAGE_MAX);
    if (outcome->message != NULL)
        text_repair(&view->message, outcome->message, strlen(outcome->message));
    buf_init(&view->notes, NOTES_MAX);
    view_init_notes(view);
    attach_init(&view->attach, result->artifacts, options, result->blocks,
                options->reply_max / LIST_SHARE);
}

static void view_done(struct view *view)
{
    for (int i = 0; i < PART_COUNT; i++) {
        excerpt_done(&view->raw[i]);
        excerpt_done(&view->plain[i]);
    }
    buf_done(&view->message);
    buf_done(&view->notes);
    attach_done(&view->attach);
}

static void share(const struct excerpt *parts, size_t limit, size_t *ret_limits)
{
    size_t sizes[PART_COUNT];

    for (int i = 0; i < PART_COUNT; i++)
        sizes[i] = excerpt_chars(&parts[i]);
    excerpt_share(limit, sizes, ret_limits, PART_COUNT);
}

static unsigned head_percent(const struct view *view, enum part part)
{
    return view->failed && part == PART_STDERR ? HEAD_PERCENT_FAILURE : HEAD_PERCENT;
}

/* The message, cut to what the limit leaves of it. */
static void put_message(struct buf *out, const struct view *view, size_t limit)
{
    size_t chars = limit > MESSAGE_LEAST ? limit : MESSAGE_LEAST;

    if (view->message.len > 0)
        buf_add(out, view->message.data, text_head(view->message.data, view->message.len, chars));
}

static int put_section(struct buf *text, const struct view *view, enum part part, size_t limit)
{
    if (view->plain[part].total == 0)
        return 0;
    if (buf_addf(text, "\n%s:\n", part_names[part]) < 0 ||
        excerpt_put(text, &view->plain[part], limit, head_percent(view, part)) < 0)
        return -1;
    return text->data[text->len - 1] == '\n' ? 0 : buf_add(text, "\n", 1);
}

static int put_notes(struct buf *text, const struct view *view)
{
    const char *line = view->notes.len > 0 ? view->notes.data : "";

    while (*line != '\0') {
        size_t len = strcspn(line, "\n");

        if (buf_addf(text, "note: %.*s\n", (int)len, line) < 0)
            return -1;
        line += len + 1;
    }
    return 0;
}

/* Whether a script ran whose silence is worth a word. */
static bool is_silent(const struct view *view)
{
    enum outcome_status status = view->result->outcome->status;

    for (int i = 0; i < PART_COUNT; i++) {
        if (view->raw[i].total > 0)
            return false;
    }
    return status != OUTCOME_BUSY && status != OUTCOME_SANDBOX_ERROR &&
           attach_is_empty(&view->attach);
}

/* Everything as one text: the status, then what matters most. */
static int put_text(struct buf *text, const struct view *view, size_t limit)
{
    static const enum part order[2][PART_COUNT] = {{PART_STDOUT, PART_STDERR, PART_VALUE},
                                                   {PART_STDERR, PART_STDOUT, PART_VALUE}};
    const enum part *parts = order[view->failed];
    size_t limits[PART_COUNT];
    auto_buf struct buf message;

    buf_init(&message, MESSAGE_MAX);
    put_message(&message, view, limit);
    if (verdict_put(text, view->result->outcome, message.len > 0 ? message.data : "",
                    view->options) < 0 ||
        put_notes(text, view) < 0)
        return -1;
    if (is_silent(view))
        return buf_add_text(text, "(no output)\n");
    share(view->plain, limit, limits);
    for (int i = 0; i < PART_COUNT; i++) {
        if (put_section(text, view, parts[i], limits[parts[i]]) < 0)
            return -1;
    }
    return attach_put_text(text, &view->attach);
}

static int put_member_text(struct buf *out, const char *name, const char *text)
{
    if (text == NULL)
        return 0;
    return json_put_name(out, name) < 0 ? -1 : json_put_text(out, text);
}

/* The message and the notes as an array of lines; absent where there are none. */
static int put_notes_array(struct buf *out, const struct view *view, size_t limit)
{
    const char *line = view->notes.len > 0 ? view->notes.data : "";
    const char *comma = "";
    auto_buf struct buf message;

    buf_init(&message, MESSAGE_MAX);
    put_message(&message, view, limit);
    if (message.len == 0 && *line == '\0')
        return 0;
    if (json_put_name(out, "notes") < 0 || buf_add_text(out, "[") < 0)
        return -1;
    if (message.len > 0) {
        if (json_put_bytes(out, message.data, message.len) < 0)
            return -1;
        comma = ",";
    }
    while (*line != '\0') {
        size_t len = strcspn(line, "\n");

        if (buf_add_text(out, comma) < 0 || json_put_bytes(out, line, len) < 0)
            return -1;
        comma = ",";
        line += len + 1;
    }
    return buf_add_text(out, "]");
}

static int put_part(struct buf *out, const struct view *view, enum part part, size_t limit)
{
    auto_buf struct buf text;

    buf_init(&text, out->max);
    if (excerpt_put(&text, &view->raw[part], limit, head_percent(view, part)) < 0 ||
        json_put_name(out, part_names[part]) < 0)
        return -1;
    return json_put_bytes(out, text.len > 0 ? text.data : "", text.len);
}

static uint64_t whole_ms(uint64_t us)
{
    return us / 1000 + (us % 1000 >= 500);
}

static int put_numbers(struct buf *out, const struct view *view, bool cut)
{
    const struct outcome *outcome = view->result->outcome;

    if (buf_addf(out,
                 ",\"exit_code\":%" PRId32
                 ",\"timed_out\":%s,\"truncated\":%s,\"oom_kills\":%" PRIu32
                 ",\"duration_ms\":%" PRIu64 ",\"cpu_ms\":%" PRIu64,
                 outcome->exit_code, outcome->status == OUTCOME_TIMED_OUT ? "true" : "false",
                 cut ? "true" : "false", outcome->oom_kills, whole_ms(outcome->duration_us),
                 whole_ms(outcome->cpu_us)) < 0)
        return -1;
    if (outcome->peak_memory_bytes == 0)
        return 0;
    return buf_addf(out, ",\"peak_memory_bytes\":%" PRIu64, outcome->peak_memory_bytes);
}

static int put_structured(struct buf *out, const struct view *view, size_t limit)
{
    const struct outcome *outcome = view->result->outcome;
    size_t limits[PART_COUNT];
    bool cut = false;

    share(view->raw, limit, limits);
    for (int i = 0; i < PART_COUNT; i++)
        cut = cut || excerpt_cuts(&view->raw[i], limits[i]);

    if (buf_add_text(out, "{") < 0 ||
        put_member_text(out, "status", outcome_status_name(outcome->status)) < 0 ||
        put_part(out, view, PART_STDOUT, limits[PART_STDOUT]) < 0 ||
        put_part(out, view, PART_STDERR, limits[PART_STDERR]) < 0 ||
        put_numbers(out, view, cut) < 0)
        return -1;
    if (outcome->value != NULL && put_part(out, view, PART_VALUE, limits[PART_VALUE]) < 0)
        return -1;
    if (attach_put_members(out, &view->attach) < 0 || put_notes_array(out, view, limit) < 0 ||
        put_member_text(out, "image", outcome->image) < 0 ||
        put_member_text(out, "python", outcome->python) < 0)
        return -1;
    return buf_add_text(out, "}");
}

static int put_content(struct buf *out, const struct view *view, size_t limit)
{
    auto_buf struct buf text;

    buf_init(&text, out->max);
    if (put_text(&text, view, limit) < 0 ||
        buf_add_text(out, "\"content\":[{\"type\":\"text\",\"text\":") < 0 ||
        json_put_bytes(out, text.data, text.len) < 0 || buf_add_text(out, "}") < 0 ||
        attach_put_blocks(out, &view->attach) < 0)
        return -1;
    return buf_add_text(out, "]");
}

/* The whole reply with at most limit characters of output in each copy; -1 where it is too long. */
static int put_reply(struct buf *out, const char *id, size_t id_len, const struct view *view,
                     size_t limit)
{
    if (rpc_put_result_start(out, id, id_len) < 0 || buf_add_text(out, "{") < 0 ||
        (view->result->modern && era_put_members(out) < 0) || put_content(out, view, limit) < 0)
        return -1;
    if (view->result->structured &&
        (buf_add_text(out, ",\"structuredContent\":") < 0 || put_structured(out, view, limit) < 0))
        return -1;
    return buf_addf(out, "%s}}", view->failed ? ",\"isError\":true" : "");
}

/* Writes the reply with as much output as fits and no artifact attached; returns the limit. */
static size_t put_shortened(struct buf *reply, const char *id, size_t id_len, struct view *view)
{
    size_t limit = view->failed ? view->options->error_text_max : view->options->text_max;

    while (put_reply(reply, id, id_len, view, limit) < 0) {
        /* All that is neither output nor list is bounded, and the least reply_max has room for it.
         */
        assert(limit > 0 || view->attach.listed > 0);
        buf_done(reply);
        if (limit == 0)
            view->attach.listed = 0;
        limit /= 2;
    }
    return limit;
}

void result_put(struct buf *out, const char *id, size_t id_len, const struct result *result,
                const struct front_options *options)
{
    struct view view;
    struct buf reply;
    size_t limit;

    view_init(&view, result, options);

    /* One byte for the newline, and one to be shorter than the ceiling, not as long. */
    buf_init(&reply, options->reply_max - 2);
    limit = put_shortened(&reply, id, id_len, &view);
    attach_fit(&view.attach, reply.max - reply.len);
    do
        buf_done(&reply);
    while (put_reply(&reply, id, id_len, &view, limit) < 0 && attach_take_back(&view.attach));

    buf_add(out, reply.data, reply.len);
    buf_done(&reply);
    view_done(&view);
}

void result_put_refusal(struct buf *out, const char *text)
{
    buf_add_text(out, "\"content\":[{\"type\":\"text\",\"text\":");
    json_put_text(out, text);
    buf_add_text(out, "}],\"isError\":true");
}
