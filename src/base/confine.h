/* Giving up, for good, what a process will not need again. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

/* A system call that stays allowed. mask 0: with any arguments. Else only where (argument & mask)
 * == value. */
struct confine_call {
    const char *name;
    unsigned argument; /* which one, from 0 */
    uint64_t mask;
    uint64_t value;
};

/* Installs a seccomp filter on the calling process, and no_new_privs with it: what is neither on
 * the list nor what every process of ours needs until it ends (memory, clocks, waiting, descriptors
 * that it has) fails with EPERM. A name with several rows may match any of them. Names that this
 * architecture lacks are left out; a name that libseccomp does not know is an error. */
int confine_calls(const struct confine_call *calls, size_t count, struct error *err);

/* As root: becomes this user and group with no capabilities, and no other group. As anybody else:
 * nothing. The process can be neither traced nor dumped afterwards. */
int confine_user(uid_t uid, gid_t gid, struct error *err);
