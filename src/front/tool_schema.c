#include <string.h>

#include "base/buf.h"
#include "base/grants.h"
#include "base/json.h"
#include "base/text.h"
#include "front/options.h"
#include "front/tool.h"
#include "front/words.h"

/* Clients cut descriptions at 2 KB. */
#define DESCRIPTION_MAX 2047

/* Characters of a description in the tool's, and of all of them in the argument's. */
#define DESCRIPTION_CHARS 200
#define DATA_MAX          4096
#define PROFILES_CHARS    3200
#define PROFILES_MAX      8192

static const char output_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"status\":{\"type\":\"string\",\"enum\":[\"ok\",\"error\",\"timed_out\",\"out_of_memory\","
    "\"killed\",\"cancelled\",\"busy\",\"sandbox_error\"],\"description\":\"How the run ended\"},"
    "\"stdout\":{\"type\":\"string\",\"description\":\"What the script wrote to stdout\"},"
    "\"stderr\":{\"type\":\"string\",\"description\":\"What the script wrote to stderr\"},"
    "\"exit_code\":{\"type\":\"integer\",\"description\":"
    "\"Exit code; 128+n for signal n, -1 where there is none\"},"
    "\"timed_out\":{\"type\":\"boolean\"},"
    "\"value\":{\"type\":\"string\",\"description\":\"repr() of the last expression\"},"
    "\"truncated\":{\"type\":\"boolean\",\"description\":\"Whether output was left out\"},"
    "\"oom_kills\":{\"type\":\"integer\",\"description\":"
    "\"Processes that ran into the memory limit\"},"
    "\"artifacts\":{\"type\":\"array\",\"description\":\"Figures, and files in "
    "/workspace/outputs\",\"items\":{\"type\":\"object\",\"properties\":{"
    "\"name\":{\"type\":\"string\"},"
    "\"kind\":{\"type\":\"string\",\"enum\":[\"file\",\"figure\"]},"
    "\"mime_type\":{\"type\":\"string\"},"
    "\"size\":{\"type\":\"integer\"},"
    "\"sha256\":{\"type\":\"string\"},"
    "\"included\":{\"type\":\"boolean\",\"description\":\"Whether it is in the content\"},"
    "\"reason\":{\"type\":\"string\",\"description\":\"Why it is not, or not as an image\"}},"
    "\"required\":[\"name\",\"kind\",\"mime_type\",\"size\",\"included\"]}},"
    "\"artifacts_left_out\":{\"type\":\"integer\",\"description\":"
    "\"How many more there are\"},"
    "\"notes\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":"
    "\"Reasons and hints\"},"
    "\"duration_ms\":{\"type\":\"integer\"},"
    "\"cpu_ms\":{\"type\":\"integer\"},"
    "\"peak_memory_bytes\":{\"type\":\"integer\"},"
    "\"image\":{\"type\":\"string\",\"description\":\"Image of the container\"},"
    "\"python\":{\"type\":\"string\",\"description\":\"Version of its Python\"}},"
    "\"required\":[\"status\",\"stdout\",\"stderr\",\"exit_code\",\"timed_out\",\"truncated\","
    "\"oom_kills\",\"duration_ms\",\"cpu_ms\"]}";

/* What the operator says of a profile, cut where it is long. */
static void put_words(struct buf *out, const char *description, size_t chars)
{
    size_t len = strlen(description);
    size_t head = text_head(description, len, chars);

    buf_addf(out, "%.*s%s", (int)head, description, head < len ? "..." : "");
}

/* "Data to read: /data/sales, /data/costs." */
static void put_data(struct buf *out, const struct front_profile *profile, size_t chars)
{
    auto_buf struct buf text = {0};

    if (profile->data_count == 0)
        return;
    buf_init(&text, DATA_MAX);
    buf_add_text(&text, "Data to read:");
    for (size_t i = 0; i < profile->data_count; i++)
        buf_addf(&text, "%s %s", i ? "," : "", profile->data[i].path);
    put_words(out, text.data, chars);
    buf_add_text(out, ". ");
}

