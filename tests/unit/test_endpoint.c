/* endpoint: where the engine's socket is looked for, and what is said where it is not found.
 *
 * Runs in a mount namespace of its own with an empty /run where it may make one, so that the
 * machine's own engine plays no part; without one, the tests that need it are skipped. */
#include "pem_sample.h"

#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "executor/endpoint.h"
#include "executor/inside.h"
#include "executor/remote.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

#define SYSTEM_SOCKET "/var/run/docker.sock"
#define NOBODY        65534

struct place {
    char home[32]; /* also the folder of every test file */
    bool run_is_empty;
};

static struct place *place_of(void **state)
{
    return *state;
}

static char *below(const struct place *place, const char *name)
{
    return mem_printf("%s/%s", place->home, name);
}

/* Every folder on the way to path. */
static void make_folders(const char *path)
{
    auto_free char *copy = mem_strdup(path);

    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(copy, 0755);
        *slash = '/';
    }
}

/* A socket that accepts connections; closed, it refuses them. */
static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_true(strlen(path) < sizeof(address.sun_path));
    memcpy(address.sun_path, path, strlen(path) + 1);
    make_folders(path);
    (void)unlink(path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 64), 0);
    return fd;
}

static void write_file(const char *path, const char *text)
{
    auto_close int fd = -1;

    make_folders(path);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void write_below(const struct place *place, const char *name, const char *text)
{
    auto_free char *path = below(place, name);

    write_file(path, text);
}

#define auto_endpoint __attribute__((cleanup(free_endpoint)))

static void free_endpoint(struct endpoint **endpoint)
{
    endpoint_free(*endpoint);
}

static void expect_found(const char *configured, const char *path)
{
    auto_endpoint struct endpoint *endpoint = endpoint_new(configured, NULL);
    struct error err = {"untouched"};

    assert_string_equal(endpoint_name(endpoint), "?");
    if (endpoint_find(endpoint, &err) < 0)
        fail_msg("not found: %s", err.text);
    assert_string_equal(endpoint_name(endpoint), path);
    assert_string_equal(endpoint_socket(endpoint), path);
    assert_null(endpoint_remote(endpoint));
    assert_false(endpoint_is_remote(endpoint));
    assert_string_equal(err.text, "untouched");
}

static void expect_error(const char *configured, const char *const *parts, size_t count)
{
    auto_endpoint struct endpoint *endpoint = endpoint_new(configured, NULL);
    struct error err = {""};

    assert_int_equal(endpoint_find(endpoint, &err), -1);
    for (size_t i = 0; i < count; i++) {
        if (!strstr(err.text, parts[i]))
            fail_msg("the error lacks '%s': %s", parts[i], err.text);
    }
    assert_int_equal(endpoint_find(endpoint, NULL), -1);
    assert_null(endpoint_socket(endpoint));
}

#define EXPECT_ERROR(configured, ...)                                                              \
    expect_error(configured, (const char *const[]){__VA_ARGS__},                                   \
                 COUNT(((const char *const[]){__VA_ARGS__})))

static int clear_environment(void **state)
{
    unsetenv("DOCKER_HOST");
    unsetenv("DOCKER_CONTEXT");
    unsetenv("DOCKER_CONFIG");
    unsetenv("DOCKER_TLS_VERIFY");
    unsetenv("DOCKER_CERT_PATH");
    unsetenv("XDG_RUNTIME_DIR");
    setenv("HOME", place_of(state)->home, 1);
    return 0;
}

static void every_form_of_a_path(void **state)
{
    static const char *const forms[] = {"%s",           "unix://%s",       "unix:%s", "unix://%s/",
                                        "  unix://%s ", "\tunix://%s\r\n", "%s///",   " %s"};
    auto_free char *path = below(place_of(state), "forms.sock");
    auto_close int fd = listen_at(path);

    for (size_t i = 0; i < COUNT(forms); i++) {
        const char *mark = strstr(forms[i], "%s");
        auto_free char *text =
            mem_printf("%.*s%s%s", (int)(mark - forms[i]), forms[i], path, mark + 2);

        expect_found(text, path);
        setenv("DOCKER_HOST", text, 1);
        expect_found(NULL, path);
        expect_found("", path);
        unsetenv("DOCKER_HOST");
    }
    assert_true(fd >= 0);
}

static void what_makes_no_sense_names_its_source(void **state)
{
    static const char *const bad[] = {"fd://", "run/docker.sock", "unix://run/x.sock", " "};

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        EXPECT_ERROR(bad[i], "--docker-host: ", "is neither a unix socket nor", "unix:///path");
        setenv("DOCKER_HOST", bad[i], 1);
        EXPECT_ERROR(NULL, "DOCKER_HOST: ", "is neither a unix socket nor", "unix:///path");
        unsetenv("DOCKER_HOST");
    }
    EXPECT_ERROR("ssh://user@host", "--docker-host: 'ssh://user@host': ", "ssh -nNT -L");
    EXPECT_ERROR("tcp://host:x", "--docker-host: 'tcp://host:x' is not tcp://HOST:PORT");
}

