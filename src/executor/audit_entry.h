/* One call on its way to the audit log: what its line needs, kept until the call is over. */
#pragma once

#include "executor/audit.h"

#include <stddef.h>

struct audit_entry;
struct executor;
struct executor_profile;

/* Copies the texts of call, whose profile, image, times and outcome come by themselves; audit,
 * profile and executor are borrowed. audit may be NULL: then the entry is, which the others take.
 */
struct audit_entry *audit_entry_new(struct audit *audit, const struct executor_profile *profile,
                                    const struct audit_call *call);
void audit_entry_free(struct audit_entry *entry);

/* The script has started, in a container of the executor's profile with this index. */
void audit_entry_started(struct audit_entry *entry, const struct executor *executor,
                         size_t profile);

/* The script left this many artifacts behind, of which this many bytes come along. */
void audit_entry_artifacts(struct audit_entry *entry, uint64_t count, uint64_t bytes);

/* Writes the line, and frees. -1 with err where that fails: the call is answered all the same. */
int audit_entry_end(struct audit_entry *entry, const struct outcome *outcome, struct error *err);
