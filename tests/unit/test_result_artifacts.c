/* result: figures and files as blocks and by name, and the ceiling that all of it shares. */
#include <stdio.h>

#include "base/base64.h"
#include "base/sha256.h"
#include "front/picture.h"
#include "result_fixture.h"

#define GIF "GIF89a\1\0\1\0\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"

static void leave_as(struct fixture *f, enum artifact_kind kind, enum artifact_reason reason,
                     const char *name, const char *bytes, size_t len)
{
    struct artifact artifact = {
        .kind = kind, .reason = reason, .size = len, .name = name, .name_len = strlen(name)};
    struct error err = {""};

    if (reason == ARTIFACT_WHOLE || reason == ARTIFACT_LARGE)
        sha256_bytes("", 0, artifact.sha256);
    assert_int_equal(artifacts_add(&f->artifacts, &artifact, &err), 0);
    if (reason == ARTIFACT_WHOLE && len > 0)
        assert_int_equal(artifacts_add_bytes(&f->artifacts, bytes, len, &err), 0);
    artifacts_settle(&f->artifacts);
}

static void leave(struct fixture *f, const char *name, const char *text)
{
    leave_as(f, ARTIFACT_FILE, ARTIFACT_WHOLE, name, text, strlen(text));
}

static void put_chunk(struct buf *out, const char *kind, const char *bytes, size_t len)
{
    unsigned char size[4] = {(unsigned char)(len >> 24), (unsigned char)(len >> 16),
                             (unsigned char)(len >> 8), (unsigned char)len};
    size_t start = out->len + 4;
    uint32_t crc = UINT32_MAX;

    buf_add(out, size, 4);
    buf_add_text(out, kind);
    buf_add(out, bytes, len);
    for (size_t i = start; i < out->len; i++) {
        crc ^= (unsigned char)out->data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    crc = ~crc;
    const unsigned char sum[4] = {(unsigned char)(crc >> 24), (unsigned char)(crc >> 16),
                                  (unsigned char)(crc >> 8), (unsigned char)crc};
    buf_add(out, sum, 4);
}

/* A PNG of so many pixels a side, with len bytes of image data. */
static void put_png(struct buf *out, unsigned side, size_t len)
{
    auto_free char *data = mem_alloc(len + 2);
    const char header[13] = {
        (char)(side >> 24), (char)(side >> 16), (char)(side >> 8), (char)side, (char)(side >> 24),
        (char)(side >> 16), (char)(side >> 8),  (char)side,        8,          2};

    for (size_t i = 0; i < len; i++)
        data[i] = (char)(i * 31);
    memcpy(data, "\x78\x9c", 2);
    buf_init(out, len + 1000);
    buf_add(out, "\x89PNG\r\n\x1a\n", 8);
    put_chunk(out, "IHDR", header, sizeof(header));
    put_chunk(out, "IDAT", data, len);
    put_chunk(out, "IEND", "", 0);
}

static void leave_png(struct fixture *f, enum artifact_kind kind, const char *name, unsigned side,
                      size_t len)
{
    auto_buf struct buf png;

    put_png(&png, side, len);
    leave_as(f, kind, ARTIFACT_WHOLE, name, png.data, png.len);
}

static const cJSON *content(const struct fixture *f)
{
    return json_get_array(json_get_object(f->json, "result"), "content");
}

static const cJSON *block(const struct fixture *f, int index)
{
    return cJSON_GetArrayItem(content(f), index);
}

static const cJSON *entry(const struct fixture *f, int index)
{
    return cJSON_GetArrayItem(json_get_array(structured(f), "artifacts"), index);
}

static void check_image(const cJSON *item)
{
    const char *data = json_get_text(item, "data");
    auto_free char *bytes = mem_alloc(base64_room(strlen(data)) + 1);
    struct picture picture;
    size_t len;

    assert_int_equal(base64_decode(data, strlen(data), bytes, &len, NULL), 0);
    picture_look(bytes, len, &picture);
    assert_non_null(picture_type(picture.kind));
    assert_string_equal(json_get_text(item, "mimeType"), picture_type(picture.kind));
}

static void check_resource(const cJSON *item)
{
    const cJSON *resource = json_get_object(item, "resource");
    const char *text = json_get_text(resource, "text"), *blob = json_get_text(resource, "blob");

    assert_ptr_equal(strstr(json_get_text(resource, "uri"), "sandbox:///"),
                     json_get_text(resource, "uri"));
    assert_true((text == NULL) != (blob == NULL));
    assert_null(strstr(json_get_text(resource, "mimeType"), "image/"));
    if (text)
        assert_true(text[strspn(text, " \t\r\n")] != '\0');
}

/* Makes the result; both copies and the blocks tell the same. */
static void make_sound(struct fixture *f)
{
    int images = 0, resources = 0, included = 0;
    const cJSON *item;

    make(f);
    cJSON_ArrayForEach(item, content(f))
    {
        if (strcmp(json_get_text(item, "type"), "image") == 0) {
            check_image(item);
            images++;
        } else if (strcmp(json_get_text(item, "type"), "resource") == 0) {
            check_resource(item);
            resources++;
        }
    }
    assert_int_equal(cJSON_GetArraySize(content(f)), 1 + images + resources);
    cJSON_ArrayForEach(item, json_get_array(structured(f), "artifacts"))
    {
        const char *name = json_get_text(item, "name");
        bool is_included = cJSON_IsTrue(json_get(item, "included"));
        auto_free char *line = mem_printf("\n- %s: ", name);

        assert_non_null(strstr(text_of(f), line));
        included += is_included;
        if (!is_included)
            assert_non_null(json_get_text(item, "reason"));
    }
    assert_int_equal(included, images + resources);
}

static void test_nothing(void **state)
{
    struct fixture *f = *state;

    make_sound(f);
    assert_null(json_get(structured(f), "artifacts"));
    assert_null(strstr(text_of(f), "figures and files"));
}

static void test_figure_and_files(void **state)
{
    struct fixture *f = *state;
    const cJSON *resource;

    leave_as(f, ARTIFACT_FIGURE, ARTIFACT_WHOLE, "figure-1.png", GIF, sizeof(GIF) - 1);
    leave(f, "a b/\xc3\xa4.csv", "x,y\n1,2\n");
    leave_as(f, ARTIFACT_FILE, ARTIFACT_WHOLE, "b.bin", "\0\1\2", 3);
    make_sound(f);
    assert_string_equal(json_get_text(block(f, 1), "type"), "image");
    assert_string_equal(json_get_text(block(f, 1), "mimeType"), "image/gif");
    resource = json_get_object(block(f, 2), "resource");
    assert_string_equal(json_get_text(resource, "uri"), "sandbox:///outputs/a%20b/%C3%A4.csv");
    assert_string_equal(json_get_text(resource, "mimeType"), "text/csv");
    assert_string_equal(json_get_text(resource, "text"), "x,y\n1,2\n");
    resource = json_get_object(block(f, 3), "resource");
    assert_string_equal(json_get_text(resource, "mimeType"), "application/octet-stream");
    assert_string_equal(json_get_text(resource, "blob"), "AAEC");

    assert_string_equal(json_get_text(entry(f, 0), "kind"), "figure");
    assert_string_equal(json_get_text(entry(f, 1), "kind"), "file");
    assert_string_equal(json_get_text(entry(f, 2), "sha256"),
                        "ae4b3280e56e2faf83f414a6e3dabe9d5fbe18976544c05fed121accb85b53fc");
    assert_non_null(strstr(text_of(f), "\n\nfigures and files:\n"
                                       "- figure-1.png: image/gif, 29 bytes, 1 × 1 pixels, "
                                       "attached\n"
                                       "- a b/\xc3\xa4.csv: text/csv, 8 bytes, attached\n"
                                       "- b.bin: application/octet-stream, 3 bytes, attached\n"));
    assert_null(strstr(text_of(f), "(no output)"));
}

/* Every reason for which the executor sends no bytes, and those of the front. */
static void test_reasons(void **state)
{
    static const struct {
        enum artifact_reason reason;
        const char *says;
    } reasons[] = {
        {ARTIFACT_LARGE, "larger than"},
        {ARTIFACT_NO_ROOM, "took all the room"},
        {ARTIFACT_SPECIAL, "not a regular file"},
        {ARTIFACT_SPARSE, "sparse"},
        {ARTIFACT_UNREADABLE, "could not be read"},
        {ARTIFACT_BAD_NAME, "rename"},
    };
    struct fixture *f = *state;
    char large[40000];
    int count = sizeof(reasons) / sizeof(reasons[0]);

    for (int i = 0; i < count; i++) {
        char name[32];

        snprintf(name, sizeof(name), "%d.csv", i);
        leave_as(f, ARTIFACT_FILE, reasons[i].reason, name, NULL, 1234);
    }
    memset(large, 'x', sizeof(large));
    leave_as(f, ARTIFACT_FILE, ARTIFACT_WHOLE, "large.txt", large, sizeof(large));
    leave(f, "empty.txt", "");
    leave(f, "blank.txt", " \n\t\r\n");
    make_sound(f);
    assert_int_equal(cJSON_GetArraySize(content(f)), 1);
    for (int i = 0; i < count; i++)
        assert_non_null(strstr(json_get_text(entry(f, i), "reason"), reasons[i].says));
    assert_non_null(strstr(json_get_text(entry(f, count), "reason"), "32,768 bytes"));
    assert_non_null(strstr(json_get_text(entry(f, count + 1), "reason"), "empty"));
    assert_non_null(strstr(json_get_text(entry(f, count + 2), "reason"), "blanks"));
    assert_non_null(json_get_text(entry(f, 0), "sha256"));
    assert_null(json_get(entry(f, 3), "sha256"));
    assert_non_null(strstr(text_of(f), "- 0.csv: text/csv, 1,234 bytes, SHA-256 e3b0c442"));
    assert_non_null(strstr(text_of(f), "- 2.csv: not attached: not a regular file"));
}

/* What is no picture that a client can show is never one, and small enough comes as a file. */
static void test_bad_pictures(void **state)
{
    struct fixture *f = *state;
    const char garbage[] = "\x89PNG\r\n\x1a\n and so on";

    leave_as(f, ARTIFACT_FIGURE, ARTIFACT_WHOLE, "figure-1.png", garbage, sizeof(garbage) - 1);
    leave_png(f, ARTIFACT_FILE, "bomb.png", 60000, 100);
    leave_png(f, ARTIFACT_FILE, "wide.png", 2001, 100);
    leave_png(f, ARTIFACT_FILE, "good.png", 2000, 100);
    leave_png(f, ARTIFACT_FILE, "heavy.png", 100, 600000);
    leave(f, "drawing.svg", "<svg/>");
    make_sound(f);
    assert_non_null(strstr(json_get_text(entry(f, 0), "reason"), "damaged"));
    assert_non_null(strstr(json_get_text(entry(f, 1), "reason"), "60,000 × 60,000 pixels"));
    assert_non_null(strstr(json_get_text(entry(f, 2), "reason"), "2,000 a side"));
    assert_null(json_get(entry(f, 3), "reason"));
    assert_non_null(strstr(json_get_text(entry(f, 4), "reason"), "524,288 bytes"));
    assert_true(cJSON_IsFalse(json_get(entry(f, 4), "included")));
    assert_string_equal(json_get_text(block(f, 1), "type"), "resource");
    assert_string_equal(json_get_text(json_get_object(block(f, 1), "resource"), "uri"),
                        "sandbox:///figures/figure-1.png");
    assert_string_equal(json_get_text(block(f, 4), "type"), "image");
    assert_non_null(strstr(text_of(f), "attached as a file: it begins like an image"));
}

/* Where images are off, they are named, and not passed off as files. */
static void test_images_off(void **state)
{
    struct fixture *f = *state;

    f->options.image_max = 0;
    leave_as(f, ARTIFACT_FIGURE, ARTIFACT_WHOLE, "figure-1.png", GIF, sizeof(GIF) - 1);
    leave(f, "a.txt", "text");
    make_sound(f);
    assert_int_equal(cJSON_GetArraySize(content(f)), 2);
    assert_non_null(strstr(text_of(f), "not attached: images are switched off"));
}

/* What a client would lose the whole result for is named. */
static void test_quirks(void **state)
{
    struct fixture *f = *state;
    int blocks[] = {[QUIRK_BLOCKS_ALL] = 3, [QUIRK_BLOCKS_NO_BYTES] = 2, [QUIRK_BLOCKS_NONE] = 0};

    leave_as(f, ARTIFACT_FIGURE, ARTIFACT_WHOLE, "figure-1.png", GIF, sizeof(GIF) - 1);
    leave(f, "a.txt", "text");
    leave_as(f, ARTIFACT_FILE, ARTIFACT_WHOLE, "b.bin", "\0\1\2", 3);
    for (int i = QUIRK_BLOCKS_ALL; i <= QUIRK_BLOCKS_NONE; i++) {
        f->result.blocks = (enum quirk_blocks)i;
        make_sound(f);
        assert_int_equal(cJSON_GetArraySize(content(f)), 1 + blocks[i]);
        assert_int_equal(cJSON_IsTrue(json_get(entry(f, 2), "included")), i == QUIRK_BLOCKS_ALL);
    }
    assert_non_null(strstr(text_of(f), "this client takes text alone"));
}

/* Twenty large figures: as many as fit, in order, and the others are told. */
static void test_many_figures(void **state)
{
    struct fixture *f = *state;
    size_t len = 0;

    for (int i = 1; i <= 20; i++) {
        char name[32];

        snprintf(name, sizeof(name), "figure-%d.png", i);
        leave_png(f, ARTIFACT_FIGURE, name, 640, 200000 + (size_t)i);
    }
    leave(f, "a.txt", "small");
    make_sound(f);
    for (int i = 1; i <= 3; i++)
        len += strlen(json_get_text(block(f, i), "data"));
    assert_int_equal(cJSON_GetArraySize(content(f)), 1 + 3 + 1);
    assert_true(len > 800000 && f->reply.len < 900000);
    for (int i = 0; i < 21; i++)
        assert_int_equal(cJSON_IsTrue(json_get(entry(f, i), "included")), i < 3 || i == 20);
    assert_non_null(strstr(json_get_text(entry(f, 3), "reason"), "no room"));

    f->options.reply_max = 8u << 20;
    make_sound(f);
    assert_int_equal(cJSON_GetArraySize(content(f)), 1 + 20 + 1);
}

/* An image that is small comes although a larger one before it did not fit; a file waits for both.
 */
static void test_images_come_first(void **state)
{
    struct fixture *f = *state;
    char text[20000];

    memset(text, 'x', sizeof(text));
    leave_as(f, ARTIFACT_FILE, ARTIFACT_WHOLE, "a.txt", text, sizeof(text));
    leave_png(f, ARTIFACT_FILE, "b.png", 10, 30000);
    leave_png(f, ARTIFACT_FILE, "c.png", 10, 9000);
    f->options.reply_max = 24000;
    make_sound(f);
    assert_true(cJSON_IsFalse(json_get(entry(f, 0), "included")));
    assert_true(cJSON_IsFalse(json_get(entry(f, 1), "included")));
    assert_true(cJSON_IsTrue(json_get(entry(f, 2), "included")));
}

/* Files count as text: together they are no longer than is announced. */
static void test_files_are_bounded(void **state)
{
    struct fixture *f = *state;
    char text[30000];
    size_t len = 0;
    const cJSON *item;

    memset(text, 'x', sizeof(text));
    for (int i = 0; i < 10; i++) {
        char name[32];

        snprintf(name, sizeof(name), "%d.txt", i);
        leave_as(f, ARTIFACT_FILE, ARTIFACT_WHOLE, name, text, sizeof(text));
    }
    make_sound(f);
    cJSON_ArrayForEach(item, content(f))
    {
        const char *part = json_get_text(json_get_object(item, "resource"), "text");

        len += part ? strlen(part) : 0;
    }
    assert_int_equal(len, 90000);
}

/* Names as long and as bad as they may be, under every ceiling: the list is cut, and says so. */
static void test_reply_cap(void **state)
{
    static const size_t caps[] = {16384, 20000, 61440, 200000, 900000};
    struct fixture *f = *state;
    char name[LIMIT_ARTIFACT_NAME_MAX + 1];
    int64_t left;

    memset(name, '"', sizeof(name));
    name[LIMIT_ARTIFACT_NAME_MAX] = '\0';
    for (int i = 0; i < 1000; i++) {
        char number[16];

        snprintf(number, sizeof(number), "%03d", i);
        memcpy(name, number, 3);
        leave(f, name, "text");
    }
    artifacts_add_rest(&f->artifacts, 9000, true, NULL);
    for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
        int listed;

        f->options.reply_max = caps[i];
        f->options.text_max = 1000000;
        for (int k = 0; k < OUTCOME_STREAM_COUNT; k++)
            f->outcome.total[k] = (struct outcome_total){5000000, 5000000};
        make_sound(f);
        listed = cJSON_GetArraySize(json_get_array(structured(f), "artifacts"));
        assert_true(listed < 1000 && (listed > 0 || caps[i] < 30000));
        assert_true(json_get_int(structured(f), "artifacts_left_out", &left));
        assert_int_equal(left, 10000 - listed);
        assert_non_null(strstr(text_of(f), listed ? "- and at least " : "- at least "));
    }
}

