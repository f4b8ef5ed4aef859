#include "front/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KIB 1024u

struct words words_count(uint64_t number)
{
    char digits[24];
    struct words words = {""};
    size_t used = 0;

    size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, number);
    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            words.text[used++] = ',';
        words.text[used++] = digits[i];
    }
    return words;
}

struct words words_size(uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    size_t unit = 0;
    struct words words;

    while (unit + 1 < sizeof(units) / sizeof(units[0]) && bytes >= KIB && bytes % KIB == 0) {
        bytes /= KIB;
        unit++;
    }
    words = words_count(bytes);
    strncat(words.text, " ", sizeof(words.text) - strlen(words.text) - 1);
    strncat(words.text, units[unit], sizeof(words.text) - strlen(words.text) - 1);
    return words;
}

struct words words_duration(uint64_t us)
{
    uint64_t ms = us / 1000 + (us % 1000 >= 500);
    uint64_t tenths = ms / 100 + (ms % 100 >= 50);
    struct words words;

    if (ms < 1000)
        snprintf(words.text, sizeof(words.text), "%" PRIu64 " ms", ms);
    else if (tenths % 10 == 0)
        snprintf(words.text, sizeof(words.text), "%" PRIu64 " s", tenths / 10);
    else
        snprintf(words.text, sizeof(words.text), "%" PRIu64 ".%" PRIu64 " s", tenths / 10,
                 tenths % 10);
    return words;
}

struct words words_cpus(uint32_t milli)
{
    struct words words;

    snprintf(words.text, sizeof(words.text), "%.4g %s", milli / 1000.0,
             milli == 1000 ? "CPU" : "CPUs");
    return words;
}
