#include "front/hint.h"

#include <string.h>

#include "base/buf.h"

#define FENCE "```"

struct hint {
    const char *error[4];  /* one of these stands in the error */
    unsigned code;         /* and the code has one of these, where any are named */
    bool without_stdin;    /* and the call gave no stdin */
    const char *unless[3]; /* and none of these stands in the error */
    const char *text;
};

static const struct hint hints[] = {
    {.error = {"SyntaxError:", "IndentationError:"},
     .code = HINT_FENCED,
     .text = "the code came in a Markdown fence; send only what stands between the ``` lines"},
    {.error = {"SyntaxError:"},
     .code = HINT_MAGIC,
     .text =
         "lines that begin with % or ! are notebook commands; this is plain Python, and packages "
         "cannot be installed"},
    {.error = {"SyntaxError: 'await' outside", "SyntaxError: 'async for' outside",
               "SyntaxError: 'async with' outside",
               "SyntaxError: asynchronous comprehension outside"},
     .text = "await does not work at the top level; put it in an async function and call it with "
             "asyncio.run()"},
    {.error = {"NameError: name 'display'", "NameError: name 'get_ipython'"},
     .text =
         "this is plain Python, not a notebook; print() the object or make it the last expression"},
    {.error = {"EOFError: EOF when reading a line"},
     .without_stdin = true,
     .text = "input() found no stdin; pass the lines it should read in the argument stdin"},
    {.error = {"[Errno 13] Permission denied: '/tmp/", "[Errno 13] Permission denied: '/workspace/",
               "[Errno 13] Permission denied: './"},
     .text =
         "programs cannot be started from /workspace and /tmp unless the profile says exec; run "
         "scripts with their interpreter, such as sys.executable or sh"},
    {.error = {"Read-only file system", "[Errno 13] Permission denied", "directory: '/mnt/",
               "directory: '/home/"},
     .unless = {"denied: '/tmp/", "denied: '/workspace/", "denied: './"},
     .text =
         "files of the call are in /workspace (the current directory), files of the host are not "
         "there; what is to come back is written to /workspace/outputs, all else to /workspace or "
         "/tmp"},
    {.error = {"No space left on device"},
     .text = "/workspace, /tmp and /dev/shm are small and in memory, and hold a limited number of "
             "files; "
             "write less, or remove what is not needed"},
    {.error = {"socket.gaierror", "Name or service not known",
               "Temporary failure in name resolution", "Network is unreachable"},
     .text = "there is no network here; only localhost inside the script can be reached"},
    {.error = {"RuntimeError: can't start new thread", "BlockingIOError: [Errno 11]",
               "OpenBLAS blas_thread_init"},
     .text = "the limit on processes and threads was reached; start fewer at a time"},
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

unsigned hint_of_code(const char *code, size_t len)
{
    unsigned found = 0;
    size_t start = 0;

    while (start < len && is_blank(code[start]))
        start++;
    if (len - start >= strlen(FENCE) && memcmp(code + start, FENCE, strlen(FENCE)) == 0)
        found |= HINT_FENCED;

    while (start < len) {
        const char *newline = memchr(code + start, '\n', len - start);

        if (code[start] == '%' || code[start] == '!')
            found |= HINT_MAGIC;
        if (newline == NULL)
            break;
        start = (size_t)(newline + 1 - code);
        while (start < len && (code[start] == ' ' || code[start] == '\t'))
            start++;
    }
    return found;
}

static bool has_one(const char *error, size_t len, const char *const *needles, size_t count)
{
    for (size_t i = 0; i < count && needles[i] != NULL; i++)
        if (memmem(error, len, needles[i], strlen(needles[i])) != NULL)
            return true;
    return false;
}

static bool hint_fits(const struct hint *hint, unsigned code, bool without_stdin, const char *error,
                      size_t len)
{
    if ((hint->code != 0 && (hint->code & code) == 0) || (hint->without_stdin && !without_stdin))
        return false;
    return has_one(error, len, hint->error, sizeof(hint->error) / sizeof(hint->error[0])) &&
           !has_one(error, len, hint->unless, sizeof(hint->unless) / sizeof(hint->unless[0]));
}

void hint_put(struct buf *out, unsigned code, bool without_stdin, const char *error, size_t len)
{
    if (len == 0)
        return;
    if (len > HINT_ERROR_TAIL) {
        error += len - HINT_ERROR_TAIL;
        len = HINT_ERROR_TAIL;
    }
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
        if (hint_fits(&hints[i], code, without_stdin, error, len))
            buf_addf(out, "%s\n", hints[i].text);
    }
}
