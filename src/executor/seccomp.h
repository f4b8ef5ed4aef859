/* The container's seccomp profile, in the engine's JSON form. Pure. */
#pragma once

struct error;

/* An allow-list for one architecture, named as the engine does ("amd64", "arm64"): what is not on
 * it fails with EPERM, and calls that C libraries try first and do without fail with ENOSYS. Every
 * name is resolved through libseccomp; names that the architecture lacks are left out. The caller
 * frees; NULL for an architecture that is not supported. */
char *seccomp_profile(const char *engine_arch, struct error *err);
