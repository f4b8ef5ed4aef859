/* The certificates with which a client and an engine on another machine prove themselves to each
 * other, kept in memory, so that no file is opened later. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;

/* PEM text, NUL-terminated. */
struct certs {
    char *folder;
    char *ca;      /* ca.pem: who may vouch for the engine; nobody else may */
    char *cert;    /* cert.pem: this client's, with what stands between it and the engine's CA */
    char *key;     /* key.pem: its private key, without a passphrase */
    int64_t until; /* when cert.pem ends, in seconds since 1970 */
};

/* Reads the three files of a folder, by the names that Docker gives them. */
int certs_load(const char *folder, struct certs *ret, struct error *err);

/* Frees, and wipes the key. */
void certs_done(struct certs *certs);

/* -1 where cert.pem has ended by now, in seconds since 1970. */
int certs_check(const struct certs *certs, int64_t now, struct error *err);

/* "2027-01-31", in UTC. */
#define CERTS_DATE_SIZE 16
void certs_date(int64_t seconds, char ret[CERTS_DATE_SIZE]);