static void a_named_place_is_the_only_one(void **state)
{
    const struct place *place = place_of(state);
    auto_free char *usual = below(place, ".docker/run/docker.sock");
    auto_free char *missing = below(place, "missing.sock");
    auto_free char *refused = below(place, "refused.sock");
    auto_free char *file = below(place, "file.sock");
    auto_free char *folder = below(place, "file.sock/x.sock");
    auto_free char *long_path = mem_printf("/tmp/%0200d.sock", 7);
    const char *misplaced = inside_misplaced(inside_container());
    auto_close int fd = listen_at(usual);

    close(listen_at(refused));
    write_file(file, "");
    EXPECT_ERROR(missing, missing, "(--docker-host)", "No such file or directory",
                 inside_silence(inside_container(), false));
    EXPECT_ERROR(refused, refused, "Connection refused", inside_silence(inside_container(), true));
    EXPECT_ERROR(file, file, "is a file, not a socket", misplaced);
    EXPECT_ERROR(folder, folder, "Not a directory");
    EXPECT_ERROR(place->home, place->home, "is a directory, not a socket", misplaced);
    EXPECT_ERROR(long_path, long_path, "File name too long");
    setenv("DOCKER_HOST", missing, 1);
    EXPECT_ERROR(NULL, missing, "(DOCKER_HOST)", "No such file or directory");
    assert_true(fd >= 0);
}

static void flag_then_variable_then_context(void **state)
{
    const struct place *place = place_of(state);
    auto_free char *flag = below(place, "flag.sock");
    auto_free char *variable = below(place, "variable.sock");
    auto_free char *context = below(place, "context.sock");
    auto_free char *meta = mem_printf("{\"Name\":\"mine\",\"Metadata\":{},\"Endpoints\":"
                                      "{\"docker\":{\"Host\":\"unix://%s\"}}}",
                                      context);
    auto_close int flag_fd = listen_at(flag);
    auto_close int variable_fd = listen_at(variable);
    auto_close int context_fd = listen_at(context);

    write_below(place, ".docker/contexts/meta/abcdef/meta.json", meta);
    write_below(place, ".docker/config.json", "{\"currentContext\":\"mine\"}");
    setenv("DOCKER_HOST", variable, 1);
    expect_found(flag, flag);
    expect_found(NULL, variable);
    setenv("DOCKER_HOST", "", 1);
    expect_found("", context);
    unsetenv("DOCKER_HOST");
    expect_found(NULL, context);
    fd_close_at(&context_fd);
    context_fd = -1;
    EXPECT_ERROR(NULL, context, "(Docker context 'mine')", "Connection refused");
    assert_true(flag_fd >= 0 && variable_fd >= 0);
}

