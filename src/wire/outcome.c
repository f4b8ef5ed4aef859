#include "wire/outcome.h"

#include <assert.h>
#include <stdlib.h>

const char *outcome_status_name(enum outcome_status status)
{
    static const char *const names[OUTCOME_STATUS_COUNT] = {
        [OUTCOME_OK] = "ok",
        [OUTCOME_ERROR] = "error",
        [OUTCOME_TIMED_OUT] = "timed_out",
        [OUTCOME_OUT_OF_MEMORY] = "out_of_memory",
        [OUTCOME_KILLED] = "killed",
        [OUTCOME_CANCELLED] = "cancelled",
        [OUTCOME_BUSY] = "busy",
        [OUTCOME_SANDBOX_ERROR] = "sandbox_error",
    };

    assert(status < OUTCOME_STATUS_COUNT);
    return names[status];
}

void outcome_done(struct outcome *outcome)
{
    free(outcome->message);
    free(outcome->value);
    free(outcome->image);
    free(outcome->python);
    *outcome = (struct outcome){0};
}
