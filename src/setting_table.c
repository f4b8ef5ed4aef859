#include "setting.h"

#include "base/limits.h"
#include "base/log.h"
#include "config.h"

#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define TIB (1024 * GIB)

#define DAY_S (LIMIT_TIMEOUT_MS_MAX / 1000)

#define STRING(name, member, kind, group, unset, meaning)                                          \
    {                                                                                              \
        name, kind, group, offsetof(struct config, member), 0, 0, 0, unset, meaning                \
    }
#define NUMBER(name, member, kind, group, min, max, fallback, unset, meaning)                      \
    {                                                                                              \
        name, kind, group, offsetof(struct config, member), min, max, fallback, unset, meaning     \
    }

static const struct setting table[] = {
    STRING("docker-host", docker_host, SETTING_SOCKET, SETTING_GROUP_ENGINE,
           "looked for in the usual places", "Where the Docker Engine is; tcp:// is TLS, always"),
    STRING("docker-cert-path", docker_cert_path, SETTING_FOLDER, SETTING_GROUP_ENGINE,
           "the variable DOCKER_CERT_PATH, or what the Docker context has",
           "Folder with ca.pem, cert.pem and key.pem for an engine at tcp://"),
    STRING("image", image, SETTING_IMAGE, SETTING_GROUP_ENGINE,
           "python:3.12-slim, or python-sandbox:slim where the engine has only that",
           "Image with the Python that runs the scripts"),
    NUMBER("pull", pull, SETTING_PULL, SETTING_GROUP_ENGINE, false, true, true, NULL,
           "Whether an image that the engine lacks is downloaded"),
    NUMBER("pull-timeout", pull_timeout_s, SETTING_SECONDS, SETTING_GROUP_ENGINE, 10, 86400, 1800,
           NULL, "Longest time for a download"),
    STRING("profile", profile, SETTING_NAME, SETTING_GROUP_ENGINE, "the first in the JSON file",
           "Profile of scripts that ask for none"),

    NUMBER("timeout", timeout_s, SETTING_SECONDS, SETTING_GROUP_SCRIPT, 1, DAY_S, 30, NULL,
           "Time for a script that asks for none"),
    NUMBER("timeout-max", timeout_max_s, SETTING_SECONDS, SETTING_GROUP_SCRIPT, 1, DAY_S, 300, NULL,
           "Longest time that a script may ask for"),
    NUMBER("memory", memory, SETTING_SIZE, SETTING_GROUP_SCRIPT, 64 * MIB, TIB, 512 * MIB, NULL,
           "Memory, files in workspace, tmp and shm included; never swap"),
    NUMBER("cpus", cpus_milli, SETTING_CPUS, SETTING_GROUP_SCRIPT, 100, 1024000, 1000, NULL,
           "Processors, as a decimal number"),
    NUMBER("pids", pids, SETTING_COUNT, SETTING_GROUP_SCRIPT, 16, 32768, 128, NULL,
           "Processes and threads"),
    NUMBER("workspace", workspace, SETTING_SIZE, SETTING_GROUP_SCRIPT, MIB, TIB, 256 * MIB, NULL,
           "Room in /workspace, where the script runs"),
    NUMBER("tmp", tmp, SETTING_SIZE, SETTING_GROUP_SCRIPT, MIB, TIB, 64 * MIB, NULL,
           "Room in /tmp"),
    NUMBER("shm", shm, SETTING_SIZE, SETTING_GROUP_SCRIPT, MIB, TIB, 64 * MIB, NULL,
           "Room in /dev/shm, which multiprocessing uses"),

    NUMBER("warm", warm, SETTING_COUNT, SETTING_GROUP_LOAD, 0, 64, 2, NULL,
           "Containers kept ready, so that a call starts at once"),
    NUMBER("max-running", max_running, SETTING_COUNT, SETTING_GROUP_LOAD, 1, 256, 8, NULL,
           "Scripts that run at a time"),
    NUMBER("memory-budget", memory_budget, SETTING_SIZE, SETTING_GROUP_LOAD, 0, 1024 * TIB, 0,
           "0, which means 75 % of the host's memory",
           "Memory for running and ready containers together"),
    NUMBER("queue", queue, SETTING_COUNT, SETTING_GROUP_LOAD, 0, 1000, 64, NULL,
           "Calls that may wait for a place"),
    NUMBER("queue-timeout", queue_timeout_s, SETTING_SECONDS, SETTING_GROUP_LOAD, 1, 3600, 20, NULL,
           "Longest time that a call waits for a place"),

    NUMBER("code-max", code_max, SETTING_SIZE, SETTING_GROUP_LENGTH, KIB, LIMIT_CODE_MAX, MIB, NULL,
           "Longest script"),
    NUMBER("stdin-max", stdin_max, SETTING_SIZE, SETTING_GROUP_LENGTH, 0, LIMIT_STDIN_MAX, MIB,
           NULL, "Longest standard input for a script"),
    NUMBER("files-max", files_max, SETTING_COUNT, SETTING_GROUP_LENGTH, 0, LIMIT_FILES_MAX, 64,
           NULL, "Files that may come with a script"),
    NUMBER("files-bytes-max", files_bytes_max, SETTING_SIZE, SETTING_GROUP_LENGTH, 0,
           LIMIT_FILES_BYTES_MAX, 16 * MIB, NULL, "Bytes of all files that come with a script"),
    NUMBER("text-max", text_max, SETTING_COUNT, SETTING_GROUP_LENGTH, 1000, 1000000, 50000, NULL,
           "Characters of a script's output in an answer"),
    NUMBER("error-text-max", error_text_max, SETTING_COUNT, SETTING_GROUP_LENGTH, 1000, 1000000,
           10000, NULL, "Characters of a script's output in an answer that reports a failure"),
    NUMBER("artifacts-max", artifacts_max, SETTING_COUNT, SETTING_GROUP_LENGTH, 0,
           LIMIT_ARTIFACTS_MAX, 64, NULL,
           "Figures and files in /workspace/outputs that an answer names"),
    NUMBER("image-max", image_max, SETTING_SIZE, SETTING_GROUP_LENGTH, 0, 3840 * KIB, 512 * KIB,
           NULL, "Largest image that an answer shows; 0: none is shown"),
    NUMBER("image-side-max", image_side_max, SETTING_COUNT, SETTING_GROUP_LENGTH, 1, 8000, 2000,
           NULL, "Longest side of an image that an answer shows, in pixels"),
    NUMBER("resource-max", resource_max, SETTING_SIZE, SETTING_GROUP_LENGTH, 0, 4 * MIB, 32 * KIB,
           NULL, "Largest file that is attached to an answer, images aside; 0: none is attached"),
    NUMBER("reply-max", reply_max, SETTING_SIZE, SETTING_GROUP_LENGTH, 16 * KIB, 8 * MIB, 900000,
           NULL, "Bytes of a whole answer"),
    NUMBER("structured-content", structured_content, SETTING_WHETHER, SETTING_GROUP_LENGTH, 0, 2, 0,
           NULL, "Whether answers have a structured copy; auto: not where a client hides the text"),

    STRING(
        "http", http, SETTING_ADDRESS, SETTING_GROUP_HTTP, "stdin and stdout are served",
        "Serve HTTP there instead of stdin and stdout; localhost and :PORT are this machine only"),
    STRING("token-file", token_file, SETTING_PATH, SETTING_GROUP_HTTP,
           "the variable " SETTING_VARIABLE_PREFIX "TOKEN, or no token",
           "Tokens that clients must show, one a line; python-sandbox token makes one"),
    STRING("allowed-host", allowed_hosts, SETTING_HOSTS, SETTING_GROUP_HTTP,
           "localhost and its addresses", "Further names by which clients may call the server"),
    STRING("allowed-origin", allowed_origins, SETTING_ORIGINS, SETTING_GROUP_HTTP, "none",
           "Web pages that may call the server, such as https://app.example.com"),
    NUMBER("drain", drain_s, SETTING_SECONDS, SETTING_GROUP_HTTP, 0, 3600, 0, NULL,
           "Time for running calls to end when the server is stopped"),
    NUMBER("retry-elsewhere", retry_elsewhere, SETTING_SWITCH, SETTING_GROUP_HTTP, false, true,
           false, NULL,
           "Answer a call that found no container (busy, sandbox_error) with status 503, so that a "
           "load balancer tries another server"),
    NUMBER("http-without-token-is-unsafe", http_without_token, SETTING_SWITCH, SETTING_GROUP_HTTP,
           false, true, false, NULL,
           "Let anyone who reaches the address run scripts, on whatever network it is"),

    STRING("audit-log", audit_log, SETTING_PATH, SETTING_GROUP_SERVER, "none is kept",
           "Append a line for each call to this file; python-sandbox audit verify checks it"),
    NUMBER("audit-code", audit_code, SETTING_SWITCH, SETTING_GROUP_SERVER, false, true, false, NULL,
           "Whether the lines of the audit log hold the scripts"),
    NUMBER("log-level", log_level, SETTING_LEVEL, SETTING_GROUP_SERVER, LOG_LEVEL_ERROR,
           LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, NULL, "How much is told on stderr"),
};

const struct setting *setting_at(size_t index)
{
    return index < sizeof(table) / sizeof(table[0]) ? &table[index] : NULL;
}

bool setting_is_of_profile(const struct setting *setting)
{
    return setting->group == SETTING_GROUP_SCRIPT ||
           setting->offset == offsetof(struct config, image) ||
           setting->offset == offsetof(struct config, warm);
}

const char *setting_group_title(enum setting_group group)
{
    static const char *const titles[SETTING_GROUP_COUNT] = {
        [SETTING_GROUP_ENGINE] = "Engine, image and profile:",
        [SETTING_GROUP_SCRIPT] = "Limits of one script:",
        [SETTING_GROUP_LOAD] = "Scripts at a time:",
        [SETTING_GROUP_LENGTH] = "Lengths of requests and answers:",
        [SETTING_GROUP_HTTP] = "Serving over HTTP:",
        [SETTING_GROUP_SERVER] = "The program itself:",
    };

    return titles[group];
}
