/* tar: the bytes of a header, padding, ceilings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/tar.h"

#define BLOCK 512

static void one_file(void **state)
{
    auto_buf struct buf out;

    (void)state;
    buf_init(&out, 10 * BLOCK);
    assert_int_equal(tar_add(&out, "a.txt", "hello", 5), 0);
    assert_int_equal(out.len, 2 * BLOCK);
    assert_string_equal(out.data, "a.txt");
    assert_string_equal(out.data + 100, "0000644");
    assert_string_equal(out.data + 124, "00000000005");
    /* As Python's tarfile has it for the same file. */
    assert_memory_equal(out.data + 148, "006721\0 ", 8);
    assert_int_equal(out.data[156], '0');
    assert_memory_equal(out.data + 257, "ustar\00000", 8);
    assert_memory_equal(out.data + BLOCK, "hello\0\0", 7);
    assert_int_equal(tar_end(&out), 0);
    assert_int_equal(out.len, 4 * BLOCK);
}

static void whole_blocks_need_no_padding(void **state)
{
    static const char bytes[BLOCK];
    auto_buf struct buf out;

    (void)state;
    buf_init(&out, 10 * BLOCK);
    assert_int_equal(tar_add(&out, "a", bytes, BLOCK), 0);
    assert_int_equal(out.len, 2 * BLOCK);
    assert_int_equal(tar_add(&out, "b", "", 0), 0);
    assert_int_equal(out.len, 3 * BLOCK);
    assert_string_equal(out.data + 124, "00000001000");
}

static void refuses(void **state)
{
    char name[TAR_NAME_MAX + 2];
    auto_buf struct buf out;

    (void)state;
    memset(name, 'n', sizeof(name));
    name[TAR_NAME_MAX + 1] = '\0';
    buf_init(&out, 2 * BLOCK);
    assert_int_equal(tar_add(&out, "", "x", 1), -1);
    assert_int_equal(tar_add(&out, name, "x", 1), -1);
    assert_int_equal(tar_add(&out, "a", name, SIZE_MAX), -1);
    assert_int_equal(tar_end(&out), 0);
    assert_int_equal(tar_add(&out, "a", "", 0), -1);
    assert_int_equal(tar_end(&out), -1);
    assert_int_equal(out.len, 2 * BLOCK);
    buf_done(&out);
    name[TAR_NAME_MAX] = '\0';
    assert_int_equal(tar_add(&out, name, "x", 1), 0);
    assert_memory_equal(out.data, name, TAR_NAME_MAX);
    assert_string_equal(out.data + TAR_NAME_MAX, "0000644");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_file),
        cmocka_unit_test(whole_blocks_need_no_padding),
        cmocka_unit_test(refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
