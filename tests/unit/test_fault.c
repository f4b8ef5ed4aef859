/* fault: whatever an engine answers becomes one bounded line that keeps its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "executor/fault.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

#define LINE_BYTES 1000

#define START "the engine answered 500: "

/* The text of a reply, from a copy of exactly len bytes: the sanitizer sees a read past the end. */
static char *fault(const char *body, size_t len)
{
    auto_free char *copy = malloc(len ? len : 1);
    struct error err = {""};

    assert_non_null(copy);
    if (len)
        memcpy(copy, body, len);
    assert_int_equal(fault_text(500, copy, len, &err), -1);
    assert_int_equal(fault_text(500, copy, len, NULL), -1);
    assert_true(strlen(err.text) < ERROR_TEXT_MAX - 1);
    assert_true(text_is_utf8(err.text, strlen(err.text)));
    for (const char *p = err.text; *p; p++)
        assert_true((unsigned char)*p >= ' ');
    if (strncmp(err.text, START, strlen(START)) != 0)
        fail_msg("does not begin with the status: %s", err.text);
    return mem_strdup(err.text + strlen(START));
}

static void short_bodies_are_told_whole(void **state)
{
    static const struct {
        const char *body;
        size_t len; /* 0: of the text */
        const char *told;
    } cases[] = {
        {"{\"message\":\"No such container: x\"}", 0, "No such container: x"},
        {"{\"message\":\"No such container: x\"}\n", 0, "No such container: x"},
        {"{\"cause\":\"a\",\"message\":\"b: a\",\"response\":500}", 0, "b: a"},
        {"{\"message\":\"say \\\"hi\\\" to \\\\ and 'x'\"}", 0, "say \"hi\" to \\ and 'x'"},
        {"{\"message\":\"one\\ntwo\\r\\n\\tthree\\n\\n\"}", 0, "one two   three"},
        {"{\"message\":\"\\u001b[31mred\\u0007\"}", 0, " [31mred"},
        {"{\"message\":\"%s%n%d\"}", 0, "%s%n%d"},
        {"{\"message\":\"caf\xc3\xa9 \xf0\x9f\x90\x8d\"}", 0, "caf\xc3\xa9 \xf0\x9f\x90\x8d"},
        {"{\"message\":\"\"}", 0, "(no message)"},
        {"{\"message\":\" \\n \"}", 0, "(no message)"},
        {"{\"message\":null}", 0, "{\"message\":null}"},
        {"{\"message\":{\"x\":1}}", 0, "{\"message\":{\"x\":1}}"},
        {"{\"Message\":\"x\"}", 0, "{\"Message\":\"x\"}"},
        {"{\"message\":\"cut", 0, "{\"message\":\"cut"},
        {"{}", 0, "{}"},
        {"[\"message\"]", 0, "[\"message\"]"},
        {"\"message\"", 0, "\"message\""},
        {"null", 0, "null"},
        {"404 page not found\n", 0, "404 page not found"},
        {"<html>\n<body>Bad Gateway</body>\n</html>\n", 0,
         "<html> <body>Bad Gateway</body> </html>"},
        {"", 0, "(no message)"},
        {" \t\r\n", 0, "(no message)"},
        {"\0", 1, "(no message)"},
        {"\0\0\n\0", 4, "(no message)"},
        {"one\0two\0", 8, "one two"},
        {"{\"message\":\"a\0b\"}", 17, "{\"message\":\"a b\"}"},
        {"{\"message\":\"a\"}\0", 16, "{\"message\":\"a\"}"},
        {"bad \xff\xfe bytes \xc3", 0,
         "bad " TEXT_REPLACEMENT TEXT_REPLACEMENT " bytes " TEXT_REPLACEMENT},
        {"{\"message\":\"\xff\"}", 0, "{\"message\":\"" TEXT_REPLACEMENT "\"}"},
        {"{\"message\":\"\\ud800\"}", 0, "{\"message\":\"\\ud800\"}"},
        {"\xef\xbb\xbf{\"message\":\"x\"}", 0, "\xef\xbb\xbf{\"message\":\"x\"}"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const size_t len = cases[i].len ? cases[i].len : strlen(cases[i].body);
        auto_free char *told = fault(cases[i].body, len);

        assert_string_equal(told, cases[i].told);
    }
}

static void the_status_is_told(void **state)
{
    struct error err = {""};

    (void)state;
    fault_text(404, "{\"message\":\"x\"}", 15, &err);
    assert_string_equal(err.text, "the engine answered 404: x");
}

/* units of text between a start and an end, as JSON or plain: the end is told, the start is not. */
static void check_long(const char *unit, size_t bytes, bool as_json)
{
    auto_buf struct buf body;
    auto_free char *told = NULL;

    buf_init(&body, 64 * 1024 * 1024);
    assert_int_equal(buf_add_text(&body, as_json ? "{\"message\":\"START" : "START"), 0);
    while (body.len < bytes)
        assert_int_equal(buf_add_text(&body, unit), 0);
    assert_int_equal(buf_add_text(&body, as_json ? "the cause\\n\"}" : "the cause\n"), 0);
    told = fault(body.data, body.len);
    assert_memory_equal(told, "...", 3);
    assert_null(strstr(told, "START"));
    assert_true(strlen(told) > 9);
    assert_string_equal(told + strlen(told) - 9, "the cause");
    assert_in_range(strlen(told), LINE_BYTES, 3 + LINE_BYTES);
}

static void long_bodies_keep_their_end(void **state)
{
    static const char *const units[] = {"error while creating mount: ",
                                        "<p>",
                                        "\xc3\xa9",
                                        "x\xe2\x82\xac",
                                        "\xf0\x9f\x90\x8d",
                                        "a"};
    static const char *const plain_units[] = {"\xff", "\xf0\x9f\x90", "\n", "\x01",
                                              "\xc3\xa9\xe2\x82"};
    static const size_t sizes[] = {2000, 2020, 3000, 100000, 4 * 1024 * 1024};

    (void)state;
    for (size_t s = 0; s < COUNT(sizes); s++) {
        for (size_t i = 0; i < COUNT(units); i++) {
            check_long(units[i], sizes[s], true);
            check_long(units[i], sizes[s], false);
        }
        for (size_t i = 0; i < COUNT(plain_units); i++)
            check_long(plain_units[i], sizes[s], false);
    }
}

/* What is blank at the end does not push the cause out. */
static void blanks_at_the_end_do_not_count(void **state)
{
    auto_buf struct buf body;
    auto_free char *told = NULL;

    (void)state;
    buf_init(&body, 1024 * 1024);
    assert_int_equal(buf_add_text(&body, "the cause"), 0);
    while (body.len < 100000)
        assert_int_equal(buf_add(&body, " \n\0", 3), 0);
    told = fault(body.data, body.len);
    assert_string_equal(told, "the cause");
}

/* The longest that is told whole, and one more; no character is cut in two. */
static void a_cut_is_between_characters(void **state)
{
    static const struct {
        size_t count; /* of a character of three bytes */
        size_t told;
    } cases[] = {{332, 998}, {333, 1001}, {334, 3 + 2 + 996}, {335, 3 + 2 + 996}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_buf struct buf body;
        auto_free char *told = NULL;

        buf_init(&body, 10000);
        while (body.len < 3 * cases[i].count)
            assert_int_equal(buf_add_text(&body, "\xe2\x82\xac"), 0);
        assert_int_equal(buf_add_text(&body, "!!"), 0);
        told = fault(body.data, body.len);
        assert_int_equal(strlen(told), cases[i].told);
        assert_int_equal(strncmp(told, "...", 3) == 0, body.len > LINE_BYTES);
    }
}

static void known_causes_come_with_their_mend(void **state)
{
    static const struct {
        const char *body, *mend;
    } rows[] = {
        {"exec: \"python3\": executable file not found in $PATH: unknown", "needs a python3"},
        {"opening seccomp profile failed: open {}: file name too long", "use a Docker Engine"},
        {"exec /usr/bin/python3: exec format error", "another architecture"},
        {"could not select device driver \"\" with capabilities: [[gpu]]", "Container Toolkit"},
        {"nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1",
         "check the driver"},
        {"CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=7", "cdi list"},
        {"failed to mount local volume: mount /srv/none: no such file or directory", "as data"},
        {"unknown or invalid runtime name: runsc", "lists the runtimes"},
        {"Unknown runtime specified runsc", "lists the runtimes"},
        {"Range of CPUs is from 0.01 to 2.00, as there are only 2 CPUs available", "--cpus"},
        {"invalid reference format: repository name must be lowercase", "in lower case"},
    };
    struct error err;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fault_text(400, rows[i].body, strlen(rows[i].body), &err);
        assert_non_null(strstr(err.text, rows[i].mend));
    }
}