static void put_profile_note(struct buf *text, const struct front_options *options)
{
    const struct front_profile *profile;

    if (options->profile_count == 0)
        return;
    profile = &options->profiles[options->profile_default];
    if (tool_has_profiles(options)) {
        buf_addf(text,
                 "There are %zu profiles, with different packages and limits, see the "
                 "argument " TOOL_PROFILE
                 ". What follows is of \"%s\", which is taken where none is named. ",
                 options->profile_count, profile->name);
    } else if (profile->description) {
        put_words(text, profile->description, DESCRIPTION_CHARS);
        buf_add_text(text, "\n\n");
    }
    if (!tool_has_profiles(options))
        put_data(text, profile, DESCRIPTION_CHARS);
}

/* "- small: Standard library. (512 MB, 1 CPU, up to 300 s)" */
static void put_profile_line(struct buf *text, const struct front_options *options, size_t index,
                             size_t chars)
{
    const struct front_profile *profile = &options->profiles[index];

    buf_addf(text, "\n- %s%s: ", profile->name,
             index == options->profile_default ? " (the default)" : "");
    if (profile->description) {
        put_words(text, profile->description, chars);
        if (profile->data_count && !strchr(".!?", text->data[text->len - 1]))
            buf_add_text(text, ".");
        buf_add_text(text, " ");
    }
    put_data(text, profile, chars);
    buf_addf(text, "(%s, ", words_size(profile->memory).text);
    buf_addf(text, "%s, up to %s)", words_cpus(profile->cpus_milli).text,
             words_duration((uint64_t)profile->timeout_max_ms * 1000).text);
}

static void put_profile_schema(struct buf *out, const struct front_options *options)
{
    size_t chars = PROFILES_CHARS / options->profile_count;
    auto_buf struct buf text;

    buf_init(&text, PROFILES_MAX);
    buf_add_text(&text, "What the script has and may use:");
    for (size_t i = 0; i < options->profile_count; i++)
        put_profile_line(&text, options, i, chars);
    buf_add_text(out, ",\"" TOOL_PROFILE "\":{\"type\":\"string\",\"enum\":[");
    for (size_t i = 0; i < options->profile_count; i++)
        buf_addf(out, "%s\"%s\"", i > 0 ? "," : "", options->profiles[i].name);
    buf_addf(out, "],\"default\":\"%s\",\"description\":",
             options->profiles[options->profile_default].name);
    json_put_bytes(out, text.data, text.len);
    buf_add_text(out, "}");
}

static void put_description(struct buf *out, const struct front_options *options)
{
    auto_buf struct buf text;

    buf_init(&text, DESCRIPTION_MAX);
    buf_addf(
        &text,
        "Runs a Python script in a fresh, isolated container and returns what it printed, drew and "
        "wrote, how it ended and why. Use it to compute, parse, simulate, plot, or try out "
        "code.\n\n"
        "What is there: CPython 3 with the standard library and whatever else the image holds. "
        "The script runs like `python script.py` in /workspace. If its last statement is an "
        "expression, its repr comes back as `value`; print() everything else that you want to "
        "see. `stdin` is what input() and sys.stdin read, `files` lie in /workspace. Figures that "
        "are "
        "open at the end or shown, and what the script leaves in /workspace/outputs, come back: "
        "images are shown, small files attached, others named.\n\n"
        "What is not: network (only localhost), installing packages, files of the host, and any "
        "state between calls: every call starts from nothing, so send the whole script.\n\n");
    put_profile_note(&text, options);
    buf_addf(&text, "Limits: %s", words_duration((uint64_t)options->timeout_ms * 1000).text);
    buf_addf(&text, " per script unless timeout_seconds says otherwise (up to %s), ",
             words_duration((uint64_t)options->timeout_max_ms * 1000).text);
    buf_addf(&text, "%s of memory, ", words_size(options->memory).text);
    buf_addf(&text, "%s, %s processes and threads, ", words_cpus(options->cpus_milli).text,
             words_count(options->pids).text);
    buf_addf(&text, "%s in /workspace and %s in /tmp (both in memory), ",
             words_size(options->workspace).text, words_size(options->tmp).text);
    buf_addf(&text, "%s of code, %s of stdin, ", words_size(options->code_max).text,
             words_size(options->stdin_max).text);
    buf_addf(&text, "%zu files of %s together. ", options->files_max,
             words_size(options->files_bytes_max).text);
    buf_addf(&text, "Of longer output the first and last part come back, %s characters in all ",
             words_count(options->text_max).text);
    buf_addf(
        &text,
        "(%s when the script fails).\n\n"
        "The result begins with the status: ok, error (exit code not 0; the traceback is in "
        "stderr), timed_out, out_of_memory, killed, busy (try again) or sandbox_error (not the "
        "script's fault).",
        words_count(options->error_text_max).text);
    json_put_bytes(out, text.data, text.len);
}

