/* Asks a server over HTTP whether it is well: what a container's health check runs, where there is
 * no other program to ask with. */
#include <ctype.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "config.h"
#include "executor/curl_api.h"
#include "listen.h"
#include "verbs.h"

#define PROGRAM      "python-sandbox"
#define TIMEOUT_MS   5000L
#define ANSWER_MAX   256
#define CMDLINE_MAX  131072
#define ARGUMENTS    256
#define CMDLINE_FILE "/proc/1/cmdline"

/* The rest of an answer that is too long is not read: the status says what there is to know. */
static size_t on_data(char *bytes, size_t size, size_t count, void *arg)
{
    return buf_add(arg, bytes, size * count) < 0 ? 0 : size * count;
}

/* Cut at the end of the first line, or at what no terminal should get. */
static void keep_line(char *text)
{
    while (isprint((unsigned char)*text))
        text++;
    *text = '\0';
}

/* The status and the first line of the answer; -1 with err where there was none. */
static long ask(const char *url, char **ret_line, struct error *err)
{
    struct curl_api api;
    auto_buf struct buf answer = {0};
    CURL *easy;
    CURLcode code;
    long status = -1;

    if (curl_api_load(&api, err) < 0)
        return -1;
    buf_init(&answer, ANSWER_MAX);
    (void)api.global_init(CURL_GLOBAL_DEFAULT);
    easy = api.easy_init();
    if (!easy)
        return error_set(err, "libcurl gives no handle");
    api.easy_setopt(easy, CURLOPT_URL, url);
    api.easy_setopt(easy, CURLOPT_NOPROXY, "*");
    api.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    api.easy_setopt(easy, CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
    api.easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data);
    api.easy_setopt(easy, CURLOPT_WRITEDATA, &answer);
    code = api.easy_perform(easy);
    if (code == CURLE_OK || code == CURLE_WRITE_ERROR)
        api.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    else
        error_set(err, "%s", api.easy_strerror(code));
    api.easy_cleanup(easy);
    api.global_cleanup();
    *ret_line = buf_take(&answer, NULL);
    keep_line(*ret_line);
    return status;
}

/* The flags of the server that is process 1, as in a container, after a small init or without one;
 * NULL where process 1 is something else. The caller frees both. */
static char **first_process(char **ret_text, int *ret_count)
{
    size_t len = 0;
    char *text = fd_read_file(CMDLINE_FILE, CMDLINE_MAX, &len);
    char **found = mem_alloc((ARGUMENTS + 1) * sizeof(*found));
    int count = 0;

    for (char *p = text; text && p < text + len && count < ARGUMENTS; p += strlen(p) + 1) {
        const char *slash = strrchr(p, '/');

        if (count > 0 || strcmp(slash ? slash + 1 : p, PROGRAM) == 0)
            found[count++] = p;
    }
    if (count == 0) {
        free(text);
        free(found);
        return NULL;
    }
    /* The program's name stands for the verb where that is left out. */
    if (count > 1 && found[1][0] != '-')
        memmove(found, found + 1, (size_t)count-- * sizeof(*found));
    *ret_text = text;
    *ret_count = count;
    return found;
}

/* The address of the server that is process 1. 1: found. 0: it serves none. -1: it is none. */
static int address_in_force(char **ret, struct error *err)
{
    auto_free char *text = NULL;
    auto_free char **arguments = NULL;
    struct config_arguments rest;
    struct config config = {0};
    int count, r = -1;

    arguments = first_process(&text, &count);
    if (!arguments)
        return error_set(err, "no server to ask: give its URL, or the --http=ADDRESS:PORT that it "
                              "was started with");
    if (config_load(&config, count, arguments, false, "", "", &rest, err) == 0) {
        r = config.http != NULL;
        *ret = config.http ? mem_strdup(config.http) : NULL;
        free(rest.rest);
    }
    config_done(&config);
    return r;
}

/* As address_in_force(). What was asked for beats process 1, which beats variables and file: it may
 * have flags that they know nothing of. */
