#include "executor/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "executor/spec.h"
#include "wire/outcome.h"

/* A line with its code in it: six bytes of JSON for each of the script's at most. */
#define LINE_MAX_BYTES (6 * LIMIT_CODE_MAX + 65536)

/* A writer holds the lock for the time of one line. */
#define LOCK_TRIES    2000
#define LOCK_PAUSE_NS 1000000

struct audit {
    int fd;
    bool with_code;
    off_t end; /* of the line whose hash is previous */
    char previous[AUDIT_HASH_SIZE];
};

static const char first_previous[AUDIT_HASH_SIZE] =
    "0000000000000000000000000000000000000000000000000000000000000000";

/* Whether a line says that it follows previous; else err. */
static int check_line(const char *line, size_t len, const char *previous, struct error *err)
{
    auto_json cJSON *json = json_parse(line, len, err);
    const char *said = json_get_text(json, "previous");

    if (!json)
        return -1;
    if (!said)
        return error_set(err, "it has no \"previous\"");
    if (strcmp(said, previous) != 0)
        return error_set(
            err, "it does not follow the line before it: one of the two was changed, or a line "
                 "between them is gone");
    return 0;
}

/* Reads lines; previous is updated after each. */
static int walk(FILE *file, uint64_t *ret_lines, char previous[AUDIT_HASH_SIZE], struct error *err)
{
    char *line = NULL;
    size_t size = 0;
    uint64_t count = 0;
    ssize_t len;
    int r = 0;

    while (r == 0 && (len = getline(&line, &size, file)) > 0) {
        count++;
        if (line[len - 1] != '\n' || (size_t)len > LINE_MAX_BYTES)
            r = error_set(err, "it is cut short");
        else
            r = check_line(line, (size_t)len - 1, previous, err);
        if (r == 0)
            sha256_hex(line, (size_t)len - 1, previous);
    }
    free(line);
    if (r < 0)
        return error_wrap(err, "line %" PRIu64, count);
    if (ferror(file))
        return error_set(err, "%s", strerror(errno));
    *ret_lines = count;
    return 0;
}

