/* Connections that were refused while their client was still sending. Closing them at once would
 * make the kernel throw away the answer too: what still comes is read, for a short time, and
 * dropped. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pollfd;

#define FAREWELL_MAX 64

struct farewell {
    struct {
        int fd;
        int64_t deadline;
    } entries[FAREWELL_MAX];
    size_t count;
};

void farewell_init(struct farewell *farewell);
void farewell_done(struct farewell *farewell);

/* Keeps a copy of the descriptor; where all places are taken the connection just ends. */
void farewell_add(struct farewell *farewell, int fd, int64_t now);

/* As in http.h. */
size_t farewell_watch(const struct farewell *farewell, struct pollfd *fds);
void farewell_step(struct farewell *farewell, const struct pollfd *fds, int64_t now);
int64_t farewell_due(const struct farewell *farewell);
