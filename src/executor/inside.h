/* The container that this process itself runs in, where it does. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define INSIDE_ID_SIZE 65 /* 64 hexadecimal digits and a NUL */

/* The id of the Docker container that these lines of /proc/PID/mountinfo belong to: the engine puts
 * its own /etc/hostname from .../containers/<id>/ into each. false: none. Pure. */
bool inside_find_id(const char *mountinfo, char ret[INSIDE_ID_SIZE]);

/* The same of this process. */
bool inside_id(char ret[INSIDE_ID_SIZE]);

/* Whether this is a container of Docker, Podman or Kubernetes. */
bool inside_container(void);

/* What the kernel shows of a group that the user namespace has no number for. */
#define INSIDE_NO_GROUP 65534

/* What to do where the engine's socket, of group gid, may not be connected to. inside: in a
 * container; member: although the process is in the group. The caller frees. */
char *inside_permission(bool inside, gid_t gid, bool member) __attribute__((returns_nonnull));

/* What to do where something else is at the path of the engine's socket. */
const char *inside_misplaced(bool inside);

/* What to do where no engine answers. mounted: its socket is there. */
const char *inside_silence(bool inside, bool mounted);
