#include "image_context.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/tar.h"
#include "sandbox/recipe.h"

#define REQUIREMENTS_MAX  (1024 * 1024)
#define CERTIFICATES_MAX  (4 * 1024 * 1024)
#define CONTEXT_MAX       (8 * 1024 * 1024)
#define HOST_CERTIFICATES "/etc/ssl/certs/ca-certificates.crt"

static const struct recipe_file *find_recipe(const char *name)
{
    for (const struct recipe_file *file = recipe_files; file->name; file++)
        if (strcmp(file->name, name) == 0)
            return file;
    return NULL;
}

static int add_requirements(struct buf *context, const char *profile, const char *path,
                            struct error *err)
{
    auto_free char *name = mem_printf("%s.txt", profile);
    const struct recipe_file *file = find_recipe(name);
    auto_free char *text = NULL;
    size_t len;

    if (!path && !file)
        return error_set(err,
                         "only slim, datascience and gpu come with a list of packages; name one "
                         "for %s with --requirements=FILE",
                         profile);
    if (!path)
        return tar_add(context, "requirements.txt", file->bytes, file->len);
    text = fd_read_file(path, REQUIREMENTS_MAX, &len);
    if (!text)
        return error_set(err, "cannot read the requirements %s: %s", path, strerror(errno));
    return tar_add(context, "requirements.txt", text, len);
}

static int add_certificates(struct buf *context, struct error *err)
{
    const char *named = getenv("SSL_CERT_FILE");
    bool is_named = named && *named;
    size_t len;
    auto_free char *text =
        fd_read_file(is_named ? named : HOST_CERTIFICATES, CERTIFICATES_MAX, &len);

    if (text)
        return tar_add(context, "ca.crt", text, len);
    if (is_named)
        return error_set(err, "cannot read SSL_CERT_FILE %s: %s", named, strerror(errno));
    return 0;
}

static int add_recipe(struct buf *context)
{
    for (const struct recipe_file *file = recipe_files; file->name; file++) {
        const char *ending = strrchr(file->name, '.');

        if (ending && strcmp(ending, ".txt") == 0)
            continue;
        if (tar_add(context, file->name, file->bytes, file->len) < 0)
            return -1;
    }
    return tar_end(context);
}

static int to_descriptor(struct buf *bytes)
{
    auto_close int fd = memfd_create("context", MFD_CLOEXEC);

    if (fd < 0)
        return -1;
    while (bytes->len > 0)
        if (fd_write(fd, bytes) < 0)
            return -1;
    return lseek(fd, 0, SEEK_SET) < 0 ? -1 : fd_take(&fd);
}

int image_context(const char *profile, const char *requirements, struct error *err)
{
    auto_buf struct buf context;
    int fd;

    buf_init(&context, CONTEXT_MAX);
    error_set(err, "the files for the build are larger than %d bytes", CONTEXT_MAX);
    if (add_requirements(&context, profile, requirements, err) < 0 ||
        add_certificates(&context, err) < 0 || add_recipe(&context) < 0)
        return -1;
    fd = to_descriptor(&context);
    return fd < 0 ? error_set(err, "no memory for the files of the build: %s", strerror(errno))
                  : fd;
}
