#include "tokens.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "config.h"
#include "executor/inside.h"
#include "front/bearer.h"

#define FILE_MAX  65536
#define TOKEN_MIN 32
#define MARK      "\xEF\xBB\xBF" /* the byte order mark that some editors begin a file with */
#define HELP      "; python-sandbox token makes one"

/* Says what is wrong without saying the token. */
static int add(struct bearer *bearer, const char *token, size_t len, struct error *err)
{
    for (size_t i = 0; i < len; i++) {
        if (!isgraph((unsigned char)token[i]))
            return error_set(err, "a token has a blank or another character inside that cannot be "
                                  "sent" HELP);
    }
    if (len < TOKEN_MIN)
        return error_set(err, "a token is too short: %zu characters, at least %d are needed" HELP,
                         len, TOKEN_MIN);
    if (bearer->count == BEARER_TOKENS_MAX)
        return error_set(err, "more than %d tokens", BEARER_TOKENS_MAX);
    bearer_digest(token, len, bearer->digests[bearer->count++]);
    return 0;
}

/* Adds each part of text that has none of the separators in it, blanks around it taken away. */
static int add_all(struct bearer *bearer, const char *text, const char *separators,
                   struct error *err)
{
    size_t before = bearer->count;

    while (*text != '\0') {
        size_t len = strcspn(text, separators);
        const char *token = text;
        size_t token_len = len;

        while (token_len > 0 && isspace((unsigned char)token[0])) {
            token++;
            token_len--;
        }
        while (token_len > 0 && isspace((unsigned char)token[token_len - 1]))
            token_len--;
        if (token_len > 0 && add(bearer, token, token_len, err) < 0)
            return -1;
        text += len;
        text += *text != '\0';
    }
    return bearer->count > before ? 0 : error_set(err, "it holds no token" HELP);
}

/* err from errno. */
static int tell_unreadable(struct error *err)
{
    int reason = errno;

    if (reason == EACCES)
        return error_set(err, "cannot be read: %s; user %u, who runs this, must be able to read it",
                         strerror(reason), geteuid());
    if (reason == EISDIR)
        return error_set(err, "cannot be read: %s; it must be a file" HELP, strerror(reason));
    return error_set(err, "cannot be read: %s%s", strerror(reason), reason == ENOENT ? HELP : "");
}

static int load_file(struct bearer *bearer, const char *path, struct error *err)
{
    struct stat status;
    size_t len;
    auto_free char *text = fd_read_file(path, FILE_MAX, &len);
    const char *start;
    int result;

    if (!text)
        return tell_unreadable(err);
    if (strlen(text) != len) {
        explicit_bzero(text, len);
        return error_set(err, "holds a NUL byte" HELP);
    }
    /* A container gets secrets as its engine or cluster mounts them, and has no other users. */
    if (stat(path, &status) == 0 && (status.st_mode & S_IROTH) != 0 && !inside_container())
        log_warn("token-file: %s can be read by every user of this machine: chmod o-r it", path);
    start = strncmp(text, MARK, strlen(MARK)) == 0 ? text + strlen(MARK) : text;
    result = add_all(bearer, start, "\r\n", err);
    explicit_bzero(text, len);
    return result;
}

int tokens_load(struct bearer *ret, const char *path, const char *list, struct error *err)
{
    struct bearer bearer = {.count = 0};

    if (path && load_file(&bearer, path, err) < 0)
        return error_wrap(err, "token-file: %s", path);
    if (list && *list != '\0' && add_all(&bearer, list, ", \t\r\n", err) < 0)
        return error_wrap(err, CONFIG_TOKEN_VARIABLE);
    *ret = bearer;
    return 0;
}
