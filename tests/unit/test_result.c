/* result, verdict, hint: the text of every status, both copies, and the ceiling of the reply. */
#include "front/hint.h"
#include "front/known.h"
#include "result_fixture.h"
#include "wire/wire.h"

static void test_statuses(void **state)
{
    static const struct {
        enum outcome_status status;
        int32_t exit_code;
        const char *message;
        const char *text;
    } cases[] = {
        {OUTCOME_OK, 0, NULL,
         "ok: exit code 0, 12 ms (" IMAGE ", Python " PYTHON ")\n(no output)\n"},
        {OUTCOME_ERROR, 3, NULL,
         "error: exit code 3, 12 ms (" IMAGE ", Python " PYTHON ")\n(no output)\n"},
        {OUTCOME_TIMED_OUT, -1, NULL,
         "timed_out: stopped after 12 ms (" IMAGE ", Python " PYTHON ")\n(no output)\n"},
        {OUTCOME_OUT_OF_MEMORY, 137, NULL,
         "out_of_memory: stopped at the memory limit of 512 MB, exit code 137, 12 ms (" IMAGE
         ", Python " PYTHON ")\n(no output)\n"},
        {OUTCOME_KILLED, 139, NULL,
         "killed: signal 11 (SIGSEGV), exit code 139, 12 ms (" IMAGE ", Python " PYTHON
         ")\n(no output)\n"},
        {OUTCOME_KILLED, 128 + 40, "why",
         "killed: signal 40, exit code 168, 12 ms (" IMAGE ", Python " PYTHON
         ")\nwhy\n(no output)\n"},
        {OUTCOME_CANCELLED, -1, "the server has been stopped",
         "cancelled: stopped after 12 ms (" IMAGE ", Python " PYTHON
         ")\nthe server has been stopped\n(no output)\n"},
        {OUTCOME_BUSY, -1, "the queue is full", "busy: the queue is full\n"},
        {OUTCOME_BUSY, -1, NULL, "busy: nothing was run; try again\n"},
        {OUTCOME_SANDBOX_ERROR, -1, "no engine", "sandbox_error: no engine\n"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        auto_free char *message = NULL;
        int64_t code;

        f->outcome.status = cases[i].status;
        f->outcome.exit_code = cases[i].exit_code;
        if (cases[i].message != NULL)
            message = mem_strdup(cases[i].message);
        f->outcome.message = message;
        make(f);
        assert_string_equal(text_of(f), cases[i].text);
        assert_string_equal(json_get_text(structured(f), "status"),
                            outcome_status_name(cases[i].status));
        assert_true(json_get_int(structured(f), "exit_code", &code));
        assert_int_equal(code, cases[i].exit_code);
        assert_int_equal(is_error(f), cases[i].status != OUTCOME_OK);
        assert_int_equal(cJSON_IsTrue(json_get(structured(f), "timed_out")),
                         cases[i].status == OUTCOME_TIMED_OUT);
        if (cases[i].message != NULL)
            assert_string_equal(
                cJSON_GetArrayItem(json_get_array(structured(f), "notes"), 0)->valuestring,
                cases[i].message);
        else
            assert_null(json_get(structured(f), "notes"));
    }
}

static void test_whole_success(void **state)
{
    struct fixture *f = *state;
    char value[] = "'v'";

    print(f, OUTCOME_STDOUT, "\x1b[1mout\x1b[0m\n");
    print(f, OUTCOME_STDERR, "warn");
    f->outcome.value = value;
    f->outcome.value_len = strlen(value);
    f->outcome.cpu_us = 9900;
    f->outcome.peak_memory_bytes = 1234567;
    f->outcome.oom_kills = 1;
    f->result.note = "arguments that were ignored: x";
    make(f);
    assert_string_equal(text_of(f), "ok: exit code 0, 12 ms (" IMAGE ", Python " PYTHON ")\n"
                                    "note: arguments that were ignored: x\n"
                                    "note: 1 process of the script ran into the memory limit of "
                                    "512 MB\n"
                                    "\nstdout:\nout\n"
                                    "\nstderr:\nwarn\n"
                                    "\nvalue:\n'v'\n");
    assert_non_null(strstr(
        f->reply.data,
        "\"structuredContent\":{\"status\":\"ok\",\"stdout\":\"\\u001b[1mout\\u001b[0m\\n\","
        "\"stderr\":\"warn\",\"exit_code\":0,\"timed_out\":false,\"truncated\":false,"
        "\"oom_kills\":1,\"duration_ms\":12,\"cpu_ms\":10,\"peak_memory_bytes\":1234567,"
        "\"value\":\"'v'\",\"notes\":[\"arguments that were ignored: x\",\"1 process of the script "
        "ran into the memory limit of 512 MB\"],\"image\":\"" IMAGE "\",\"python\":\"" PYTHON
        "\"}}}"));
}

static void test_failure_has_stderr_first(void **state)
{
    struct fixture *f = *state;

    f->outcome.status = OUTCOME_ERROR;
    f->outcome.exit_code = 1;
    print(f, OUTCOME_STDOUT, "out\n");
    print(f, OUTCOME_STDERR,
          "Traceback (most recent call last):\nEOFError: EOF when reading a line\n");
    f->result.without_stdin = true;
    make(f);
    const char *text = text_of(f);
    assert_true(strstr(text, "\nstderr:\n") < strstr(text, "\nstdout:\n"));
    assert_non_null(strstr(text, "note: input() found no stdin"));
}

static void test_longer_timeout_is_told(void **state)
{
    struct fixture *f = *state;

    f->outcome.status = OUTCOME_TIMED_OUT;
    f->outcome.duration_us = 2003000;
    f->result.can_wait = true;
    make(f);
    assert_non_null(strstr(text_of(f), "timed_out: stopped after 2 s ("));
    assert_non_null(strstr(text_of(f), "note: timeout_seconds may be up to 300 s\n"));
}

/* Fills a stream with count times the text. */
static void flood(struct fixture *f, enum outcome_stream stream, const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_add_text(&f->head[stream], text);
    f->outcome.total[stream].bytes = f->head[stream].len;
    f->outcome.total[stream].chars = count * text_count(text, strlen(text));
}

static void test_text_cap(void **state)
{
    struct fixture *f = *state;

    flood(f, OUTCOME_STDOUT, "\xC3\xA9", 50000);
    make(f);
    assert_null(strstr(text_of(f), "left out"));
    assert_false(cJSON_IsTrue(json_get(structured(f), "truncated")));

    flood(f, OUTCOME_STDOUT, "\xC3\xA9", 0);
    f->outcome.total[OUTCOME_STDOUT] = (struct outcome_total){2 * 2400000, 2400000};
    make(f);
    assert_non_null(strstr(text_of(f), "\n… 2,350,000 characters left out of 2,400,000 …\n"));
    assert_non_null(strstr(json_get_text(structured(f), "stdout"),
                           "\n… 2,350,000 characters left out of 2,400,000 …\n"));
    assert_true(cJSON_IsTrue(json_get(structured(f), "truncated")));

    f->outcome.status = OUTCOME_ERROR;
    make(f);
    assert_non_null(strstr(text_of(f), "\n… 2,390,000 characters left out of 2,400,000 …\n"));
}

static void test_both_streams_share(void **state)
{
    struct fixture *f = *state;

    flood(f, OUTCOME_STDOUT, "a", 60000);
    flood(f, OUTCOME_STDERR, "b", 60000);
    make(f);
    assert_non_null(strstr(text_of(f), "35,000 characters left out of 60,000"));
    assert_true(strlen(text_of(f)) < 50000 + 400);
}

/* Whatever the bytes, the line stays below the ceiling and the numbers stay true. */
static void test_reply_cap(void **state)
{
    static const char *const texts[] = {"a",    "\x01", "\xFF",    "\xF0\x9F\x90\x8D",
                                        "\"\\", "x\n",  "\x1b[1mz"};
    static const size_t caps[] = {16384, 61440, 200000, 900000};
    struct fixture *f = *state;

    f->options.text_max = 1000000;
    f->options.error_text_max = 1000000;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        for (size_t j = 0; j < sizeof(caps) / sizeof(caps[0]); j++) {
            f->options.reply_max = caps[j];
            f->outcome.status = j % 2 == 0 ? OUTCOME_OK : OUTCOME_ERROR;
            for (int k = 0; k < OUTCOME_STREAM_COUNT; k++) {
                buf_done(&f->head[k]);
                flood(f, (enum outcome_stream)k, texts[i], 300000);
            }
            make(f);
            assert_true(cJSON_IsTrue(json_get(structured(f), "truncated")));
            assert_non_null(strstr(json_get_text(structured(f), "stdout"), " left out of "));
            assert_true(f->reply.len > caps[j] / 16);
        }
    }
}

