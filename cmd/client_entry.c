/* The forms of the entries, as each client's own documentation has them. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "client_config.h"
#include "config.h"
#include "executor/endpoint.h"
#include "executor/inside.h"
#include "executor/remote.h"

#define INPUT_ID "python-sandbox-token"

/* From the end of a call that waited and ran as long as it may to its answer, and to spare. */
#define ANSWER_S 10

#define VARIABLE CONFIG_TOKEN_VARIABLE
#define FROM_VARIABLE                                                                              \
    "the token is taken from the variable " VARIABLE " in the environment of the client"

struct client {
    const char *name;
    const char *file;        /* where the entry goes, for people */
    const char *servers;     /* the member that holds the servers */
    bool toml;               /* else JSON */
    bool asks;               /* it asks for the token, and keeps it: an "input" */
    const char *type_stdio;  /* of "type"; NULL: without */
    const char *type_http;   /* likewise */
    const char *url;         /* member for the address; NULL: the client starts commands only */
    const char *token;       /* member for the token itself; NULL: it goes into "headers" */
    const char *token_value; /* how the token is named there */
    const char *token_note;  /* for people */
    const char *timeout;     /* member for the longest time of a call; NULL: has none */
    int64_t per_second;      /* its units in a second */
};

static const struct client clients[] = {
    {
        .name = "claude-code",
        .file = ".mcp.json in the folder of the project; or hand the part in braces behind the "
                "name to: claude mcp add-json NAME '{...}'",
        .servers = "mcpServers",
        .type_stdio = "stdio",
        .type_http = "http",
        .url = "url",
        .token_value = "Bearer ${" VARIABLE "}",
        .token_note = FROM_VARIABLE,
        .timeout = "timeout",
        .per_second = 1000,
    },
    {
        .name = "claude-desktop",
        .file = "claude_desktop_config.json (Settings, Developer, Edit Config)",
        .servers = "mcpServers",
        .token_value = "Bearer <token>",
        .token_note =
            "put the token in the place of <token>: the client takes it from nowhere else",
    },
    {
        .name = "vscode",
        .file = ".vscode/mcp.json in the folder of the project, or the user's mcp.json (command "
                "\"MCP: Open User Configuration\")",
        .servers = "servers",
        .asks = true,
        .type_stdio = "stdio",
        .type_http = "http",
        .url = "url",
        .token_value = "Bearer ${input:" INPUT_ID "}",
        .token_note = "the editor asks for the token once, and keeps it",
    },
    {
        .name = "cursor",
        .file = "~/.cursor/mcp.json, or .cursor/mcp.json in the folder of the project",
        .servers = "mcpServers",
        .type_stdio = "stdio",
        .url = "url",
        .token_value = "Bearer ${env:" VARIABLE "}",
        .token_note = FROM_VARIABLE,
    },
    {
        .name = "codex",
        .file = "~/.codex/config.toml",
        .servers = "mcp_servers",
        .toml = true,
        .url = "url",
        .token = "bearer_token_env_var",
        .token_value = VARIABLE,
        .token_note = FROM_VARIABLE,
        .timeout = "tool_timeout_sec",
        .per_second = 1,
    },
    {
        .name = "gemini",
        .file = "~/.gemini/settings.json, or .gemini/settings.json in the folder of the project",
        .servers = "mcpServers",
        .url = "httpUrl",
        .token_value = "Bearer ${" VARIABLE "}",
        .token_note = FROM_VARIABLE,
        .timeout = "timeout",
        .per_second = 1000,
    },
    {
        .name = "generic",
        .file = "the client's file of MCP servers; most clients take this form",
        .servers = "mcpServers",
        .type_http = "http",
        .url = "url",
        .token_value = "Bearer <token>",
        .token_note = "put the token in the place of <token>, or what the client has instead",
    },
};

const struct client *client_find(const char *name)
{
    for (size_t i = 0; i < sizeof(clients) / sizeof(clients[0]); i++)
        if (strcmp(clients[i].name, name) == 0)
            return &clients[i];
    return NULL;
}

static cJSON *new_entry(const char *type)
{
    cJSON *entry = cJSON_CreateObject();

    if (type)
        cJSON_AddStringToObject(entry, "type", type);
    return entry;
}

static void add_timeout(cJSON *entry, const struct client_request *request)
{
    const struct config *config = request->config;
    int64_t longest = 0, seconds;

    for (size_t i = 0; i < config->profile_count; i++)
        if (config->profiles[i].timeout_max_s > longest)
            longest = config->profiles[i].timeout_max_s;
    seconds = config->queue_timeout_s + longest + ANSWER_S;
    if (request->client->timeout)
        cJSON_AddNumberToObject(entry, request->client->timeout,
                                (double)(seconds * request->client->per_second));
}

static void add_word(cJSON *list, const char *word)
{
    cJSON_AddItemToArray(list, cJSON_CreateString(word));
}