static void contexts(void **state)
{
    const struct place *place = place_of(state);
    auto_free char *one = below(place, "one.sock");
    auto_free char *two = below(place, "two.sock");
    auto_free char *one_meta =
        mem_printf("{\"Name\":\"one\",\"Endpoints\":{\"docker\":{\"Host\":\"unix://%s\"}}}", one);
    auto_free char *two_meta =
        mem_printf("{\"Name\":\"two\",\"Endpoints\":{\"docker\":{\"Host\":\"unix://%s\"}}}", two);
    auto_close int one_fd = listen_at(one);
    auto_close int two_fd = listen_at(two);

    write_below(place, ".docker/contexts/meta/1/meta.json", one_meta);
    write_below(place, ".docker/contexts/meta/2/meta.json", two_meta);
    write_below(place, ".docker/contexts/meta/3/meta.json", "{\"Name\":");
    write_below(place, ".docker/contexts/meta/4/meta.json",
                "{\"Name\":\"far\",\"Endpoints\":{\"docker\":{\"Host\":\"tcp://far:2376\"}}}");
    write_below(place, ".docker/contexts/meta/5/meta.json",
                "{\"Name\":\"cluster\",\"Endpoints\":{\"kubernetes\":{}}}");
    write_below(place, ".docker/contexts/meta/file", "");
    write_below(place, ".docker/config.json", "{\"currentContext\":\"one\",\"auths\":{}}");
    expect_found(NULL, one);
    setenv("DOCKER_CONTEXT", "two", 1);
    expect_found(NULL, two);
    setenv("DOCKER_CONTEXT", "", 1);
    expect_found(NULL, one);
    setenv("DOCKER_CONTEXT", "far", 1);
    EXPECT_ERROR(NULL, "Docker context 'far': tcp://far:2376 without TLS is refused");
    setenv("DOCKER_CONTEXT", "none", 1);
    EXPECT_ERROR(NULL, "'none'", "/.docker/contexts", "docker context use", "--docker-host");
    setenv("DOCKER_CONFIG", "/nowhere", 1);
    EXPECT_ERROR(NULL, "'none'", "/nowhere/contexts");
    unsetenv("DOCKER_CONFIG");
    setenv("DOCKER_CONTEXT", "cluster", 1);
    EXPECT_ERROR(NULL, "'cluster'");
    setenv("DOCKER_CONTEXT", "../../1", 1);
    EXPECT_ERROR(NULL, "'../../1'");
    assert_true(one_fd >= 0 && two_fd >= 0);
}

static void needs_an_empty_run(const struct place *place)
{
    if (!place->run_is_empty)
        skip();
}

/* None of these names a context: the usual places are tried. */
static void no_context(void **state)
{
    static const char *const configs[] = {"{}",
                                          "",
                                          "{",
                                          "[]",
                                          "{\"currentContext\":\"\"}",
                                          "{\"currentContext\":\"default\"}",
                                          "{\"currentContext\":7}",
                                          "{\"currentContext\":null}"};
    const struct place *place = place_of(state);
    auto_free char *usual = below(place, ".docker/run/docker.sock");
    auto_close int fd = listen_at(usual);

    needs_an_empty_run(place);
    for (size_t i = 0; i < COUNT(configs); i++) {
        write_below(place, ".docker/config.json", configs[i]);
        expect_found(NULL, usual);
    }
    write_below(place, ".docker/config.json", "{\"currentContext\":\"missing\"}");
    setenv("DOCKER_CONTEXT", "default", 1);
    expect_found(NULL, usual);
    assert_true(fd >= 0);
    (void)unlink(usual);
}

