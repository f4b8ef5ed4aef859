/* image build: makes the image of a profile, by the docker command. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "executor/image.h"
#include "image_context.h"
#include "verbs.h"

#define PROFILE_MAX      32
#define PROFILE_LETTERS  "abcdefghijklmnopqrstuvwxyz0123456789_-"
#define WORDS_MAX        24
#define STATUS_NO_DOCKER 127

#define USAGE                                                                                      \
    "usage: python-sandbox image build [--profile=NAME] [--requirements=FILE] [--base=IMAGE]\n"    \
    "                                  [--tag=IMAGE] [--network=MODE] [--docker-host=ENGINE]\n"    \
    "                                  [--docker-cert-path=FOLDER]"

#define HELP                                                                                       \
    USAGE "\n\n"                                                                                   \
          "Builds the image of a profile with the docker command, and says how to use it.\n"       \
          "\n"                                                                                     \
          "  --profile=NAME        datascience (the default), gpu, or slim: Python alone. Any\n"   \
          "                        other name together with --requirements\n"                      \
          "  --requirements=FILE   what to install, as for pip; no passwords, since it stays in\n" \
          "                        a layer of the image\n"                                         \
          "  --base=IMAGE          what to build on: Python on Debian, or an image made before;\n" \
          "                        else " IMAGE_DEFAULT ", or " IMAGE_LOCAL "\n"                   \
          "                        where the engine has only that\n"                               \
          "  --tag=IMAGE           the name of the new image; else python-sandbox:NAME\n"          \
          "  --network=MODE        the network of the build, as for docker build\n"                \
          "  --docker-host=ENGINE  the engine; else that of the docker command\n"                  \
          "  --docker-cert-path=FOLDER\n"                                                          \
          "                        certificates for an engine at tcp://\n"                         \
          "\n"                                                                                     \
          "The build trusts the certificates that this machine trusts, or those of SSL_CERT_FILE," \
          "\nand takes packages from PIP_INDEX_URL where that is set."

struct wish {
    const char *profile;
    const char *requirements;
    const char *base;
    const char *tag;
    const char *network;
    const char *docker_host;
    const char *docker_cert_path;
};

struct command {
    char *words[WORDS_MAX]; /* NULL-terminated, owned */
    size_t count;
};

__attribute__((format(printf, 2, 3))) static void add(struct command *command, const char *format,
                                                      ...)
{
    va_list args;

    va_start(args, format);
    command->words[command->count++] = mem_vprintf(format, args);
    va_end(args);
}

static void begin(struct command *command, const struct wish *wish)
{
    *command = (struct command){.count = 0};
    add(command, "docker");
    if (wish->docker_host)
        add(command, "--host=%s%s", *wish->docker_host == '/' ? "unix://" : "", wish->docker_host);
    if (wish->docker_cert_path) {
        add(command, "--tlsverify");
        add(command, "--tlscacert=%s/ca.pem", wish->docker_cert_path);
        add(command, "--tlscert=%s/cert.pem", wish->docker_cert_path);
        add(command, "--tlskey=%s/key.pem", wish->docker_cert_path);
    }
}

/* Runs the command to its end and frees its words. Returns the exit status, or -1. */
static int run(struct command *command, int in, int out, int errors)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
            dup2(errors, STDERR_FILENO) >= 0)
            execvp(command->words[0], command->words);
        _exit(STATUS_NO_DOCKER);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    for (size_t i = 0; i < command->count; i++)
        free(command->words[i]);
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* False also where no engine answers, which the build says itself then. */
static bool is_there(const struct wish *wish, const char *image)
{
    auto_close int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct command command;

    begin(&command, wish);
    add(&command, "image");
    add(&command, "inspect");
    add(&command, "%s", image);
    return run(&command, nothing, nothing, nothing) == 0;
}