/* A profile may allow more than the default one. */
static uint32_t longest_timeout(const struct front_options *options)
{
    uint32_t longest = options->timeout_max_ms;

    for (size_t i = 0; i < options->profile_count; i++)
        if (options->profiles[i].timeout_max_ms > longest)
            longest = options->profiles[i].timeout_max_ms;
    return longest;
}

/* Plain lists and strings: combinators make clients send strings in their place. */
static void put_files_schema(struct buf *out, const struct front_options *options)
{
    if (options->files_max == 0)
        return;
    buf_addf(out,
             ",\"files\":{\"type\":\"array\",\"maxItems\":%zu,\"items\":{\"type\":\"object\","
             "\"properties\":{"
             "\"path\":{\"type\":\"string\",\"description\":"
             "\"Relative to /workspace, such as data/a.csv\"},"
             "\"text\":{\"type\":\"string\",\"description\":\"The content, where it is text\"},"
             "\"base64\":{\"type\":\"string\",\"description\":\"The content in base64, where it is "
             "not\"}},\"required\":[\"path\"]},\"description\":"
             "\"Files for the script, each with text or base64\"}",
             options->files_max);
}

static void put_input_schema(struct buf *out, const struct front_options *options)
{
    double timeout = options->timeout_ms / 1000.0;
    double timeout_max = longest_timeout(options) / 1000.0;

    buf_addf(out,
             "{\"type\":\"object\",\"properties\":{"
             "\"code\":{\"type\":\"string\",\"description\":"
             "\"The whole Python script, as plain text without Markdown fences\"},"
             "\"timeout_seconds\":{\"type\":\"number\",\"minimum\":0.001,\"maximum\":%.10g,"
             "\"default\":%.10g,\"description\":\"Seconds after which the script is stopped\"},"
             "\"stdin\":{\"type\":\"string\",\"description\":"
             "\"Text that the script reads from stdin; empty by default\"}",
             timeout_max, timeout);
    put_files_schema(out, options);
    if (tool_has_profiles(options))
        put_profile_schema(out, options);
    buf_add_text(out, "},\"required\":[\"code\"]}");
}

void tool_put(struct buf *out, const struct front_options *options, bool structured)
{
    buf_add_text(out, "{\"name\":\"" TOOL_NAME "\",\"title\":\"Run Python\",\"description\":");
    put_description(out, options);
    buf_add_text(out, ",\"inputSchema\":");
    put_input_schema(out, options);
    if (structured)
        buf_addf(out, ",\"outputSchema\":%s", output_schema);
    buf_add_text(out,
                 ",\"annotations\":{\"title\":\"Run Python\",\"readOnlyHint\":false,"
                 "\"destructiveHint\":false,\"idempotentHint\":false,\"openWorldHint\":false}");

    /* So that a client keeps a result of full length, structured copy and escapes included. */
    buf_addf(out, ",\"_meta\":{\"anthropic/maxResultSizeChars\":%zu}}", 2 * options->text_max);
}
