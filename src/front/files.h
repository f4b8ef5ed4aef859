/* The argument `files` of run_python. Pure. */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>

#include "wire/file.h"

struct error;
struct front_options;

struct files {
    struct file *list; /* paths and texts point into the arguments, or into parsed */
    size_t count;
    size_t room;          /* bytes of tmpfs that they take */
    char *decoded;        /* the bytes that came as base64 */
    cJSON *parsed;        /* the argument where it came as a string */
    const char *unknown;  /* the first member that means nothing here; NULL: none */
    size_t unknown_index; /* of the file that has it */
};

/* Reads it (NULL or null: none). Files are objects {"path": relative, "text": string} or {"path":
 * relative, "base64": string}; see base/base64.h for what that may be. Some clients send lists as a
 * string which holds them. 0, or -1 with err that names the file and what is accepted.
 * files_done() ends it in both cases. */
int files_read(struct files *files, const cJSON *argument, const struct front_options *options,
               struct error *err);
void files_done(struct files *files);
