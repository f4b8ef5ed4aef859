#include "base/tar.h"

#include <string.h>

#include "base/buf.h"

#define BLOCK 512

/* The header of POSIX.1-2017, pax, "ustar Interchange Format"; numbers are octal text. */
struct header {
    char name[TAR_NAME_MAX];
    char mode[8];
    char uid[8];
    char gid[8];
    char size[12];
    char mtime[12];
    char checksum[8];
    char type;
    char link[100];
    char magic[6];
    char version[2];
    char uname[32];
    char gname[32];
    char major[8];
    char minor[8];
    char prefix[155];
    char unused[12];
};

_Static_assert(sizeof(struct header) == BLOCK, "a header is one block");

/* Digits to the end of the field but for a NUL. */
static void put_octal(char *field, size_t size, size_t value)
{
    field[size - 1] = '\0';
    for (size_t i = size - 1; i > 0; i--, value /= 8)
        field[i - 1] = (char)('0' + value % 8);
}

static void sum(struct header *header)
{
    unsigned char bytes[BLOCK];
    unsigned total = 0;

    memset(header->checksum, ' ', sizeof(header->checksum));
    memcpy(bytes, header, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        total += bytes[i];
    put_octal(header->checksum, sizeof(header->checksum) - 1, total);
}

int tar_add(struct buf *out, const char *name, const void *bytes, size_t len)
{
    static const char zeros[BLOCK];
    struct header header = {.type = '0', .magic = "ustar", .version = {'0', '0'}};
    size_t name_len = strlen(name);
    size_t padding = (BLOCK - len % BLOCK) % BLOCK;

    if (name_len == 0 || name_len > sizeof(header.name) || len > out->max ||
        BLOCK + len + padding > out->max - out->len)
        return -1;
    memcpy(header.name, name, name_len);
    put_octal(header.mode, sizeof(header.mode), 0644);
    put_octal(header.uid, sizeof(header.uid), 0);
    put_octal(header.gid, sizeof(header.gid), 0);
    put_octal(header.size, sizeof(header.size), len);
    put_octal(header.mtime, sizeof(header.mtime), 0);
    sum(&header);
    if (buf_add(out, &header, sizeof(header)) < 0 || buf_add(out, bytes, len) < 0)
        return -1;
    return buf_add(out, zeros, padding);
}

int tar_end(struct buf *out)
{
    static const char zeros[2 * BLOCK];

    return buf_add(out, zeros, sizeof(zeros));
}
