#include "executor/address.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#define TCP         "tcp://"
#define BLANKS      " \t\r\n"
#define HOST_MAX    253
#define HOST_MAY    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
#define DIGITS      "0123456789"
#define PORT_DIGITS 5

/* Schemes that other programs take, and the way from there. */
static const struct {
    const char *scheme;
    const char *mend;
} foreign[] = {
    {"ssh://", "no ssh is started here; forward the engine's socket, `ssh -nNT -L "
               "/run/user/1000/engine.sock:/var/run/docker.sock USER@HOST`, and name that: "
               "unix:///run/user/1000/engine.sock"},
    {"https://", "write it as tcp://HOST:PORT, which means TLS here"},
    {"http://", "that would be without TLS; an engine on another machine is tcp://HOST:PORT, with "
                "certificates"},
};

static int refuse(const char *text, const char *from, struct error *err)
{
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        if (strncmp(text, foreign[i].scheme, strlen(foreign[i].scheme)) == 0)
            return error_set(err, "%s: '%s': %s", from, text, foreign[i].mend);
    }
    return error_set(err,
                     "%s: '%s' is neither a unix socket nor tcp://HOST:PORT; give "
                     "unix:///path/to/docker.sock",
                     from, text);
}

/* "name", "name:2376", "1.2.3.4:2376/", "[::1]:2376" */
static bool split(const char *text, struct address *ret)
{
    bool bracketed = text[0] == '[';
    size_t len = bracketed ? strcspn(text + 1, "]") : strspn(text, HOST_MAY);
    auto_free char *host = mem_strndup(text + bracketed, len);
    const char *rest = text + bracketed + len;
    unsigned char bytes[sizeof(struct in6_addr)];
    int64_t port = ADDRESS_PORT;

    if (bracketed && (*rest++ != ']' || inet_pton(AF_INET6, host, bytes) != 1))
        return false;
    if (len == 0 || len > HOST_MAX || host[0] == '-')
        return false;
    if (*rest == ':') {
        size_t digits = strspn(++rest, DIGITS);
        auto_free char *number = mem_strndup(rest, digits);

        if (digits > PORT_DIGITS || text_to_int(number, 1, UINT16_MAX, &port, NULL) < 0)
            return false;
        rest += digits;
    }
    if (rest[strspn(rest, "/")] != '\0')
        return false;
    *ret = (struct address){.host = steal(&host), .port = (unsigned)port};
    return true;
}

int address_parse(const char *text, const char *from, struct address *ret, struct error *err)
{
    auto_free char *whole = NULL;
    char *path;
    size_t len;

    text += strspn(text, BLANKS);
    whole = path = mem_strndup(text, strcspn(text, BLANKS));
    if (strncmp(whole, TCP, strlen(TCP)) == 0) {
        if (split(whole + strlen(TCP), ret))
            return 0;
        return error_set(err, "%s: '%s' is not tcp://HOST:PORT", from, whole);
    }
    if (strncmp(path, "unix:", 5) == 0)
        path += strncmp(path, "unix://", 7) == 0 ? 7 : 5;
    if (path[0] != '/')
        return refuse(whole, from, err);
    len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    *ret = (struct address){.path = mem_strndup(path, len)};
    return 0;
}

void address_done(struct address *address)
{
    free(address->path);
    free(address->host);
    *address = (struct address){0};
}
