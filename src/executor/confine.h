/* The executor holds the way to the engine and nothing else: once it has started it can read files
 * and connect to unix sockets, or, where its engine is on another machine, over TCP in place of
 * them; and neither execute, fork, nor write to a file. */
#pragma once

struct endpoint;
struct error;

/* Settles the endpoint. As root, the process keeps no privilege; but for the group of the engine's
 * unix socket, where an engine answers by now on one that its group may reach and connect to, and
 * but for everything where it does not. The filter follows in every case. Final. */
int executor_confine(struct endpoint *endpoint, struct error *err);