static int build(const struct wish *wish, int context)
{
    struct command command;

    begin(&command, wish);
    add(&command, "build");
    add(&command, "--force-rm");
    add(&command, "--tag=%s", wish->tag);
    add(&command, "--build-arg=BASE=%s", wish->base);
    add(&command, "--build-arg=PIP_INDEX_URL");
    if (wish->network)
        add(&command, "--network=%s", wish->network);
    add(&command, "-");
    return run(&command, context, STDERR_FILENO, STDERR_FILENO);
}

static void say_use(const struct wish *wish)
{
    printf("%s\n"
           "\n"
           "Try it:   python-sandbox doctor --image=%s\n"
           "In the configuration file:\n"
           "          \"profiles\": {\"%s\": {\"image\": \"%s\"}}\n",
           wish->tag, wish->tag, wish->profile, wish->tag);
}

static int make(struct wish *wish)
{
    auto_free char *tag = mem_printf("python-sandbox:%s", wish->profile);
    auto_close int context = -1;
    struct error err;
    int status;

    context = image_context(wish->profile, wish->requirements, &err);
    if (context < 0) {
        fprintf(stderr, "python-sandbox: %s\n", err.text);
        return 2;
    }
    if (!wish->tag)
        wish->tag = tag;
    if (!wish->base)
        wish->base = !is_there(wish, IMAGE_DEFAULT) && is_there(wish, IMAGE_LOCAL) ? IMAGE_LOCAL
                                                                                   : IMAGE_DEFAULT;
    if (strcmp(wish->base, wish->tag) == 0) {
        fprintf(stderr, "python-sandbox: %s cannot be built on itself; give --base or --tag\n",
                wish->tag);
        return 2;
    }
    fprintf(stderr, "building %s on %s\n", wish->tag, wish->base);
    status = build(wish, context);
    if (status == 0) {
        say_use(wish);
        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    fprintf(stderr, "python-sandbox: %s was not built; %s\n", wish->tag,
            status == STATUS_NO_DOCKER
                ? "there is no docker command (Debian: apt-get install docker.io or docker-cli)"
                : "what docker said last is above");
    return EXIT_FAILURE;
}

static int parse(int argc, char **argv, struct wish *wish)
{
    enum { PROFILE = 256, REQUIREMENTS, BASE, TAG, NETWORK, DOCKER_HOST, DOCKER_CERT_PATH };
    static const struct option options[] = {
        {"profile", required_argument, NULL, PROFILE},
        {"requirements", required_argument, NULL, REQUIREMENTS},
        {"base", required_argument, NULL, BASE},
        {"tag", required_argument, NULL, TAG},
        {"network", required_argument, NULL, NETWORK},
        {"docker-host", required_argument, NULL, DOCKER_HOST},
        {"docker-cert-path", required_argument, NULL, DOCKER_CERT_PATH},
        {NULL, 0, NULL, 0},
    };
    const char **const targets[] = {
        &wish->profile,     &wish->requirements,    &wish->base, &wish->tag, &wish->network,
        &wish->docker_host, &wish->docker_cert_path};
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) >= PROFILE) {
        if (!*optarg)
            return -1;
        *targets[option - PROFILE] = optarg;
    }
    return option == -1 && optind == argc ? 0 : -1;
}

int cmd_image(int argc, char **argv)
{
    struct wish wish = {.profile = "datascience"};
    size_t len;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            puts(HELP);
            return EXIT_SUCCESS;
        }
    }
    if (argc < 2 || strcmp(argv[1], "build") != 0 || parse(argc - 1, argv + 1, &wish) < 0) {
        fprintf(stderr, "%s\n", USAGE);
        return 2;
    }
    len = strlen(wish.profile);
    if (len > PROFILE_MAX || strspn(wish.profile, PROFILE_LETTERS) != len) {
        fprintf(stderr,
                "python-sandbox: --profile must be 1 to %d of a-z, 0-9, \"-\" and \"_\", not "
                "\"%s\"\n",
                PROFILE_MAX, wish.profile);
        return 2;
    }
    return make(&wish);
}