/* An artifact whose bytes broke off, with the run that sent them. */
static void test_incomplete(void **state)
{
    struct fixture *f = *state;
    struct artifact artifact = {.kind = ARTIFACT_FILE, .size = 10, .name = "a.txt", .name_len = 5};

    assert_int_equal(artifacts_add(&f->artifacts, &artifact, NULL), 0);
    assert_int_equal(artifacts_add_bytes(&f->artifacts, "12345", 5, NULL), 0);
    assert_int_equal(artifacts_add(&f->artifacts, &artifact, NULL), -1);
    assert_int_equal(artifacts_add_rest(&f->artifacts, 1, false, NULL), -1);
    assert_int_equal(artifacts_add_bytes(&f->artifacts, "123456", 6, NULL), -1);
    artifacts_settle(&f->artifacts);
    make_sound(f);
    assert_int_equal(cJSON_GetArraySize(content(f)), 1);
    assert_non_null(strstr(json_get_text(entry(f, 0), "reason"), "could not be read"));
}

static void test_more_than_asked_for(void **state)
{
    static const struct artifact_limits few = {2, 10, 15, 0};
    struct artifact artifact = {.kind = ARTIFACT_FILE, .size = 11, .name = "a", .name_len = 1};
    struct artifacts artifacts;

    (void)state;
    artifacts_init(&artifacts, &few);
    assert_int_equal(artifacts_add(&artifacts, &artifact, NULL), -1);
    artifact.size = 10;
    assert_int_equal(artifacts_add(&artifacts, &artifact, NULL), 0);
    assert_int_equal(artifacts_add_bytes(&artifacts, "0123456789", 10, NULL), 0);
    assert_int_equal(artifacts_add_bytes(&artifacts, "x", 1, NULL), -1);
    artifact.size = 6;
    assert_int_equal(artifacts_add(&artifacts, &artifact, NULL), -1);
    artifact.reason = ARTIFACT_LARGE;
    artifact.size = UINT64_MAX;
    assert_int_equal(artifacts_add(&artifacts, &artifact, NULL), 0);
    assert_int_equal(artifacts_add(&artifacts, &artifact, NULL), -1);
    artifacts_done(&artifacts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_fixture(test_nothing),
        with_fixture(test_figure_and_files),
        with_fixture(test_reasons),
        with_fixture(test_bad_pictures),
        with_fixture(test_quirks),
        with_fixture(test_many_figures),
        with_fixture(test_images_off),
        with_fixture(test_images_come_first),
        with_fixture(test_files_are_bounded),
        with_fixture(test_reply_cap),
        with_fixture(test_incomplete),
        cmocka_unit_test(test_more_than_asked_for),
    };

    return cmocka_run_group_tests_name("result, artifacts", tests, NULL, NULL);
}
