/* Where `run` puts what a script leaves behind: into a folder of the user's, file by file as they
 * come. Names come from the script: nothing is written outside the folder, nothing that is there is
 * overwritten, and no link is followed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/artifact.h"

struct buf;
struct error;

struct run_outputs {
    const char *dir; /* NULL: nothing is written, and what is there is counted */
    int fd;
    int file;      /* that is being written; -1 */
    char *name;    /* its name */
    uint64_t left; /* bytes of it that are still to come */
    uint64_t count;
    bool at_least;
    bool failed;      /* something could not be written */
    struct buf *told; /* lines for stderr */
};

/* Opens the folder, which is made where it is not there; NULL: none. Borrows dir and told. -1 with
 * err. */
int run_outputs_open(struct run_outputs *outputs, const char *dir, struct buf *told,
                     struct error *err);

/* What to ask of the executor. */
struct artifact_limits run_outputs_limits(const struct run_outputs *outputs);

/* Each takes what the run says; what goes wrong is told, and the rest goes on. */
void run_outputs_begin(struct run_outputs *outputs, const struct artifact *artifact);
void run_outputs_bytes(struct run_outputs *outputs, const char *bytes, size_t len);
void run_outputs_rest(struct run_outputs *outputs, uint64_t count, bool at_least);

/* The run is over: an incomplete file is removed, and what was left behind is told. */
void run_outputs_end(struct run_outputs *outputs);

void run_outputs_done(struct run_outputs *outputs);
