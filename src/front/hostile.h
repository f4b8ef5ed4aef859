/* A front that has been taken over, in builds for the tests of the walls around it only
 * (make FLAVOUR=hostile). */
#pragma once

/* Does what the lines on the client's stdin ask for, once the front is confined:
 *   attempts     tries everything that it must not be able to do, and logs "hostile NAME: ERRNO"
 *   descriptors  sends the executor messages that have descriptors with them
 *   i386  x32    makes a system call of another ABI
 *   relay        lets the client speak with the executor directly, and ends with either
 *   serve        returns: the front goes on as ever */
void hostile_play(void);
