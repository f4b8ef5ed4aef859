/* filetype: types by name, and never an image's for bytes that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "front/filetype.h"

static void types(void **state)
{
    static const struct {
        const char *name;
        bool is_text;
        const char *type;
        const char *guess;
    } cases[] = {
        {"a.csv", true, "text/csv", "text/csv"},
        {"A.CSV", true, "text/csv", "text/csv"},
        {"a.csv", false, "application/octet-stream", "text/csv"},
        {".csv", true, "text/plain", "application/octet-stream"},
        {"csv", true, "text/plain", "application/octet-stream"},
        {"a.txt", true, "text/plain", "text/plain"},
        {"a.tar.gz", false, "application/gzip", "application/gzip"},
        {"a.gz", true, "text/plain", "application/gzip"},
        {"a.json", true, "application/json", "application/json"},
        {"a.png", false, "application/octet-stream", "image/png"},
        {"a.jpeg", true, "text/plain", "image/jpeg"},
        {"a.svg", true, "text/xml", "image/svg+xml"},
        {"d.csv/x", false, "application/octet-stream", "application/octet-stream"},
        {"", true, "text/plain", "application/octet-stream"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *name = cases[i].name;

        assert_string_equal(filetype_of(name, strlen(name), cases[i].is_text), cases[i].type);
        assert_string_equal(filetype_guess(name, strlen(name)), cases[i].guess);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(types)};

    return cmocka_run_group_tests_name("filetype", tests, NULL, NULL);
}
