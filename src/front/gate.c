#include "front/gate.h"

#include <string.h>
#include <strings.h>

#include "front/bearer.h"
#include "front/host.h"

#define REALM  "Bearer realm=\"python-sandbox\""
#define BLANKS " \t"
#define DIGITS "0123456789"

/* Digits of a Content-Length that surely fits 64 bits. */
#define LENGTH_DIGITS_MAX 18

static const char *const header_names[GATE_HEADER_COUNT] = {
    [GATE_HOST] = "Host",
    [GATE_ORIGIN] = "Origin",
    [GATE_AUTHORIZATION] = "Authorization",
    [GATE_CONTENT_LENGTH] = "Content-Length",
    [GATE_TRANSFER_ENCODING] = "Transfer-Encoding",
    [GATE_CONTENT_TYPE] = "Content-Type",
    [GATE_CONTENT_ENCODING] = "Content-Encoding",
    [GATE_PROTOCOL_VERSION] = "MCP-Protocol-Version",
    [GATE_METHOD] = "Mcp-Method",
    [GATE_NAME] = "Mcp-Name",
    [GATE_USER_AGENT] = "User-Agent",
#ifdef CONFORMANCE_FIXTURES
    [GATE_PARAM] = "Mcp-Param-Text",
#endif
};

/* A token in the sense of HTTP: no blanks, no separators, no bytes above ASCII. */
static bool is_name(const char *name)
{
    static const char allowed[] = "!#$%&'*+-.^_`|~" DIGITS "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

    return *name != '\0' && name[strspn(name, allowed)] == '\0';
}

static bool is_value(const char *value, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)value[i];

        if ((byte < ' ' && byte != '\t') || byte == 0x7f)
            return false;
    }
    return true;
}

void gate_take_header(struct gate_request *request, const char *name, const char *value,
                      size_t value_len)
{
    if (!is_name(name) || !is_value(value, value_len)) {
        request->malformed = true;
        return;
    }
    if (strcasecmp(name, "Accept") == 0) {
        media_accept(&request->accept, value);
        request->has_accept = true;
        return;
    }
    for (size_t i = 0; i < GATE_HEADER_COUNT; i++) {
        if (strcasecmp(name, header_names[i]) != 0)
            continue;
        if (request->headers[i] && i != GATE_USER_AGENT)
            request->malformed = true;
        request->headers[i] = value;
        return;
    }
}

static bool refuse(struct gate_verdict *verdict, unsigned status, const char *reason)
{
    verdict->route = GATE_REFUSED;
    verdict->status = status;
    verdict->reason = reason;
    return false;
}

static bool is(const char *text, const char *word)
{
    return strcmp(text, word) == 0;
}

/* The value of a header that is one word, blanks around it aside. */
static bool is_word(const char *value, const char *word)
{
    size_t len = strlen(word);

    value += strspn(value, BLANKS);
    return strncasecmp(value, word, len) == 0 && value[len + strspn(value + len, BLANKS)] == '\0';
}

/* Where the body ends must be beyond doubt: two servers that read it differently would see
 * different requests. */
static bool check_framing(const struct gate_request *request, struct gate_verdict *verdict)
{
    const char *coding = request->headers[GATE_TRANSFER_ENCODING];
    const char *length = request->headers[GATE_CONTENT_LENGTH];

    if (request->malformed)
        return refuse(
            verdict, 400,
            "A header is malformed, or was sent twice although it may occur once only.\n");
    if (coding && length)
        return refuse(verdict, 400, "Send either Content-Length or Transfer-Encoding, not both.\n");
    if (coding && (!is_word(coding, "chunked") || !is(request->version, "HTTP/1.1")))
        return refuse(verdict, 400,
                      "The only Transfer-Encoding served is \"chunked\", with HTTP/1.1.\n");
    if (length && (*length == '\0' || length[strspn(length, DIGITS)] != '\0'))
        return refuse(verdict, 400, "Content-Length must be a whole number.\n");
    verdict->has_body = coding || (length && length[strspn(length, "0")] != '\0');
    return true;
}

static enum gate_route find_route(const char *target)
{
    static const struct {
        const char *path;
        enum gate_route route;
    } routes[] = {
        {"/mcp", GATE_MCP},      {"/mcp/", GATE_MCP},        {"/healthz", GATE_HEALTH},
        {"/readyz", GATE_READY}, {"/metrics", GATE_METRICS},
    };
    size_t len = strcspn(target, "?");

    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        if (len == strlen(routes[i].path) && strncmp(target, routes[i].path, len) == 0)
            return routes[i].route;
    }
    return GATE_REFUSED;
}