static void usual_places_in_their_order(void **state)
{
    static const char *const names[] = {"run/docker.sock", ".docker/run/docker.sock",
                                        ".docker/desktop/docker.sock",
                                        ".colima/default/docker.sock", "run/podman/podman.sock"};
    const struct place *place = place_of(state);
    auto_free char *runtime = below(place, "run");
    auto_free char *config = below(place, ".docker/config.json");
    int fds[COUNT(names) + 2];

    needs_an_empty_run(place);
    (void)unlink(config);
    setenv("XDG_RUNTIME_DIR", runtime, 1);
    fds[0] = listen_at(SYSTEM_SOCKET);
    for (size_t i = 0; i < COUNT(names); i++) {
        auto_free char *path = below(place, names[i]);

        fds[i + 1] = listen_at(path);
    }
    fds[COUNT(names) + 1] = listen_at("/run/podman/podman.sock");

    expect_found(NULL, SYSTEM_SOCKET);
    close(fds[0]);
    for (size_t i = 0; i < COUNT(names); i++) {
        auto_free char *path = below(place, names[i]);

        expect_found(NULL, path);
        close(fds[i + 1]);
    }
    expect_found(NULL, "/run/podman/podman.sock");
    unsetenv("HOME");
    unsetenv("XDG_RUNTIME_DIR");
    expect_found(NULL, "/run/podman/podman.sock");
    close(fds[COUNT(names) + 1]);
    EXPECT_ERROR(NULL, SYSTEM_SOCKET ": Connection refused",
                 "/run/podman/podman.sock: Connection refused");
}

static void the_error_lists_every_path(void **state)
{
    const struct place *place = place_of(state);
    auto_free char *runtime = below(place, "empty/run");
    auto_free char *home = below(place, "empty");
    auto_free char *file = below(place, "empty/.docker");
    auto_free char *expected =
        mem_printf("no Docker Engine answers. Tried:\n"
                   "  %s: No such file or directory\n"
                   "  %s/docker.sock: No such file or directory\n"
                   "  %s/.docker/run/docker.sock: Not a directory\n"
                   "  %s/.docker/desktop/docker.sock: Not a directory\n"
                   "  %s/.colima/default/docker.sock: No such file or directory\n"
                   "  %s/podman/podman.sock: No such file or directory\n"
                   "  /run/podman/podman.sock: No such file or directory\n"
                   "%s",
                   SYSTEM_SOCKET, runtime, home, home, home, runtime,
                   inside_silence(inside_container(), false));
    auto_endpoint struct endpoint *endpoint = NULL;
    struct error err = {""};

    needs_an_empty_run(place);
    (void)unlink(SYSTEM_SOCKET);
    (void)unlink("/run/podman/podman.sock");
    write_file(file, "");
    setenv("HOME", home, 1);
    setenv("XDG_RUNTIME_DIR", runtime, 1);
    endpoint = endpoint_new(NULL, "/nowhere");
    assert_int_equal(endpoint_find(endpoint, &err), -1);
    assert_string_equal(err.text, expected);
}

static void a_missing_permission_names_its_mend(void **state)
{
    const struct place *place = place_of(state);
    auto_free char *path = below(place, "closed.sock");
    auto_close int fd = listen_at(path);
    bool root = geteuid() == 0;

    assert_int_equal(chmod(path, 0), 0);
    if (root)
        assert_int_equal(seteuid(NOBODY), 0);
    EXPECT_ERROR(path, path, "Permission denied", "Permission is missing",
                 inside_container() ? "group" : "usermod -aG docker");
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_true(fd >= 0);
}

/* As the engine leaves it where the source of a mount is not there: root's own, and closed. */
static void what_is_no_socket_is_told_whoever_may_open_it(void **state)
{
    const struct place *place = place_of(state);
    auto_free char *path = below(place, "closed.d");
    bool root = geteuid() == 0;

    assert_int_equal(mkdir(path, 0), 0);
    if (root)
        assert_int_equal(seteuid(NOBODY), 0);
    EXPECT_ERROR(path, "is a directory, not a socket", inside_misplaced(inside_container()));
    if (root)
        assert_int_equal(seteuid(0), 0);
}

