/* Who owns a container: one server process, told apart from every other that ever ran, here or
 * elsewhere. */
#pragma once

struct error;

#define OWNER_LABEL    "python-sandbox.owner"
#define OWNER_TEXT_MAX 240

/* Writes this process's mark, "pid=1 start=2 boot=<uuid> pidns=3": process id, its start time in
 * clock ticks after boot, the kernel's boot id, and the inode of the process id namespace. Inside a
 * Docker container " container=<id>" follows. */
int owner_self(char ret[OWNER_TEXT_MAX], struct error *err);

enum owner_fate {
    OWNER_ALIVE,
    OWNER_GONE,
    OWNER_UNSURE,
};

/* What became of the owner that wrote this mark. A process of this process id namespace is alive or
 * gone. An earlier life of the container that this process runs in, which had another namespace, is
 * gone. All else cannot be seen from here, and is unsure: another namespace, another boot (of this
 * machine, or of one that uses the same engine), a mark that is no such mark. */
enum owner_fate owner_fate(const char *mark);