static bool check_host(const struct gate_request *request, const struct gate_options *options,
                       struct gate_verdict *verdict)
{
    const char *host = request->headers[GATE_HOST];

    if (!host || *host == '\0')
        return refuse(verdict, 400, "The Host header is missing.\n");
    if (host_is_loopback(host) || host_in_list(host, options->hosts) ||
        (!options->loopback && host_is_address(host)))
        return true;
    return refuse(verdict, 403,
                  "This Host is not served: start the server with --allowed-host for it.\n");
}

static bool check_origin(const struct gate_request *request, const struct gate_options *options,
                         struct gate_verdict *verdict)
{
    const char *origin = request->headers[GATE_ORIGIN];

    if (!origin)
        return true;
    if (origin_in_list(origin, options->origins)) {
        verdict->origin = origin;
        return true;
    }
    if (options->loopback && origin_is_loopback(origin))
        return true;
    return refuse(verdict, 403,
                  "This Origin is not served: start the server with --allowed-origin for it.\n");
}

static bool check_token(const struct gate_request *request, const struct gate_options *options,
                        struct gate_verdict *verdict)
{
    switch (bearer_check(options->bearer, request->headers[GATE_AUTHORIZATION])) {
    case BEARER_RIGHT:
        return true;
    case BEARER_MISSING:
        verdict->challenge = REALM;
        return refuse(verdict, 401, "{\"error\":\"missing_token\"}");
    case BEARER_WRONG:
        break;
    }
    verdict->challenge = REALM ", error=\"invalid_token\"";
    return refuse(verdict, 401, "{\"error\":\"invalid_token\"}");
}

static bool check_method(const struct gate_request *request, enum gate_route route,
                         struct gate_verdict *verdict)
{
    bool reads = is(request->method, "GET") || is(request->method, "HEAD");

    if (route == GATE_MCP ? is(request->method, "POST") : reads)
        return true;
    verdict->allow = route == GATE_MCP ? "POST" : "GET, HEAD";
    return refuse(verdict, 405,
                  "This method is not served here; the Allow header has those that are.\n");
}

static bool is_too_long(const char *length, uint64_t max)
{
    uint64_t value = 0;

    length += strspn(length, "0");
    if (strlen(length) > LENGTH_DIGITS_MAX)
        return true;
    while (*length != '\0')
        value = value * 10 + (uint64_t)(*length++ - '0');
    return value > max;
}

static bool check_body(const struct gate_request *request, const struct gate_options *options,
                       struct gate_verdict *verdict)
{
    const char *type = request->headers[GATE_CONTENT_TYPE];
    const char *encoding = request->headers[GATE_CONTENT_ENCODING];
    const char *length = request->headers[GATE_CONTENT_LENGTH];

    if (!type || !media_is_json(type))
        return refuse(verdict, 415, "Send the message with Content-Type: application/json.\n");
    if (encoding && !is_word(encoding, "identity"))
        return refuse(verdict, 415, "Send the message without Content-Encoding.\n");
    if (length && is_too_long(length, options->body_max))
        return refuse(verdict, 413, GATE_TOO_LONG);
    verdict->accept = request->accept;
    if (!request->has_accept)
        media_accept(&verdict->accept, NULL);
    if (!verdict->accept.json && !verdict->accept.stream)
        return refuse(verdict, 406,
                      "Answers are application/json or text/event-stream: accept one of them.\n");
    return true;
}

void gate_judge(struct gate_verdict *verdict, const struct gate_request *request,
                const struct gate_options *options)
{
    enum gate_route route = find_route(request->target);
    bool preflight = is(request->method, "OPTIONS") && request->headers[GATE_ORIGIN] &&
                     options->origins && route == GATE_MCP;

    *verdict = (struct gate_verdict){.route = GATE_REFUSED};
    if (!check_framing(request, verdict))
        return;
    if (route == GATE_HEALTH || route == GATE_READY) {
        /* Probes come by address, and say nothing of themselves. */
        if (check_method(request, route, verdict))
            verdict->route = route;
        return;
    }
    if (!check_host(request, options, verdict) || !check_origin(request, options, verdict))
        return;
    if (route == GATE_REFUSED) {
        refuse(verdict, 404, is(request->target, "/") ? "MCP is served at /mcp.\n" : "");
        return;
    }
    if (preflight) {
        if (verdict->origin)
            verdict->route = GATE_PREFLIGHT;
        else
            refuse(verdict, 403,
                   "This Origin is not served: start the server with --allowed-origin for it.\n");
        return;
    }
    if (!check_token(request, options, verdict) || !check_method(request, route, verdict) ||
        (route == GATE_MCP && !check_body(request, options, verdict)))
        return;
    verdict->route = route;
}
