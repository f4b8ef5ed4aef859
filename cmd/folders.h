/* The folders of this host that profiles grant as data. */
#pragma once

struct config;
struct error;

/* Replaces each by where its symbolic links lead, unless the engine is on another machine. -1 where
 * that is no folder, or one that must not be granted; err names it. What is not there is left to
 * the engine, which may be another host. */
int folders_resolve(struct config *config, struct error *err);
