#include "base/reach.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

bool reach_by_group(const char *path, gid_t gid)
{
    auto_free char *folder = realpath(path, NULL);
    struct stat status;

    for (char *slash = folder ? strrchr(folder, '/') : NULL; slash; slash = strrchr(folder, '/')) {
        *slash = '\0';
        if (stat(slash == folder ? "/" : folder, &status) < 0 ||
            !(status.st_mode & (status.st_gid == gid ? S_IXGRP : S_IXOTH)))
            return false;
    }
    return folder != NULL;
}
