/* Media types in HTTP headers. Pure. */
#pragma once

#include <stdbool.h>

/* Whether a Content-Type is application/json, parameters aside. */
bool media_is_json(const char *content_type);

/* What the answer may be. */
struct media_accept {
    bool json;   /* application/json */
    bool stream; /* text/event-stream */
};

/* Adds what an Accept header allows. Blank or absent allows both. */
void media_accept(struct media_accept *accept, const char *value);
