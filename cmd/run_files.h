/* Local files that go along with a script that `run` runs. */
#pragma once

#include <stddef.h>

#include "wire/file.h"

struct config;
struct error;

struct run_files {
    struct file *list;
    size_t count;
    char **owned; /* the bytes of each */
};

/* The script's own name in the sandbox: that of its file, where that makes one. */
const char *run_files_script(const char *file);

/* Adds a file from "NAME=PATH", or from "PATH", whose last part is then its name; script is the
 * name of the script's own file. How many and how large they may be is in config. -1 with err. */
int run_files_add(struct run_files *files, const char *text, const char *script,
                  const struct config *config, struct error *err);

void run_files_done(struct run_files *files);