static void a_home_at_the_root_is_one_slash(void **state)
{
    auto_endpoint struct endpoint *endpoint = NULL;
    struct error err = {""};

    needs_an_empty_run(place_of(state));
    (void)unlink(SYSTEM_SOCKET);
    (void)unlink("/run/podman/podman.sock");
    setenv("HOME", "/", 1);
    endpoint = endpoint_new(NULL, NULL);
    assert_int_equal(endpoint_find(endpoint, &err), -1);
    assert_non_null(strstr(err.text, "\n  /.docker/run/docker.sock: "));
    assert_null(strstr(err.text, "//"));
    setenv("DOCKER_CONTEXT", "none", 1);
    EXPECT_ERROR(NULL, "below /.docker/contexts");
}

/* As in a container that got the socket's file, and not its folder. */
static void a_socket_that_was_made_anew_names_its_mend(void **state)
{
    const struct place *place = place_of(state);
    auto_free char *made = below(place, "made.sock");
    auto_free char *mounted = below(place, "mounted.sock");

    needs_an_empty_run(place);
    write_file(mounted, "");
    close(listen_at(made));
    assert_int_equal(mount(made, mounted, NULL, MS_BIND, NULL), 0);
    EXPECT_ERROR(mounted, mounted, "Connection refused", inside_silence(inside_container(), true));
    assert_int_equal(unlink(made), 0);
    EXPECT_ERROR(mounted, mounted, "Connection refused", "start the container again");
    assert_int_equal(umount(mounted), 0);
}

static void write_certs(const struct place *place, const char *folder, const char *cert)
{
    auto_free char *ca_file = mem_printf("%s/ca.pem", folder);
    auto_free char *cert_file = mem_printf("%s/cert.pem", folder);
    auto_free char *key_file = mem_printf("%s/key.pem", folder);

    write_below(place, ca_file, pem_long);
    write_below(place, cert_file, cert);
    write_below(place, key_file, pem_key);
}

/* An engine at 127.0.0.1, which needs no name to be resolved; folder is where the certificates are
 * from. */
static void expect_remote(const char *configured, const char *certs, const char *name,
                          const char *folder)
{
    auto_endpoint struct endpoint *endpoint = endpoint_new(configured, certs);
    struct error err = {"untouched"};

    assert_true(endpoint_is_remote(endpoint));
    if (endpoint_find(endpoint, &err) < 0)
        fail_msg("not found: %s", err.text);
    assert_string_equal(endpoint_name(endpoint), name);
    assert_null(endpoint_socket(endpoint));
    assert_non_null(endpoint_remote(endpoint));
    assert_string_equal(endpoint_remote(endpoint)->certs.folder, folder);
    assert_null(endpoint_remote(endpoint)->route);
    assert_string_equal(err.text, "untouched");
}

static void every_way_to_certificates(void **state)
{
    static const char url[] = "tcp://127.0.0.1:2376";
    const struct place *place = place_of(state);
    auto_free char *flag = below(place, "flag");
    auto_free char *variable = below(place, "variable");
    auto_free char *usual = below(place, ".docker");
    auto_free char *config = below(place, "config");

    write_certs(place, "flag", pem_good);
    write_certs(place, "variable", pem_good);
    write_certs(place, ".docker", pem_good);
    write_certs(place, "config", pem_good);
    EXPECT_ERROR(url, "--docker-host: tcp://127.0.0.1:2376 without TLS is refused", "root",
                 "--tlsverify", "--docker-cert-path", "DOCKER_CERT_PATH");
    expect_remote(url, flag, url, flag);
    expect_remote("tcp://127.0.0.1", flag, url, flag);
    expect_remote("tcp://[::1]:99/", flag, "tcp://[::1]:99", flag);
    setenv("DOCKER_TLS_VERIFY", "1", 1);
    expect_remote(url, NULL, url, usual);
    expect_remote(url, "", url, usual);
    setenv("DOCKER_CONFIG", config, 1);
    expect_remote(url, NULL, url, config);
    setenv("DOCKER_CERT_PATH", variable, 1);
    expect_remote(url, NULL, url, variable);
    unsetenv("DOCKER_TLS_VERIFY");
    expect_remote(url, NULL, url, variable);
    expect_remote(url, flag, url, flag);
    setenv("DOCKER_HOST", "tcp://127.0.0.1:9", 1);
    expect_remote(NULL, NULL, "tcp://127.0.0.1:9", variable);
    unsetenv("DOCKER_CERT_PATH");
    EXPECT_ERROR(NULL, "DOCKER_HOST: tcp://127.0.0.1:9 without TLS is refused");
}

