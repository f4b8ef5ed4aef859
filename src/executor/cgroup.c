#include "executor/cgroup.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "executor/spec.h"
#include "executor/walls.h"

#define MEND                                                                                       \
    "give the engine control of its cgroups (a rootless engine needs cgroup v2 with delegation "   \
    "of cpu, "                                                                                     \
    "memory and pids)"

/* The kernel rounds memory limits to pages, which may be as large as this. */
#define PAGE_MAX 65536

/* "max", "-1" and what is no number are no limit. */
static int64_t number(const char *text)
{
    char *end;
    int64_t value = strtoll(text, &end, 10);

    return end == text || value < 0 || (*end != '\0' && *end != ' ') ? INT64_MAX : value;
}

static void add(cJSON *walls, const char *name, int64_t asked, const char *found, bool good)
{
    auto_free char *text = mem_printf("%" PRId64, asked);

    if (found && good)
        walls_stand(walls, name, text, found);
    else
        walls_fall(walls, name, text, found ? found : "no limit to read", MEND);
}

static void add_memory(cJSON *walls, const cJSON *files, int64_t asked)
{
    const char *v1 = json_get_text(files, "memory.limit_in_bytes");
    const char *found = v1 ? v1 : json_get_text(files, "memory.max");

    add(walls, "memory", asked, found,
        found && number(found) <= asked && number(found) >= asked - PAGE_MAX);
}

/* Version 1 limits memory and swap together. */
static void add_swap(cJSON *walls, const cJSON *files, double swap_bytes, int64_t memory)
{
    const char *v1 = json_get_text(files, "memory.memsw.limit_in_bytes");
    const char *v2 = json_get_text(files, "memory.swap.max");

    if (swap_bytes <= 0)
        walls_stand(walls, "swap", "none", "none on this host");
    else if (json_get_text(files, "memory.limit_in_bytes"))
        add(walls, "swap", memory, v1, v1 && number(v1) <= memory);
    else
        add(walls, "swap", 0, v2, v2 && number(v2) == 0);
}

static bool cpu_is(const char *quota_text, const char *period_text, int64_t asked_milli)
{
    int64_t quota = quota_text ? number(quota_text) : 0;
    int64_t period = period_text ? number(period_text) : 0;
    int64_t found;

    if (quota == 0 || quota > INT64_MAX / 1000 || period == 0 || period == INT64_MAX)
        return false;
    found = quota * 1000 / period;
    return found >= asked_milli - 1 && found <= asked_milli + 1;
}

static void add_cpu(cJSON *walls, const cJSON *files, int64_t asked_milli)
{
    const char *text = json_get_text(files, "cpu.cfs_quota_us");
    const char *period = json_get_text(files, "cpu.cfs_period_us");
    auto_free char *both = NULL;

    if (text && period) {
        both = mem_printf("%.60s %.60s", text, period);
    } else if (!text) {
        text = json_get_text(files, "cpu.max"); /* "quota period" */
        period = text ? strchr(text, ' ') : NULL;
    }
    add(walls, "cpu (thousandths)", asked_milli, both ? both : text,
        cpu_is(text, period, asked_milli));
}

void cgroup_walls(cJSON *walls, const cJSON *files, double swap_bytes,
                  const struct spec_profile *profile)
{
    const char *pids = json_get_text(files, "pids.max");

    add_memory(walls, files, profile->memory);
    add_swap(walls, files, swap_bytes, profile->memory);
    add(walls, "processes", profile->pids, pids, pids && number(pids) == profile->pids);
    add_cpu(walls, files, profile->cpus_milli);
}
