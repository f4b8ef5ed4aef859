/* Who may use the engine's socket, read the tokens, and write the audit log. */
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <libgen.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/reach.h"
#include "config.h"
#include "doctor.h"
#include "executor/audit.h"
#include "executor/endpoint.h"
#include "executor/executor.h"
#include "executor/inside.h"
#include "executor/remote.h"
#include "front/bearer.h"
#include "listen.h"
#include "tokens.h"

#define NAMES_MAX 16384
#define DAY_S     86400
#define FEW_DAYS  30

#define MODE(status) ((unsigned)((status).st_mode & 07777))

/* "root:docker" */
static char *owner_of(const struct stat *status)
{
    char user_text[NAMES_MAX], group_text[NAMES_MAX];
    struct passwd user, *found_user = NULL;
    struct group group, *found_group = NULL;
    auto_free char *name = NULL;

    (void)getpwuid_r(status->st_uid, &user, user_text, sizeof(user_text), &found_user);
    (void)getgrgid_r(status->st_gid, &group, group_text, sizeof(group_text), &found_group);
    name =
        found_user ? mem_strdup(found_user->pw_name) : mem_printf("%ju", (uintmax_t)status->st_uid);
    if (found_group)
        return mem_printf("%s:%s", name, found_group->gr_name);
    return mem_printf("%s:%ju", name, (uintmax_t)status->st_gid);
}

static void tell_socket(struct doctor *doctor, const char *path)
{
    auto_free char *mend = mem_printf("chmod o-rw %s, and use a group", path);
    auto_free char *owner = NULL;
    struct stat status;

    if (stat(path, &status) < 0) {
        doctor_row(doctor, DOCTOR_WARN, "socket", NULL, "%s: %s", path, strerror(errno));
        return;
    }
    owner = owner_of(&status);
    if ((status.st_mode & S_IWOTH) && reach_by_group(path, REACH_NO_GROUP))
        doctor_row(doctor, DOCTOR_BAD, "socket", mend,
                   "mode %04o, %s: every user of this machine can do with the engine what they "
                   "want",
                   MODE(status), owner);
    else
        doctor_row(doctor, DOCTOR_GOOD, "socket", NULL, "mode %04o, %s", MODE(status), owner);
}

/* Docker makes the key readable for its owner alone; with it goes all that the engine can do. */
static void tell_key(struct doctor *doctor, const char *folder)
{
    auto_free char *path = mem_printf("%s/key.pem", folder);
    auto_free char *mend = mem_printf("chmod 600 %s", path);
    auto_free char *owner = NULL;
    struct stat status;

    if (stat(path, &status) < 0) {
        doctor_row(doctor, DOCTOR_WARN, "key", NULL, "%s: %s", path, strerror(errno));
        return;
    }
    owner = owner_of(&status);
    if (status.st_mode & (S_IROTH | S_IWOTH | S_IWGRP))
        doctor_row(doctor, DOCTOR_BAD, "key", mend, "%s: mode %04o, %s: others can %s it", path,
                   MODE(status), owner, status.st_mode & S_IROTH ? "read" : "change");
    else
        doctor_row(doctor, DOCTOR_GOOD, "key", NULL, "%s: mode %04o, %s", path, MODE(status),
                   owner);
}

static void tell_certificate(struct doctor *doctor, const char *whose, const char *mend,
                             int64_t until)
{
    int64_t days = (until - time(NULL)) / DAY_S;
    bool soon = days < FEW_DAYS;
    char date[CERTS_DATE_SIZE];

    certs_date(until, date);
    doctor_row(doctor, soon ? DOCTOR_WARN : DOCTOR_GOOD, "certificate", soon ? mend : NULL,
               "%s ends on %s, in %" PRId64 " days", whose, date, days);
}

void doctor_endpoint(struct doctor *doctor, const struct executor_facts *facts)
{
    const struct remote *remote = endpoint_remote(facts->endpoint);
    auto_free char *cert = NULL;

    if (!remote) {
        tell_socket(doctor, endpoint_name(facts->endpoint));
        return;
    }
    cert = mem_printf("%s/cert.pem", remote->certs.folder);
    tell_certificate(doctor, cert, "renew it; servers read it when they start",
                     remote->certs.until);
    if (facts->peer_until)
        tell_certificate(doctor, "the engine's own", "renew it on the engine's machine",
                         facts->peer_until);
    tell_key(doctor, remote->certs.folder);
}

