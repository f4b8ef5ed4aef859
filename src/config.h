/* Settings: one table serves flags, environment, JSON file, --help and range checks.
 * Included by cmd only; modules get plain option structs.
 *
 * A setting named `queue-timeout` is the flag --queue-timeout, the variable
 * PYTHON_SANDBOX_QUEUE_TIMEOUT and the key "queue_timeout" in the file (JSON, comments allowed).
 * Flag beats variable beats file beats default. An empty variable is unset. The file's "profiles"
 * are an object of objects: a profile has every setting that it does not name from the others, and
 * a flag beats what the default profile says of itself. The variable
 * CONFIG_TOKEN_VARIABLE is no setting: it holds secrets, and is read by serve alone. An unknown
 * key, an unknown PYTHON_SANDBOX_* variable or a bad value is an error that names its source and
 * the accepted range. */
#pragma once

#include "base/grants.h"
#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define CONFIG_TOKEN_VARIABLE "PYTHON_SANDBOX_TOKEN"
#define CONFIG_FILE_VARIABLE  "PYTHON_SANDBOX_CONFIG"

/* One profile, complete. Everything is owned; strings are NULL where not set. The meaning of the
 * first members is that of struct config. */
struct config_profile {
    char *name; /* 1 to 32 of a-z, 0-9, - and _ */
    char *image;
    int64_t timeout_s, timeout_max_s;
    int64_t memory, cpus_milli, pids, workspace, tmp, shm;
    int64_t warm;

    char *description; /* one line, at most LIMIT_DESCRIPTION_MAX bytes */
    bool exec;         /* what is written to /workspace and /tmp may be executed */
    char *runtime;     /* OCI runtime; else the engine's default */
    char **preload;    /* modules that waiting containers import */
    size_t preload_count;
    struct grants_gpus gpus;
    struct grants_folder *data;
    size_t data_count;
};

/* Strings are owned by the struct; NULL where not set. */
struct config {
    char *docker_host; /* docker-host: unix:///path, /path or tcp://host:port; else searched for */
    char *docker_cert_path; /* docker-cert-path: a folder, for tcp:// */
    char *image; /* image: else python:3.12-slim, python-sandbox:slim, or a pull of the former */
    bool pull;   /* pull: "missing" (default, true) or "never" */
    int64_t pull_timeout_s; /* pull-timeout: 10 to 86400, default 1800 */

    int64_t timeout_s;     /* timeout: 1 to 86400, default 30; of a script that asks for none */
    int64_t timeout_max_s; /* timeout-max: 1 to 86400, default 300; what a script may ask for */

    int64_t memory;     /* memory: bytes, 64m to 1t, default 512m; swap is never granted */
    int64_t cpus_milli; /* cpus: decimal CPUs, 0.1 to 1024, default 1 */
    int64_t pids;       /* pids: 16 to 32768, default 128 */
    int64_t workspace;  /* workspace: bytes of tmpfs, 1m to 1t, default 256m */
    int64_t tmp;        /* tmp: likewise, default 64m */
    int64_t shm;        /* shm: likewise, default 64m */

    int64_t warm;          /* warm: containers kept ready, 0 to 64, default 2 */
    int64_t max_running;   /* max-running: scripts at a time, 1 to 256, default 8 */
    int64_t memory_budget; /* memory-budget: bytes for running and warm containers; 0 (default): 75
                              % of the host's */
    int64_t queue;         /* queue: calls that may wait, 0 to 1000, default 64 */
    int64_t queue_timeout_s; /* queue-timeout: 1 to 3600, default 20 */

