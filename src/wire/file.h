/* Files that come with a script and lie below /workspace when it starts. Pure. */
#pragma once

#include <stddef.h>

struct error;

/* What the front calls the script; `run` passes the name of the user's own file. */
#define FILE_SCRIPT_NAME "script.py"

/* The folder where the script's artifacts are looked for. */
#define FILE_OUTPUTS_NAME "outputs"

/* All borrowed. */
struct file {
    const char *path; /* see path_check() */
    size_t path_len;
    const char *bytes;
    size_t len;
};

/* Whether the path of files[index] is one, is not reserved (the script's own file and what the
 * supervisor keeps beside it), and clashes with none of those before it. 0, or -1 with an err that
 * goes on from the path: "is there twice". */
int file_check(const struct file *files, size_t index, const char *script, struct error *err);

/* The tmpfs that a file takes, which comes in pages. */
size_t file_room(size_t len);
