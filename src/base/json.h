/* JSON at the edges: strict reading through cJSON, and writing that carries lengths. */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct error;

#define JSON_DEPTH_MAX 64

/* Parses exactly one JSON value. Refuses, saying why and at which byte: invalid UTF-8, raw control
 * characters in strings, "\u0000", lone surrogates, depth over JSON_DEPTH_MAX, anything after the
 * value, and numbers or literals that are not strictly JSON. The caller owns the result
 * (auto_json). */
cJSON *json_parse(const char *text, size_t len, struct error *err);

void json_free_at(cJSON **json);
#define auto_json __attribute__((cleanup(json_free_at)))

/* Members by exact name; object may be NULL or no object. NULL where absent or of another type. */
cJSON *json_get(const cJSON *object, const char *name);
cJSON *json_get_object(const cJSON *object, const char *name);
cJSON *json_get_array(const cJSON *object, const char *name);
const char *json_get_text(const cJSON *object, const char *name);

/* A member that is an integer within ±2^53; false where it is absent or anything else. */
bool json_get_int(const cJSON *object, const char *name, int64_t *ret);

/* Name of the first duplicated member of object (exact match), or NULL. */
const char *json_duplicate(const cJSON *object);

/* The raw text of a top-level member of a JSON object that json_parse accepted, without blanks
 * around it, so that an id can be echoed digit by digit. Names are compared after unescaping. Where
 * a name occurs more than once the first counts. false where absent. Points into text. */
bool json_raw_member(const char *text, size_t len, const char *name, const char **ret,
                     size_t *ret_len);

/* Writing: each appends to out, -1 where out is full. Strings take any bytes: invalid UTF-8 becomes
 * U+FFFD, control characters, quotes, backslashes, U+007F and U+2028/2029 are escaped. */
int json_put_bytes(struct buf *out, const char *bytes, size_t len);
int json_put_text(struct buf *out, const char *text);

/* `"name":` with a comma before it unless the last byte of out is '{' or '['. */
int json_put_name(struct buf *out, const char *name);

/* cJSON's compact serialisation appended to out. */
int json_put_value(struct buf *out, const cJSON *value);