/* Many profiles with long names, and all of them have m and long lists of other modules. */
static void know_much(struct fixture *f)
{
    static const char name[] = "profile-with-a-name-of-32-bytes-";
    static struct front_profile profiles[LIMIT_PROFILES_MAX];
    auto_free char *modules = mem_alloc(LIMIT_MODULES_MAX);
    struct wire_profile news = {.python = {"3", 1}};

    memset(modules, 'a', LIMIT_MODULES_MAX);
    for (size_t i = 50; i < LIMIT_MODULES_MAX; i += 51)
        modules[i] = ' ';
    for (size_t i = 0; i < LIMIT_PROFILES_MAX; i++) {
        if (i > 0)
            memcpy(modules, "m ", 2);
        profiles[i].name = name;
        news.index = (uint32_t)i;
        news.modules = (struct wire_text){modules, LIMIT_MODULES_MAX - 1};
        known_take(f->known, &news);
    }
    f->options.profiles = profiles;
    f->options.profile_count = LIMIT_PROFILES_MAX;
    f->options.known = f->known;
}

/* All that is not output, at its longest, still fits the least ceiling. */
static void test_reply_cap_without_output(void **state)
{
    struct fixture *f = *state;
    char message[LIMIT_MESSAGE_MAX + 1];
    char long_image[LIMIT_IMAGE_MAX + 1];
    char note[500];
    char value[LIMIT_VALUE_MAX];

    memset(message, '\x01', sizeof(message));
    message[LIMIT_MESSAGE_MAX] = '\0';
    memset(long_image, '"', sizeof(long_image));
    long_image[LIMIT_IMAGE_MAX] = '\0';
    memset(note, '"', sizeof(note));
    note[sizeof(note) - 1] = '\0';
    memset(value, '\x01', sizeof(value));
    f->outcome = (struct outcome){.status = OUTCOME_ERROR,
                                  .message = message,
                                  .image = long_image,
                                  .python = python,
                                  .oom_kills = 7,
                                  .value = value,
                                  .value_len = sizeof(value)};
    f->result.note = note;
    f->result.modern = true;
    know_much(f);
    f->options.reply_max = 16380; /* the least setting less the brackets of a batch */
    print(f, OUTCOME_STDERR,
          "SyntaxError: 'await' outside EOFError: EOF when reading a line "
          "ModuleNotFoundError: No module named 'm' socket.gaierror Read-only file system No space "
          "left on device NameError: name 'display' "
          "RuntimeError: can't start new thread");
    f->result.without_stdin = true;
    f->result.code = HINT_FENCED | HINT_MAGIC;
    make(f);
}