static void silences_come_with_their_mend(void **state)
{
    static const struct {
        const char *text, *mend;
    } rows[] = {
        {"SSL certificate problem: certificate has expired", "renew the engine's certificate"},
        {"SSL certificate problem: certificate is not yet valid", "clock"},
        {"SSL certificate problem: unable to get local issuer certificate", "ca.pem is not of"},
        {"SSL certificate problem: self-signed certificate in certificate chain",
         "ca.pem is not of"},
        {"SSL certificate problem: self signed certificate", "ca.pem is not of"},
        {"SSL: no alternative certificate subject name matches target host name 'x'",
         "use a name that is in the engine's certificate"},
        {"SSL: certificate subject name 'y' does not match target host name 'x'",
         "use a name that is in the engine's certificate"},
        {"OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required",
         "cert.pem, key.pem"},
        {"OpenSSL SSL_read: error:0A000412:SSL routines::sslv3 alert bad certificate",
         "(--tlscacert) has to have signed cert.pem"},
        {"error:0A00010B:SSL routines::wrong version number", "start the engine with --tlsverify"},
        {"error:0A00042E:SSL routines::tlsv1 alert protocol version", "TLS 1.2 or later"},
        {"unable to set private key file: '(memory blob)' type PEM", "not that of cert.pem"},
        {"Connection refused", "no engine listens there"},
        {"Operation timed out after 5000 milliseconds with 0 bytes received", "Docker Engine"},
    };
    struct error err;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(fault_silence("tcp://x:1", rows[i].text, false, &err), -1);
        assert_int_equal(fault_silence("tcp://x:1", rows[i].text, true, NULL), -1);
        assert_int_equal(strncmp(err.text, "the engine at tcp://x:1 did not answer: ", 40), 0);
        assert_non_null(strstr(err.text, rows[i].text));
        if (!strstr(err.text, rows[i].mend))
            fail_msg("lacks '%s': %s", rows[i].mend, err.text);
    }
}

static void a_connection_cut_off_has_a_mend_whatever_the_text(void **state)
{
    static const char text[] = "getpeername() failed with errno 107: Transport endpoint is not "
                               "connected";
    struct error err;

    (void)state;
    assert_int_equal(fault_silence("tcp://x:1", text, true, &err), -1);
    assert_non_null(strstr(err.text, text));
    assert_non_null(strstr(err.text, "has signed cert.pem"));
    assert_int_equal(fault_silence("/x", "Empty reply from server", false, &err), -1);
    assert_string_equal(
        err.text,
        "the engine at /x did not answer: Empty reply from server; where it stays so, see "
        "whether a Docker Engine listens there, and what it logs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_causes_come_with_their_mend),
        cmocka_unit_test(silences_come_with_their_mend),
        cmocka_unit_test(a_connection_cut_off_has_a_mend_whatever_the_text),
        cmocka_unit_test(short_bodies_are_told_whole),
        cmocka_unit_test(the_status_is_told),
        cmocka_unit_test(long_bodies_keep_their_end),
        cmocka_unit_test(blanks_at_the_end_do_not_count),
        cmocka_unit_test(a_cut_is_between_characters),
    };

    return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
