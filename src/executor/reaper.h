/* A small process that outlives the server by a moment: when the server dies, however it dies, it
 * removes the containers that the server left, which may have been created and not yet started. */
#pragma once

struct endpoint;
struct error;
struct reaper;

/* Forks it; to be called before anything else is set up. It keeps a copy of the
 * endpoint; owner is the mark of the containers. It leaves the process group and ignores the
 * signals of a terminal. NULL on failure. */
struct reaper *reaper_start(struct endpoint *endpoint, const char *owner, struct error *err);

/* Tells it that nothing is left, and frees. Without this call the end of the process wakes it. */
void reaper_dismiss(struct reaper *reaper);
