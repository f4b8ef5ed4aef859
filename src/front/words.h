/* Numbers as people write them. Pure. */
#pragma once

#include <stdint.h>

struct words {
    char text[32];
};

/* 2350000 is "2,350,000". */
struct words words_count(uint64_t number);

/* The largest unit that keeps the number whole: "512 MB", "1 GB", "1,000 bytes". Units of 1024. */
struct words words_size(uint64_t bytes);

/* "12 ms", "2.3 s", "5 s", "300 s". */
struct words words_duration(uint64_t us);

/* "1 CPU", "0.5 CPUs". */
struct words words_cpus(uint32_t milli);
