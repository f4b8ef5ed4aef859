/* picture: files of every kind as other programs write them, and what must not pass for one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/mem.h"
#include "front/picture.h"

#define FOLDER   "tests/unit/golden/pictures/"
#define FILE_MAX 65536
#define WIDTH    40
#define HEIGHT   30

static const struct golden {
    const char *name;
    enum picture_kind kind;
    unsigned frames;
} files[] = {
    {"rgb.png", PICTURE_PNG, 1},          {"palette.png", PICTURE_PNG, 1},
    {"bits.png", PICTURE_PNG, 1},         {"alpha.png", PICTURE_PNG, 1},
    {"moving.png", PICTURE_PNG, 5},       {"plain.jpg", PICTURE_JPEG, 1},
    {"progressive.jpg", PICTURE_JPEG, 1}, {"grey.jpg", PICTURE_JPEG, 1},
    {"still.gif", PICTURE_GIF, 1},        {"moving.gif", PICTURE_GIF, 4},
    {"lossy.webp", PICTURE_WEBP, 1},      {"lossless.webp", PICTURE_WEBP, 1},
    {"alpha.webp", PICTURE_WEBP, 1},      {"moving.webp", PICTURE_WEBP, 4},
};

static char *load(const char *name, size_t *ret_len)
{
    auto_free char *path = mem_printf(FOLDER "%s", name);
    char *bytes = fd_read_file(path, FILE_MAX, ret_len);

    assert_non_null(bytes);
    return bytes;
}

/* Looks at a copy of exactly len bytes, so that the sanitizer sees a read past the end. */
static struct picture look(const char *bytes, size_t len)
{
    auto_free char *copy = malloc(len > 0 ? len : 1);
    struct picture picture;

    assert_non_null(copy);
    memcpy(copy, bytes, len);
    picture_look(copy, len, &picture);
    return picture;
}

static void real_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        size_t len;
        auto_free char *bytes = load(files[i].name, &len);
        struct picture picture = look(bytes, len);

        if (picture.kind != files[i].kind)
            fail_msg("%s: kind %d", files[i].name, (int)picture.kind);
        assert_int_equal(picture.width, WIDTH);
        assert_int_equal(picture.height, HEIGHT);
        if (files[i].kind != PICTURE_PNG || files[i].frames == 1)
            assert_int_equal(picture.pixels, files[i].frames * WIDTH * HEIGHT);
        else
            assert_true(picture.pixels > WIDTH * HEIGHT);
        assert_non_null(picture_type(picture.kind));
    }
}

/* Whatever is missing at its end, it is no picture any more. */
static void cut_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        size_t len;
        auto_free char *bytes = load(files[i].name, &len);

        for (size_t part = 0; part < len; part++) {
            struct picture picture = look(bytes, part);

            if (picture_type(picture.kind))
                fail_msg("%s: %zu of %zu bytes are a picture", files[i].name, part, len);
            assert_int_equal(picture.width, 0);
        }
    }
}

/* Each byte of a PNG has its sum: none changes unseen. */
static void changed_png(void **state)
{
    size_t len;
    auto_free char *bytes = load("rgb.png", &len);

    (void)state;
    for (size_t i = 0; i < len; i++) {
        bytes[i] ^= 1;
        assert_null(picture_type(look(bytes, len).kind));
        bytes[i] ^= 1;
    }
    assert_int_equal(look(bytes, len).kind, PICTURE_PNG);
}

#define TEXT(text) text, sizeof(text) - 1

static void no_pictures(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        enum picture_kind kind;
    } cases[] = {
        {TEXT(""), PICTURE_NONE},
        {TEXT("hello"), PICTURE_NONE},
        {TEXT("<svg xmlns=\"http://www.w3.org/2000/svg\"/>"), PICTURE_NONE},
        {TEXT("BM\0\0\0\0"), PICTURE_NONE},
        {TEXT("II*\0"), PICTURE_NONE},
        {TEXT("RIFF\0\0\0\0WAVE"), PICTURE_NONE},
        {TEXT("\x89PNG\r\n\x1a"), PICTURE_NONE},
        {TEXT("\x89PNG\r\n\x1a\n"), PICTURE_BAD},
        {TEXT("\x89PNG\r\n\x1a\ngarbage that goes on for a while"), PICTURE_BAD},
        {TEXT("\x89PNG\r\n\x1a\n\xff\xff\xff\xffIHDR"), PICTURE_BAD},
        {TEXT("\xff\xd8\xff"), PICTURE_BAD},
        {TEXT("\xff\xd8\xff\xe0\0\1"), PICTURE_BAD},
        {TEXT("\xff\xd8\xff\xd9"), PICTURE_BAD},
        {TEXT("GIF89a"), PICTURE_BAD},
        {TEXT("GIF89a\1\0\1\0\0\0\0;"), PICTURE_BAD},
        {TEXT("GIF89a\0\0\1\0\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"), PICTURE_BAD},
        {TEXT("GIF89a\1\0\1\0\0\0\0,\0\0\0\0\0\0\1\0\0\2\2D\1\0;"), PICTURE_BAD},
        {TEXT("GIF89a\1\0\1\0\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"), PICTURE_GIF},
        {TEXT("RIFF\0\0\0\0WEBP"), PICTURE_BAD},
        {TEXT("RIFF\4\0\0\0WEBP"), PICTURE_BAD},
        {TEXT("RIFF\xff\xff\xff\xffWEBPVP8 "), PICTURE_BAD},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (look(cases[i].bytes, cases[i].len).kind != cases[i].kind)
            fail_msg("case %zu: kind %d", i, (int)look(cases[i].bytes, cases[i].len).kind);
    }
}

/* What a picture says of its size is told, however large: the bomb shows in the numbers. */
static void bombs(void **state)
{
    static const char gif[] = "GIF89a\1\0\1\0\0\0\0,\0\0\0\0\xff\xff\xff\xff\0\2\2D\1\0;";
    struct picture picture = look(gif, sizeof(gif) - 1);
    size_t len;
    auto_free char *jpeg = load("plain.jpg", &len);
    char *frame = memmem(jpeg, len, "\xff\xc0", 2);

    (void)state;
    assert_int_equal(picture.width, 65535);
    assert_int_equal(picture.height, 65535);
    assert_true(picture.pixels == 65535ULL * 65535);

    assert_non_null(frame);
    memset(frame + 5, 0xff, 4);
    picture = look(jpeg, len);
    assert_int_equal(picture.kind, PICTURE_JPEG);
    assert_true(picture.pixels == 65535ULL * 65535);
    memset(frame + 5, 0, 4);
    assert_int_equal(look(jpeg, len).kind, PICTURE_BAD);
}

static void mutations_do_no_harm(void **state)
{
    uint32_t seed = 1;

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        size_t len;
        auto_free char *bytes = load(files[i].name, &len);

        for (int round = 0; round < 2000; round++) {
            auto_free char *copy = mem_strndup(bytes, len);

            for (int n = 0; n < 3; n++) {
                seed = seed * 1664525u + 1013904223u;
                copy[(seed >> 8) % len] = (char)(seed >> 24);
            }
            (void)look(copy, len - (seed >> 16) % 8 % len);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_files),  cmocka_unit_test(cut_files),
        cmocka_unit_test(changed_png), cmocka_unit_test(no_pictures),
        cmocka_unit_test(bombs),       cmocka_unit_test(mutations_do_no_harm),
    };

    return cmocka_run_group_tests_name("picture", tests, NULL, NULL);
}
