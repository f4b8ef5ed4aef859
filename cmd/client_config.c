/* Prints what an MCP client wants in its configuration file: the command that it shall start, or
 * the address that it shall call. */
#include "client_config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "config.h"
#include "setting.h"
#include "verbs.h"

#define URL_MAX         2000
#define SERVER_NAME_MAX 64

#define NOT_CARRIED                                                                                \
    "python-sandbox: %s is set here, but the client will not have it: where it is to count, give " \
    "--%s=%s\n"

static bool is_local(const char *host)
{
    static const char *const names[] = {"localhost", "127.", "[::1]"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncasecmp(host, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* HOST, HOST:PORT or [HOST]:PORT. Without a scheme only the port tells that it is an address: there
 * the host may be left out, and the port may not. */
static bool host_fits(const char *text, size_t len, bool is_url)
{
    size_t name = *text == '[' ? strcspn(text, "]") + 1 : strcspn(text, ":/");

    if (name > len || (name == 0 && is_url))
        return false;
    return (name == len && is_url) || text_is_port(text + name, len - name);
}

/* A URL, or ADDRESS:PORT as serve takes it; without a path it gets the server's. */
static int take_url(struct client_request *request, const char *text, struct error *err)
{
    const char *colon = strstr(text, "://");
    const char *host = colon ? colon + strlen("://") : text;
    size_t host_len = strcspn(host, "/");
    const char *path = host + host_len;
    bool secure = strncmp(text, "https://", strlen("https://")) == 0;

    if (colon && !secure && strncmp(text, "http://", strlen("http://")) != 0)
        return error_set(err, "--http=%.100s: must be http://, https:// or ADDRESS:PORT", text);
    if (strlen(text) > URL_MAX || !host_fits(host, host_len, colon))
        return error_set(err,
                         "--http=%.100s: must be an address such as http://localhost:8000/mcp or "
                         "localhost:8000, of at most %d bytes",
                         text, URL_MAX);
    for (const char *at = text; *at; at++)
        if (!isgraph((unsigned char)*at) || strchr("\"\\<>{}$`'", *at))
            return error_set(err, "--http=%.100s: has a character that no URL has", text);
    if (path[0] == '\0' || path[1] == '\0')
        path = "/mcp";
    request->url = mem_printf("%s://%s%.*s%s", secure ? "https" : "http",
                              *host == ':' ? "localhost" : "", (int)host_len, host, path);
    request->exposed = !secure && *host != ':' && !is_local(host);
    return 0;
}

static bool name_fits(const char *name)
{
    size_t len = strlen(name);

    for (const char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at) && *at != '-' && *at != '_')
            return false;
    return len > 0 && len <= SERVER_NAME_MAX;
}

/* Clients start servers in folders of their own. */
static int check_paths(const struct config *config, const char *file, struct error *err)
{
    static const char advice[] =
        "give the whole path, from / on: clients start servers in folders of their own";
    const struct setting *setting;

    if (file && *file != '/' && strcmp(file, CONFIG_NO_FILE) != 0)
        return error_set(err, "config: %s", advice);
    for (size_t i = 0; (setting = setting_at(i)); i++) {
        bool names_one = setting->kind == SETTING_PATH || setting->kind == SETTING_FOLDER;
        auto_free char *path = names_one ? setting_format(setting, config) : NULL;

        if (path && *path != '/')
            return error_set(err, "%s: %s", setting->name, advice);
    }
    return 0;
}

/* What is left of the command line without the verb and the client is for serve. */
static int fill(struct client_request *request, int argc, char **argv,
                const struct config_arguments *rest, struct error *err)
{
    char **next = argv;

    if (rest->count != 1)
        return error_set(err, "client-config needs the name of one client: " CLIENT_CONFIG_CLIENTS);
    request->client = client_find(rest->rest[0]);
    if (!request->client)
        return error_set(err, "\"%.100s\": unknown client; known are " CLIENT_CONFIG_CLIENTS,
                         rest->rest[0]);
    if (!name_fits(request->name))
        return error_set(err, "--name: must be letters, digits, - and _, at most %d",
                         SERVER_NAME_MAX);
    if (!request->url && check_paths(request->config, rest->file, err) < 0)
        return -1;
    for (int i = 1; i < argc; i++)
        if (argv[i] != rest->rest[0] && strcmp(argv[i], "--") != 0)
            *next++ = argv[i];
    *next = NULL;
    request->flags = argv;
    if (!request->url && !request->token)
        return error_set(err, "--no-token: is for --http; a command that is started wants none");
    return 0;
}

/* The client starts the command in an environment of its own. */
static void tell_variables(const struct client_request *request)
{
    const char *file = getenv(CONFIG_FILE_VARIABLE);
    const struct setting *setting;

    if (file && *file && !verbs_have_flag(request->flags, "--config"))
        fprintf(stderr, NOT_CARRIED, CONFIG_FILE_VARIABLE, "config", file);
    for (size_t i = 0; (setting = setting_at(i)); i++) {
        auto_free char *variable = setting_variable(setting);
        const char *set = getenv(variable);
        auto_free char *value = set && *set ? setting_format(setting, request->config) : NULL;
        auto_free char *flag = mem_printf("--%s", setting->name);

        if (value && !verbs_have_flag(request->flags, flag))
            fprintf(stderr, NOT_CARRIED, variable, setting->name, value);
    }
}

int cmd_client_config(int argc, char **argv)
{
    const char *url = verbs_take_value(&argc, argv, "--http");
    const char *name = verbs_take_value(&argc, argv, "--name");
    bool no_token = verbs_take_flag(&argc, argv, "--no-token");
    struct config config;
    struct client_request request = {
        .name = name ? name : CLIENT_CONFIG_NAME, .token = !no_token, .config = &config};
    struct config_arguments rest;
    struct error err;
    int status = EXIT_SUCCESS;

    if (config_load(&config, argc, argv, false, CLIENT_CONFIG_USAGE,
                    "Print the entry for the configuration file of an MCP client: the command to "
                    "start, with the flags given here, or with --http the address to call. CLIENT "
                    "is one of " CLIENT_CONFIG_CLIENTS ".",
                    &rest, &err) < 0) {
        fprintf(stderr, "python-sandbox: %s\n", err.text);
        return 2;
    }
    if ((url && take_url(&request, url, &err) < 0) || fill(&request, argc, argv, &rest, &err) < 0 ||
        client_print_entry(&request, &err) < 0) {
        fprintf(stderr, "python-sandbox: %s\n", err.text);
        status = 2;
    } else if (!url) {
        tell_variables(&request);
    }
    free(request.url);
    free(rest.rest);
    config_done(&config);
    return status;
}
