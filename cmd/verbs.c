#include "verbs.h"

#include <string.h>

#include "client_config.h"

static const struct verb_flag json_flags[] = {
    {"--json", NULL, "Print one JSON object", NULL},
    {NULL, NULL, NULL, NULL},
};

const struct verb_flag verbs_run_flags[] = {
    [VERBS_RUN_FILE] = {"--file", "[NAME=]PATH",
                        "Put a local file into /workspace, under this name; may come several times",
                        "FILE"},
    [VERBS_RUN_OUTPUTS] = {"--outputs", "DIR",
                           "Write what the script leaves in /workspace/outputs, and its figures, "
                           "below this folder",
                           "FILE"},
    {NULL, NULL, NULL, NULL},
};

static const struct verb_flag health_flags[] = {
    {"--ready", NULL, "Ask whether it could take a call, not only whether it is alive", NULL},
    {NULL, NULL, NULL, NULL},
};

static const struct verb_flag image_flags[] = {
    {"--profile", "NAME",
     "datascience (the default), gpu, or slim: Python alone; any other name "
     "together with --requirements",
     "datascience gpu slim"},
    {"--requirements", "FILE", "What to install, as for pip", "FILE"},
    {"--base", "IMAGE", "What to build on", NULL},
    {"--tag", "IMAGE", "The name of the new image; else python-sandbox:NAME", NULL},
    {"--network", "MODE", "The network of the build, as for docker build", NULL},
    {"--docker-host", "ENGINE", "The engine; else that of the docker command", NULL},
    {"--docker-cert-path", "FOLDER", "Certificates for an engine at tcp://", "FILE"},
    {NULL, NULL, NULL, NULL},
};

static const struct verb_flag client_flags[] = {
    {"--http", "URL", "The entry for the server at this address instead of a command to start",
     NULL},
    {"--name", "NAME", "What the client is to call the server (default: " CLIENT_CONFIG_NAME ")",
     NULL},
    {"--no-token", NULL, "The server at the address wants no token", NULL},
    {NULL, NULL, NULL, NULL},
};

static const struct verb verbs[] = {
    {"serve", "be an MCP server on stdin and stdout (the default), or over HTTP", cmd_serve,
     "[FLAGS]", true, NULL, NULL},
    {"run", "run one local file in the sandbox, as python FILE would", cmd_run, VERBS_RUN_USAGE,
     true, verbs_run_flags, "FILE"},
    {"doctor", "check engine and image, and say how to mend what fails", cmd_doctor,
     "[--json] [FLAGS]", true, json_flags, NULL},
    {"client-config", "print the entry for an MCP client's configuration file", cmd_client_config,
     CLIENT_CONFIG_USAGE, true, client_flags, CLIENT_CONFIG_CLIENTS},
    {"health", "ask a server over HTTP whether it is well", cmd_health, "[--ready] [URL]", true,
     health_flags, NULL},
    {"token", "print a fresh token for clients over HTTP", cmd_token, "", false, NULL, NULL},
    {"policy", "print what a script may do, and how its container is made", cmd_policy,
     "[--json] [FLAGS]", true, json_flags, NULL},
    {"image", "make the image of a profile, with the packages that it needs: image build",
     cmd_image, "build [FLAGS]", false, image_flags, "build"},
    {"audit", "check that an audit log is whole: audit verify FILE", cmd_audit, "verify FILE",
     false, NULL, "verify FILE"},
    {"version", "print the version, and what it was built with", cmd_version, "", false, NULL,
     NULL},
    {"front", NULL, cmd_front, "", false, NULL, NULL},
    {"table", NULL, cmd_table, "", false, NULL, NULL},
};

const struct verb *verbs_at(size_t index)
{
    return index < sizeof(verbs) / sizeof(verbs[0]) ? &verbs[index] : NULL;
}

static void take_out(int *argc, char **argv, int at, int count)
{
    memmove(&argv[at], &argv[at + count], (size_t)(*argc - at - count + 1) * sizeof(*argv));
    *argc -= count;
}

bool verbs_take_flag(int *argc, char **argv, const char *flag)
{
    for (int i = 1; i < *argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], flag) != 0)
            continue;
        take_out(argc, argv, i, 1);
        return true;
    }
    return false;
}

/* What comes after the flag, "" or "=VALUE"; NULL where the argument is another. */
static const char *after_flag(const char *argument, const char *flag)
{
    size_t len = strlen(flag);

    if (strncmp(argument, flag, len) != 0 || (argument[len] != '=' && argument[len] != '\0'))
        return NULL;
    return argument + len;
}

bool verbs_have_flag(char *const *arguments, const char *flag)
{
    while (*arguments && !after_flag(*arguments, flag))
        arguments++;
    return *arguments;
}

const char *verbs_take_value(int *argc, char **argv, const char *flag)
{
    for (int i = 1; i < *argc && strcmp(argv[i], "--") != 0; i++) {
        const char *value = after_flag(argv[i], flag);

        if (!value)
            continue;
        if (*value == '=') {
            take_out(argc, argv, i, 1);
            return value + 1;
        }
        value = i + 1 < *argc ? argv[i + 1] : "";
        take_out(argc, argv, i, i + 1 < *argc ? 2 : 1);
        return value;
    }
    return NULL;
}
