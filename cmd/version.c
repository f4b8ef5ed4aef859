/* Prints the version, and what the binary was built with. The build sets REVISION, BUILT, FLAVOUR
 * and ARCHIVES for this file alone. */
#include <cjson/cJSON.h>
#include <curl/curlver.h>
#include <gnu/libc-version.h>
#include <microhttpd.h>
#include <nettle/version.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "verbs.h"

#ifndef REVISION
#define REVISION "unknown"
#endif
#ifndef BUILT
#define BUILT "unknown"
#endif
#ifndef FLAVOUR
#define FLAVOUR "unknown"
#endif
#ifndef ARCHIVES
#define ARCHIVES ""
#endif

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* The version of the headers, and of what is loaded where that is another. */
static void print_library(const char *name, const char *built, const char *loaded)
{
    printf("%-14s %s", name, built);
    if (loaded && strcmp(loaded, built) != 0)
        printf(" (here %s)", loaded);
    putchar('\n');
}

static void print_libraries(void)
{
    const struct scmp_version *seccomp = seccomp_version();
    auto_free char *cjson =
        mem_printf("%d.%d.%d", CJSON_VERSION_MAJOR, CJSON_VERSION_MINOR, CJSON_VERSION_PATCH);
    auto_free char *glibc = mem_printf("%d.%d", __GLIBC__, __GLIBC_MINOR__);
    auto_free char *microhttpd = mem_printf("%x.%x.%x", MHD_VERSION >> 24, MHD_VERSION >> 16 & 0xff,
                                            MHD_VERSION >> 8 & 0xff);
    auto_free char *nettle_built = mem_printf("%d.%d", NETTLE_VERSION_MAJOR, NETTLE_VERSION_MINOR);
    auto_free char *nettle_loaded =
        mem_printf("%d.%d", nettle_version_major(), nettle_version_minor());
    auto_free char *seccomp_built =
        mem_printf("%d.%d.%d", SCMP_VER_MAJOR, SCMP_VER_MINOR, SCMP_VER_MICRO);
    auto_free char *seccomp_loaded =
        mem_printf("%u.%u.%u", seccomp->major, seccomp->minor, seccomp->micro);

    print_library("glibc", glibc, gnu_get_libc_version());
    print_library("libcjson", cjson, cJSON_Version());
    print_library("libmicrohttpd", microhttpd, MHD_get_version());
    print_library("libseccomp", seccomp_built, seccomp_loaded);
    print_library("nettle", nettle_built, nettle_loaded);
    print_library("libcurl", LIBCURL_VERSION " (loaded when it is needed)", NULL);
}

int cmd_version(int argc, char **argv)
{
    if (argc > 1) {
        fprintf(stderr, "python-sandbox %s: takes no arguments\n", argv[0]);
        return 2;
    }
    puts("python-sandbox " VERSION);
    print_library("revision", REVISION, NULL);
    print_library("built", BUILT, NULL);
    print_library("flavour", FLAVOUR, NULL);
    print_library("compiler", COMPILER, NULL);
    if (*ARCHIVES)
        print_library("linked in", ARCHIVES, NULL);
    print_libraries();
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
