/* sha256: the vectors of FIPS 180-4 and of NIST's examples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/sha256.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void texts(void **state)
{
    static const struct {
        const char *text;
        const char *hash;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopq"
         "klmnopqrlmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
        {"\xbd", "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b"},
        {"\xc9\x8c\x8e\x55", "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char hash[SHA256_HEX_SIZE + 1];

        memset(hash, '#', sizeof(hash));
        sha256_hex(cases[i].text, strlen(cases[i].text), hash);
        assert_int_equal(hash[SHA256_HEX_SIZE], '#');
        assert_string_equal(hash, cases[i].hash);
    }
}

/* Around the ends of the blocks, and a million bytes. */
static void repeated_bytes(void **state)
{
    static const struct {
        char byte;
        size_t len;
        const char *hash;
    } cases[] = {
        {0, 55, "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7"},
        {0, 56, "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb"},
        {0, 57, "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785"},
        {0, 64, "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b"},
        {0, 1000, "541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53"},
        {'A', 1000, "c2e686823489ced2017f6059b8b239318b6364f6dcd835d0a519105a1eadd6e4"},
        {'U', 1005, "f4d62ddec0f3dd90ea1380fa16a5ff8dc4c54b21740650f24afc4120903552b0"},
        {'a', 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_free char *bytes = mem_alloc(cases[i].len);
        char hash[SHA256_HEX_SIZE];

        memset(bytes, cases[i].byte, cases[i].len);
        sha256_hex(bytes, cases[i].len, hash);
        assert_string_equal(hash, cases[i].hash);
    }
}

static void raw_bytes(void **state)
{
    static const unsigned char expected[SHA256_SIZE] = {
        0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40,
        0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17,
        0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};
    unsigned char digest[SHA256_SIZE];

    (void)state;
    sha256_bytes("abc", 3, digest);
    assert_memory_equal(digest, expected, SHA256_SIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(repeated_bytes),
        cmocka_unit_test(raw_bytes),
    };

    return cmocka_run_group_tests_name("sha256", tests, NULL, NULL);
}
