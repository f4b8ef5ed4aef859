/* Prints rows, as a table or as JSON. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "config.h"
#include "doctor.h"

#define INDENT "                    "

static const struct {
    const char *word;  /* in JSON */
    const char *shown; /* in the table */
    const char *color;
} verdicts[] = {
    [DOCTOR_GOOD] = {"ok", "ok  ", "\033[32m"},
    [DOCTOR_NOTE] = {"note", "-   ", ""},
    [DOCTOR_WARN] = {"warn", "warn", "\033[33m"},
    [DOCTOR_BAD] = {"fail", "FAIL", "\033[31m"},
};

static bool wants_color(void)
{
    const char *terminal = getenv("TERM");

    return isatty(STDOUT_FILENO) && !getenv("NO_COLOR") && terminal &&
           strcmp(terminal, "dumb") != 0;
}

static void make_scope(struct doctor *doctor, cJSON *scope)
{
    doctor->scope = scope;
    cJSON_AddArrayToObject(scope, "walls");
    cJSON_AddArrayToObject(scope, "packages");
}

void doctor_begin(struct doctor *doctor, const struct config *config, bool json)
{
    *doctor = (struct doctor){
        .config = config,
        .json = json,
        .color = wants_color(),
        .good = true,
        .all = cJSON_CreateObject(),
    };
    cJSON_AddFalseToObject(doctor->all, "good");
    cJSON_AddArrayToObject(doctor->all, "rows");
    if (config->profiles_named)
        cJSON_AddArrayToObject(doctor->all, "profiles");
    else
        make_scope(doctor, doctor->all);
}

void doctor_enter(struct doctor *doctor, size_t profile)
{
    const struct config_profile *named = &doctor->config->profiles[profile];
    cJSON *scope;

    if (!doctor->config->profiles_named)
        return;
    scope = cJSON_CreateObject();
    cJSON_AddStringToObject(scope, "name", named->name);
    cJSON_AddItemToArray(json_get_array(doctor->all, "profiles"), scope);
    make_scope(doctor, scope);
    doctor->profile = named->name;
    if (!doctor->json)
        printf("\nprofile %s%s\n", named->name,
               profile == doctor->config->profile_default ? " (the default)" : "");
}

void doctor_leave(struct doctor *doctor)
{
    if (!doctor->profile)
        return;
    doctor->profile = NULL;
    if (!doctor->json)
        putchar('\n');
}

void doctor_end(struct doctor *doctor)
{
    char *text;

    if (doctor->json) {
        cJSON_ReplaceItemInObjectCaseSensitive(doctor->all, "good", cJSON_CreateBool(doctor->good));
        text = cJSON_Print(doctor->all);
        puts(text ? text : "{}");
        cJSON_free(text);
    }
    cJSON_Delete(doctor->all);
}

/* Engines and images wrote parts of it: no byte of it may move the cursor. */
static void print_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '\n')
            fputs("\n" INDENT, stdout);
        else
            putchar((unsigned char)*text < ' ' || *text == '\177' ? '?' : *text);
    }
}

static void print_verdict(const struct doctor *doctor, enum doctor_verdict verdict)
{
    bool color = doctor->color && *verdicts[verdict].color;

    printf("%s%s%s  ", color ? verdicts[verdict].color : "", verdicts[verdict].shown,
           color ? "\033[0m" : "");
}

static void print_mend(const char *mend)
{
    fputs("\n" INDENT "mend: ", stdout);
    print_text(mend);
}

void doctor_row(struct doctor *doctor, enum doctor_verdict verdict, const char *name,
                const char *mend, const char *format, ...)
{
    cJSON *row = cJSON_CreateObject();
    auto_free char *text = NULL;
    va_list args;

    va_start(args, format);
    text = mem_vprintf(format, args);
    va_end(args);
    if (verdict == DOCTOR_BAD)
        doctor->good = false;
    if (doctor->profile)
        cJSON_AddStringToObject(row, "profile", doctor->profile);
    cJSON_AddStringToObject(row, "name", name);
    cJSON_AddStringToObject(row, "verdict", verdicts[verdict].word);
    cJSON_AddStringToObject(row, "text", text);
    if (mend)
        cJSON_AddStringToObject(row, "mend", mend);
    cJSON_AddItemToArray(json_get_array(doctor->all, "rows"), row);
    if (!doctor->json) {
        printf("%-14s", name);
        print_verdict(doctor, verdict);
        print_text(text);
        if (mend)
            print_mend(mend);
        putchar('\n');
        fflush(stdout);
    }
}

void doctor_wall(struct doctor *doctor, const cJSON *wall)
{
    bool good = cJSON_IsTrue(json_get(wall, "good"));
    const char *mend = json_get_text(wall, "mend");

    if (!good)
        doctor->good = false;
    cJSON_AddItemToArray(json_get_array(doctor->scope, "walls"), cJSON_Duplicate(wall, true));
    if (doctor->json)
        return;
    fputs("wall          ", stdout);
    print_verdict(doctor, good ? DOCTOR_GOOD : DOCTOR_BAD);
    printf("%-18s asked: ", json_get_text(wall, "wall"));
    print_text(json_get_text(wall, "asked"));
    fputs("; found: ", stdout);
    print_text(json_get_text(wall, "found"));
    if (mend)
        print_mend(mend);
    putchar('\n');
}

void doctor_progress(const struct doctor *doctor, const char *name, const char *text)
{
    if (doctor->json)
        return;
    printf("%-14s...   %s\n", name, text);
    fflush(stdout);
}
