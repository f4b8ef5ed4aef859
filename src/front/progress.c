#include "front/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "front/plain.h"

#define MESSAGE_MAX 80

/* A character of a line at its longest. */
#define BYTES_PER_CHAR 4

void progress_init(struct progress *progress, const char *token, size_t len, int64_t now)
{
    *progress = (struct progress){.phase_since = now, .earliest = now, .due = CLOCK_NEVER};
    if (token == NULL)
        return;
    progress->token = mem_strndup(token, len);
    progress->token_len = len;
    progress->due = now + PROGRESS_PULSE;
}

void progress_done(struct progress *progress)
{
    free(progress->token);
    free(progress->kept);
    *progress = (struct progress){.due = CLOCK_NEVER};
}

void progress_phase(struct progress *progress, enum wire_phase phase, uint32_t value, int64_t now)
{
    if (progress->phase == phase && progress->value == value)
        return;
    if (progress->phase != phase)
        progress->phase_since = now;
    progress->phase = phase;
    progress->value = value;
    if (progress->token != NULL)
        progress->due = now > progress->earliest ? now : progress->earliest;
}

void progress_output(struct progress *progress, const char *bytes, size_t len)
{
    size_t old;
    int64_t due = progress->earliest - PROGRESS_GAP + PROGRESS_LINE;

    if (progress->token == NULL)
        return;
    if (progress->kept == NULL)
        progress->kept = mem_alloc(PROGRESS_KEPT);
    if (len > PROGRESS_KEPT) {
        bytes += len - PROGRESS_KEPT;
        len = PROGRESS_KEPT;
    }
    old = progress->kept_len;
    if (old > PROGRESS_KEPT - len) {
        memmove(progress->kept, progress->kept + old - (PROGRESS_KEPT - len), PROGRESS_KEPT - len);
        old = PROGRESS_KEPT - len;
    }
    memcpy(progress->kept + old, bytes, len);
    progress->kept_len = old + len;
    progress->due = clock_earlier(progress->due, due);
}

/* Appends the last line of the output as a reader would see it; nothing where there is none. */
static void put_last_line(struct buf *out, const struct progress *progress)
{
    size_t start = text_whole_start(progress->kept, progress->kept_len);
    size_t end = text_whole_end(progress->kept, progress->kept_len);
    struct buf text;
    struct buf plain;
    const char *line;
    size_t len;

    buf_init(&text, PROGRESS_KEPT * sizeof(TEXT_REPLACEMENT));
    buf_init(&plain, PROGRESS_KEPT * sizeof(TEXT_REPLACEMENT));
    if (end > start)
        text_repair(&text, progress->kept + start, end - start);
    if (text.len > 0)
        plain_put(&plain, text.data, text.len, false);
    for (size_t i = 0; i < plain.len; i++) {
        if ((unsigned char)plain.data[i] < ' ' && plain.data[i] != '\n')
            plain.data[i] = ' ';
    }
    if (plain.len > 0) {
        line = text_last_line(plain.data, plain.len, &len);
        if (len > 0) {
            size_t shown = text_head(line, len, PROGRESS_LINE_CHARS);

            buf_add_text(out, ": ");
            buf_add(out, line, shown);
            if (shown < len)
                buf_add_text(out, "...");
        }
    }
    buf_done(&text);
    buf_done(&plain);
}

static const char *ordinal_suffix(uint32_t number)
{
    if (number % 100 >= 11 && number % 100 <= 13)
        return "th";
    switch (number % 10) {
    case 1:
        return "st";
    case 2:
        return "nd";
    case 3:
        return "rd";
    default:
        return "th";
    }
}

static void describe(struct buf *out, const struct progress *progress, int64_t now)
{
    int64_t seconds = (now - progress->phase_since) / 1000;

    switch (progress->phase) {
    case WIRE_QUEUED:
        buf_addf(out, "queued, %" PRIu32 "%s in line", progress->value,
                 ordinal_suffix(progress->value));
        return;
    case WIRE_PULLING:
        buf_addf(out, "pulling image: %" PRIu32 " %%", progress->value);
        return;
    case WIRE_STARTING:
        buf_add_text(out, "starting a container");
        return;
    case WIRE_RUNNING:
        buf_add_text(out, "running");
        if (seconds > 0)
            buf_addf(out, " for %" PRId64 " s", seconds);
        if (progress->kept != NULL)
            put_last_line(out, progress);
        return;
    }
    buf_add_text(out, "waiting");
}

bool progress_step(struct progress *progress, struct buf *out, int64_t now)
{
    auto_buf struct buf message;

    buf_init(&message, MESSAGE_MAX + PROGRESS_LINE_CHARS * BYTES_PER_CHAR);
    if (now < progress->due)
        return false;
    describe(&message, progress, now);
    progress->sent++;
    progress->earliest = now + PROGRESS_GAP;
    progress->due = now + PROGRESS_PULSE;
    buf_add_text(out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                      "\"progressToken\":");
    buf_add(out, progress->token, progress->token_len);
    buf_addf(out, ",\"progress\":%" PRIu64 ",\"message\":", progress->sent);
    json_put_bytes(out, message.data, message.len);
    buf_add_text(out, "}}");
    return true;
}
