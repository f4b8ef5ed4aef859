#include "executor/certs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "executor/x509.h"

/* A bundle of every public CA is a fifth of this. */
#define PEM_MAX (1024 * 1024)

#define KEY_MARK "PRIVATE KEY-----"

/* Both ways in which a key says that it wants a passphrase. */
static const char *const locked[] = {"BEGIN ENCRYPTED PRIVATE KEY", "Proc-Type: 4,ENCRYPTED"};

static char *read_pem(const char *folder, const char *name, struct error *err)
{
    auto_free char *path = mem_printf("%s/%s", folder, name);
    char *text = fd_read_file(path, PEM_MAX, NULL);

    if (!text)
        error_set(err, "%s: %s%s", path, strerror(errno),
                  errno == EACCES ? ": whoever runs this must be able to read it"
                                  : "; an engine with TLS needs ca.pem, cert.pem and key.pem in "
                                    "one folder");
    return text;
}

static int check_key(const char *folder, const char *key, struct error *err)
{
    if (!strstr(key, KEY_MARK))
        return error_set(err, "%s/key.pem holds no private key in PEM form", folder);
    for (size_t i = 0; i < sizeof(locked) / sizeof(locked[0]); i++) {
        if (strstr(key, locked[i]))
            return error_set(err,
                             "%s/key.pem wants a passphrase, which nobody can enter here: write it "
                             "without one (openssl pkey -in key.pem -out key.pem), mode 0600",
                             folder);
    }
    return 0;
}

int certs_load(const char *folder, struct certs *ret, struct error *err)
{
    __attribute__((cleanup(certs_done))) struct certs certs = {.folder = mem_strdup(folder)};
    int64_t until;

    certs.ca = read_pem(folder, "ca.pem", err);
    certs.cert = certs.ca ? read_pem(folder, "cert.pem", err) : NULL;
    certs.key = certs.cert ? read_pem(folder, "key.pem", err) : NULL;
    if (!certs.key)
        return -1;
    if (x509_until(certs.ca, strlen(certs.ca), &until) < 0)
        return error_set(err, "%s/ca.pem holds no certificate in PEM form", folder);
    if (x509_until(certs.cert, strlen(certs.cert), &certs.until) < 0)
        return error_set(err, "%s/cert.pem holds no certificate in PEM form", folder);
    if (check_key(folder, certs.key, err) < 0)
        return -1;
    *ret = certs;
    certs = (struct certs){0};
    return 0;
}

void certs_done(struct certs *certs)
{
    if (certs->key)
        explicit_bzero(certs->key, strlen(certs->key));
    free(certs->folder);
    free(certs->ca);
    free(certs->cert);
    free(certs->key);
    *certs = (struct certs){0};
}

int certs_check(const struct certs *certs, int64_t now, struct error *err)
{
    char date[CERTS_DATE_SIZE];

    if (now < certs->until)
        return 0;
    certs_date(certs->until, date);
    return error_set(err,
                     "%s/cert.pem has expired, on %s: have the engine's CA sign a new one (and see "
                     "that this machine's clock is right)",
                     certs->folder, date);
}

void certs_date(int64_t seconds, char ret[CERTS_DATE_SIZE])
{
    time_t at = (time_t)seconds;
    struct tm tm;

    if (!gmtime_r(&at, &tm) || !strftime(ret, CERTS_DATE_SIZE, "%Y-%m-%d", &tm))
        snprintf(ret, CERTS_DATE_SIZE, "?");
}
