#include "folders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/folder.h"
#include "base/mem.h"
#include "config.h"
#include "executor/endpoint.h"

/* What scripts may not get at with a folder of the host: the engine's socket is root there. */
struct socket_check {
    const char *source;
    char *inside; /* a socket of the engine below it, or NULL */
};

static void check_socket(void *data, const char *path, const char *from)
{
    struct socket_check *check = data;
    auto_free char *real = realpath(path, NULL);

    (void)from;
    if (!check->inside && real && folder_is_below(real, check->source))
        check->inside = steal(&real);
}

static int check_sockets(const char *source, const struct endpoint *endpoint, struct error *err)
{
    struct socket_check check = {.source = source};
    auto_free char *inside = NULL;
    int r = endpoint_each(endpoint, check_socket, &check, err);

    inside = check.inside;
    if (inside)
        return error_set(err, "%.200s has the engine's socket in it, %.200s", source, inside);
    return r;
}

static int resolve(struct grants_folder *folder, const struct endpoint *endpoint, struct error *err)
{
    auto_free char *real = realpath(folder->source, NULL);
    struct stat status;

    if (!real && errno == ENOENT)
        return 0;
    if (!real || stat(real, &status) < 0)
        return error_set(err, "%.200s: %s", folder->source, strerror(errno));
    if (!S_ISDIR(status.st_mode))
        return error_set(err, "%.200s is no folder", folder->source);
    if (!folder_is_plain(real))
        return error_set(err, "%.200s leads to %.200s, which cannot be granted", folder->source,
                         real);
    if (folder_check_source(real, err) < 0 || check_sockets(real, endpoint, err) < 0)
        return -1;
    free(folder->source);
    folder->source = steal(&real);
    return 0;
}

static int resolve_all(struct config_profile *profile, const struct endpoint *endpoint,
                       struct error *err)
{
    for (size_t i = 0; i < profile->data_count; i++)
        if (resolve(&profile->data[i], endpoint, err) < 0)
            return error_wrap(err, "profile %s: \"data\"", profile->name);
    return 0;
}

static bool has_data(const struct config *config)
{
    for (size_t i = 0; i < config->profile_count; i++)
        if (config->profiles[i].data_count > 0)
            return true;
    return false;
}

int folders_resolve(struct config *config, struct error *err)
{
    struct endpoint *endpoint;
    int r = 0;

    if (!has_data(config))
        return 0;
    endpoint = endpoint_new(config->docker_host, config->docker_cert_path);
    /* Where an engine on another machine has a folder of that name, this one says nothing of it. */
    for (size_t i = 0; r == 0 && i < config->profile_count && !endpoint_is_remote(endpoint); i++)
        r = resolve_all(&config->profiles[i], endpoint, err);
    endpoint_free(endpoint);
    return r;
}