static void test_refusal(void **state)
{
    struct fixture *f = *state;

    result_put_refusal(&f->reply, "code is missing");
    assert_string_equal(f->reply.data, "\"content\":[{\"type\":\"text\",\"text\":"
                                       "\"code is missing\"}],\"isError\":true");
}

/* With and without what the era and the client ask for. */
static void test_modern_and_unstructured(void **state)
{
    struct fixture *f = *state;
    const cJSON *result;

    print(f, OUTCOME_STDOUT, "out\n");
    f->result.structured = false;
    make(f);
    assert_null(structured(f));
    assert_null(json_get(json_get_object(f->json, "result"), "resultType"));
    assert_non_null(strstr(text_of(f), "\nstdout:\nout\n"));

    f->result.modern = true;
    f->result.structured = true;
    f->outcome.status = OUTCOME_ERROR;
    make(f);
    result = json_get_object(f->json, "result");
    assert_string_equal(json_get_text(result, "resultType"), "complete");
    assert_string_equal(json_get_text(json_get_object(json_get_object(result, "_meta"),
                                                      "io.modelcontextprotocol/serverInfo"),
                                      "name"),
                        "python-sandbox");
    assert_non_null(structured(f));
    assert_true(is_error(f));
}

static void test_hints(void **state)
{
    static const struct {
        const char *code;
        bool without_stdin;
        const char *error;
        const char *hint; /* a part of it, or "" for none */
    } cases[] = {
        {"```python\nprint(1)\n```", true, "SyntaxError: invalid syntax", "Markdown fence"},
        {"\n ```\nx\n```", true, "SyntaxError: invalid syntax", "Markdown fence"},
        {"x = '''\n```\n'''\nx x", true, "SyntaxError: invalid syntax", ""},
        {"```python\nprint(1)\n```", true, "ValueError: x", ""},
        {"%matplotlib inline\n", true, "SyntaxError: invalid syntax", "notebook commands"},
        {"x = 1\n  !pip install y", true, "SyntaxError: invalid syntax", "notebook commands"},
        {"print(5 % 2) x", true, "SyntaxError: invalid syntax", ""},
        {"await f()", true, "SyntaxError: 'await' outside function", "asyncio.run()"},
        {"display(x)", true, "NameError: name 'display' is not defined", "notebook"},
        {"input()", true, "EOFError: EOF when reading a line", "argument stdin"},
        {"input()", false, "EOFError: EOF when reading a line", ""},
        {"x", true, "OSError: [Errno 30] Read-only file system: '/x'", "/workspace"},
        {"x", true, "PermissionError: [Errno 13] Permission denied: '/x'", "/workspace"},
        {"x", true, "PermissionError: [Errno 13] Permission denied: '/tmp/ls'",
         "cannot be started"},
        {"x", true, "PermissionError: [Errno 13] Permission denied: './a.out'",
         "cannot be started"},
        {"x", true, "FileNotFoundError: [Errno 2] No such file or directory: '/mnt/data/x'",
         "/workspace/outputs"},
        {"x", true, "FileNotFoundError: [Errno 2] No such file or directory: 'x'", ""},
        {"x", true, "OSError: [Errno 28] No space left on device", "small"},
        {"x", true, "socket.gaierror: [Errno -2] Name or service not known", "no network"},
        {"x", true, "OSError: [Errno 101] Network is unreachable", "no network"},
        {"x", true, "RuntimeError: can't start new thread", "limit on processes"},
        {"x", true, "", ""},
        {"", true, "ZeroDivisionError: division by zero", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        auto_buf struct buf out;

        buf_init(&out, 4096);
        buf_add_text(&out, "");
        hint_put(&out, hint_of_code(cases[i].code, strlen(cases[i].code)), cases[i].without_stdin,
                 cases[i].error, strlen(cases[i].error));
        if (cases[i].hint[0] == '\0') {
            assert_int_equal(out.len, 0);
            continue;
        }
        assert_non_null(strstr(out.data, cases[i].hint));
        assert_ptr_equal(strchr(out.data, '\n'), out.data + out.len - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_fixture(test_statuses),
        with_fixture(test_whole_success),
        with_fixture(test_failure_has_stderr_first),
        with_fixture(test_longer_timeout_is_told),
        with_fixture(test_text_cap),
        with_fixture(test_both_streams_share),
        with_fixture(test_reply_cap),
        with_fixture(test_reply_cap_without_output),
        with_fixture(test_refusal),
        with_fixture(test_modern_and_unstructured),
        cmocka_unit_test(test_hints),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
