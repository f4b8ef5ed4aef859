#include "executor/audit_entry.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "executor/executor.h"

struct audit_entry {
    struct audit *audit;
    const struct executor_profile *profile;
    struct audit_call call; /* points to the three copies that follow */
    char *client, *code, *image_id;
    int64_t started_ms;
};

struct audit_entry *audit_entry_new(struct audit *audit, const struct executor_profile *profile,
                                    const struct audit_call *call)
{
    struct audit_entry *entry;

    if (!audit)
        return NULL;
    entry = mem_alloc(sizeof(*entry));
    entry->audit = audit;
    entry->profile = profile;
    entry->call = *call;
    entry->call.profile = profile->name;
    entry->call.client = entry->client = mem_strndup(call->client, call->client_len);
    entry->call.code = entry->code = mem_strndup(call->code, call->code_len);
    entry->call.image_id = entry->image_id = mem_strdup("");
    entry->started_ms = clock_ms();
    return entry;
}

void audit_entry_free(struct audit_entry *entry)
{
    if (!entry)
        return;
    free(entry->client);
    free(entry->code);
    free(entry->image_id);
    free(entry);
}

void audit_entry_started(struct audit_entry *entry, const struct executor *executor, size_t profile)
{
    struct executor_profile_facts facts;

    if (!entry)
        return;
    executor_tell_profile(executor, profile, &facts);
    if (!facts.image_id)
        return;
    free(entry->image_id);
    entry->call.image_id = entry->image_id = mem_strdup(facts.image_id);
}

void audit_entry_artifacts(struct audit_entry *entry, uint64_t count, uint64_t bytes)
{
    if (!entry)
        return;
    if (__builtin_add_overflow(entry->call.artifact_count, count, &entry->call.artifact_count) ||
        entry->call.artifact_count > INT64_MAX)
        entry->call.artifact_count = INT64_MAX;
    entry->call.artifact_bytes += bytes;
}

int audit_entry_end(struct audit_entry *entry, const struct outcome *outcome, struct error *err)
{
    int r;

    if (!entry)
        return 0;
    entry->call.total_ms = clock_ms() - entry->started_ms;
    entry->call.outcome = outcome;
    r = audit_write(entry->audit, &entry->call, &entry->profile->spec, err);
    audit_entry_free(entry);
    return r;
}
