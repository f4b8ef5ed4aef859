/* What the verbs that run something themselves share: an executor in this process, without a front.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct config;
struct curl_waitfd;
struct error;
struct executor;
struct local;

enum local_profiles {
    LOCAL_DEFAULT, /* the default profile alone, with index 0 */
    LOCAL_ALL,
};

/* Starts the reaper and the executor, which keeps this many containers of each profile warm, and
 * waits for a pull as long as that may take. */
struct local *local_start(const struct config *config, enum local_profiles profiles, int64_t warm,
                          struct error *err);

struct executor *local_executor(struct local *local);

/* One turn of the executor; wakes for extra[0..count), whose revents are set. Returns a signal that
 * asks for the end, or 0. */
int local_turn(struct local *local, struct curl_waitfd *extra, unsigned count, int timeout_ms);

/* Removes every container (at most some seconds), and frees. NULL is fine. */
void local_end(struct local *local);
