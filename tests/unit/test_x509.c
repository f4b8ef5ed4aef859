/* x509: how long certificates hold, and what is none. */
#include "pem_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "executor/x509.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* From a copy of exactly len bytes: the sanitizer sees a read past the end. -1: none. */
static int64_t until(const char *pem, size_t len)
{
    auto_free char *copy = malloc(len ? len : 1);
    int64_t result = 77;

    assert_non_null(copy);
    memcpy(copy, pem, len);
    if (x509_until(copy, len, &result) < 0) {
        assert_int_equal(result, 77);
        return -1;
    }
    return result;
}

static void the_end_is_told(void **state)
{
    (void)state;
    assert_int_equal(until(pem_ended, strlen(pem_ended)), PEM_ENDED_UNTIL);
    assert_int_equal(until(pem_good, strlen(pem_good)), PEM_GOOD_UNTIL);
    assert_int_equal(until(pem_long, strlen(pem_long)), PEM_LONG_UNTIL);
}

static void the_earliest_of_several_counts(void **state)
{
    auto_free char *all =
        mem_printf("a word before\n%s%sand\r\n%s%s", pem_long, pem_key, pem_good, pem_long);

    (void)state;
    assert_int_equal(until(all, strlen(all)), PEM_GOOD_UNTIL);
}

static void what_is_none_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "-----BEGIN CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nMIL/////\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nMIj//////////w==\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nMIA=\n-----END CERTIFICATE-----\n",
        "-----BEGIN TRUSTED CERTIFICATE-----\nMAA=\n-----END TRUSTED CERTIFICATE-----\n",
    };
    auto_free char *second = mem_printf("%s%s", pem_good, bad[1]);

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(until(bad[i], strlen(bad[i])), -1);
    assert_int_equal(until(pem_key, strlen(pem_key)), -1);
    assert_int_equal(until(second, strlen(second)), -1);
}

static void every_cut_is_refused(void **state)
{
    const size_t whole = strlen(pem_good) - 1; /* the newline may be missing */

    (void)state;
    assert_int_equal(until(pem_good, whole), PEM_GOOD_UNTIL);
    for (size_t len = 0; len < whole; len++)
        assert_int_equal(until(pem_good, len), -1);
}

/* A byte that is another one: the same date, another, or none; never a read out of bounds. */
static void every_change_is_survived(void **state)
{
    auto_free char *copy = mem_strdup(pem_long);

    (void)state;
    for (size_t i = 0; i < strlen(pem_long); i++) {
        for (const char *other = "A/z09+=\n"; *other; other++) {
            copy[i] = *other;
            (void)until(copy, strlen(pem_long));
        }
        copy[i] = pem_long[i];
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_is_told),
        cmocka_unit_test(the_earliest_of_several_counts),
        cmocka_unit_test(what_is_none_is_refused),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(every_change_is_survived),
    };

    return cmocka_run_group_tests_name("x509", tests, NULL, NULL);
}
