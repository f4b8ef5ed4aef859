/* The executor's end of the socketpair: RUN and STOP in; PHASE, OUTPUT, DONE, STATUS and PROFILE
 * out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct audit;
struct executor;
struct service;

/* Takes the descriptor. calls_max: more open calls at a time than the front may have are its
 * compromise. tell_status: send a STATUS whenever it has changed, as is done with the PROFILEs. */
struct service *service_new(int fd, struct executor *executor, unsigned calls_max,
                            bool tell_status);
void service_free(struct service *service);

/* From now on each call that is over has a line in the log, which is borrowed; NULL: none. */
void service_audit(struct service *service, struct audit *audit);

/* The descriptor, and whether something waits to be written to it. */
int service_fd(const struct service *service);
bool service_wants_write(const struct service *service);

/* Reads, acts and writes as far as that goes now. false once the front has closed, or broke the
 * rules: then every open run is to be stopped; what they say is still written as long as the front
 * takes it. */
bool service_step(struct service *service);

/* When service_step() is to be called although nothing came. */
int64_t service_deadline(const struct service *service);

/* From now on every call is answered busy: the server is being stopped. Told in the STATUS. */
void service_drain(struct service *service);

/* Whether no call is open. */
bool service_is_idle(const struct service *service);

/* Writes what waits. */
void service_flush(struct service *service);
