#include "run_outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/path.h"

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define FILE_FLAGS   (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)

int run_outputs_open(struct run_outputs *outputs, const char *dir, struct buf *told,
                     struct error *err)
{
    *outputs = (struct run_outputs){.dir = dir, .fd = -1, .file = -1, .told = told};
    if (!dir)
        return 0;
    if (!*dir)
        return error_set(err, "--outputs must name a folder");
    if (mkdir(dir, 0777) < 0 && errno != EEXIST)
        return error_set(err, "cannot make the folder %s: %s", dir, strerror(errno));
    outputs->fd = open(dir, FOLDER_FLAGS);
    if (outputs->fd < 0)
        return error_set(err, "cannot open the folder %s: %s", dir, strerror(errno));
    return 0;
}

struct artifact_limits run_outputs_limits(const struct run_outputs *outputs)
{
    if (!outputs->dir)
        return (struct artifact_limits){.count = 0};
    return (struct artifact_limits){
        .count = LIMIT_LOCAL_ARTIFACTS_MAX,
        .one = LIMIT_LOCAL_ARTIFACTS_BYTES_MAX,
        .all = LIMIT_LOCAL_ARTIFACTS_BYTES_MAX,
        .figures = LIMIT_LOCAL_ARTIFACTS_BYTES_MAX,
    };
}

static void tell(struct run_outputs *outputs, const char *name, const char *why)
{
    (void)buf_addf(outputs->told, "python-sandbox: %s is not in %s: %s\n", name, outputs->dir, why);
}

static void fail(struct run_outputs *outputs, const char *why)
{
    tell(outputs, outputs->name, why);
    outputs->failed = true;
}

/* The folder below `folder` that the first part of a path names; it is made where it is not there.
 */
static int enter(int folder, const char *part)
{
    if (mkdirat(folder, part, 0777) < 0 && errno != EEXIST)
        return -1;
    return openat(folder, part, FOLDER_FLAGS | O_NOFOLLOW);
}

/* Makes the file; -1 with errno. */
static int make(int folder, const char *path)
{
    auto_close int at = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    const char *slash;

    while (at >= 0 && (slash = strchr(path, '/'))) {
        auto_free char *part = mem_strndup(path, (size_t)(slash - path));
        int next = enter(at, part);

        close(at);
        at = next;
        path = slash + 1;
    }
    return at < 0 ? -1 : openat(at, path, FILE_FLAGS, 0666);
}

/* A link in the place of a folder is ENOTDIR, too. */
static const char *why_not_made(int error)
{
    if (error == EEXIST)
        return "there is one already, which stays";
    if (error == ENOTDIR)
        return "a file or a symbolic link has the name of a folder above it; move that away";
    return strerror(error);
}

/* Takes an incomplete file away again. */
static void take_back(struct run_outputs *outputs)
{
    close(outputs->file);
    outputs->file = -1;
    (void)unlinkat(outputs->fd, outputs->name, 0);
}

static void end_file(struct run_outputs *outputs)
{
    int r;

    if (outputs->file < 0 || outputs->left > 0)
        return;
    r = close(outputs->file);
    outputs->file = -1;
    if (r < 0)
        fail(outputs, strerror(errno));
}

void run_outputs_begin(struct run_outputs *outputs, const struct artifact *artifact)
{
    struct error err;

    free(outputs->name);
    outputs->name = mem_strndup(artifact->name, artifact->name_len);
    outputs->left = 0;
    if (artifact->reason != ARTIFACT_WHOLE) {
        tell(outputs, outputs->name, artifact_reason_text(artifact->reason));
        outputs->failed = outputs->failed || artifact->reason != ARTIFACT_SPECIAL;
        return;
    }
    if (path_check(artifact->name, artifact->name_len, &err) < 0) {
        error_set(&err, "its name %s", err.text);
        fail(outputs, err.text);
        return;
    }
    outputs->file = make(outputs->fd, outputs->name);
    if (outputs->file < 0) {
        fail(outputs, why_not_made(errno));
        return;
    }
    outputs->left = artifact->size;
    end_file(outputs);
}

void run_outputs_bytes(struct run_outputs *outputs, const char *bytes, size_t len)
{
    while (outputs->file >= 0 && len > 0) {
        ssize_t n = write(outputs->file, bytes, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            fail(outputs, strerror(errno));
            take_back(outputs);
            return;
        }
        bytes += n;
        len -= (size_t)n;
        outputs->left -= (uint64_t)n;
    }
    end_file(outputs);
}

void run_outputs_rest(struct run_outputs *outputs, uint64_t count, bool at_least)
{
    outputs->count = count;
    outputs->at_least = at_least;
}

void run_outputs_end(struct run_outputs *outputs)
{
    if (outputs->file >= 0) {
        fail(outputs, "it broke off");
        take_back(outputs);
    }
    if (outputs->count == 0)
        return;
    outputs->failed = outputs->failed || outputs->dir;
    (void)buf_addf(
        outputs->told, "python-sandbox: %s%" PRIu64 "%s figure%s or file%s %s\n",
        outputs->at_least ? "at least " : "", outputs->count, outputs->dir ? " more" : "",
        outputs->count == 1 ? "" : "s", outputs->count == 1 ? "" : "s",
        outputs->dir ? "did not come along" : "stayed behind; --outputs=DIR fetches them");
}

void run_outputs_done(struct run_outputs *outputs)
{
    if (outputs->file >= 0)
        take_back(outputs);
    if (outputs->fd >= 0)
        close(outputs->fd);
    free(outputs->name);
    *outputs = (struct run_outputs){.fd = -1, .file = -1};
}
