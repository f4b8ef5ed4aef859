#include "wire/artifact.h"

#include <assert.h>

const char *artifact_reason_text(enum artifact_reason reason)
{
    static const char *const texts[ARTIFACT_REASON_END] = {
        [ARTIFACT_WHOLE] = "",
        [ARTIFACT_LARGE] = "larger than one file may be that comes along",
        [ARTIFACT_NO_ROOM] = "the files before it took all the room",
        [ARTIFACT_SPECIAL] = "not a regular file (a link, FIFO, socket or device)",
        [ARTIFACT_SPARSE] = "sparse, or too large to be read",
        [ARTIFACT_UNREADABLE] = "it could not be read",
        [ARTIFACT_BAD_NAME] = "its name is not text; rename it",
    };

    assert(reason < ARTIFACT_REASON_END);
    return texts[reason];
}
