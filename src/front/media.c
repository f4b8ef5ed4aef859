#include "front/media.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#define BLANKS " \t"

/* A run of bytes in a header. */
struct span {
    const char *at;
    size_t len;
};

static struct span trim(const char *at, size_t len)
{
    while (len > 0 && strchr(BLANKS, at[0])) {
        at++;
        len--;
    }
    while (len > 0 && strchr(BLANKS, at[len - 1]))
        len--;
    return (struct span){at, len};
}

static bool is(struct span span, const char *word)
{
    return span.len == strlen(word) && strncasecmp(span.at, word, span.len) == 0;
}

bool media_is_json(const char *content_type)
{
    return is(trim(content_type, strcspn(content_type, ";")), "application/json");
}

/* "q=0", "q=0.0" and so on: what the client does not want. */
static bool is_refused(const char *parameters, size_t len)
{
    while (len > 0) {
        const char *end = memchr(parameters, ';', len);
        size_t part = end ? (size_t)(end - parameters) : len;
        struct span span = trim(parameters, part);

        if (span.len >= 3 && strncasecmp(span.at, "q=0", 3) == 0 &&
            strspn(span.at + 3, ".0") >= span.len - 3)
            return true;
        part += end != NULL;
        parameters += part;
        len -= part;
    }
    return false;
}

static void take_range(struct media_accept *accept, const char *range, size_t len)
{
    const char *parameters = memchr(range, ';', len);
    size_t type_len = parameters ? (size_t)(parameters - range) : len;
    struct span type = trim(range, type_len);

    if (parameters && is_refused(parameters + 1, len - type_len - 1))
        return;
    if (is(type, "*/*") || is(type, "application/*") || is(type, "application/json"))
        accept->json = true;
    if (is(type, "*/*") || is(type, "text/*") || is(type, "text/event-stream"))
        accept->stream = true;
}

void media_accept(struct media_accept *accept, const char *value)
{
    if (!value || value[strspn(value, BLANKS)] == '\0') {
        *accept = (struct media_accept){true, true};
        return;
    }
    while (*value != '\0') {
        size_t len = strcspn(value, ",");

        take_range(accept, value, len);
        value += len;
        value += *value == ',';
    }
}
