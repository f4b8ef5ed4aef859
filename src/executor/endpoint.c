#include "executor/endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "executor/address.h"
#include "executor/context.h"
#include "executor/inside.h"
#include "executor/remote.h"

#define TRIED_MAX 1600

#define auto_context __attribute__((cleanup(context_done)))
#define auto_address __attribute__((cleanup(address_done)))

struct endpoint {
    char *docker_host, *cert_path; /* as configured, or NULL */
    char *path;                    /* the socket that was found last */
    bool is_remote;
    bool settled;
    struct remote *remote; /* of a remote engine; NULL: unfit says why */
    struct error unfit;
};

/* What keeps a path from being connected to; of all that were tried, the last of these is told. */
enum obstacle {
    NOTHING_THERE,
    NOBODY_LISTENS,
    NOT_PERMITTED,
    NO_SOCKET,
    REPLACED, /* a socket was mounted here, and its file has gone since */
};

struct search {
    struct buf tried; /* "\n  path: reason" for each */
    enum obstacle worst;
    gid_t group; /* of the first socket that may not be connected to */
    char *found;
};

static const char *env(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

static int try_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    auto_close int fd = -1;

    if (strlen(path) >= sizeof(address.sun_path))
        return ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path) + 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errno;
    /* EAGAIN: somebody listens, and has more callers than it can take at once. */
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 && errno != EAGAIN)
        return errno;
    return 0;
}

static enum obstacle obstacle_of(int reason, const struct stat *status)
{
    if (status && !S_ISSOCK(status->st_mode))
        return NO_SOCKET;
    if (reason == EACCES)
        return NOT_PERMITTED;
    if (reason != ECONNREFUSED)
        return NOTHING_THERE;
    /* A mounted file stays when it is deleted where it came from, and then has no name. */
    return status && status->st_nlink == 0 ? REPLACED : NOBODY_LISTENS;
}

/* status: of what is at the path, or NULL. The kernel refuses what is no socket as if nobody
 * listened, or for want of a permission. */
static const char *explain(struct search *search, int reason, const struct stat *status)
{
    enum obstacle obstacle = obstacle_of(reason, status);

    if (obstacle == NOT_PERMITTED && search->worst < NOT_PERMITTED)
        search->group = status ? status->st_gid : INSIDE_NO_GROUP;
    if (obstacle > search->worst)
        search->worst = obstacle;
    if (obstacle == NO_SOCKET)
        return S_ISDIR(status->st_mode) ? "is a directory, not a socket"
                                        : "is a file, not a socket";
    return strerror(reason);
}

static void try_path(void *data, const char *path, const char *from)
{
    struct search *search = data;
    struct stat status;
    int reason;

    if (search->found)
        return;
    reason = try_connect(path);
    if (reason == 0) {
        search->found = mem_strdup(path);
        return;
    }
    (void)buf_addf(&search->tried, "\n  %s%s%s%s: %s", path, from ? " (" : "", from ? from : "",
                   from ? ")" : "",
                   explain(search, reason, stat(path, &status) == 0 ? &status : NULL));
}

/* The home of a user that no one knows is "/". The caller frees. */
static char *below(const char *folder, const char *name)
{
    size_t len = strlen(folder);

    return mem_printf("%s%s%s", folder, len > 0 && folder[len - 1] == '/' ? "" : "/", name);
}

static void visit_below(const char *folder, const char *name, endpoint_visit *visit, void *data)
{
    auto_free char *path = folder ? below(folder, name) : NULL;

    if (path)
        visit(data, path, NULL);
}

static void visit_usual_places(endpoint_visit *visit, void *data)
{
    const char *home = env("HOME");
    const char *runtime = env("XDG_RUNTIME_DIR");

    visit(data, "/var/run/docker.sock", NULL);
    visit_below(runtime, "docker.sock", visit, data);
    visit_below(home, ".docker/run/docker.sock", visit, data);
    visit_below(home, ".docker/desktop/docker.sock", visit, data);
    visit_below(home, ".colima/default/docker.sock", visit, data);
    visit_below(runtime, "podman/podman.sock", visit, data);
    visit(data, "/run/podman/podman.sock", NULL);
}

/* The folder of the Docker CLI's configuration, or NULL. The caller frees. */
static char *config_folder(void)
{
    if (env("DOCKER_CONFIG"))
        return mem_strdup(env("DOCKER_CONFIG"));
    return env("HOME") ? below(env("HOME"), ".docker") : NULL;
}

/* Finds what was named on purpose. 1: *ret. 0: nothing was. -1: it makes no sense. */
static int find_named(const struct endpoint *endpoint, struct context *ret, struct error *err)
{
    auto_free char *folder = config_folder();

    if (endpoint->docker_host) {
        ret->from = mem_strdup("--docker-host");
        ret->host = mem_strdup(endpoint->docker_host);
    } else if (env("DOCKER_HOST")) {
        ret->from = mem_strdup("DOCKER_HOST");
        ret->host = mem_strdup(env("DOCKER_HOST"));
    } else {
        return folder ? context_find(folder, env("DOCKER_CONTEXT"), ret, err) : 0;
    }
    if (env("DOCKER_CERT_PATH"))
        ret->certs = mem_strdup(env("DOCKER_CERT_PATH"));
    else if (env("DOCKER_TLS_VERIFY"))
        ret->certs = steal(&folder);
    return 1;
}

