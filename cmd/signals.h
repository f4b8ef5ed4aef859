/* Signals as a descriptor: INT, TERM, HUP and CHLD are blocked and read; PIPE is ignored. */
#pragma once

/* The descriptor, or -1 with errno. */
int signals_open(void);

/* For a child before its exec: nothing is blocked any more. */
void signals_reset(void);

/* Reads what is there. Returns the first of INT, TERM, HUP, else 0. */
int signals_take(int fd);
