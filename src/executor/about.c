#include "executor/about.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json.h"

#define COPY(field, text) copy(field, sizeof(field), text)

static void copy(char *field, size_t size, const char *text)
{
    snprintf(field, size, "%s", text ? text : "");
}

static void append(char *field, size_t size, const char *text, size_t len)
{
    size_t used = strlen(field);

    snprintf(field + used, size - used, "%s%.*s", used ? ", " : "", (int)len, text);
}

/* Docker calls it "runc", podman "OCI Runtime (runc)", with lines more than the version behind it.
 */
static void take_component(struct about *about, const char *name, const char *version)
{
    const char *digits = version + strcspn(version, "0123456789");
    char first[sizeof(about->runc)];

    snprintf(first, sizeof(first), "%.*s", (int)strcspn(digits, " \n"), digits);
    if (strcmp(name, "runc") == 0 || strstr(name, "(runc)"))
        COPY(about->runc, first);
    else if (strcmp(name, "containerd") == 0)
        COPY(about->containerd, first);
    else if (strstr(name, "nvidia"))
        COPY(about->toolkit, first);
}

void about_version(struct about *about, const cJSON *version)
{
    const cJSON *component;

    about->runc[0] = about->containerd[0] = about->toolkit[0] = '\0';
    cJSON_ArrayForEach(component, json_get_array(version, "Components"))
    {
        const char *name = json_get_text(component, "Name");
        const char *text = json_get_text(component, "Version");

        if (name && text)
            take_component(about, name, text);
    }
}

/* "name=seccomp,profile=default" is "seccomp" here; old engines said just that. */
static void take_security(struct about *about, const cJSON *options)
{
    const cJSON *option;

    about->security[0] = '\0';
    cJSON_ArrayForEach(option, options)
    {
        const char *text = cJSON_GetStringValue(option);

        if (!text)
            continue;
        if (strncmp(text, "name=", strlen("name=")) == 0)
            text += strlen("name=");
        append(about->security, sizeof(about->security), text, strcspn(text, ","));
    }
}

static enum about_cdi cdi_of(const cJSON *info)
{
    const cJSON *devices = json_get_array(info, "DiscoveredDevices");
    const cJSON *device;

    if (cJSON_GetArraySize(json_get_array(info, "CDISpecDirs")) == 0)
        return ABOUT_CDI_NONE;
    if (!devices)
        return ABOUT_CDI_UNTOLD;
    cJSON_ArrayForEach(device, devices)
    {
        const char *id = json_get_text(device, "ID");

        if (id && strncmp(id, "nvidia.com/gpu=", strlen("nvidia.com/gpu=")) == 0)
            return ABOUT_CDI_GPUS;
    }
    return ABOUT_CDI_NO_GPUS;
}

/* "2026-11-29T21:04:31.123456789Z", or with "+01:00" for Z; 0 where it is neither. */
static int64_t read_clock(const char *text)
{
    struct tm tm = {0};
    const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
    int64_t zone = 0;

    if (!rest)
        return 0;
    if (*rest == '.')
        rest += 1 + strspn(rest + 1, "0123456789");
    if (*rest == '+' || *rest == '-') {
        struct tm offset = {0};
        const char *end = strptime(rest + 1, "%H:%M", &offset);

        if (!end || *end != '\0')
            return 0;
        zone = (offset.tm_hour * 60 + offset.tm_min) * (*rest == '-' ? -60 : 60);
    } else if (strcmp(rest, "Z") != 0) {
        return 0;
    }
    return timegm(&tm) - zone;
}

void about_info(struct about *about, const cJSON *info)
{
    const cJSON *runtime;

    COPY(about->cgroup_version, json_get_text(info, "CgroupVersion"));
    COPY(about->cgroup_driver, json_get_text(info, "CgroupDriver"));
    COPY(about->storage, json_get_text(info, "Driver"));
    COPY(about->runtime, json_get_text(info, "DefaultRuntime"));
    COPY(about->system, json_get_text(info, "OperatingSystem"));
    COPY(about->kernel, json_get_text(info, "KernelVersion"));
    take_security(about, json_get_array(info, "SecurityOptions"));
    about->runtimes[0] = '\0';
    cJSON_ArrayForEach(runtime, json_get_object(info, "Runtimes"))
    {
        append(about->runtimes, sizeof(about->runtimes), runtime->string, strlen(runtime->string));
    }
    about->nvidia = json_get(json_get_object(info, "Runtimes"), "nvidia") != NULL;
    about->cdi = cdi_of(info);
    about->clock = read_clock(json_get_text(info, "SystemTime"));
    about->processors = 0;
    (void)json_get_int(info, "NCPU", &about->processors);
}
