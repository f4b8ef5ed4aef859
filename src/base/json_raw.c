#include "base/json.h"

#include <string.h>

/* A walk over text that json_check accepted, so structure is not checked again, only the end. */
struct walk {
    const char *at;
    const char *end;
};

static void skip_blanks(struct walk *walk)
{
    while (walk->at < walk->end && memchr(" \t\r\n", *walk->at, 4) != NULL)
        walk->at++;
}

/* From the opening quote to past the closing one. */
static void skip_string(struct walk *walk)
{
    walk->at++;
    while (walk->at < walk->end && *walk->at != '"')
        walk->at += *walk->at == '\\' && walk->end - walk->at > 1 ? 2 : 1;
    if (walk->at < walk->end)
        walk->at++;
}

/* Up to the comma or brace that ends a member of the outer object. */
static void skip_value(struct walk *walk)
{
    size_t depth = 0;

    while (walk->at < walk->end) {
        char byte = *walk->at;

        if (byte == '"') {
            skip_string(walk);
            continue;
        }
        if (depth == 0 && (byte == ',' || byte == '}'))
            return;
        if (byte == '{' || byte == '[')
            depth++;
        else if (byte == '}' || byte == ']')
            depth--;
        walk->at++;
    }
}

/* Whether a name as it stands in the text, quotes included, means the given one. */
static bool same_name(const char *quoted, size_t len, const char *name)
{
    auto_json cJSON *unescaped = NULL;

    if (len < 2)
        return false;
    if (memchr(quoted, '\\', len) == NULL)
        return len - 2 == strlen(name) && memcmp(quoted + 1, name, len - 2) == 0;
    unescaped = cJSON_ParseWithLengthOpts(quoted, len, NULL, false);
    return cJSON_IsString(unescaped) && strcmp(unescaped->valuestring, name) == 0;
}

bool json_raw_member(const char *text, size_t len, const char *name, const char **ret,
                     size_t *ret_len)
{
    struct walk walk = {text, text + len};

    skip_blanks(&walk);
    if (walk.at == walk.end || *walk.at != '{')
        return false;
    while (walk.at < walk.end && *walk.at != '}') {
        const char *start;
        bool found;

        walk.at++; /* the brace or the comma */
        skip_blanks(&walk);
        start = walk.at;
        if (start == walk.end || *start != '"')
            return false;
        skip_string(&walk);
        found = same_name(start, (size_t)(walk.at - start), name);
        skip_blanks(&walk);
        if (walk.at < walk.end)
            walk.at++; /* the colon */
        skip_blanks(&walk);
        start = walk.at;
        skip_value(&walk);
        if (found) {
            while (walk.at > start && memchr(" \t\r\n", walk.at[-1], 4) != NULL)
                walk.at--;
            *ret = start;
            *ret_len = (size_t)(walk.at - start);
            return true;
        }
    }
    return false;
}
