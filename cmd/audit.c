/* audit verify FILE: whether an audit log is whole. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "executor/audit.h"
#include "verbs.h"

int cmd_audit(int argc, char **argv)
{
    char last[AUDIT_HASH_SIZE];
    struct error err;
    uint64_t lines;

    if (argc != 3 || strcmp(argv[1], "verify") != 0) {
        fputs("usage: python-sandbox audit verify FILE\n", stderr);
        return 2;
    }
    if (audit_verify(argv[2], &lines, last, &err) < 0) {
        fprintf(stderr, "python-sandbox: %s\n", err.text);
        return EXIT_FAILURE;
    }
    printf("%" PRIu64 " lines, each follows from the one before it\nSHA-256 of the last: %s\n",
           lines, last);
    return EXIT_SUCCESS;
}
