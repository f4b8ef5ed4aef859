/* reach: folders that let a group, everybody or nobody through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/reach.h"

#define ANOTHER_GROUP ((gid_t)(getegid() + 1))

static void folders_decide(void **state)
{
    static const struct {
        mode_t mode;
        bool own, others; /* whether the folder's group gets through, and anybody else */
    } rows[] = {
        {0700, false, false}, {0710, true, false}, {0755, true, true},
        {0701, false, true},  {0711, true, true},  {0766, false, false},
    };
    char folder[] = "/tmp/reach-XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(folder));
    auto_free char *path = mem_printf("%s/inner", folder);
    auto_free char *link = mem_printf("%s.link", folder);

    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(symlink(path, link), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(chmod(folder, rows[i].mode), 0);
        assert_int_equal(reach_by_group(path, getegid()), rows[i].own);
        assert_int_equal(reach_by_group(path, ANOTHER_GROUP), rows[i].others);
        assert_int_equal(reach_by_group(path, REACH_NO_GROUP), rows[i].others);
        assert_int_equal(reach_by_group(link, REACH_NO_GROUP), rows[i].others);
    }
    assert_int_equal(unlink(link), 0);
    assert_int_equal(rmdir(path), 0);
    assert_false(reach_by_group(path, getegid()));
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(folders_decide)};

    return cmocka_run_group_tests_name("reach", tests, NULL, NULL);
}
