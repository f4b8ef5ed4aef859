/* The tool run_python: how it is described, and how its arguments are read. Pure. */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "base/error.h"
#include "front/files.h"
#include "wire/wire.h"

struct buf;
struct front_options;

#define TOOL_NAME "run_python"

/* The argument that chooses one of several profiles. */
#define TOOL_PROFILE "profile"

/* Longest line about members of the arguments that were not understood. */
#define TOOL_NOTE_MAX 512

struct tool_call {
    struct wire_run run;      /* points into the arguments, or into parsed; without the label */
    char note[TOOL_NOTE_MAX]; /* a line for the result, "" where there is nothing to tell */
    struct files files;       /* run points into it, too */
    cJSON *parsed;            /* the arguments where they came as a string */
};

/* Whether there is more than one profile: only then is there the argument. */
bool tool_has_profiles(const struct front_options *options);

/* Appends the tool as an entry of tools/list; structured: whether results have a structured copy.
 */
void tool_put(struct buf *out, const struct front_options *options, bool structured);

/* Reads the arguments (NULL: none). 0, or -1 with err that names the argument and what it accepts.
 * tool_done() ends the call in both cases. */
int tool_read(struct tool_call *call, const cJSON *arguments, const struct front_options *options,
              struct error *err);
void tool_done(struct tool_call *call);