static void contexts_with_certificates(void **state)
{
    const struct place *place = place_of(state);
    auto_free char *folder = below(place, ".docker/contexts/tls/7/docker");
    auto_free char *flag = below(place, "flag");

    write_below(place, ".docker/contexts/meta/7/meta.json",
                "{\"Name\":\"there\",\"Endpoints\":{\"docker\":{\"Host\":"
                "\"tcp://127.0.0.1:7\",\"SkipTLSVerify\":false}}}");
    write_below(place, ".docker/contexts/meta/8/meta.json",
                "{\"Name\":\"loose\",\"Endpoints\":{\"docker\":{\"Host\":"
                "\"tcp://127.0.0.1:8\",\"SkipTLSVerify\":true}}}");
    write_certs(place, ".docker/contexts/tls/7/docker", pem_good);
    write_certs(place, ".docker/contexts/tls/8/docker", pem_good);
    write_certs(place, "flag", pem_good);
    setenv("DOCKER_CONTEXT", "there", 1);
    setenv("DOCKER_CERT_PATH", "/nowhere", 1); /* of DOCKER_HOST, not of a context */
    expect_remote(NULL, NULL, "tcp://127.0.0.1:7", folder);
    expect_remote(NULL, flag, "tcp://127.0.0.1:7", flag);
    setenv("DOCKER_CONTEXT", "loose", 1);
    EXPECT_ERROR(NULL, "Docker context 'loose' skips the verification of TLS", "skip-tls-verify");
}

static void bad_certificates_are_told(void **state)
{
    const struct place *place = place_of(state);
    auto_free char *ended = below(place, "ended");
    auto_free char *empty = below(place, "empty");
    auto_endpoint struct endpoint *endpoint = NULL;
    struct error err = {""};

    write_certs(place, "ended", pem_ended);
    setenv("DOCKER_CERT_PATH", ended, 1);
    EXPECT_ERROR("tcp://127.0.0.1", "/ended/cert.pem has expired, on 2021-01-31");
    setenv("DOCKER_CERT_PATH", empty, 1);
    EXPECT_ERROR("tcp://h", "--docker-host: tcp://h: ", "/empty/ca.pem: No such file");

    endpoint = endpoint_new("tcp://h", NULL);
    endpoint_settle(endpoint);
    assert_int_equal(endpoint_find(endpoint, &err), -1);
    assert_non_null(strstr(err.text, "/empty/ca.pem: No such file"));
    assert_non_null(strstr(err.text, "start the server again"));
    assert_true(endpoint_is_remote(endpoint));
    assert_null(endpoint_remote(endpoint));
    assert_string_equal(endpoint_name(endpoint), "?");
}

/* /etc/hosts has the first; the second is reserved for what is never there. */
static void names_are_resolved(void **state)
{
    const struct place *place = place_of(state);
    auto_free char *certs = below(place, "certs");
    auto_endpoint struct endpoint *here = NULL;
    auto_endpoint struct endpoint *nowhere = NULL;
    struct error err = {""};
    const char *route;

    write_certs(place, "certs", pem_good);
    here = endpoint_new("tcp://localhost:7", certs);
    endpoint_settle(here);
    assert_int_equal(endpoint_find(here, &err), 0);
    route = endpoint_remote(here)->route;
    assert_int_equal(strncmp(route, "localhost:7:", 12), 0);
    assert_non_null(strstr(route, strchr(route, '[') ? "[::1]" : "127.0.0.1"));

    nowhere = endpoint_new("tcp://engine.invalid", certs);
    assert_int_equal(endpoint_find(nowhere, &err), -1);
    assert_non_null(strstr(err.text, "the name 'engine.invalid' cannot be resolved: "));
    assert_null(strstr(err.text, "start the server again"));
    endpoint_settle(nowhere);
    assert_int_equal(endpoint_find(nowhere, &err), -1);
    assert_non_null(strstr(err.text, "the name 'engine.invalid' cannot be resolved: "));
    assert_non_null(strstr(err.text, "start the server again"));
}