    int64_t code_max;        /* code-max: bytes, 1k to 16m, default 1m */
    int64_t stdin_max;       /* stdin-max: bytes, 0 to 16m, default 1m */
    int64_t files_max;       /* files-max: 0 to 256, default 64 */
    int64_t files_bytes_max; /* files-bytes-max: bytes, 0 to 64m, default 16m */
    int64_t text_max; /* text-max: characters of both streams in a result, 1000 to 1000000, default
                         50000 */
    int64_t
        error_text_max; /* error-text-max: the same when isError, 1000 to 1000000, default 10000 */
    int64_t artifacts_max;  /* artifacts-max: 0 to 1000, default 64 */
    int64_t image_max;      /* image-max: bytes, 0 to 3840k, default 512k */
    int64_t image_side_max; /* image-side-max: pixels, 1 to 8000, default 2000 */
    int64_t resource_max;   /* resource-max: bytes, 0 to 4m, default 32k */
    int64_t reply_max;      /* reply-max: bytes of a whole reply line, 16k to 8m, default 900000 */
    int64_t structured_content; /* structured-content: 0 auto (default), 1 always, 2 never */

    char *http;              /* http: ADDRESS:PORT; else stdin and stdout are served */
    char *token_file;        /* token-file: path */
    char *allowed_hosts;     /* allowed-host: names, commas or blanks between them */
    char *allowed_origins;   /* allowed-origin: likewise */
    int64_t drain_s;         /* drain: 0 to 3600, default 0 */
    bool retry_elsewhere;    /* retry-elsewhere: default false */
    bool http_without_token; /* http-without-token-is-unsafe: default false */

    char *audit_log; /* audit-log: path; else no audit log */
    bool audit_code; /* audit-code: default false */

    enum log_level log_level; /* log-level: error, warn, info (default), debug */

    char *profile;                   /* profile: name of the default one; else the first */
    struct config_profile *profiles; /* in the order of the file; without any there, one of the
                                        settings, named "default". NULL before config_load(). */
    size_t profile_count;
    size_t profile_default; /* index */
    bool profiles_named;    /* the file names them */
};

void config_init(struct config *config); /* defaults */
void config_done(struct config *config);

/* A flag of one verb alone, which may come several times. */
struct config_flag {
    const char *name; /* without the dashes */
    const char *placeholder;
    const char *meaning;
};

/* A verb's own lines for --help, and its own flags: NULL, or ended by one without a name. With
 * stop_at_first, flags are taken up to the first argument that is none, else up to "--". */
struct config_verb {
    const char *usage;
    const char *doc;
    bool stop_at_first;
    const struct config_flag *flags;
};

/* One of these as it was given. */
struct config_given {
    size_t flag; /* index */
    const char *value;
};

/* In place of a file with settings: there is none. */
#define CONFIG_NO_FILE "none"

/* A command line, taken apart. Strings point into argv; free() the arrays. */
struct config_arguments {
    const char *file; /* of --config, or NULL */
    char **rest;      /* what is no flag, in order; NULL-terminated */
    size_t count;
    struct config_given *given; /* the verb's own flags, in order; NULL where there are none */
    size_t given_count;
};

/* Fills config from defaults, the file (--config PATH, else PYTHON_SANDBOX_CONFIG, else
 * /etc/python-sandbox/config.json where it exists), environment and flags. Flags are taken up to
 * "--" or, with stop_at_first, up to the first argument that is no flag. `--help` and `--usage`
 * print to stdout and exit 0. usage and doc are the verb's own lines for --help. 0, or -1 with err.
 */
int config_load(struct config *config, int argc, char **argv, bool stop_at_first, const char *usage,
                const char *doc, struct config_arguments *ret_rest, struct error *err);

/* The same for a verb with flags of its own. */
int config_load_verb(struct config *config, int argc, char **argv, const struct config_verb *verb,
                     struct config_arguments *ret_rest, struct error *err);

/* The settings that differ from their defaults as flags ("--warm=3"), for the exec of the front,
 * and what it needs of the profiles: a NULL-terminated array whose strings and block the caller
 * frees with config_flags_free. */
char **config_flags(const struct config *config);
void config_flags_free(char **flags);
