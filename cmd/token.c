/* Prints a fresh token for --token-file. */
#include <errno.h>
#include <nettle/base64.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "verbs.h"

#define TOKEN_BYTES 32

int cmd_token(int argc, char **argv)
{
    uint8_t bytes[TOKEN_BYTES];
    char text[BASE64_ENCODE_RAW_LENGTH(TOKEN_BYTES) + 1];
    struct base64_encode_ctx context;
    size_t len;

    if (argc > 1) {
        fprintf(stderr,
                "python-sandbox %s: takes no arguments; it prints a fresh token, for example:\n"
                "    (umask 077; python-sandbox token >tokens)\n"
                "    python-sandbox serve --http=localhost:8000 --token-file=tokens\n",
                argv[0]);
        return 2;
    }
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        fprintf(stderr, "python-sandbox token: no random bytes: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    base64url_encode_init(&context);
    len = base64_encode_update(&context, text, sizeof(bytes), bytes);
    (void)base64_encode_final(&context, text + len);
    /* 32 bytes are 43 characters, and padding that nobody needs. */
    text[(sizeof(bytes) * 4 + 2) / 3] = '\0';
    puts(text);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
