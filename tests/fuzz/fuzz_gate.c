/* The gate: a request line and headers, one a line, "name: value". What it lets in must be what it
 * says it lets in. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "front/bearer.h"
#include "front/gate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The next line of *text, NUL-terminated in place; NULL at the end. */
static char *next_line(char **text, size_t *ret_len)
{
    char *line = *text;
    char *end;

    if (!line)
        return NULL;
    end = strchr(line, '\n');
    *ret_len = end ? (size_t)(end - line) : strlen(line);
    line[*ret_len] = '\0';
    *text = end ? end + 1 : NULL;
    return line;
}

static void check(const struct gate_verdict *verdict, const struct gate_request *request)
{
    if (verdict->route == GATE_REFUSED) {
        if (verdict->status < 400 || verdict->status >= 500 || !verdict->reason)
            abort();
        return;
    }
    if (verdict->status != 0 || request->malformed ||
        (request->headers[GATE_CONTENT_LENGTH] && request->headers[GATE_TRANSFER_ENCODING]))
        abort();
    if (verdict->route == GATE_MCP && (strcmp(request->method, "POST") != 0 ||
                                       (!verdict->accept.json && !verdict->accept.stream)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bearer bearer = {.count = size % 2};
    struct gate_options options = {.loopback = size % 3 != 0,
                                   .hosts = "sandbox.example.com, gate.test:444",
                                   .origins = size % 5 ? "https://app.example.com" : NULL,
                                   .bearer = &bearer,
                                   .body_max = 1 << 20};
    auto_free char *copy = mem_strndup((const char *)data, size);
    char *text = copy;
    size_t len = 0;
    struct gate_request request = {.method = next_line(&text, &len)};
    struct gate_verdict verdict;
    char *line;

    request.target = text ? next_line(&text, &len) : "";
    request.version = text ? next_line(&text, &len) : "HTTP/1.1";
    while ((line = next_line(&text, &len)) != NULL) {
        char *colon = strchr(line, ':');

        if (!colon)
            continue;
        *colon = '\0';
        colon += 1 + strspn(colon + 1, " \t");
        gate_take_header(&request, line, colon, len - (size_t)(colon - line));
    }
    gate_judge(&verdict, &request, &options);
    check(&verdict, &request);
    return 0;
}
