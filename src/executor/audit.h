/* The audit log: one JSON line per call, each with the SHA-256 of the line before it, so that a
 * line that was changed, taken out or put in shows as soon as another follows. Never code or
 * output, unless asked for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct audit;
struct error;
struct outcome;
struct spec_profile;

/* Hexadecimal SHA-256 with its NUL. */
#define AUDIT_HASH_SIZE 65

struct audit_call {
    uint32_t number;
    const char *client; /* its name, len bytes, as it said */
    size_t client_len;
    const char *profile;  /* its name */
    const char *image_id; /* "sha256:..."; "" where none was used */
    const char *code;
    size_t code_len;
    size_t stdin_len;
    size_t file_count; /* that came with the script, and their bytes together */
    size_t file_bytes;
    uint64_t artifact_count; /* that it left behind, as far as they were named or counted */
    uint64_t artifact_bytes; /* that came along */
    uint32_t timeout_ms;
    int64_t total_ms; /* from the request to the outcome */
    const struct outcome *outcome;
};

/* Whether a symbolic link is there, which audit_open() does not follow. */
bool audit_is_link(const char *path);

/* Opens or makes the file (mode 0600) for appending, and checks it as a whole. with_code: lines
 * hold the script. Several processes may write to one file: each line follows from the one before
 * it, whoever wrote that. NULL with err on failure, also where the file is not whole. */
struct audit *audit_open(const char *path, bool with_code, struct error *err);
void audit_free(struct audit *audit); /* NULL is fine */

/* Appends a line and has it written before it returns; -1 with err where the disk refuses. */
int audit_write(struct audit *audit, const struct audit_call *call,
                const struct spec_profile *profile, struct error *err);

/* Checks a whole file: 0 where every line follows from the one before it, with the number of lines
 * and the hash of the last one, to be compared with a copy kept elsewhere. -1 with err, which names
 * the line. */
int audit_verify(const char *path, uint64_t *ret_lines, char ret_last[AUDIT_HASH_SIZE],
                 struct error *err);
