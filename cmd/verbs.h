/* The verbs of the command line, one file each. argv[0] is the verb; the result is the exit status.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A flag of one verb that is no setting. */
struct verb_flag {
    const char *name;  /* with its dashes */
    const char *value; /* what stands for its value, or NULL */
    const char *meaning;
    const char *words; /* what its value may be: "FILE" is a path; NULL: anything */
};

/* One verb as --help, the manual and the shells' completions show it. */
struct verb {
    const char *name;
    const char *help; /* NULL: not for people */
    int (*run)(int argc, char **argv);
    const char *usage;             /* what follows the name */
    bool settings;                 /* every setting is a flag of it */
    const struct verb_flag *flags; /* its own, NULL or up to one without a name */
    const char *words;             /* what it may be followed by; "FILE": a file */
};

/* run, which takes its flags apart with the settings. */
#define VERBS_RUN_USAGE "[FLAGS] FILE|- [ARGUMENTS]"
enum { VERBS_RUN_FILE, VERBS_RUN_OUTPUTS, VERBS_RUN_COUNT };
extern const struct verb_flag verbs_run_flags[];

/* The verb at an index, NULL past the last. */
const struct verb *verbs_at(size_t index);

int cmd_serve(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_health(int argc, char **argv);
int cmd_token(int argc, char **argv);
int cmd_image(int argc, char **argv);
int cmd_audit(int argc, char **argv);
int cmd_policy(int argc, char **argv);
int cmd_client_config(int argc, char **argv);
int cmd_version(int argc, char **argv);

/* Started by serve, not by people. */
int cmd_front(int argc, char **argv);

/* Prints verbs and settings for the build, which makes the manual and the completions from them. */
int cmd_table(int argc, char **argv);

/* Takes a flag that only this verb has out of argv; whether it was there. */
bool verbs_take_flag(int *argc, char **argv, const char *flag);

/* Whether one of the arguments, which end with NULL, is FLAG or FLAG=VALUE. */
bool verbs_have_flag(char *const *arguments, const char *flag);

/* Takes "FLAG=VALUE" or "FLAG VALUE" out of argv. NULL where it is not there, "" where it has no
 * value; points into argv. */
const char *verbs_take_value(int *argc, char **argv, const char *flag);
