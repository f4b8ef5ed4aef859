/* Published flaws by which a container gets out, or at its host, and the versions that fix them.
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct flaw {
    const char *part; /* "runc", "containerd", "NVIDIA Container Toolkit" */
    const char *name; /* "CVE-2024-21626" */
    const char *what;
    const char *fixed[4]; /* one version for each branch that got a fix, rising; then NULL */
};

/* The flaw at an index, NULL past the last. */
const struct flaw *flaws_at(size_t index);

/* Whether a version ("1.1.5+ds1", "v1.2.0-rc.1") is older than the one that fixes the flaw, by its
 * number; a distribution may have mended it under the old number. What is no version is not. */
bool flaws_touch(const struct flaw *flaw, const char *version);