static int choose_address(const struct config *config, bool has_flags, char **ret,
                          struct error *err)
{
    int r = -1;

    if (!has_flags || !config->http)
        r = address_in_force(ret, err);
    if (r >= 0 || !config->http)
        return r;
    *ret = mem_strdup(config->http);
    return 1;
}

/* A URL without a path, or with that of MCP, which clients have, names the server. */
static char *url_of_server(const char *url, const char *path)
{
    const char *host = strstr(url, "://") + strlen("://");
    const char *slash = strchr(host, '/');
    size_t len = slash ? (size_t)(slash - url) : strlen(url);

    if (slash && strcmp(slash, "/") != 0 && strcmp(slash, "/mcp") != 0 &&
        strcmp(slash, "/mcp/") != 0)
        return mem_strdup(url);
    return mem_printf("%.*s%s", (int)len, url, path);
}

/* A URL, or HOST:PORT or :PORT. 1, or -1 with err. */
static int take_url(const char *text, const char *path, char **ret_url, struct error *err)
{
    auto_free char *url = NULL;

    if (strstr(text, "://"))
        url = mem_strdup(text);
    else
        url = mem_printf("http://%s%s", *text == ':' ? "localhost" : "", text);
    if (strncasecmp(url, "http://", 7) != 0 && strncasecmp(url, "https://", 8) != 0)
        return error_set(err, "\"%.100s\" is no http:// or https:// URL", text);
    *ret_url = url_of_server(url, path);
    return 1;
}

/* 1: *ret_url is the one to ask. 0: there is nothing to ask. */
static int choose_url(const struct config *config, const struct config_arguments *rest,
                      bool has_flags, const char *path, char **ret_url, struct error *err)
{
    auto_free char *address = NULL;
    int r;

    if (rest->count > 1)
        return error_set(err, "one URL is enough");
    if (rest->count == 1)
        return take_url(rest->rest[0], path, ret_url, err);
    r = choose_address(config, has_flags, &address, err);
    if (r <= 0)
        return r;
    *ret_url = listen_url(address, path);
    return *ret_url ? 1 : error_set(err, "\"%.100s\" is no address to ask at", address);
}

static int tell(const char *url)
{
    auto_free char *line = NULL;
    struct error err;
    long status = ask(url, &line, &err);

    if (status == 200) {
        printf("%s\n", *line ? line : "ok");
        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (status < 0)
        fprintf(stderr, PROGRAM " health: %s: %s\n", url, err.text);
    else
        fprintf(stderr, PROGRAM " health: %s: status %ld%s%s\n", url, status, *line ? ": " : "",
                line);
    return EXIT_FAILURE;
}

int cmd_health(int argc, char **argv)
{
    bool ready = verbs_take_flag(&argc, argv, "--ready");
    bool has_flags = argc > 1;
    auto_free char *url = NULL;
    struct config_arguments rest = {0};
    struct config config = {0};
    struct error err;
    int status, r;

    r = config_load(&config, argc, argv, false, "[--ready] [URL]",
                    "Ask a server whether it is alive (/healthz) or, with --ready, whether it "
                    "could take a call (/readyz): at the server of the URL or of an "
                    "ADDRESS:PORT, or at the whole URL "
                    "where it has another "
                    "path than that of MCP, else at the address that a flag gives, "
                    "else where process 1 serves, else at the address that a variable or the file "
                    "gives. Exit status 0: yes.",
                    &rest, &err);
    if (r == 0)
        r = choose_url(&config, &rest, has_flags, ready ? "/readyz" : "/healthz", &url, &err);
    if (r < 0) {
        fprintf(stderr, PROGRAM " health: %s\n", err.text);
        status = EXIT_FAILURE; /* not 2, which Docker keeps for itself */
    } else if (r == 0) {
        puts("the server speaks over stdin and stdout: there is nothing to ask");
        status = EXIT_SUCCESS;
    } else {
        status = tell(url);
    }
    free(rest.rest);
    config_done(&config);
    return status;
}
