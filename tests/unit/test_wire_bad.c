/* wire: bad input and random mutations. */
#include <string.h>

#include "wire_sample.h"

#define BAD(text) text, sizeof(text) - 1

#define ZERO "\0\0\0\0"
#define ONE  "\0\0\0\1"
/* A RUN of that many bytes up to its second number; the four for no artifacts; those seven. */
#define RUN(length) "\1\0\0\0\0\0\0\1\0\0\0" length ZERO
#define NONE        ZERO ZERO ZERO ZERO
#define SOME        ONE ZERO ZERO NONE
/* An ARTIFACT up to its name. */
#define ARTIFACT(length, kind, reason, size)                                                       \
    "\x15\0\0\0\0\0\0\1\0\0\0" length kind reason size                                             \
    "\0\0\0" ZERO ZERO ZERO ZERO ZERO ZERO ZERO ZERO ZERO

static const struct bad {
    const char *why;
    const char *bytes;
    size_t len;
} bad_input[] = {
    {"type 0", BAD("\0\0\0\0\0\0\0\1\0\0\0\0")},
    {"unknown type", BAD("\3\0\0\0\0\0\0\1\0\0\0\0")},
    {"type 255", BAD("\xff\0\0\0\0\0\0\1\0\0\0\0")},
    {"first reserved byte", BAD("\2\1\0\0\0\0\0\1\0\0\0\0")},
    {"second reserved byte", BAD("\2\0\1\0\0\0\0\1\0\0\0\0")},
    {"third reserved byte", BAD("\2\0\0\1\0\0\0\1\0\0\0\0")},
    {"call 0", BAD("\2\0\0\0\0\0\0\0\0\0\0\0")},
    {"STOP with a payload", BAD("\2\0\0\0\0\0\0\1\0\0\0\1")},
    {"RUN too short, from the header alone", BAD("\1\0\0\0\0\0\0\1\0\0\0\x2f")},
    {"RUN too long, from the header alone", BAD("\1\0\0\0\0\0\0\1\6\2\x08\xb1")},
    {"length of 4 GiB", BAD("\1\0\0\0\0\0\0\1\xff\xff\xff\xff")},
    {"RUN without a timeout", BAD(RUN("\x30") ZERO ZERO ZERO NONE ZERO ZERO ZERO ZERO)},
    {"RUN for more than a day", BAD(RUN("\x30") "\5\x26\x5c\1" ZERO ZERO NONE ZERO ZERO ZERO ZERO)},
    {"RUN that keeps too much", BAD(RUN("\x30") ONE "\0\x80\0\0" ONE NONE ZERO ZERO ZERO ZERO)},
    {"RUN whose sum of kept bytes wraps",
     BAD(RUN("\x30") ONE "\xff\xff\xff\xff" ONE NONE ZERO ZERO ZERO ZERO)},
    {"RUN for too many artifacts",
     BAD(RUN("\x30") ONE ZERO ZERO "\0\0\3\xe9" ZERO ZERO ZERO ZERO ZERO ZERO ZERO)},
    {"RUN for a too large artifact",
     BAD(RUN("\x30") ONE ZERO ZERO ZERO "\4\0\0\1" ZERO ZERO ZERO ZERO ZERO ZERO)},
    {"RUN for too many bytes of artifacts",
     BAD(RUN("\x30") ONE ZERO ZERO ZERO ZERO "\4\0\0\1" ZERO ZERO ZERO ZERO ZERO)},
    {"RUN whose label is too long", BAD(RUN("\x30") SOME "\0\0\0\x81" ZERO ZERO ZERO)},
    {"RUN whose stdin passes the end", BAD(RUN("\x30") SOME ZERO ZERO ONE ZERO)},
    {"RUN with a byte too many", BAD(RUN("\x31") SOME ZERO ZERO ZERO ZERO "x")},
    {"RUN without a file that it counts", BAD(RUN("\x30") SOME ZERO ZERO ZERO ONE)},
    {"RUN with too many files", BAD(RUN("\x30") SOME ZERO ZERO ZERO "\0\0\1\1")},
    {"RUN with a file without a name", BAD(RUN("\x38") SOME ZERO ZERO ZERO ONE ZERO ZERO)},
    {"RUN with a file outside", BAD(RUN("\x3c") SOME ZERO ZERO ZERO ONE "\0\0\0\4../x" ZERO)},
    {"RUN with a file of the root's", BAD(RUN("\x3a") SOME ZERO ZERO ZERO ONE "\0\0\0\2/x" ZERO)},
    {"RUN with a file over the script",
     BAD(RUN("\x41") SOME ZERO ZERO ZERO ONE "\0\0\0\x09script.py" ZERO)},
    {"RUN with a file whose name holds a NUL",
     BAD(RUN("\x3b") SOME ZERO ZERO ZERO ONE "\0\0\0\3x\0y" ZERO)},
    {"RUN with a file twice",
     BAD(RUN("\x42") SOME ZERO ZERO ZERO "\0\0\0\2" ONE "x" ZERO ONE "x" ZERO)},
    {"RUN with a file whose bytes pass the end",
     BAD(RUN("\x39") SOME ZERO ZERO ZERO ONE ONE "x" ONE)},
    {"ARTIFACT of no kind", BAD(ARTIFACT("\x2f", "\0", "\0", "\0") "\0\0\0\1x")},
    {"ARTIFACT of kind 3", BAD(ARTIFACT("\x2f", "\3", "\0", "\0") "\0\0\0\1x")},
    {"ARTIFACT for no reason", BAD(ARTIFACT("\x2f", "\1", "\7", "\0") "\0\0\0\1x")},
    {"ARTIFACT of negative size", BAD(ARTIFACT("\x2f", "\1", "\0", "\x80") "\0\0\0\1x")},
    {"ARTIFACT without a name", BAD(ARTIFACT("\x2e", "\1", "\0", "\0") ZERO)},
    {"ARTIFACT with an empty name", BAD(ARTIFACT("\x2f", "\1", "\0", "\0") ZERO "x")},
    {"ARTIFACT with a newline in its name", BAD(ARTIFACT("\x2f", "\1", "\0", "\0") ONE "\n")},
    {"ARTIFACT with a C1 control in its name",
     BAD(ARTIFACT("\x30", "\1", "\0", "\0") "\0\0\0\2\xc2\x85")},
    {"ARTIFACT with bytes for a name", BAD(ARTIFACT("\x2f", "\1", "\0", "\0") ONE "\xff")},
    {"empty ARTIFACT_BYTES", BAD("\x16\0\0\0\0\0\0\1" ZERO)},
    {"ARTIFACT_BYTES too long", BAD("\x16\0\0\0\0\0\0\1\0\1\0\1")},
    {"ARTIFACT_REST whose flag is 2", BAD("\x17\0\0\0\0\0\0\1\0\0\0\x09" ZERO ZERO "\2")},
    {"ARTIFACT_REST too short", BAD("\x17\0\0\0\0\0\0\1\0\0\0\x08")},
    {"PHASE 0", BAD("\x10\0\0\0\0\0\0\1\0\0\0\5\0\0\0\0\0")},
    {"PHASE 5", BAD("\x10\0\0\0\0\0\0\1\0\0\0\5\5\0\0\0\0")},
    {"PHASE too short", BAD("\x10\0\0\0\0\0\0\1\0\0\0\4\1\0\0\0")},
    {"OUTPUT of no stream", BAD("\x11\0\0\0\0\0\0\1\0\0\0\3\2\0x")},
    {"OUTPUT with tail 2", BAD("\x11\0\0\0\0\0\0\1\0\0\0\3\1\2x")},
    {"empty OUTPUT", BAD("\x11\0\0\0\0\0\0\1\0\0\0\2\0\0")},
    {"STATUS of a call", BAD("\x13\0\0\0\0\0\0\1\0\0\0\x31"
                             "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"
                             "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")},
    {"STATUS whose first flag is 2", BAD("\x13\0\0\0\0\0\0\0\0\0\0\x31"
                                         "\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"
                                         "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")},
    {"STATUS too short", BAD("\x13\0\0\0\0\0\0\0\0\0\0\x30")},
    {"STATUS of no profile", BAD("\x13\0\0\0\0\0\0\0\0\0\0\x31"
                                 "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                 "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")},
    {"STATUS of two profiles with one pool",
     BAD("\x13\0\0\0\0\0\0\0\0\0\0\x31"
         "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2"
         "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")},
    {"STATUS of too many profiles", BAD("\x13\0\0\0\0\0\0\0\0\0\0\x31"
                                        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff"
                                        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")},
    {"STATUS with a pool's flag of 2", BAD("\x13\0\0\0\0\0\0\0\0\0\0\x31"
                                           "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"
                                           "\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")},
    {"STATUS with a byte too many", BAD("\x13\0\0\0\0\0\0\0\0\0\0\x32"
                                        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"
                                        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")},
    {"PROFILE of a call", BAD("\x14\0\0\0\0\0\0\1\0\0\0\x14"
                              "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")},
    {"PROFILE of no index", BAD("\x14\0\0\0\0\0\0\0\0\0\0\x14"
                                "\0\0\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")},
    {"PROFILE with a NUL in a text", BAD("\x14\0\0\0\0\0\0\0\0\0\0\x15"
                                         "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0")},
    {"PROFILE whose Python is too long",
     BAD("\x14\0\0\0\0\0\0\0\0\0\0\x55"
         "\0\0\0\0\0\0\0\0\0\0\0\x41xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
         "xx\0\0\0\0\0\0\0\0")},
    {"PROFILE too short", BAD("\x14\0\0\0\0\0\0\0\0\0\0\x13")},
    {"RUN of no profile", BAD("\1\0\0\0\0\0\0\1\0\0\0\x30\0\0\0\x10" SOME ZERO ZERO ZERO ZERO)},
    {"OUTPUT too long", BAD("\x11\0\0\0\0\0\0\1\0\1\0\3")},
};

static void bad_input_is_refused(void **state)
{
    struct wire_message m;
    size_t used;

    (void)state;
    for (size_t i = 0; i < sizeof(bad_input) / sizeof(bad_input[0]); i++)
        if (decode(bad_input[i].bytes, bad_input[i].len, &m, &used) != -1)
            fail_msg("accepted: %s", bad_input[i].why);
}

/* What the entries above are made of is well-formed where nothing is wrong with it. */
static void good_input_is_accepted(void **state)
{
    static const struct bad good[] = {
        {"RUN with a file", BAD(RUN("\x39") SOME ZERO ZERO ZERO ONE ONE "x" ZERO)},
        {"RUN", BAD(RUN("\x30") SOME ZERO ZERO ZERO ZERO)},
        {"ARTIFACT", BAD(ARTIFACT("\x2f", "\1", "\0", "\0") ONE "x")},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct wire_message m;
        size_t used;

        if (decode(good[i].bytes, good[i].len, &m, &used) != 1 || used != good[i].len)
            fail_msg("refused: %s", good[i].why);
        wire_end(&m);
    }
}

/* Offsets in the payload of a DONE: status 0, totals to 64, then flag and length of the message. */
static void bad_done_is_refused(void **state)
{
    struct outcome outcome = {.message = mem_strdup("text")};
    static const struct {
        size_t at;
        char value;
    } changes[] = {{0, OUTCOME_STATUS_COUNT},
                   {0, -1},
                   {65, 2},
                   {69, 5},
                   {69, 3},
                   {66, 1},
                   {71, 0},
                   {74, -1},
                   {74, 1},
                   {76, 1}};
    auto_buf struct buf out;
    struct wire_message m;
    size_t used;

    (void)state;
    buf_init(&out, OUT_MAX);
    assert_int_equal(wire_put_done(&out, 1, &outcome), 0);
    outcome_done(&outcome);
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        char *byte = out.data + WIRE_HEADER_SIZE + changes[i].at;
        char old = *byte;

        *byte = changes[i].value;
        if (decode(out.data, out.len, &m, &used) != -1)
            fail_msg("accepted: %d at %zu", changes[i].value, changes[i].at);
        *byte = old;
    }
    assert_int_equal(decode(out.data, out.len, &m, &used), 1);
    wire_end(&m);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void mutations_do_no_harm(void **state)
{
    auto_buf struct buf out;
    uint32_t seed = 1;

    (void)state;
    buf_init(&out, OUT_MAX);
    put_all(&out);
    for (int round = 0; round < 20000; round++) {
        auto_free char *copy = mem_strndup(out.data, out.len);
        size_t at = 0;
        size_t used = 0;
        struct wire_message m;

        for (uint32_t n = next_random(&seed) % 4 + 1; n > 0; n--)
            copy[next_random(&seed) % out.len] = (char)next_random(&seed);
        size_t len = next_random(&seed) % (out.len + 1);
        while (decode(copy + at, len - at, &m, &used) == 1) {
            wire_end(&m);
            at += used;
            assert_true(used >= WIRE_HEADER_SIZE && at <= len);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(good_input_is_accepted),
        cmocka_unit_test(bad_done_is_refused),
        cmocka_unit_test(mutations_do_no_harm),
    };

    return cmocka_run_group_tests_name("wire, bad input", tests, NULL, NULL);
}
