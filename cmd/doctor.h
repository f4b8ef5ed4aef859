/* What doctor's parts share: the table, and who fills which rows. */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

struct config;
struct executor_facts;
struct executor_profile_facts;
struct local;

enum doctor_verdict { DOCTOR_GOOD, DOCTOR_NOTE, DOCTOR_WARN, DOCTOR_BAD };

struct doctor {
    const struct config *config;
    bool json;  /* everything at the end, for programs; else each row at once, for people */
    bool color; /* on a terminal */
    bool good;  /* no row was bad */
    cJSON *all; /* what --json prints */

    /* Where walls, packages and latency go: to all, or to the object of a named profile in it. */
    cJSON *scope;
    const char *profile; /* its name; NULL where rows are of none */
};

void doctor_begin(struct doctor *doctor, const struct config *config, bool json);
void doctor_end(struct doctor *doctor);

/* A row of the table, with the mend below it where there is one. */
void doctor_row(struct doctor *doctor, enum doctor_verdict verdict, const char *name,
                const char *mend, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* One wall, as walls.h has it. */
void doctor_wall(struct doctor *doctor, const cJSON *wall);

/* Progress, for people. */
void doctor_progress(const struct doctor *doctor, const char *name, const char *text);

/* What comes from now on is of this profile, by index; doctor_leave() ends that. Only where the
 * configuration names profiles does it show. */
void doctor_enter(struct doctor *doctor, size_t profile);
void doctor_leave(struct doctor *doctor);

/* Engine, socket and host; the image of a profile. Whether what comes after can be there. */
bool doctor_engine(struct doctor *doctor, const struct executor_facts *facts);
bool doctor_image(struct doctor *doctor, const struct executor_profile_facts *facts);

/* Everything that an engine is needed for. */
void doctor_runs(struct doctor *doctor, struct local *local);

/* Who else may use the way to the engine, and how long it holds. */
void doctor_endpoint(struct doctor *doctor, const struct executor_facts *facts);

/* The folders that profiles grant, where they are on this machine. */
void doctor_data(struct doctor *doctor);

/* The files that are configured. */
void doctor_files(struct doctor *doctor);
