#include "front/quirk.h"

#include <stddef.h>
#include <string.h>

/* Names of clients that hand the model structuredContent alone where a result has both. */
static const char *const hides_content[] = {
    /* anthropics/claude-code: reports 54737 (images lost), 55677, 79944 (2.1.280, September 2026);
     * over HTTP its User-Agent is "claude-code/2.1.204 (cli)": TypingMind/typingmind-mcp, pull
     * request 25 */
    "claude-code",
    /* openai/codex: named as the model for the same behaviour in anomalyco/opencode, pull requests
     * 32074 and 32868 (June 2026) */
    "codex-mcp-client",
};

/* Clients that lose the whole result where it has such a block. */
static const struct {
    const char *name;
    enum quirk_blocks takes;
} blocks[] = {
    /* The connectors of claude.ai, its desktop and Cowork, which name themselves so, and whose
     * User-Agent is "Claude-User": anthropics/claude-code, report 94746 (September 2026, -32602 for
     * all of the result), anthropics/claude-ai-mcp, reports 536 (July 2026) and 287 */
    {"Anthropic/ClaudeAI", QUIRK_BLOCKS_NO_BYTES},
    {"Claude-User", QUIRK_BLOCKS_NO_BYTES},
    /* Claude Desktop with a server of its own: modelcontextprotocol/csharp-sdk, report 1261 ("a bad
     * image", for a PDF; February 2026) */
    {"claude-ai", QUIRK_BLOCKS_NO_BYTES},
    /* langchain4j/langchain4j, pull request 6250 (September 2026, open): an exception for whatever
     * is not text */
    {"langchain4j", QUIRK_BLOCKS_NONE},
};

static bool is_client(const char *client, const char *name)
{
    size_t len = strlen(name);

    return strncmp(client, name, len) == 0 &&
           (client[len] == '\0' || client[len] == '/' || client[len] == ' ');
}

bool quirk_hides_content(const char *client)
{
    for (size_t i = 0; i < sizeof(hides_content) / sizeof(hides_content[0]); i++) {
        if (is_client(client, hides_content[i]))
            return true;
    }
    return false;
}

enum quirk_blocks quirk_blocks(const char *client)
{
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
        if (is_client(client, blocks[i].name))
            return blocks[i].takes;
    }
    return QUIRK_BLOCKS_ALL;
}
