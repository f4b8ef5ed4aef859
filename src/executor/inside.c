#include "executor/inside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/mem.h"

#define MOUNTINFO_MAX ((size_t)1 << 20)
#define FOLDER        "/containers/"
#define POINT         "/hostname /etc/hostname "
#define DIGITS        "0123456789abcdef"

bool inside_find_id(const char *mountinfo, char ret[INSIDE_ID_SIZE])
{
    const size_t len = INSIDE_ID_SIZE - 1;
    const char *at = mountinfo;

    while ((at = strstr(at, FOLDER)) != NULL) {
        at += strlen(FOLDER);
        if (strspn(at, DIGITS) != len || strncmp(at + len, POINT, strlen(POINT)) != 0)
            continue;
        memcpy(ret, at, len);
        ret[len] = '\0';
        return true;
    }
    return false;
}

bool inside_id(char ret[INSIDE_ID_SIZE])
{
    auto_free char *mountinfo = fd_read_file("/proc/self/mountinfo", MOUNTINFO_MAX, NULL);

    return mountinfo && inside_find_id(mountinfo, ret);
}

/* Not by /.dockerenv: machines that were made from an image have it too. */
bool inside_container(void)
{
    char id[INSIDE_ID_SIZE];
    struct stat status;

    return inside_id(id) || stat("/run/.containerenv", &status) == 0 ||
           getenv("KUBERNETES_SERVICE_HOST") != NULL;
}

char *inside_permission(bool inside, gid_t gid, bool member)
{
    if (!inside)
        return mem_strdup("Permission is missing: add the user to the socket's group (usually "
                          "`sudo usermod -aG docker $USER`, then log in again).");
    if (gid == INSIDE_NO_GROUP)
        return mem_strdup("Permission is missing: the socket's group has no number inside this "
                          "container. Mount the socket of an engine that the container's user may "
                          "use, such as a rootless one.");
    if (member)
        return mem_printf("Permission is missing although the server is in the socket's group %u: "
                          "where the host has SELinux, run this container with `security_opt: "
                          "[\"label=disable\"]`.",
                          gid);
    return mem_printf("Permission is missing: the server in this container is not in the socket's "
                      "group, which is %u. Add it: `group_add: [\"%u\"]` in a compose file, "
                      "`user: \"60599:%u\"` in a stack, `--group-add %u` for docker run, "
                      "`supplementalGroups: [%u]` in a pod. On the host, `stat -c %%g "
                      "/var/run/docker.sock` prints the number.",
                      gid, gid, gid, gid, gid);
}

const char *inside_misplaced(bool inside)
{
    if (!inside)
        return "The path is wrong: name the engine's socket with --docker-host or DOCKER_HOST.";
    return "The path on the host is wrong: where nothing is at the source of a mount, the engine "
           "makes a directory there. Remove that, and make this container anew with the path of "
           "the engine's socket.";
}

const char *inside_silence(bool inside, bool mounted)
{
    if (!inside)
        return "Start one (`sudo systemctl start docker`), or name its socket with --docker-host "
               "or DOCKER_HOST.";
    if (mounted)
        return "Start the engine on the host (`sudo systemctl start docker`), then this container "
               "again.";
    return "Mount the engine's socket into this container (`-v "
           "/var/run/docker.sock:/var/run/docker.sock` for docker run), or name an engine with "
           "--docker-host or DOCKER_HOST.";
}
