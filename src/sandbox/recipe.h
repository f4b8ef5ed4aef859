/* The files from which images are built: docker/images, made part of the program by the build. */
#pragma once

#include <stddef.h>

struct recipe_file {
    const char *name; /* "Dockerfile", "datascience.txt", ... */
    const char *bytes;
    size_t len;
};

/* Ends with a file whose name is NULL. */
extern const struct recipe_file recipe_files[];
