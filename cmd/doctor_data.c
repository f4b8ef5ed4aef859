/* The folders that profiles grant: whether scripts can open them, and what lies in them that a
 * read-only mount does not close: sockets and pipes, behind which programs of the host are. */
#include <fts.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "config.h"
#include "doctor.h"
#include "executor/endpoint.h"

#define LOOK_MAX       100000 /* entries of one folder that are looked at */
#define OPEN_TO_OTHERS (S_IROTH | S_IXOTH)

#define auto_fts __attribute__((cleanup(fts_close_at)))

struct look {
    int64_t seen, open;
    char *first; /* of the open ones; NULL: there is none */
};

static void fts_close_at(FTS **fts)
{
    if (*fts)
        (void)fts_close(*fts);
}

/* A script's user is nobody that the host knows. */
static void look_at(struct look *look, FTS *fts, FTSENT *entry)
{
    mode_t mode = entry->fts_statp->st_mode;

    look->seen++;
    if (entry->fts_info == FTS_D && !(mode & S_IXOTH))
        (void)fts_set(fts, entry, FTS_SKIP);
    if (entry->fts_info != FTS_DEFAULT || !(S_ISSOCK(mode) || S_ISFIFO(mode)) || !(mode & S_IWOTH))
        return;
    if (!look->first)
        look->first = mem_strdup(entry->fts_path);
    look->open++;
}

static void tell_open_folder(struct doctor *doctor, const char *source)
{
    auto_free char *path = mem_strdup(source);
    char *const paths[] = {path, NULL};
    auto_fts FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
    struct look look = {0};
    auto_free char *first = NULL;
    FTSENT *entry;

    while (fts && look.seen < LOOK_MAX && (entry = fts_read(fts)))
        if (entry->fts_info != FTS_DP)
            look_at(&look, fts, entry);
    first = look.first;
    if (first)
        doctor_row(doctor, DOCTOR_WARN, "data",
                   "move it out of the folder, or take the right to write to it from others",
                   "%s%s: scripts reach the program behind it", first,
                   look.open > 1 ? " and others like it" : "");
    else
        doctor_row(doctor, DOCTOR_GOOD, "data", NULL,
                   "%s: no socket or pipe that scripts can write to%s", source,
                   look.seen == LOOK_MAX ? ", as far as it was looked at" : "");
}

static void tell_folder(struct doctor *doctor, const char *source)
{
    auto_free char *mend = mem_printf("chmod o+rx %s", source);
    struct stat status;

    if (stat(source, &status) < 0)
        return;
    if ((status.st_mode & OPEN_TO_OTHERS) == OPEN_TO_OTHERS)
        tell_open_folder(doctor, source);
    else
        doctor_row(doctor, DOCTOR_BAD, "data", mend,
                   "%s: mode %04o: scripts, which have a user id of their own, cannot open it",
                   source, (unsigned)(status.st_mode & 07777));
}

static void tell_folders(struct doctor *doctor, const struct config_profile *profile)
{
    for (size_t i = 0; i < profile->data_count; i++)
        tell_folder(doctor, profile->data[i].source);
}

void doctor_data(struct doctor *doctor)
{
    const struct config *config = doctor->config;
    struct endpoint *endpoint = endpoint_new(config->docker_host, config->docker_cert_path);

    for (size_t i = 0; i < config->profile_count && !endpoint_is_remote(endpoint); i++)
        tell_folders(doctor, &config->profiles[i]);
    endpoint_free(endpoint);
}