static void add_flag(cJSON *list, const char *name, const char *value)
{
    auto_free char *flag = mem_printf("--%s=%s", name, value);

    add_word(list, flag);
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The engine that this environment names is not found from a client's, which is almost empty. */
static void add_engine(cJSON *args, const struct config *config)
{
    const char *host = getenv("DOCKER_HOST");
    struct endpoint *endpoint = NULL;

    if (!host || config->docker_host || (!starts(host, "unix://") && !starts(host, "tcp://")))
        return;
    add_flag(args, "docker-host", host);
    if (config->docker_cert_path)
        return;
    endpoint = endpoint_new(NULL, NULL);
    if (endpoint_remote(endpoint))
        add_flag(args, "docker-cert-path", endpoint_remote(endpoint)->certs.folder);
    endpoint_free(endpoint);
}

/* A command is of use where the client is. What an engine itself starts in a container has no
 * parent there; a shell there, as in a container for development, may well have a client beside it.
 */
static int check_place(struct error *err)
{
    if (getppid() != 0 || !inside_container())
        return 0;
    return error_set(err, "this program is inside a container, where no client can start it. Give "
                          "the client the command docker, with the arguments `run -i --rm "
                          "-v /var/run/docker.sock:/var/run/docker.sock --group-add GROUP IMAGE` "
                          "(GROUP: what `stat -c %%g /var/run/docker.sock` prints on the host), or "
                          "for a server that is up ask for --http=URL");
}

static cJSON *stdio_entry(const struct client_request *request, struct error *err)
{
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
    cJSON *entry, *args;

    if (check_place(err) < 0)
        return NULL;
    if (len < 0) {
        error_set(err, "cannot read /proc/self/exe: is /proc mounted?");
        return NULL;
    }
    path[len] = '\0';
    entry = new_entry(request->client->type_stdio);
    cJSON_AddStringToObject(entry, "command", path);
    args = cJSON_AddArrayToObject(entry, "args");
    add_word(args, "serve");
    for (char **flag = request->flags; *flag; flag++)
        add_word(args, *flag);
    add_engine(args, request->config);
    add_timeout(entry, request);
    return entry;
}

/* For a client that starts commands only: the usual bridge, which takes its header from its
 * environment, since the clients on some systems split arguments at blanks. */
static cJSON *bridge_entry(const struct client_request *request)
{
    cJSON *entry = new_entry(request->client->type_stdio);
    cJSON *args;

    cJSON_AddStringToObject(entry, "command", "npx");
    args = cJSON_AddArrayToObject(entry, "args");
    add_word(args, "-y");
    add_word(args, "mcp-remote");
    add_word(args, request->url);
    if (request->exposed)
        add_word(args, "--allow-http");
    if (request->token) {
        add_word(args, "--header");
        add_word(args, "Authorization:${AUTHORIZATION}");
        cJSON_AddStringToObject(cJSON_AddObjectToObject(entry, "env"), "AUTHORIZATION",
                                request->client->token_value);
    }
    return entry;
}

static cJSON *http_entry(const struct client_request *request)
{
    const struct client *client = request->client;
    cJSON *entry;

    if (!client->url)
        return bridge_entry(request);
    entry = new_entry(client->type_http);
    cJSON_AddStringToObject(entry, client->url, request->url);
    if (request->token && client->token)
        cJSON_AddStringToObject(entry, client->token, client->token_value);
    else if (request->token)
        cJSON_AddStringToObject(cJSON_AddObjectToObject(entry, "headers"), "Authorization",
                                client->token_value);
    add_timeout(entry, request);
    return entry;
}

static void add_input(cJSON *root)
{
    cJSON *input = cJSON_CreateObject();

    cJSON_AddStringToObject(input, "type", "promptString");
    cJSON_AddStringToObject(input, "id", INPUT_ID);
    cJSON_AddStringToObject(input, "description", "Token of python-sandbox");
    cJSON_AddBoolToObject(input, "password", true);
    cJSON_AddItemToArray(cJSON_AddArrayToObject(root, "inputs"), input);
}

int client_print_entry(const struct client_request *request, struct error *err)
{
    const struct client *client = request->client;
    auto_json cJSON *root = cJSON_CreateObject();
    cJSON *entry = request->url ? http_entry(request) : stdio_entry(request, err);

    if (!entry)
        return -1;
    if (request->url && request->token && client->asks)
        add_input(root);
    cJSON_AddItemToObject(cJSON_AddObjectToObject(root, client->servers), request->name, entry);
    if (client->toml)
        client_print_toml(client->servers, request->name, entry);
    else
        client_print_json(root);
    if (fflush(stdout) != 0)
        return error_set(err, "the entry could not be written");
    fprintf(stderr, "For %s.\n", client->file);
    if (request->url && request->flags[0])
        fputs("The server at that address has settings of its own: the flags given here only say "
              "how long a call may take.\n",
              stderr);
    if (request->url && request->token)
        fprintf(stderr, "With HTTP, %s.\n", client->token_note);
    if (request->exposed && request->token)
        fputs("Anyone on the way can read the token: use https, or an address of this machine.\n",
              stderr);
    return 0;
}
