/* Prints what a script may do: the grants in plain words, then the exact body that creates a
 * container and the seccomp profile in it. Asks no engine. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "config.h"
#include "executor/executor.h"
#include "executor/seccomp.h"
#include "executor/spec.h"
#include "options.h"
#include "sandbox/supervisor.h"
#include "verbs.h"

#define MB (1024 * 1024)

/* The parts of the body that differ from container to container, and the two long texts in it. */
static cJSON *shown_body(const struct spec_profile *profile)
{
    const struct spec_instance instance = {
        .image_id = "<id of the image>",
        .seccomp = "<the profile below>",
        .owner = "<process id, start time, boot id, namespace of the server>",
        .uid = LIMIT_UID_FIRST,
        .gpus = profile->gpus.kind == GRANTS_GPUS_NONE ? GPUS_NONE : GPUS_RUNTIME,
    };
    auto_free char *text = spec_body(profile, &instance);
    cJSON *body = json_parse(text, strlen(text), NULL);
    cJSON *command = json_get_array(body, "Cmd");

    for (int i = 0; i < cJSON_GetArraySize(command); i++) {
        if (strcmp(cJSON_GetArrayItem(command, i)->valuestring, supervisor_py) == 0)
            cJSON_ReplaceItemInArray(command, i, cJSON_CreateString("<the supervisor>"));
    }
    return body;
}

static void print_preload(const struct config_profile *profile)
{
    if (profile->preload_count == 0)
        return;
    printf("  preload    ");
    for (size_t i = 0; i < profile->preload_count; i++)
        printf("%s%s", i ? ", " : "", profile->preload[i]);
    printf(": imported before there is a script\n");
}

static void print_folders_and_gpus(const struct config_profile *profile)
{
    auto_free char *gpus = gpus_text(&profile->gpus);

    for (size_t i = 0; i < profile->data_count; i++)
        printf("  data       %s is %s of the host: read-only, nosuid, nodev, noexec;\n"
               "             no mount closes the sockets and pipes in it\n",
               profile->data[i].path, profile->data[i].source);
    if (profile->gpus.kind != GRANTS_GPUS_NONE)
        printf("  GPUs       %s: their devices, and the driver's files read-only\n", gpus);
}

static void print_grants(const struct config_profile *profile)
{
    printf("profile %s: everything is denied but\n"
           "\n"
           "  read       the files of the image (root is read-only)\n"
           "  write      /workspace %" PRId64 " MB, /tmp %" PRId64 " MB, /dev/shm %" PRId64
           " MB, /dev/mqueue: in memory, gone with the container\n"
           "  execute    what the image holds (%s)\n"
           "  memory     %" PRId64 " MB, the writable places included; no swap\n"
           "  CPU        %g of one or more processors\n"
           "  processes  %" PRId64 ", threads included\n"
           "  time       %" PRId64 " s; a call may ask for up to %" PRId64 " s\n"
           "  identity   a user id of its own from %d to %d; no capability, no new privileges\n"
           "  network    lo alone, for servers and clients inside the script\n"
           "  kernel     the system calls of the seccomp profile below\n",
           profile->name, profile->workspace / MB, profile->tmp / MB, profile->shm / MB,
           profile->exec ? "and what is in /workspace and /tmp; nothing from /dev/shm"
                         : "nothing from the writable places",
           profile->memory / MB, (double)profile->cpus_milli / 1000, profile->pids,
           profile->timeout_s, profile->timeout_max_s, LIMIT_UID_FIRST, LIMIT_UID_LAST);
    print_folders_and_gpus(profile);
    print_preload(profile);
    if (profile->runtime)
        printf("  runtime    %s\n", profile->runtime);
}

static void print_json(const char *title, const cJSON *json)
{
    char *text = cJSON_Print(json);

    printf("\n%s:\n\n%s\n", title, text ? text : "");
    cJSON_free(text);
}

static cJSON *whole(const struct config *config, const struct executor_options *options,
                    const cJSON *seccomp)
{
    cJSON *all = cJSON_CreateObject();
    cJSON *profiles = config->profiles_named ? cJSON_AddArrayToObject(all, "profiles") : NULL;

    for (size_t i = 0; i < config->profile_count; i++) {
        cJSON *one = profiles ? cJSON_CreateObject() : all;

        cJSON_AddStringToObject(one, "profile", config->profiles[i].name);
        cJSON_AddItemToObject(one, "create", shown_body(&options->profiles[i].spec));
        if (profiles)
            cJSON_AddItemToArray(profiles, one);
    }
    cJSON_AddItemToObject(all, "seccomp", cJSON_Duplicate(seccomp, true));
    return all;
}

static int print_policy(const struct config *config, bool as_json, struct error *err)
{
    struct executor_options options;
    struct utsname machine;
    auto_free char *text = NULL;
    auto_json cJSON *seccomp = NULL;

    options_executor(config, "", &options);
    if (uname(&machine) < 0)
        return error_set(err, "uname fails");
    text = seccomp_profile(machine.machine, err);
    if (!text)
        return -1;
    seccomp = json_parse(text, strlen(text), NULL);
    if (as_json) {
        auto_json cJSON *all = whole(config, &options, seccomp);
        char *line = cJSON_Print(all);

        puts(line ? line : "{}");
        cJSON_free(line);
        return 0;
    }
    for (size_t i = 0; i < config->profile_count; i++) {
        print_grants(&config->profiles[i]);
        putchar('\n');
    }
    printf("There is no setting for network access, capabilities, privileged mode, host "
           "namespaces, writable mounts, or devices other than GPUs.\n");
    for (size_t i = 0; i < config->profile_count; i++) {
        auto_json cJSON *body = shown_body(&options.profiles[i].spec);
        auto_free char *title =
            mem_printf("profile %s: POST /containers/create", config->profiles[i].name);

        print_json(config->profiles_named ? title : "POST /containers/create", body);
    }
    print_json("seccomp profile", seccomp);
    return 0;
}

int cmd_policy(int argc, char **argv)
{
    bool as_json = verbs_take_flag(&argc, argv, "--json");
    struct config config;
    struct config_arguments rest;
    struct error err;
    int status = EXIT_SUCCESS;

    if (options_load(&config, argc, argv, false, "[--json] [FLAGS]",
                     "Print what a script may do, and how its container is made.", &rest,
                     &err) < 0) {
        fprintf(stderr, "python-sandbox: %s\n", err.text);
        return 2;
    }
    if (rest.count) {
        fprintf(stderr, "python-sandbox: policy takes flags only, not \"%s\"\n", rest.rest[0]);
        status = 2;
    } else if (print_policy(&config, as_json, &err) < 0) {
        fprintf(stderr, "python-sandbox: %s\n", err.text);
        status = EXIT_FAILURE;
    }
    free(rest.rest);
    config_done(&config);
    return status;
}