/* What find_named() told, taken apart. */
static int named_place(const struct endpoint *endpoint, struct context *ret,
                       struct address *ret_address, struct error *err)
{
    int r = find_named(endpoint, ret, err);

    if (r > 0 && address_parse(ret->host, ret->from, ret_address, err) < 0)
        return -1;
    return r;
}

static struct remote *open_remote(const struct endpoint *endpoint, const struct context *named,
                                  const struct address *address, struct error *err)
{
    const char *certs = endpoint->cert_path ? endpoint->cert_path : named->certs;
    struct remote *remote;

    if (named->trusting) {
        error_set(err,
                  "%s skips the verification of TLS, which is not done here: set skip-tls-verify "
                  "to false (docker context update)",
                  named->from);
        return NULL;
    }
    if (!certs) {
        error_set(err,
                  "%s: %s without TLS is refused: whoever reaches such a port is root on its "
                  "machine. Start that engine with --tlsverify, and name the folder with ca.pem, "
                  "cert.pem and key.pem: --docker-cert-path, DOCKER_CERT_PATH, or in the Docker "
                  "context",
                  named->from, named->host);
        return NULL;
    }
    remote = remote_new(address, certs, err);
    if (!remote)
        error_wrap(err, "%s: %s", named->from, named->host);
    return remote;
}

struct endpoint *endpoint_new(const char *docker_host, const char *cert_path)
{
    struct endpoint *endpoint = mem_alloc(sizeof(*endpoint));
    auto_context struct context named = {0};
    auto_address struct address address = {0};

    if (docker_host && *docker_host)
        endpoint->docker_host = mem_strdup(docker_host);
    if (cert_path && *cert_path)
        endpoint->cert_path = mem_strdup(cert_path);
    if (named_place(endpoint, &named, &address, NULL) > 0 && address.host) {
        endpoint->is_remote = true;
        endpoint->remote = open_remote(endpoint, &named, &address, &endpoint->unfit);
    }
    return endpoint;
}

void endpoint_free(struct endpoint *endpoint)
{
    if (!endpoint)
        return;
    remote_free(endpoint->remote);
    free(endpoint->docker_host);
    free(endpoint->cert_path);
    free(endpoint->path);
    free(endpoint);
}

bool endpoint_is_remote(const struct endpoint *endpoint)
{
    return endpoint->is_remote;
}

void endpoint_settle(struct endpoint *endpoint)
{
    if (endpoint->remote && remote_resolve(endpoint->remote, &endpoint->unfit) < 0) {
        remote_free(endpoint->remote);
        endpoint->remote = NULL;
    }
    endpoint->settled = true;
}

static int find_remote(struct endpoint *endpoint, struct error *err)
{
    static const char mend[] = " (as read at the start: mend it, and start the server again)";
    struct error why = endpoint->unfit;

    if (endpoint->remote && certs_check(&endpoint->remote->certs, time(NULL), &why) == 0 &&
        (endpoint->settled || remote_resolve(endpoint->remote, &why) == 0))
        return 0;
    return error_set(err, "%s%s", why.text, endpoint->settled ? mend : "");
}

static char *advice(const struct search *search)
{
    bool inside = inside_container();

    switch (search->worst) {
    case REPLACED:
        return mem_strdup("The engine has made its socket anew, and this container still has the "
                          "old one: start the container again.");
    case NO_SOCKET:
        return mem_strdup(inside_misplaced(inside));
    case NOT_PERMITTED:
        return inside_permission(inside, search->group, group_member(search->group));
    case NOBODY_LISTENS:
    case NOTHING_THERE:
        break;
    }
    return mem_strdup(inside_silence(inside, search->worst == NOBODY_LISTENS));
}

int endpoint_each(const struct endpoint *endpoint, endpoint_visit *visit, void *data,
                  struct error *err)
{
    auto_context struct context named = {0};
    auto_address struct address address = {0};
    int r = named_place(endpoint, &named, &address, err);

    if (r < 0)
        return -1;
    if (address.host)
        return error_set(err,
                         "%s names %s by now, which is another machine: start the server again",
                         named.from, named.host);
    if (r > 0)
        visit(data, address.path, named.from);
    else
        visit_usual_places(visit, data);
    return 0;
}

static int find_socket(struct endpoint *endpoint, struct error *err)
{
    struct search search = {0};
    int r;

    free(endpoint->path);
    buf_init(&search.tried, TRIED_MAX);
    r = endpoint_each(endpoint, try_path, &search, err);
    endpoint->path = search.found;
    if (r == 0 && !search.found) {
        auto_free char *mend = advice(&search);

        error_set(err, "no Docker Engine answers. Tried:%s\n%s",
                  search.tried.len ? search.tried.data : "", mend);
    }
    buf_done(&search.tried);
    return search.found ? 0 : -1;
}

int endpoint_find(struct endpoint *endpoint, struct error *err)
{
    return endpoint->is_remote ? find_remote(endpoint, err) : find_socket(endpoint, err);
}

const char *endpoint_name(const struct endpoint *endpoint)
{
    if (endpoint->remote)
        return endpoint->remote->name;
    return endpoint->path ? endpoint->path : "?";
}

const char *endpoint_socket(const struct endpoint *endpoint)
{
    return endpoint->path;
}

const struct remote *endpoint_remote(const struct endpoint *endpoint)
{
    return endpoint->remote;
}
