#include "front/missing.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "front/hint.h"
#include "front/known.h"
#include "front/options.h"

#define NOT_FOUND "ModuleNotFoundError: No module named '"

/* Of the names of modules, and of profiles, so many bytes are shown. */
#define NAMES_MAX 500

static bool is_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

/* The top-level module that the last such line is about; NULL where there is none, or where it is
 * about a part of one that is there. */
static const char *find_module(const char *error, size_t len, size_t *ret_len)
{
    const char *found = NULL, *end = error + len;
    const char *at = error;
    size_t name = 0;

    while ((at = memmem(at, (size_t)(end - at), NOT_FOUND, strlen(NOT_FOUND)))) {
        at += strlen(NOT_FOUND);
        found = at;
    }
    while (found && found + name < end && is_of_name(found[name]))
        name++;
    *ret_len = name;
    return name > 0 && (found + name == end || found[name] != '.') ? found : NULL;
}

/* As many whole names as fit. */
static void put_names(struct buf *out, const char *names)
{
    size_t shown = 0, hidden = 0;

    for (const char *at = names; *at; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");

        if (hidden > 0 || shown + len > NAMES_MAX) {
            hidden++;
        } else {
            (void)buf_addf(out, "%s%.*s", shown ? ", " : "", (int)len, at);
            shown += len + 2;
        }
        at += len;
    }
    if (hidden > 0)
        (void)buf_addf(out, " and %zu more", hidden);
}

static void put_what_is_there(struct buf *out, const char *names)
{
    (void)buf_add_text(out, "packages cannot be installed here; use the standard library");
    if (!names) {
        (void)buf_add_text(out, " or what the image has");
    } else if (*names) {
        (void)buf_add_text(out, " or what there is besides: ");
        put_names(out, names);
    } else {
        (void)buf_add_text(out, ", which is all that the image has");
    }
}

static void add_name(struct buf *names, const char *name)
{
    (void)buf_addf(names, "%s\"%s\"", names->len > 0 ? ", " : "", name);
}

/* The other profiles that have the module, or else those that may; no closed ones. */
static void put_others(struct buf *out, const struct front_options *options, uint32_t profile,
                       const char *module, size_t len)
{
    auto_buf struct buf having = {0}, pending = {0};

    buf_init(&having, NAMES_MAX);
    buf_init(&pending, NAMES_MAX);
    for (size_t i = 0; i < options->profile_count; i++) {
        if (i == profile || known_is_closed(options->known, i))
            continue;
        if (known_has(options->known, i, module, len))
            add_name(&having, options->profiles[i].name);
        else if (!known_modules(options->known, i))
            add_name(&pending, options->profiles[i].name);
    }
    if (having.len > 0) {
        bool several = strchr(having.data, ',');

        (void)buf_addf(out, "; the profile%s %s %s %.*s: name %s in the argument profile",
                       several ? "s" : "", having.data, several ? "have" : "has", (int)len, module,
                       several ? "one" : "it");
    } else if (pending.len > 0) {
        bool several = strchr(pending.data, ',');

        (void)buf_addf(out, "; the profile%s %s may have it, but %s not been started yet",
                       several ? "s" : "", pending.data, several ? "have" : "has");
    }
}

void missing_put(struct buf *out, const struct front_options *options, uint32_t profile,
                 const char *error, size_t len)
{
    size_t module_len;
    size_t tail = len < HINT_ERROR_TAIL ? len : HINT_ERROR_TAIL;
    const char *module = len > 0 ? find_module(error + len - tail, tail, &module_len) : NULL;

    if (!module || known_has(options->known, profile, module, module_len))
        return;
    put_what_is_there(out, known_modules(options->known, profile));
    put_others(out, options, profile, module, module_len);
    (void)buf_add_text(out, "\n");
}
