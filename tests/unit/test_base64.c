/* base64: the vectors of RFC 4648, every length, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

static const struct {
    const char *bytes;
    const char *text;
} vectors[] = {
    {"", ""},
    {"f", "Zg=="},
    {"\x66o", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
    {"\xfb\xff\xbe", "+/++"},
};

/* Decodes from an exact copy, so that the sanitizer sees a read past the end. */
static int decode(const char *text, size_t len, char *ret, size_t *ret_len, struct error *err)
{
    auto_free char *copy = malloc(len > 0 ? len : 1);

    assert_non_null(copy);
    memcpy(copy, text, len);
    return base64_decode(copy, len, ret, ret_len, err);
}

static void known_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        const char *text = vectors[i].text, *bytes = vectors[i].bytes;
        auto_free char *room = mem_alloc(base64_room(strlen(text)) + 1);
        auto_buf struct buf out;
        size_t len;

        buf_init(&out, 100);
        buf_add_text(&out, "");
        assert_int_equal(base64_put(&out, bytes, strlen(bytes)), 0);
        assert_string_equal(out.data, text);
        assert_int_equal(base64_size(strlen(bytes)), strlen(text));
        assert_int_equal(decode(text, strlen(text), room, &len, NULL), 0);
        assert_int_equal(len, strlen(bytes));
        assert_memory_equal(room, bytes, len);
    }
}

static void every_length_and_byte(void **state)
{
    char bytes[7000];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 7 + i / 256);
    for (size_t len = 0; len <= sizeof(bytes); len += len < 20 ? 1 : 997) {
        auto_free char *room = mem_alloc(base64_room(base64_size(len)) + 1);
        auto_buf struct buf out;
        size_t back;

        buf_init(&out, base64_size(len));
        buf_add_text(&out, "");
        assert_int_equal(base64_put(&out, bytes, len), 0);
        assert_int_equal(out.len, base64_size(len));
        assert_int_equal(decode(out.data, out.len, room, &back, NULL), 0);
        assert_int_equal(back, len);
        assert_memory_equal(room, bytes, len);

        out.max = len > 0 ? out.len - 1 : 0;
        buf_drop(&out, out.len);
        assert_int_equal(base64_put(&out, bytes, len), len > 0 ? -1 : 0);
        assert_int_equal(out.len, 0);
    }
}

static void blanks_are_skipped(void **state)
{
    static const char *const texts[] = {"Zm9v\nYmFy", "Zm9vYmFy\n", "\r\n Zm9vY\tmFy",
                                        "Z m 9 v Y m F y"};
    static const char padded[] = "Zg\n=\r\n= \n";
    char room[64];
    size_t len;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(decode(texts[i], strlen(texts[i]), room, &len, NULL), 0);
        assert_int_equal(len, 6);
        assert_memory_equal(room, "foobar", 6);
    }
    assert_int_equal(decode(padded, strlen(padded), room, &len, NULL), 0);
    assert_int_equal(len, 1);
}

static void bad_text_is_refused(void **state)
{
    static const struct {
        const char *text;
        const char *says;
    } bad[] = {
        {"Z", "cut off"},
        {"Zg", "cut off"},
        {"Zg=", "cut off"},
        {"Zm9vYg", "cut off"},
        {"Zh==", "bits"},
        {"Zm9=", "bits"},
        {"Zg==Zg==", "at character 4"},
        {"Zg===", "behind the padding"},
        {"=", "character 0, a = where"},
        {"Z===", "character 1, a = where"},
        {"Zg=v", "at character 3"},
        {"Zm9v!", "at character 4"},
        {"Zm-v", "variant for URLs"},
        {"Zm_v", "variant for URLs"},
        {"Zm\xc3\xa9v", "at character 2"},
        {"data:text/plain;base64,Zm9v", "begins with \"data:\""},
    };
    char room[64];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct error err = {""};
        size_t len = 12345;

        assert_int_equal(decode(bad[i].text, strlen(bad[i].text), room, &len, &err), -1);
        assert_int_equal(len, 12345);
        if (!strstr(err.text, bad[i].says))
            fail_msg("%s: %s", bad[i].text, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_vectors),
        cmocka_unit_test(every_length_and_byte),
        cmocka_unit_test(blanks_are_skipped),
        cmocka_unit_test(bad_text_is_refused),
    };

    return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
