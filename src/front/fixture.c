#include "front/fixture.h"

#ifdef CONFORMANCE_FIXTURES

#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "front/era.h"
#include "front/peer.h"
#include "front/request.h"

/* A picture of one pixel, and a sound of no length. */
#define PNG                                                                                        \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg" \
    "gg=="
#define WAV "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="

#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define IMAGE      "{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"" PNG "\"}"
#define AUDIO      "{\"type\":\"audio\",\"mimeType\":\"audio/wav\",\"data\":\"" WAV "\"}"
#define RESOURCE(uri, mime, text)                                                                  \
    "{\"type\":\"resource\",\"resource\":{\"uri\":\"" uri "\",\"mimeType\":\"" mime                \
    "\",\"text\":\"" text "\"}}"

#define NO_ARGUMENTS "{\"type\":\"object\",\"properties\":{}}"

#define SCHEMA_2020_12                                                                             \
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","           \
    "\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{"      \
    "\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},\"properties\":{"          \
    "\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},"                   \
    "\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"                      \
    "\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"                            \
    "\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"             \
    "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"                            \
    "\"required\":[\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},"                       \
    "\"else\":{\"required\":[\"email\"]},\"additionalProperties\":false}"

/* The parameter whose value the header Mcp-Param-Text repeats. */
#define SCHEMA_HEADER                                                                              \
    "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\","                          \
    "\"x-mcp-header\":\"Text\"}}}"

static bool tell_progress(const struct request *request)
{
    const char *token;
    size_t len;

    for (int done = 0; done <= 100 && request_token(request, &token, &len); done += 50) {
        auto_buf struct buf line;

        buf_init(&line, REQUEST_ANSWER_MAX);
        buf_add_text(&line, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
                            "\"params\":{\"progressToken\":");
        buf_add(&line, token, len);
        buf_addf(&line, ",\"progress\":%d,\"total\":100}}", done);
        request->peer->send(request->peer, PEER_NOTIFICATION, line.data, line.len);
    }
    return true;
}

static bool need_sampling(const struct request *request)
{
    const cJSON *meta = json_get_object(request->message->params, "_meta");
    const cJSON *capabilities = json_get_object(meta, "io.modelcontextprotocol/clientCapabilities");

    if (!request->modern || json_get(capabilities, "sampling") != NULL)
        return true;
    request_fail(request, 400, RPC_MISSING_CAPABILITY, "this tool needs the capability sampling",
                 "{\"requiredCapabilities\":{\"sampling\":{}}}");
    return false;
}

static bool check_header(const struct request *request)
{
    const struct peer_headers *headers = request->peer->headers;
    const char *text =
        json_get_text(json_get_object(request->message->params, "arguments"), "text");

    if (!request->modern || headers == NULL ||
        (text == NULL ? headers->param == NULL
                      : headers->param != NULL && era_header_is(headers->param, text)))
        return true;
    request_fail(request, 400, RPC_HEADER_MISMATCH, "header Mcp-Param-Text must be arguments.text",
                 NULL);
    return false;
}

static const struct {
    const char *name;
    const char *schema;
    const char *content;
    bool (*prepare)(const struct request *request); /* or NULL; false: it has answered */
    bool fails;
} tools[] = {
    {"test_simple_text", NO_ARGUMENTS, TEXT("This is a simple text response for testing."), NULL,
     false},
    {"test_image_content", NO_ARGUMENTS, IMAGE, NULL, false},
    {"test_audio_content", NO_ARGUMENTS, AUDIO, NULL, false},
    {"test_embedded_resource", NO_ARGUMENTS,
     RESOURCE("test://embedded-resource", "text/plain", "This is an embedded resource content."),
     NULL, false},
    {"test_multiple_content_types", NO_ARGUMENTS,
     TEXT("Multiple content types test:") "," IMAGE "," RESOURCE(
         "test://mixed-content-resource", "application/json", "{\\\"test\\\":\\\"data\\\"}"),
     NULL, false},
    {"test_error_handling", NO_ARGUMENTS,
     TEXT("This tool intentionally returns an error for testing"), NULL, true},
    {"test_tool_with_progress", NO_ARGUMENTS, TEXT("done"), tell_progress, false},
    {"test_missing_capability", NO_ARGUMENTS, TEXT("sampling is there"), need_sampling, false},
    {"test_streaming_elicitation", NO_ARGUMENTS, TEXT("nothing was asked"), tell_progress, false},
    {"test_logging_tool", NO_ARGUMENTS, TEXT("nothing was logged"), NULL, false},
    {"test_header_tool", SCHEMA_HEADER, TEXT("the header agrees"), check_header, false},
    {"json_schema_2020_12_tool", SCHEMA_2020_12, TEXT("done"), NULL, false},
};

void fixture_put(struct buf *out)
{
    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
        buf_addf(out, ",{\"name\":\"%s\",\"description\":\"A fixture\",\"inputSchema\":%s}",
                 tools[i].name, tools[i].schema);
}

bool fixture_call(const struct request *request, const char *name)
{
    size_t i = 0;
    struct buf reply;

    while (i < sizeof(tools) / sizeof(tools[0]) && strcmp(tools[i].name, name) != 0)
        i++;
    if (i == sizeof(tools) / sizeof(tools[0]))
        return false;
    if (tools[i].prepare != NULL && !tools[i].prepare(request))
        return true;
    request_start(request, &reply);
    buf_addf(&reply, "\"content\":[%s]%s", tools[i].content,
             tools[i].fails ? ",\"isError\":true" : "");
    request_finish(request, &reply);
    return true;
}

#endif
