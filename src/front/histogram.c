#include "front/histogram.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/buf.h"

static const struct bound {
    int64_t ms;
    const char *text; /* in seconds */
} bounds[HISTOGRAM_BOUNDS] = {
    {5, "0.005"},  {10, "0.01"},  {25, "0.025"}, {50, "0.05"},    {100, "0.1"},
    {250, "0.25"}, {500, "0.5"},  {1000, "1"},   {2500, "2.5"},   {5000, "5"},
    {10000, "10"}, {30000, "30"}, {60000, "60"}, {300000, "300"},
};

void histogram_add(struct histogram *histogram, int64_t ms)
{
    size_t i = 0;

    while (i < HISTOGRAM_BOUNDS && ms > bounds[i].ms)
        i++;
    histogram->counts[i]++;
    histogram->sum_ms += ms;
}

void histogram_put(const struct histogram *histogram, struct buf *out, const char *name,
                   const char *labels)
{
    uint64_t total = 0;
    int own = labels[0] != '\0' ? (int)strlen(labels) - 1 : 0;

    for (size_t i = 0; i <= HISTOGRAM_BOUNDS; i++) {
        total += histogram->counts[i];
        buf_addf(out, "%s_bucket{%sle=\"%s\"} %" PRIu64 "\n", name, labels,
                 i < HISTOGRAM_BOUNDS ? bounds[i].text : "+Inf", total);
    }
    /* The labels without their last comma. */
    buf_addf(out, "%s_sum%s%.*s%s %" PRId64 ".%03" PRId64 "\n", name, own ? "{" : "", own, labels,
             own ? "}" : "", histogram->sum_ms / 1000, histogram->sum_ms % 1000);
    buf_addf(out, "%s_count%s%.*s%s %" PRIu64 "\n", name, own ? "{" : "", own, labels,
             own ? "}" : "", total);
}
