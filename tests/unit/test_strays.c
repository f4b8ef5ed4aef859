/* strays: when a container is old enough to be taken for one that nobody will start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "executor/strays.h"

#define NOW INT64_C(1800000000)

static void only_what_is_old_and_does_not_run_is_stale(void **state)
{
    static const struct {
        bool runs;
        int64_t age_s;
        bool stale;
    } cases[] = {
        {false, STRAYS_UNSURE_S + 1, true},
        {false, 86400, true},
        {false, STRAYS_UNSURE_S, false},
        {false, 0, false},
        {false, -3600, false}, /* the engine's clock is ahead of this machine's */
        {true, STRAYS_UNSURE_S + 1, false},
        {true, 86400, false},
        {false, NOW, false}, /* created at 0: the engine did not say when */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(strays_is_stale(cases[i].runs, NOW - cases[i].age_s, NOW), cases[i].stale);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_old_and_does_not_run_is_stale),
    };

    return cmocka_run_group_tests_name("strays", tests, NULL, NULL);
}
