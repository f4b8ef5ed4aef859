#include "front/stdio.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"

#define READ_MAX 65536

/* A notification is left out when its reader is this far behind. */
#define NOTIFY_BACKLOG_MAX ((size_t)1024 * 1024)

static void send_line(struct peer *peer, int status, const char *json, size_t len)
{
    struct stdio *stdio = (struct stdio *)peer;

    if (stdio->broken || (status == PEER_NOTIFICATION && stdio->output.len > NOTIFY_BACKLOG_MAX))
        return;
    /* The newline is added with the text or not at all: half a line would spoil the next. */
    if (len + 1 > stdio->output.max - stdio->output.len) {
        stdio->broken = true;
        return;
    }
    buf_add(&stdio->output, json, len);
    buf_add(&stdio->output, "\n", 1);
}

void stdio_init(struct stdio *stdio, int in, int out, size_t line_max, size_t replies_max)
{
    *stdio = (struct stdio){.peer.send = send_line, .in = in, .out = out, .line_max = line_max};
    buf_init(&stdio->input, line_max + READ_MAX);
    buf_init(&stdio->output, STDIO_BACKLOG_MAX + READ_MAX + replies_max);
}

void stdio_done(struct stdio *stdio)
{
    buf_done(&stdio->input);
    buf_done(&stdio->output);
}

static bool is_backed_up(const struct stdio *stdio)
{
    return stdio->output.len > STDIO_BACKLOG_MAX;
}

bool stdio_wants_input(const struct stdio *stdio)
{
    return !stdio->input_ended && !stdio->broken && !is_backed_up(stdio) &&
           stdio->input.len <= stdio->line_max;
}

void stdio_read(struct stdio *stdio)
{
    ssize_t count = fd_read(stdio->in, &stdio->input, READ_MAX);

    if (count == 0 || (count < 0 && errno != EAGAIN))
        stdio->input_ended = true;
}

/* Forgets the line that was handed out. */
static void drop_taken(struct stdio *stdio)
{
    if (stdio->taken == 0)
        return;
    buf_drop(&stdio->input, stdio->taken);
    stdio->taken = 0;
    stdio->searched = 0;
}

/* Forgets a line without an end, and what is still to come of it. */
static void skip(struct stdio *stdio)
{
    buf_drop(&stdio->input, stdio->input.len);
    stdio->searched = 0;
    stdio->skipping = true;
}

static bool is_blank(const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
            return false;
    }
    return true;
}

/* Finds the end of the line that input begins with; false where it has not come yet. */
static bool find_end(struct stdio *stdio, size_t *ret_len, size_t *ret_taken)
{
    const struct buf *input = &stdio->input;
    const char *newline = NULL;

    if (input->len > stdio->searched)
        newline = memchr(input->data + stdio->searched, '\n', input->len - stdio->searched);
    if (newline != NULL) {
        *ret_len = (size_t)(newline - input->data);
        *ret_taken = *ret_len + 1;
        return true;
    }
    stdio->searched = input->len;
    if (!stdio->input_ended || input->len == 0)
        return false;
    *ret_len = input->len;
    *ret_taken = input->len;
    return true;
}

enum stdio_line stdio_next(struct stdio *stdio, const char **ret, size_t *ret_len)
{
    size_t len;

    drop_taken(stdio);
    while (!is_backed_up(stdio) && !stdio->broken) {
        bool skipped = stdio->skipping;

        if (!find_end(stdio, &len, &stdio->taken)) {
            if (skipped || stdio->input.len > stdio->line_max)
                skip(stdio);
            return stdio->skipping && !skipped ? STDIO_TOO_LONG : STDIO_NONE;
        }
        stdio->skipping = false;
        if (!skipped && len > stdio->line_max)
            return STDIO_TOO_LONG;
        if (!skipped && !is_blank(stdio->input.data, len)) {
            *ret = stdio->input.data;
            *ret_len = len;
            return STDIO_LINE;
        }
        drop_taken(stdio);
    }
    return STDIO_NONE;
}

void stdio_write(struct stdio *stdio)
{
    if (!stdio->broken && fd_write(stdio->out, &stdio->output) < 0)
        stdio->broken = true;
    if (stdio->broken)
        buf_done(&stdio->output);
}
