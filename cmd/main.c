/* python-sandbox VERB ...: finds the verb and runs it. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs.h"

static int print_help(void)
{
    const struct verb *verb;

    puts("python-sandbox " VERSION ": runs Python scripts in throwaway Docker containers.\n"
         "\n"
         "It is an MCP server for AI agents. Each script gets a fresh container without network,\n"
         "with limits on time, memory and processes; the container is gone when the script ends.\n"
         "\n"
         "Usage: python-sandbox [VERB] [FLAGS] [ARGUMENTS]\n"
         "\n"
         "Verbs:");
    for (size_t i = 0; (verb = verbs_at(i)); i++)
        if (verb->help)
            printf("  %-13s %s\n", verb->name, verb->help);
    puts("\n"
         "Examples:\n"
         "  Run a file with at most 10 seconds and 256 MB:\n"
         "      python-sandbox run --timeout=10 --memory=256m script.py\n"
         "\n"
         "  Print what gives an MCP client the sandbox, with a gigabyte for each script:\n"
         "      python-sandbox client-config claude-code --memory=1g\n"
         "\n"
         "Start with \"python-sandbox doctor\". Settings: \"python-sandbox VERB --help\".");
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int refuse_verb(const char *name)
{
    const struct verb *verb;

    fprintf(stderr, "python-sandbox: unknown verb \"%s\"; the verbs are", name);
    for (size_t i = 0; (verb = verbs_at(i)); i++)
        if (verb->help)
            fprintf(stderr, "%s %s", i > 0 ? "," : "", verb->name);
    fputs("; python-sandbox --help explains them\n", stderr);
    return 2;
}

static bool is_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

/* Of a verb that has no flags, which would explain themselves. */
static int print_usage(const struct verb *verb)
{
    printf("Usage: python-sandbox %s%s%s\n\nIt is there to %s.\n", verb->name,
           *verb->usage ? " " : "", verb->usage, verb->help);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_verb(const char *name, int argc, char **argv)
{
    const struct verb *verb;
    size_t i = 0;

    while ((verb = verbs_at(i)) && strcmp(name, verb->name) != 0)
        i++;
    if (!verb)
        return refuse_verb(name);
    for (int at = 1; at < argc && verb->help && !verb->settings && !verb->flags; at++)
        if (is_help(argv[at]))
            return print_usage(verb);
    return verb->run(argc, argv);
}

/* What is opened next would have the number of a stream that is closed. Reads from these end,
 * writes to stdout fail, writes to stderr are lost. */
static int hold_streams(void)
{
    static const int flags[] = {O_RDONLY, O_RDONLY, O_WRONLY};

    for (int fd = 0; fd < (int)(sizeof(flags) / sizeof(flags[0])); fd++) {
        int opened = fcntl(fd, F_GETFD) < 0 ? open("/dev/null", flags[fd]) : fd;

        if (opened != fd)
            return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    char serve[] = "serve";
    char version[] = "version";

    if (hold_streams() < 0)
        return EXIT_FAILURE;
    if (argc < 2)
        return run_verb(serve, 1, (char *[]){serve, NULL});
    if (is_help(argv[1]))
        return print_help();
    if (strcmp(argv[1], "--version") == 0)
        argv[1] = version;
    if (argv[1][0] != '-')
        return run_verb(argv[1], argc - 1, argv + 1);
    argv[0] = serve;
    return run_verb(serve, argc, argv);
}
