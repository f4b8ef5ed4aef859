/* What an engine says of itself and its parts, for people. Pure. */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether the engine gives devices by the Container Device Interface. Docker has it from 25 on, and
 * lists the devices that it found from 28.3 on. */
enum about_cdi {
    ABOUT_CDI_NONE,
    ABOUT_CDI_UNTOLD, /* it does, and does not list the devices */
    ABOUT_CDI_NO_GPUS,
    ABOUT_CDI_GPUS,
};

/* Texts are "" where the engine does not tell, and cut where they are long. */
struct about {
    char runc[64], containerd[64], toolkit[64]; /* versions; the last is NVIDIA's */
    char cgroup_version[8], cgroup_driver[32];
    char storage[32];
    char security[256]; /* "seccomp, apparmor, rootless": the names of its options */
    char runtime[64];   /* the one that is taken by default */
    char runtimes[256]; /* the names of all, with commas between them */
    char system[128], kernel[128];
    int64_t processors;
    bool nvidia; /* one of the runtimes is NVIDIA's */
    enum about_cdi cdi;
    int64_t clock; /* its clock as it answered, in seconds since 1970; 0: it does not tell */
};

/* The answers to GET /version and GET /info; each fills its part. */
void about_version(struct about *about, const cJSON *version);
void about_info(struct about *about, const cJSON *info);
