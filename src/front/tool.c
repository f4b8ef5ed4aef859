#include "front/tool.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "front/options.h"
#include "front/words.h"

/* Of the members that were not understood, this many are named, this many bytes of each. */
#define UNKNOWN_NAMED    8
#define UNKNOWN_NAME_MAX 40

/* Longest number that is accepted as a string. */
#define NUMBER_TEXT_MAX 64

/* Bytes of artifacts that come, in units of the longest reply. */
#define REPLIES_KEPT 4

/* Bytes kept of a stream: the characters that a result may show, at their longest. */
#define BYTES_PER_CHAR 4

/* The members of the arguments; the schema of tool_schema.c describes them. */
static const char *const known[] = {"code", "timeout_seconds", "stdin", "files"};

bool tool_has_profiles(const struct front_options *options)
{
    return options->profile_count > 1;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n\f\v")] == '\0';
}

/* Arguments that some clients send as a string which holds the object. */
static const cJSON *read_object(struct tool_call *call, const cJSON *arguments, struct error *err)
{
    if (cJSON_IsString(arguments)) {
        call->parsed = json_parse(arguments->valuestring, strlen(arguments->valuestring), NULL);
        arguments = call->parsed;
    }
    if (cJSON_IsObject(arguments))
        return arguments;
    error_set(err, "arguments must be an object with the member code: {\"code\": \"print(1)\"}");
    return NULL;
}

static int read_code(struct tool_call *call, const cJSON *object,
                     const struct front_options *options, struct error *err)
{
    const cJSON *code = json_get(object, "code");
    size_t len;

    if (code == NULL || cJSON_IsNull(code))
        return error_set(err, "code is missing; it must be a string with the Python code to run");
    if (!cJSON_IsString(code))
        return error_set(err, "code must be a string with the Python code to run");
    if (is_blank(code->valuestring))
        return error_set(err, "code is empty; it must be a string with the Python code to run");
    len = strlen(code->valuestring);
    if (len > options->code_max)
        return error_set(err, "code is too large: %s bytes, where at most %s are accepted",
                         words_count(len).text, words_count(options->code_max).text);
    call->run.code = code->valuestring;
    call->run.code_len = len;
    return 0;
}

static int read_stdin(struct tool_call *call, const cJSON *object,
                      const struct front_options *options, struct error *err)
{
    const cJSON *text = json_get(object, "stdin");
    size_t len;

    call->run.stdin_bytes = "";
    if (text == NULL || cJSON_IsNull(text))
        return 0;
    if (!cJSON_IsString(text))
        return error_set(err, "stdin must be a string: the text that the script reads from stdin");
    len = strlen(text->valuestring);
    if (len > options->stdin_max)
        return error_set(err, "stdin is too large: %s bytes, where at most %s are accepted",
                         words_count(len).text, words_count(options->stdin_max).text);
    call->run.stdin_bytes = text->valuestring;
    call->run.stdin_len = len;
    return 0;
}

static int read_files(struct tool_call *call, const cJSON *object,
                      const struct front_options *options, struct error *err)
{
    const uint64_t workspace = options_of_profile(options, call->run.profile).workspace;
    size_t room;

    if (files_read(&call->files, json_get(object, "files"), options, err) < 0)
        return -1;
    room = call->files.room + file_room(call->run.code_len) + file_room(call->run.stdin_len);
    if (call->files.count > 0 && room > workspace)
        return error_set(err,
                         "files do not fit: with the script they take %s bytes of /workspace, "
                         "which has %s",
                         words_count(room).text, words_size(workspace).text);
    call->run.files = call->files.list;
    call->run.file_count = call->files.count;
    return 0;
}

/* A number, or a string that is one; NaN where it is neither. */
static double to_number(const cJSON *value)
{
    const char *text;
    char *end;
    double number;

    if (cJSON_IsNumber(value))
        return value->valuedouble;
    if (!cJSON_IsString(value))
        return NAN;
    text = value->valuestring;
    if (is_blank(text) || strlen(text) > NUMBER_TEXT_MAX ||
        text[strspn(text, "0123456789+-.eE \t\r\n")] != '\0')
        return NAN;
    number = strtod(text, &end);
    return is_blank(end) ? number : NAN;
}

static int refuse_profile(const struct front_options *options, struct error *err)
{
    auto_buf struct buf names;

    buf_init(&names, ERROR_TEXT_MAX);
    for (size_t i = 0; i < options->profile_count; i++)
        buf_addf(&names, "%s\"%s\"", i > 0 ? ", " : "", options->profiles[i].name);
    return error_set(err, TOOL_PROFILE " must be one of %s", names.data);
}

static int read_profile(struct tool_call *call, const cJSON *object,
                        const struct front_options *options, struct error *err)
{
    const cJSON *value = json_get(object, TOOL_PROFILE);

    call->run.profile = (uint32_t)options->profile_default;
    if (value == NULL || cJSON_IsNull(value) || !tool_has_profiles(options))
        return 0;
    for (size_t i = 0; cJSON_IsString(value) && i < options->profile_count; i++) {
        if (strcmp(value->valuestring, options->profiles[i].name) == 0) {
            call->run.profile = (uint32_t)i;
            return 0;
        }
    }
    return refuse_profile(options, err);
}

