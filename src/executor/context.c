#include "executor/context.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"

#define FILE_MAX     65536
#define CONTEXTS_MAX 256

static cJSON *read_json(const char *path)
{
    size_t len;
    auto_free char *text = fd_read_file(path, FILE_MAX, &len);

    return text ? json_parse(text, len, NULL) : NULL;
}

/* The CLI keeps each context in a folder named by a hash; its meta.json says which one it is. The
 * certificates are below a folder of the same name. */
static bool read_context(const char *folder, const char *hash, const char *name,
                         struct context *ret)
{
    auto_free char *path = mem_printf("%s/contexts/meta/%s/meta.json", folder, hash);
    auto_free char *certs = mem_printf("%s/contexts/tls/%s/docker", folder, hash);
    auto_json cJSON *meta = read_json(path);
    const cJSON *endpoint = json_get_object(json_get_object(meta, "Endpoints"), "docker");
    const char *found = json_get_text(meta, "Name");
    const char *host = json_get_text(endpoint, "Host");

    if (!found || !host || strcmp(found, name) != 0)
        return false;
    *ret = (struct context){
        .from = mem_printf("Docker context '%s'", name),
        .host = mem_strdup(host),
        .certs = access(certs, F_OK) == 0 ? steal(&certs) : NULL,
        .trusting = cJSON_IsTrue(json_get(endpoint, "SkipTLSVerify")),
    };
    return true;
}

static bool look(const char *folder, const char *name, struct context *ret)
{
    auto_free char *all = mem_printf("%s/contexts/meta", folder);
    DIR *dir = opendir(all);
    struct dirent *entry;
    bool found = false;

    for (int i = 0; dir && !found && i < CONTEXTS_MAX && (entry = readdir(dir)); i++)
        found = read_context(folder, entry->d_name, name, ret);
    if (dir)
        closedir(dir);
    return found;
}

int context_find(const char *folder, const char *name, struct context *ret, struct error *err)
{
    auto_free char *path = mem_printf("%s/config.json", folder);
    auto_json cJSON *config = name ? NULL : read_json(path);

    if (!name)
        name = json_get_text(config, "currentContext");
    if (!name || !*name || strcmp(name, "default") == 0)
        return 0;
    if (look(folder, name, ret))
        return 1;
    return error_set(err,
                     "the Docker context '%s' is not below %s/contexts; choose another with "
                     "`docker context use`, or name the socket with --docker-host",
                     name, folder);
}

void context_done(struct context *context)
{
    free(context->from);
    free(context->host);
    free(context->certs);
    *context = (struct context){0};
}
