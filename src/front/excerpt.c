#include "front/excerpt.h"

#include "base/limits.h"
#include "base/text.h"
#include "front/plain.h"
#include "front/words.h"

/* U+FFFD takes three bytes where one was invalid. */
#define TEXT_MAX (3 * (size_t)LIMIT_KEEP_MAX)

/* Bytes never exceed LIMIT_KEEP_MAX, so that the repaired text always fits. */
static size_t put_repaired(struct buf *out, const char *bytes, size_t len)
{
    if (len > 0)
        text_repair(out, bytes, len);
    return out->len > 0 ? text_count(out->data, out->len) : 0;
}

void excerpt_init(struct excerpt *excerpt, const struct buf *head, const struct buf *tail,
                  const struct outcome_total *total)
{
    size_t kept = head->len + tail->len;

    *excerpt = (struct excerpt){.at_least = kept > total->bytes};
    buf_init(&excerpt->head, TEXT_MAX);
    buf_init(&excerpt->tail, TEXT_MAX);
    if (kept >= total->bytes) {
        auto_buf struct buf joined;

        buf_init(&joined, 2 * (size_t)LIMIT_KEEP_MAX);
        if (head->len > 0)
            buf_add(&joined, head->data, head->len);
        if (tail->len > 0)
            buf_add(&joined, tail->data, tail->len);
        excerpt->head_chars = put_repaired(&excerpt->head, joined.data, joined.len);
        excerpt->total = excerpt->head_chars;
        return;
    }
    if (head->len > 0)
        excerpt->head_chars =
            put_repaired(&excerpt->head, head->data, text_whole_end(head->data, head->len));
    if (tail->len > 0) {
        size_t skip = text_whole_start(tail->data, tail->len);

        excerpt->tail_chars = put_repaired(&excerpt->tail, tail->data + skip, tail->len - skip);
    }
    excerpt->total = total->chars;
    if (excerpt->total < excerpt_chars(excerpt))
        excerpt->total = excerpt_chars(excerpt);
    excerpt->gap = excerpt->total - excerpt_chars(excerpt);
}

void excerpt_done(struct excerpt *excerpt)
{
    buf_done(&excerpt->head);
    buf_done(&excerpt->tail);
}

static size_t put_plain(struct buf *out, const struct buf *text, bool fold)
{
    if (text->len > 0)
        plain_put(out, text->data, text->len, fold);
    return out->len > 0 ? text_count(out->data, out->len) : 0;
}

void excerpt_init_plain(struct excerpt *excerpt, const struct excerpt *original, bool fold)
{
    *excerpt = (struct excerpt){
        .gap = original->gap, .total = original->total, .at_least = original->at_least};
    buf_init(&excerpt->head, TEXT_MAX);
    buf_init(&excerpt->tail, TEXT_MAX);
    excerpt->head_chars = put_plain(&excerpt->head, &original->head, fold);
    excerpt->tail_chars = put_plain(&excerpt->tail, &original->tail, fold);
}

size_t excerpt_chars(const struct excerpt *excerpt)
{
    return excerpt->head_chars + excerpt->tail_chars;
}

bool excerpt_cuts(const struct excerpt *excerpt, size_t limit)
{
    return excerpt->tail.len > 0 || excerpt->gap > 0 || excerpt_chars(excerpt) > limit;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The line in the gap, on a line of its own; it counts what is left out. */
static int put_gap(struct buf *out, uint64_t left_out, const struct excerpt *excerpt)
{
    if (out->len > 0 && out->data[out->len - 1] != '\n' && buf_add(out, "\n", 1) < 0)
        return -1;
    return buf_addf(out, "… %s characters left out of %s%s …\n", words_count(left_out).text,
                    excerpt->at_least ? "at least " : "", words_count(excerpt->total).text);
}

int excerpt_put(struct buf *out, const struct excerpt *excerpt, size_t limit, unsigned head_percent)
{
    const struct buf *last = excerpt->tail.len > 0 ? &excerpt->tail : &excerpt->head;
    size_t last_chars = excerpt->tail.len > 0 ? excerpt->tail_chars : excerpt->head_chars;
    size_t head;
    size_t tail;
    size_t end;

    if (!excerpt_cuts(excerpt, limit))
        return excerpt->head.len > 0 ? buf_add(out, excerpt->head.data, excerpt->head.len) : 0;

    /* What one side does not use goes to the other. A missing end cannot be shown: no tail then. */
    head = least(limit * head_percent / 100, excerpt->head_chars);
    tail = excerpt->gap > 0 && excerpt->tail.len == 0 ? 0 : least(limit - head, last_chars);
    head = least(limit - tail, excerpt->head_chars);

    if (head > 0 && buf_add(out, excerpt->head.data,
                            text_head(excerpt->head.data, excerpt->head.len, head)) < 0)
        return -1;
    if (put_gap(out, excerpt->gap + excerpt_chars(excerpt) - head - tail, excerpt) < 0)
        return -1;
    if (tail == 0)
        return 0;
    end = text_tail(last->data, last->len, tail);
    return buf_add(out, last->data + end, last->len - end);
}

/* How much each of those that still want more than an equal share of the rest may have. */
static size_t equal_share(size_t left, size_t open)
{
    return open > 0 ? left / open : 0;
}

void excerpt_share(size_t total, const size_t *sizes, size_t *ret_limits, size_t count)
{
    size_t left = total;
    size_t open = count;
    bool changed = true;

    for (size_t i = 0; i < count; i++)
        ret_limits[i] = SIZE_MAX;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < count; i++) {
            if (ret_limits[i] != SIZE_MAX || sizes[i] > equal_share(left, open))
                continue;
            ret_limits[i] = sizes[i];
            left -= sizes[i];
            open--;
            changed = true;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (ret_limits[i] == SIZE_MAX)
            ret_limits[i] = equal_share(left, open);
    }
}
