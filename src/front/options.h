/* What the front needs to know of the settings. Sizes in bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct grants_folder;
struct known;

/* Whether results have a structured copy of the text; the values of the setting. */
enum structured {
    STRUCTURED_AUTO, /* not for clients that hide the text then, see front/quirk.h */
    STRUCTURED_ALWAYS,
    STRUCTURED_NEVER,
};

/* One of several profiles; the numbers mean what they do below. */
struct front_profile {
    const char *name;        /* a-z, 0-9, - and _ */
    const char *description; /* valid UTF-8; NULL where there is none */
    uint32_t timeout_ms;
    uint32_t timeout_max_ms;
    uint64_t memory;
    uint64_t workspace;
    uint64_t tmp;
    uint32_t cpus_milli;
    uint32_t pids;
    const struct grants_folder *data; /* what there is to read, by path; not where it comes from */
    size_t data_count;
};

/* Pointers are borrowed. */
struct front_options {
    uint32_t timeout_ms;     /* deadline of a script that asks for none */
    uint32_t timeout_max_ms; /* what a script may ask for */

    uint64_t memory; /* the container's limits, for the texts only */
    uint64_t workspace;
    uint64_t tmp;
    uint32_t cpus_milli;
    uint32_t pids;

    const struct front_profile *profiles; /* in the executor's order */
    size_t profile_count;                 /* 0: one, with the limits above */
    size_t profile_default;               /* it has the limits above */
    const struct known *known;            /* NULL where nobody listens to the executor */

    size_t code_max;
    size_t stdin_max;
    size_t files_max;       /* files that may come with a script */
    size_t files_bytes_max; /* and their bytes together, decoded */
    size_t text_max;        /* characters of output in a result */
    size_t error_text_max;  /* the same when the result says isError */
    size_t artifacts_max;   /* figures and files that a result names */
    size_t image_max;       /* bytes of one that comes as an image; 0: none does */
    size_t resource_max;    /* bytes of another file that comes along; 0: none does */
    uint32_t side_max;      /* pixels of an image on its longer side */
    size_t reply_max;       /* every line sent is shorter than this, its newline included */
    size_t calls_max;       /* calls open at a time */

    bool retry_elsewhere; /* calls that found no container are answered with HTTP status 503 */

    enum structured structured;
};

/* The same with the limits of a profile. */
struct front_options options_of_profile(const struct front_options *options, size_t profile);
