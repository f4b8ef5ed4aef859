/* The front's end of the socketpair to the executor. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct calls;
struct error;
struct known;
struct metrics;

/* With more than this unsent, no more requests are to be taken. */
#define LINK_BACKLOG_MAX ((size_t)16 * 1024 * 1024)

struct link {
    int fd;                  /* borrowed, non-blocking */
    struct metrics *metrics; /* is told of every message; NULL where nobody counts */
    struct known *known;     /* likewise, of every PROFILE */
    struct buf in;
    struct buf out;
    bool closing; /* the executor is to end: nothing is sent after what is in out */
    bool shut;    /* and it has been told */
    bool ended;   /* nothing more will come */
};

/* run_max: largest code, stdin and files together. */
void link_init(struct link *link, int fd, size_t run_max);
void link_done(struct link *link);

bool link_is_backed_up(const struct link *link);

/* Reads what is there and hands it to calls. -1 where the executor sent what it must not. */
int link_read(struct link *link, struct calls *calls, int64_t now, struct error *err);

/* Writes what the executor takes now; tells it the end once all is out. */
void link_write(struct link *link);
