/* The entry for this server in the configuration file of an MCP client. */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

struct config;
struct error;

#define CLIENT_CONFIG_CLIENTS "claude-code claude-desktop vscode cursor codex gemini generic"
#define CLIENT_CONFIG_NAME    "python"
#define CLIENT_CONFIG_USAGE   "CLIENT [--http URL [--no-token]] [--name NAME] [FLAGS]"

/* What the entry is to say. */
struct client_request {
    const struct client *client;
    const char *name; /* of the server, as the client calls it */
    char *url;        /* NULL: the client starts a command */
    bool token;       /* the server at the address wants one */
    bool exposed;     /* the address is unencrypted, and on another machine */
    const struct config *config;
    char **flags; /* for serve, with a NULL after the last */
};

/* One of CLIENT_CONFIG_CLIENTS, or NULL. */
const struct client *client_find(const char *name);

/* Prints the entry to stdout and, for people, where it goes to stderr. 0, or -1 with err. */
int client_print_entry(const struct client_request *request, struct error *err);

/* Writes to stdout: a tree as JSON with two blanks for each level, or an entry (texts, lists of
 * texts, whole numbers) as the TOML table [HEADING.NAME]. */
void client_print_json(const cJSON *tree);
void client_print_toml(const char *heading, const char *name, const cJSON *entry);
