/* The text of the supervisor, the parts in supervisor/ one after the other, as the build puts it
 * together. */
#pragma once

/* For `python3 -I -c`; NUL-terminated, well below the 128 KiB that one argument may have. */
extern const char supervisor_py[];
