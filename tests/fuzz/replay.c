/* A main() for a fuzz target without a fuzzer: feeds it every file that is named, and every file in
 * a folder that is named. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"

#define FILE_MAX (16 * 1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    size_t len;
    auto_free char *text = fd_read_file(path, FILE_MAX, &len);

    if (!text) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    /* A copy of the exact length, so that the sanitizer sees a read past the end. */
    auto_free uint8_t *exact = malloc(len > 0 ? len : 1);
    if (!exact)
        return -1;
    memcpy(exact, text, len);
    (void)LLVMFuzzerTestOneInput(exact, len);
    return 0;
}

static int replay_folder(DIR *folder, const char *path)
{
    const struct dirent *entry;
    int count = 0;

    while ((entry = readdir(folder))) {
        if (entry->d_name[0] == '.')
            continue;
        auto_free char *file = mem_printf("%s/%s", path, entry->d_name);
        if (replay_file(file) < 0)
            return -1;
        count++;
    }
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;

    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        int done = folder ? replay_folder(folder, argv[i]) : replay_file(argv[i]) < 0 ? -1 : 1;

        if (folder)
            closedir(folder);
        if (done < 0)
            return EXIT_FAILURE;
        count += done;
    }
    printf("%d inputs replayed\n", count);
    return count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