/* Certificates are read once; what is settled is not looked up again. */
static void a_remote_engine_stays_as_it_was_at_the_start(void **state)
{
    const struct place *place = place_of(state);
    auto_free char *certs = below(place, "once");
    auto_free char *key = below(place, "once/key.pem");
    auto_free char *socket_path = below(place, "later.sock");
    auto_close int fd = listen_at(socket_path);
    auto_endpoint struct endpoint *remote = NULL;
    auto_endpoint struct endpoint *local = NULL;
    struct error err = {""};

    write_certs(place, "once", pem_good);
    setenv("DOCKER_CERT_PATH", certs, 1);
    setenv("DOCKER_HOST", "tcp://127.0.0.1:7", 1);
    remote = endpoint_new(NULL, NULL);
    setenv("DOCKER_HOST", socket_path, 1);
    local = endpoint_new(NULL, NULL);
    assert_int_equal(unlink(key), 0);
    assert_int_equal(endpoint_find(remote, &err), 0);
    assert_string_equal(endpoint_name(remote), "tcp://127.0.0.1:7");
    assert_string_equal(endpoint_remote(remote)->certs.key, pem_key);
    assert_int_equal(endpoint_find(local, &err), 0);
    setenv("DOCKER_HOST", "tcp://127.0.0.1:7", 1);
    assert_int_equal(endpoint_find(local, &err), -1);
    assert_non_null(strstr(err.text, "another machine: start the server again"));
    assert_true(fd >= 0);
}

/* False where this process may not make one. */
static bool empty_run(void)
{
    uid_t uid = getuid();
    gid_t gid = getgid();

    if (unshare(CLONE_NEWNS) < 0) {
        auto_free char *uids = mem_printf("%u %u 1", uid, uid);
        auto_free char *gids = mem_printf("%u %u 1", gid, gid);

        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
            return false;
        write_file("/proc/self/setgroups", "deny");
        write_file("/proc/self/uid_map", uids);
        write_file("/proc/self/gid_map", gids);
    }
    return mount("none", "/", "", MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", "/run", "tmpfs", 0, "mode=0755") == 0;
}

static int set_up(void **state)
{
    struct place *place = mem_alloc(sizeof(*place));

    snprintf(place->home, sizeof(place->home), "/tmp/test_endpoint.XXXXXX");
    if (!mkdtemp(place->home))
        return -1;
    (void)chmod(place->home, 0755);
    place->run_is_empty = empty_run();
    *state = place;
    return 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

static int tear_down(void **state)
{
    struct place *place = place_of(state);
    int r = nftw(place->home, remove_one, 8, FTW_DEPTH | FTW_PHYS);

    free(place);
    return r;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, clear_environment)
    const struct CMUnitTest tests[] = {
        TEST(every_form_of_a_path),
        TEST(what_makes_no_sense_names_its_source),
        TEST(a_named_place_is_the_only_one),
        TEST(flag_then_variable_then_context),
        TEST(contexts),
        TEST(no_context),
        TEST(usual_places_in_their_order),
        TEST(the_error_lists_every_path),
        TEST(a_missing_permission_names_its_mend),
        TEST(what_is_no_socket_is_told_whoever_may_open_it),
        TEST(a_home_at_the_root_is_one_slash),
        TEST(a_socket_that_was_made_anew_names_its_mend),
        TEST(every_way_to_certificates),
        TEST(contexts_with_certificates),
        TEST(bad_certificates_are_told),
        TEST(names_are_resolved),
        TEST(a_remote_engine_stays_as_it_was_at_the_start),
    };

    return cmocka_run_group_tests_name("endpoint", tests, set_up, tear_down);
}