static int read_timeout(struct tool_call *call, const cJSON *object,
                        const struct front_options *options, struct error *err)
{
    const struct front_options own = options_of_profile(options, call->run.profile);
    const cJSON *value = json_get(object, "timeout_seconds");
    double ms;

    options = &own;
    call->run.timeout_ms = options->timeout_ms;
    if (value == NULL || cJSON_IsNull(value))
        return 0;
    ms = ceil(to_number(value) * 1000.0);
    if (!(ms > 0) || ms > options->timeout_max_ms)
        return error_set(err, "timeout_seconds must be a number above 0 and at most %.10g",
                         options->timeout_max_ms / 1000.0);
    call->run.timeout_ms = (uint32_t)ms;
    return 0;
}

static bool is_known(const char *name, const struct front_options *options)
{
    if (strcmp(name, TOOL_PROFILE) == 0)
        return tool_has_profiles(options);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(name, known[i]) == 0)
            return true;
    }
    return false;
}

static void add_unknown(struct buf *note, const char *prefix, const char *name)
{
    size_t len = strlen(name);

    if (len > UNKNOWN_NAME_MAX)
        len = text_whole_end(name, UNKNOWN_NAME_MAX);
    buf_addf(note, "%s%s", note->len == 0 ? "arguments that were ignored: " : ", ", prefix);
    for (size_t i = 0; i < len; i++)
        buf_add(note, (unsigned char)name[i] < ' ' ? "?" : name + i, 1);
}

/* Clients add members of their own to every call: they are named, not refused. */
static void note_unknown(struct tool_call *call, const cJSON *object,
                         const struct front_options *options)
{
    auto_buf struct buf note;
    size_t count = 0;
    const cJSON *member;

    buf_init(&note, sizeof(call->note) - 1);
    cJSON_ArrayForEach(member, object)
    {
        if (!is_known(member->string, options) && ++count <= UNKNOWN_NAMED)
            add_unknown(&note, "", member->string);
    }
    if (call->files.unknown) {
        auto_free char *prefix = mem_printf("files[%zu].", call->files.unknown_index);

        add_unknown(&note, prefix, call->files.unknown);
    }
    if (count > UNKNOWN_NAMED)
        buf_addf(&note, " and %zu more", count - UNKNOWN_NAMED);
    if (note.len > 0)
        memcpy(call->note, note.data, note.len + 1);
}

static void set_keep(struct wire_run *run, const struct front_options *options)
{
    size_t chars =
        options->text_max > options->error_text_max ? options->text_max : options->error_text_max;
    size_t half = chars * BYTES_PER_CHAR / 2;

    if (half > LIMIT_KEEP_MAX / 2)
        half = LIMIT_KEEP_MAX / 2;
    run->keep_head = (uint32_t)half;
    run->keep_tail = (uint32_t)half;
}

/* What may come back of what the script leaves behind. More than one reply holds may come, so that
 * a file that is only named in the end takes no room from an image after it. Figures are made to
 * fit instead: in base64, beside a text of usual length, the reply holds them all. */
static void set_artifacts(struct wire_run *run, const struct front_options *options)
{
    size_t one =
        options->image_max > options->resource_max ? options->image_max : options->resource_max;
    size_t all = REPLIES_KEPT * options->reply_max;
    size_t figures = options->reply_max / 4 * 3 / 4 * 3;

    run->artifacts.count = (uint32_t)options->artifacts_max;
    run->artifacts.one = (uint32_t)one;
    run->artifacts.all =
        (uint32_t)(all < LIMIT_ARTIFACTS_BYTES_MAX ? all : LIMIT_ARTIFACTS_BYTES_MAX);
    run->artifacts.figures =
        (uint32_t)(figures < run->artifacts.all ? figures : run->artifacts.all);
}

int tool_read(struct tool_call *call, const cJSON *arguments, const struct front_options *options,
              struct error *err)
{
    const cJSON *object;
    const char *twice;

    *call = (struct tool_call){.run.label = ""};
    if (arguments == NULL || cJSON_IsNull(arguments))
        return error_set(err, "code is missing; it must be a string with the Python code to run");
    object = read_object(call, arguments, err);
    if (object == NULL)
        return -1;
    twice = json_duplicate(object);
    if (twice != NULL)
        return error_set(err, "the argument %.40s is there more than once", twice);
    if (read_code(call, object, options, err) < 0 || read_profile(call, object, options, err) < 0 ||
        read_timeout(call, object, options, err) < 0 ||
        read_stdin(call, object, options, err) < 0 || read_files(call, object, options, err) < 0)
        return -1;
    note_unknown(call, object, options);
    set_keep(&call->run, options);
    set_artifacts(&call->run, options);
    return 0;
}

void tool_done(struct tool_call *call)
{
    files_done(&call->files);
    json_free_at(&call->parsed);
}
