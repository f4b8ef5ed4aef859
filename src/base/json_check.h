/* The strict reading that comes before cJSON, which accepts more than JSON. Pure. */
#pragma once

#include <stddef.h>

struct error;

/* Values in one text: cJSON spends some 80 bytes on each, the text as few as two. */
#define JSON_VALUES_MAX 200000

/* Characters of one number: what cJSON can take. */
#define JSON_NUMBER_MAX 63

/* 0 where text is exactly one JSON value as json_parse wants it; else -1 with reason and byte
 * offset. */
int json_check(const char *text, size_t len, struct error *err);
