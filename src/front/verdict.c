#include "front/verdict.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "front/options.h"
#include "front/words.h"
#include "wire/outcome.h"

#define SIGNAL_BASE 128

static int put_exit_code(struct buf *out, const struct outcome *outcome)
{
    if (outcome->exit_code < 0)
        return 0;
    return buf_addf(out, "exit code %" PRId32 ", ", outcome->exit_code);
}

static int put_signal(struct buf *out, int32_t exit_code)
{
    const char *name = exit_code > SIGNAL_BASE ? sigabbrev_np(exit_code - SIGNAL_BASE) : NULL;

    if (exit_code <= SIGNAL_BASE)
        return 0;
    if (name == NULL)
        return buf_addf(out, "signal %" PRId32 ", ", exit_code - SIGNAL_BASE);
    return buf_addf(out, "signal %" PRId32 " (SIG%s), ", exit_code - SIGNAL_BASE, name);
}

/* What goes between the status and the time; a comma and a blank at its end. */
static int put_reason(struct buf *out, const struct outcome *outcome,
                      const struct front_options *options)
{
    switch (outcome->status) {
    case OUTCOME_OK:
    case OUTCOME_ERROR:
        return put_exit_code(out, outcome);
    case OUTCOME_OUT_OF_MEMORY:
        if (buf_addf(out, "stopped at the memory limit of %s, ", words_size(options->memory).text) <
            0)
            return -1;
        return put_exit_code(out, outcome);
    case OUTCOME_KILLED:
        if (put_signal(out, outcome->exit_code) < 0)
            return -1;
        return put_exit_code(out, outcome);
    case OUTCOME_TIMED_OUT:
    case OUTCOME_CANCELLED:
    case OUTCOME_BUSY:
    case OUTCOME_SANDBOX_ERROR:
    case OUTCOME_STATUS_COUNT:
        break;
    }
    return 0;
}

static int put_time(struct buf *out, const struct outcome *outcome)
{
    struct words time = words_duration(outcome->duration_us);

    if (outcome->status == OUTCOME_CANCELLED && outcome->duration_us == 0)
        return buf_add_text(out, "nothing ran");
    if (outcome->status == OUTCOME_TIMED_OUT || outcome->status == OUTCOME_CANCELLED)
        return buf_addf(out, "stopped after %s", time.text);
    return buf_add_text(out, time.text);
}

static int put_image(struct buf *out, const struct outcome *outcome)
{
    if (outcome->image == NULL || outcome->image[0] == '\0')
        return 0;
    if (outcome->python == NULL || outcome->python[0] == '\0')
        return buf_addf(out, " (%s)", outcome->image);
    return buf_addf(out, " (%s, Python %s)", outcome->image, outcome->python);
}

/* Where the sandbox, not the script, is the reason, its message is all there is to say. */
static const char *reason_outside(const struct outcome *outcome, const char *message)
{
    if (outcome->status == OUTCOME_BUSY)
        return message[0] != '\0' ? message : "nothing was run; try again";
    if (outcome->status == OUTCOME_SANDBOX_ERROR)
        return message[0] != '\0' ? message : "no reason was given; this is not the script's fault";
    return NULL;
}

int verdict_put(struct buf *out, const struct outcome *outcome, const char *message,
                const struct front_options *options)
{
    const char *outside = reason_outside(outcome, message);

    if (buf_addf(out, "%s: ", outcome_status_name(outcome->status)) < 0)
        return -1;
    if (outside != NULL)
        return buf_addf(out, "%s\n", outside);
    if (put_reason(out, outcome, options) < 0 || put_time(out, outcome) < 0 ||
        put_image(out, outcome) < 0 || buf_add(out, "\n", 1) < 0)
        return -1;
    return message[0] != '\0' ? buf_addf(out, "%s\n", message) : 0;
}
