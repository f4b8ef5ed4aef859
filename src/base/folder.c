#include "base/folder.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"

/* The filesystem hierarchy's places that run the host or hold its secrets. */
static const char *const closed[] = {
    "/bin",
    "/boot",
    "/dev",
    "/efi",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/proc",
    "/run",
    "/sbin",
    "/sys",
    "/usr",
    "/var/run",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/var/lib/containers",
    "/var/lib/kubelet",
    "/var/log",
    "/var/spool",
    "/var/cache",
};

/* Folders whose members are one person's each; the last is one itself. */
static const char *const homes[] = {"/home", "/var/home", "/Users"};
#define ROOT_HOME "/root"

/* Which anyone may use; what lies in them by itself is one program's. */
static const char *const meeting[] = {"/tmp", "/var/tmp"};

/* Where a mount in the container hides nothing. */
static const char *const targets[] = {"/data", "/mnt", "/media", "/srv"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

bool folder_is_plain(const char *path)
{
    if (*path != '/')
        return false;
    for (const char *part = path; *part; part += strcspn(part, "/")) {
        size_t len = strcspn(++part, "/");

        if (len == 0 || (len <= 2 && strncmp(part, "..", len) == 0))
            return false;
    }
    for (const char *p = path; *p; p++)
        if ((unsigned char)*p < ' ' || *p == '\177')
            return false;
    return true;
}

bool folder_is_below(const char *path, const char *outer)
{
    size_t len = strlen(outer);

    return strncmp(path, outer, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

/* What of path lies in one person's home; NULL where nothing does. "" is the home itself, or the
 * folder of all homes. */
static const char *inside_home(const char *path)
{
    const char *rest;

    if (folder_is_below(path, ROOT_HOME))
        return path + strlen(ROOT_HOME);
    for (size_t i = 0; i < COUNT(homes); i++) {
        if (!folder_is_below(path, homes[i]))
            continue;
        rest = path + strlen(homes[i]);
        if (*rest)
            rest += 1 + strcspn(rest + 1, "/");
        return rest;
    }
    return NULL;
}

int folder_check_source(const char *source, struct error *err)
{
    const char *home = inside_home(source);

    for (size_t i = 0; i < COUNT(closed); i++) {
        if (strcmp(source, closed[i]) == 0)
            return error_set(err,
                             "%s runs the host or holds its secrets; put the data elsewhere, "
                             "such as below /srv",
                             source);
        if (folder_is_below(source, closed[i]))
            return error_set(err,
                             "%.200s is part of %s, which runs the host or holds its secrets; "
                             "put the data elsewhere, such as below /srv",
                             source, closed[i]);
        if (folder_is_below(closed[i], source))
            return error_set(err,
                             "%.200s has %s in it, which runs the host or holds its secrets; "
                             "grant a folder with the data alone",
                             source, closed[i]);
    }
    for (size_t i = 0; i < COUNT(meeting); i++)
        if (strcmp(source, meeting[i]) == 0)
            return error_set(err,
                             "%s is where programs of the host meet, at sockets that a read-only "
                             "mount does not close; grant a folder in it with the data alone",
                             source);
    if (home && *home == '\0')
        return error_set(err,
                         "%.200s is a whole home folder, keys and passwords in it included; grant "
                         "a folder with the data alone",
                         source);
    if (home && strstr(home, "/."))
        return error_set(err,
                         "%.200s is a hidden place of a home folder, where keys and settings are; "
                         "put the data into a folder of its own",
                         source);
    return 0;
}

int folder_check_target(const char *target, struct error *err)
{
    for (size_t i = 0; i < COUNT(targets); i++)
        if (folder_is_below(target, targets[i]))
            return 0;
    return error_set(err, "%.200s: choose a place below /data, /mnt, /media or /srv", target);
}