static void tell_tokens(struct doctor *doctor, const char *path)
{
    auto_free char *mend = mem_printf("chmod 600 %s", path);
    auto_free char *owner = NULL;
    mode_t open = S_IWOTH | S_IWGRP | (inside_container() ? 0 : S_IROTH);
    struct bearer bearer;
    struct stat status;
    struct error err;

    if (tokens_load(&bearer, path, NULL, &err) < 0) {
        doctor_row(doctor, DOCTOR_BAD, "token-file", NULL, "%s", err.text);
        return;
    }
    if (stat(path, &status) < 0)
        status = (struct stat){0};
    owner = owner_of(&status);
    if (status.st_mode & open)
        doctor_row(doctor, DOCTOR_BAD, "token-file", mend, "%s: mode %04o, %s: others can %s it",
                   path, MODE(status), owner, status.st_mode & S_IROTH ? "read" : "change");
    else
        doctor_row(doctor, DOCTOR_GOOD, "token-file", NULL, "%s: mode %04o, %s, %zu of them", path,
                   MODE(status), owner, bearer.count);
    explicit_bzero(&bearer, sizeof(bearer));
}

/* As serve decides. */
static void tell_address(struct doctor *doctor, const struct config *config)
{
    const char *list = getenv(CONFIG_TOKEN_VARIABLE);
    struct error err;

    if (listen_check(config->http, &err) < 0)
        doctor_row(doctor, DOCTOR_BAD, "http", NULL, "%s", err.text);
    else if (listen_is_loopback(config->http))
        doctor_row(doctor, DOCTOR_GOOD, "http", NULL, "%s: this machine only", config->http);
    else if (config->token_file || (list && *list))
        doctor_row(doctor, DOCTOR_GOOD, "http", NULL, "%s: clients need a token", config->http);
    else if (config->http_without_token)
        doctor_row(doctor, DOCTOR_WARN, "http", "give --token-file=FILE",
                   "%s: whoever reaches it may run scripts", config->http);
    else
        doctor_row(doctor, DOCTOR_BAD, "http",
                   "give --token-file=FILE, with a line made by python-sandbox token",
                   "%s can be reached from other machines, and no token is set: serve will not "
                   "start",
                   config->http);
}

/* The server makes a file that is not there. */
static void tell_new_log(struct doctor *doctor, const char *path)
{
    auto_free char *copy = mem_strdup(path);
    const char *folder = dirname(copy);

    if (access(folder, W_OK | X_OK) < 0)
        doctor_row(doctor, DOCTOR_BAD, "audit-log", "name a file in a folder that is writable",
                   "%s cannot be made: %s", path, strerror(errno));
    else
        doctor_row(doctor, DOCTOR_GOOD, "audit-log", NULL, "%s will be made", path);
}

static void tell_log(struct doctor *doctor, const char *path)
{
    char last[AUDIT_HASH_SIZE];
    struct error err;
    uint64_t lines;

    if (audit_is_link(path))
        doctor_row(doctor, DOCTOR_BAD, "audit-log", "name the file itself",
                   "%s: a symbolic link, which is not followed", path);
    else if (access(path, F_OK) < 0)
        tell_new_log(doctor, path);
    else if (access(path, R_OK | W_OK) < 0)
        doctor_row(doctor, DOCTOR_BAD, "audit-log", "name a file that can be read and written",
                   "%s: %s", path, strerror(errno));
    else if (audit_verify(path, &lines, last, &err) < 0)
        doctor_row(doctor, DOCTOR_BAD, "audit-log", "move it away: the server begins a new one",
                   "%s", err.text);
    else
        doctor_row(doctor, DOCTOR_GOOD, "audit-log", NULL,
                   "%s: %" PRIu64 " lines, each follows from the one before it", path, lines);
}

void doctor_files(struct doctor *doctor)
{
    if (doctor->config->http)
        tell_address(doctor, doctor->config);
    if (doctor->config->token_file)
        tell_tokens(doctor, doctor->config->token_file);
    if (doctor->config->audit_log)
        tell_log(doctor, doctor->config->audit_log);
}
