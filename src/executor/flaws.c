#include "executor/flaws.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct flaw table[] = {
    {"runc", "CVE-2024-21626", "a leaked descriptor opens the host's files", {"1.1.12"}},
    {"runc",
     "CVE-2025-31133, CVE-2025-52565, CVE-2025-52881",
     "races over masked paths, /dev/console and /proc writes reach the host",
     {"1.2.8", "1.3.3", "1.4.0"}},
    {"containerd",
     "CVE-2024-40635",
     "a large user id in an image runs as root",
     {"1.6.38", "1.7.27", "2.0.4"}},
    {"NVIDIA Container Toolkit",
     "CVE-2024-0132, CVE-2025-23359",
     "a crafted image mounts the host's files",
     {"1.17.4"}},
    {"NVIDIA Container Toolkit",
     "CVE-2025-23266",
     "a crafted image runs code as root on the host",
     {"1.17.8"}},
};

/* Major, minor, patch; then 0 for a candidate of that release, 1 for the release. */
struct number {
    long part[4];
};

static bool read_number(const char *text, struct number *ret)
{
    *ret = (struct number){{0, 0, 0, 1}};
    if (*text == 'v')
        text++;
    if (!isdigit((unsigned char)*text))
        return false;
    for (int i = 0; i < 3; i++) {
        char *end;

        ret->part[i] = strtol(text, &end, 10);
        text = end;
        if (*text != '.' || !isdigit((unsigned char)text[1]))
            break;
        text++;
    }
    if (strncmp(text, "-rc", 3) == 0 || strncmp(text, "~rc", 3) == 0 ||
        strncmp(text, "-beta", 5) == 0)
        ret->part[3] = 0;
    return true;
}

static int compare(const struct number *a, const struct number *b)
{
    for (int i = 0; i < 4; i++) {
        if (a->part[i] != b->part[i])
            return a->part[i] < b->part[i] ? -1 : 1;
    }
    return 0;
}

const struct flaw *flaws_at(size_t index)
{
    return index < sizeof(table) / sizeof(table[0]) ? &table[index] : NULL;
}

bool flaws_touch(const struct flaw *flaw, const char *version)
{
    struct number found, fix;
    bool older = false;

    if (!read_number(version, &found))
        return false;
    for (size_t i = 0; i < sizeof(flaw->fixed) / sizeof(flaw->fixed[0]) && flaw->fixed[i]; i++) {
        (void)read_number(flaw->fixed[i], &fix);
        older = compare(&found, &fix) < 0;
        if (found.part[0] == fix.part[0] && found.part[1] == fix.part[1])
            return older;
    }
    return older;
}
