#include "front/link.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/fd.h"
#include "front/calls.h"
#include "front/known.h"
#include "front/metrics.h"
#include "wire/wire.h"

#define READ_MAX 65536

/* Room for the longest message that the executor sends and one read. */
#define IN_MAX (4 * READ_MAX)

/* Room for what a RUN has besides code, stdin and files, and for STOPs. */
#define OUT_SPARE 65536

void link_init(struct link *link, int fd, size_t run_max)
{
    *link = (struct link){.fd = fd};
    buf_init(&link->in, IN_MAX);
    buf_init(&link->out, LINK_BACKLOG_MAX + run_max + OUT_SPARE);
}

void link_done(struct link *link)
{
    buf_done(&link->in);
    buf_done(&link->out);
}

bool link_is_backed_up(const struct link *link)
{
    return link->out.len > LINK_BACKLOG_MAX;
}

/* A STATUS is of no call, and of use only to those who count; a PROFILE to those who know. */
static int take(struct link *link, struct calls *calls, struct wire_message *message, int64_t now,
                struct error *err)
{
    if (link->metrics)
        metrics_message(link->metrics, message, now);
    if (link->known && message->type == WIRE_PROFILE) {
        known_take(link->known, &message->profile);
        return 0;
    }
    return link->metrics && message->type == WIRE_STATUS ? 0 : calls_take(calls, message, now, err);
}

int link_read(struct link *link, struct calls *calls, int64_t now, struct error *err)
{
    ssize_t count = fd_read(link->fd, &link->in, READ_MAX);
    struct wire_message message;
    size_t used;
    int found;

    if (count < 0 && errno == EAGAIN)
        return 0;
    if (count <= 0) {
        link->ended = true;
        return 0;
    }
    while ((found = wire_decode(link->in.data, link->in.len, &message, &used, err)) > 0) {
        if (take(link, calls, &message, now, err) < 0)
            return -1;
        buf_drop(&link->in, used);
    }
    return found;
}

void link_write(struct link *link)
{
    if (link->ended || link->shut)
        return;
    /* A broken socket is noticed by the reader, who still finds what came before. */
    if (fd_write(link->fd, &link->out) < 0 || link->out.len == 0)
        buf_done(&link->out);
    if (link->closing && link->out.len == 0) {
        shutdown(link->fd, SHUT_WR);
        link->shut = true;
    }
}