bool audit_is_link(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

/* Devices and pipes have no end, and opening one may wait for ever. */
static int open_file(const char *path, int flags, struct error *err)
{
    auto_close int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    struct stat status;

    if (fd < 0 && errno == ELOOP && (flags & O_NOFOLLOW) && audit_is_link(path))
        return error_set(err, "%s: a symbolic link, which is not followed; name the file itself",
                         path);
    if (fd < 0)
        return error_set(err, "%s: %s", path, strerror(errno));
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return error_set(err, "%s: not a regular file", path);
    return fd_take(&fd);
}

int audit_verify(const char *path, uint64_t *ret_lines, char ret_last[AUDIT_HASH_SIZE],
                 struct error *err)
{
    auto_close int fd = open_file(path, O_RDONLY, err);
    char previous[AUDIT_HASH_SIZE];
    uint64_t lines = 0;
    FILE *file;
    int r;

    if (fd < 0)
        return -1;
    file = fdopen(fd, "r");
    if (!file)
        return error_set(err, "%s: %s", path, strerror(errno));
    (void)fd_take(&fd);
    memcpy(previous, first_previous, sizeof(previous));
    r = walk(file, &lines, previous, err);
    fclose(file);
    if (r < 0)
        return error_wrap(err, "%s", path);
    *ret_lines = lines;
    memcpy(ret_last, previous, AUDIT_HASH_SIZE);
    return 0;
}

static int lock(int fd, struct error *err)
{
    static const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    for (int i = 0; i < LOCK_TRIES; i++) {
        if (fcntl(fd, F_OFD_SETLK, &whole) == 0)
            return 0;
        if (errno != EAGAIN && errno != EACCES && errno != EINTR)
            return error_set(err, "it cannot be locked: %s", strerror(errno));
        (void)nanosleep(&pause, NULL);
    }
    return error_set(err, "another process holds its lock");
}

static void unlock(int fd)
{
    struct flock whole = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

    (void)fcntl(fd, F_OFD_SETLK, &whole);
}

/* Reads the lines that others have added since. */
static int catch_up(struct audit *audit, struct error *err)
{
    off_t end = lseek(audit->fd, 0, SEEK_END);
    uint64_t lines;
    FILE *file;
    int fd, r;

    if (end < 0)
        return error_set(err, "%s", strerror(errno));
    if (end < audit->end)
        return error_set(err, "it has become shorter; move it away and start again");
    if (end == audit->end)
        return 0;
    fd = fcntl(audit->fd, F_DUPFD_CLOEXEC, 0);
    file = fd < 0 ? NULL : fdopen(fd, "r");
    if (!file) {
        r = error_set(err, "%s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return r;
    }
    if (fseeko(file, audit->end, SEEK_SET) < 0)
        r = error_set(err, "%s", strerror(errno));
    else
        r = walk(file, &lines, audit->previous, err);
    fclose(file);
    if (r == 0)
        audit->end = end;
    return r;
}

struct audit *audit_open(const char *path, bool with_code, struct error *err)
{
    auto_close int fd = open_file(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, err);
    struct audit *audit;
    int r;

    if (fd < 0) {
        error_wrap(err, "cannot write the audit log");
        return NULL;
    }
    audit = mem_alloc(sizeof(*audit));
    audit->fd = fd_take(&fd);
    audit->with_code = with_code;
    memcpy(audit->previous, first_previous, sizeof(first_previous));
    r = lock(audit->fd, err);
    if (r == 0)
        r = catch_up(audit, err);
    unlock(audit->fd);
    if (r < 0) {
        error_wrap(err, "the audit log %s is not whole; move it away to begin a new one", path);
        audit_free(audit);
        return NULL;
    }
    return audit;
}

void audit_free(struct audit *audit)
{
    if (!audit)
        return;
    close(audit->fd);
    free(audit);
}

/* JSON that is read back strictly holds no NUL: one becomes U+FFFD, like any invalid byte. */
static void put_text(struct buf *line, const char *name, const char *bytes, size_t len)
{
    auto_free char *copy = mem_strndup(bytes, len);

    for (size_t i = 0; i < len; i++) {
        if (!copy[i])
            copy[i] = '\xff';
    }
    (void)json_put_name(line, name);
    (void)json_put_bytes(line, copy, len);
}

static void put_number(struct buf *line, const char *name, int64_t number)
{
    (void)json_put_name(line, name);
    (void)buf_addf(line, "%" PRId64, number);
}

static void put_time(struct buf *line)
{
    struct timespec now;
    struct tm tm;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    (void)json_put_name(line, "time");
    (void)buf_addf(line, "\"%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ\"", tm.tm_year + 1900,
                   tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                   now.tv_nsec / 1000000);
}

static void put_call(struct buf *line, const struct audit_call *call,
                     const struct spec_profile *profile, bool with_code)
{
    const struct outcome *outcome = call->outcome;
    const char *status = outcome_status_name(outcome->status);
    char hash[SHA256_HEX_SIZE];

    sha256_hex(call->code, call->code_len, hash);
    put_time(line);
    put_number(line, "call", call->number);
    put_text(line, "client", call->client, call->client_len);
    put_text(line, "profile", call->profile, strlen(call->profile));
    put_text(line, "image", call->image_id, strlen(call->image_id));
    put_text(line, "code_sha256", hash, strlen(hash));
    put_number(line, "code_bytes", (int64_t)call->code_len);
    put_number(line, "stdin_bytes", (int64_t)call->stdin_len);
    put_number(line, "files", (int64_t)call->file_count);
    put_number(line, "file_bytes", (int64_t)call->file_bytes);
    put_number(line, "artifacts", (int64_t)call->artifact_count);
    put_number(line, "artifact_bytes", (int64_t)call->artifact_bytes);
    put_number(line, "timeout_ms", call->timeout_ms);
    put_number(line, "memory_bytes", profile->memory);
    put_number(line, "cpus_milli", profile->cpus_milli);
    put_number(line, "pids", profile->pids);
    put_text(line, "status", status, strlen(status));
    put_number(line, "exit_code", outcome->exit_code);
    put_number(line, "oom_kills", outcome->oom_kills);
    put_number(line, "duration_ms", (int64_t)(outcome->duration_us / 1000));
    put_number(line, "total_ms", call->total_ms);
    if (with_code)
        put_text(line, "code", call->code, call->code_len);
}

/* Under the lock. */
static int append(struct audit *audit, const struct buf *line, struct error *err)
{
    ssize_t n;

    do
        n = write(audit->fd, line->data, line->len);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)line->len) {
        error_set(err, "%s", n < 0 ? strerror(errno) : "the disk is full");
        /* A piece of a line would spoil the one after it. Where it stays, audit_verify tells. */
        if (n > 0 && ftruncate(audit->fd, audit->end) < 0)
            error_wrap(err, "a piece of a line stays: %s", strerror(errno));
        return -1;
    }
    audit->end += n;
    sha256_hex(line->data, line->len - 1, audit->previous);
    return 0;
}

static int write_line(struct audit *audit, const struct audit_call *call,
                      const struct spec_profile *profile, struct error *err)
{
    auto_buf struct buf line;

    buf_init(&line, LINE_MAX_BYTES);
    if (catch_up(audit, err) < 0)
        return error_wrap(err, "what others wrote");
    (void)buf_add_text(&line, "{");
    put_call(&line, call, profile, audit->with_code);
    put_text(&line, "previous", audit->previous, strlen(audit->previous));
    if (buf_add_text(&line, "}\n") < 0)
        return error_set(err, "the line is too long");
    return append(audit, &line, err);
}

int audit_write(struct audit *audit, const struct audit_call *call,
                const struct spec_profile *profile, struct error *err)
{
    int r = lock(audit->fd, err);

    if (r == 0) {
        r = write_line(audit, call, profile, err);
        unlock(audit->fd);
    }
    return r < 0 ? error_wrap(err, "audit log") : 0;
}
