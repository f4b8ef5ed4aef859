#include "executor/gpus.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "executor/about.h"

#define CDI_KIND "nvidia.com/gpu="

#define TEXT_MAX 16384

/* A name of CDI is VENDOR/CLASS=NAME. */
static bool is_cdi_name(const char *id)
{
    return strchr(id, '=') != NULL;
}

static bool has_cdi_names(const struct grants_gpus *gpus)
{
    for (size_t i = 0; i < gpus->id_count; i++)
        if (is_cdi_name(gpus->ids[i]))
            return true;
    return false;
}

int gpus_find_way(const struct about *about, const struct grants_gpus *gpus, enum gpus_way *ret,
                  struct error *err)
{
    bool by_name = has_cdi_names(gpus);

    if (gpus->kind == GRANTS_GPUS_NONE)
        *ret = GPUS_NONE;
    else if (!by_name && about->nvidia)
        *ret = GPUS_RUNTIME;
    else if (about->cdi == ABOUT_CDI_GPUS || about->cdi == ABOUT_CDI_UNTOLD)
        *ret = GPUS_CDI;
    else if (about->cdi == ABOUT_CDI_NO_GPUS)
        return error_set(err,
                         "the engine knows CDI, and no GPU by it: on the engine's host, check the "
                         "driver with `nvidia-smi`, and describe the GPUs with `nvidia-ctk cdi "
                         "generate --output=/etc/cdi/nvidia.yaml`; `docker info` lists them then");
    else if (by_name)
        return error_set(err, "the engine does not offer CDI, which the ids of the GPUs are names "
                              "of: use Docker 25 or later with CDI on, or ids such as \"0\"");
    else
        return error_set(
            err,
            "the engine has no runtime for GPUs (it has %s): on its host, check the driver with "
            "`nvidia-smi`, install the NVIDIA Container Toolkit, run `nvidia-ctk runtime configure "
            "--runtime=docker` and restart Docker; `docker info` lists the runtime nvidia then",
            *about->runtimes ? about->runtimes : "none");
    return 0;
}

static void push(cJSON *array, const char *text)
{
    cJSON_AddItemToArray(array, cJSON_CreateString(text));
}

static void push_cdi(cJSON *array, const struct grants_gpus *gpus)
{
    if (gpus->kind == GRANTS_GPUS_ALL)
        push(array, CDI_KIND "all");
    for (int64_t i = 0; gpus->kind == GRANTS_GPUS_COUNT && i < gpus->count; i++) {
        auto_free char *name = mem_printf(CDI_KIND "%" PRId64, i);

        push(array, name);
    }
    for (size_t i = 0; gpus->kind == GRANTS_GPUS_IDS && i < gpus->id_count; i++) {
        auto_free char *name =
            mem_printf("%s%s", is_cdi_name(gpus->ids[i]) ? "" : CDI_KIND, gpus->ids[i]);

        push(array, name);
    }
}

cJSON *gpus_requests(const struct grants_gpus *gpus, enum gpus_way way)
{
    cJSON *requests = cJSON_CreateArray();
    cJSON *request = cJSON_CreateObject();
    cJSON *capabilities;

    cJSON_AddItemToArray(requests, request);
    if (way == GPUS_CDI) {
        cJSON_AddStringToObject(request, "Driver", "cdi");
        push_cdi(cJSON_AddArrayToObject(request, "DeviceIDs"), gpus);
        return requests;
    }
    cJSON_AddStringToObject(request, "Driver", "");
    if (gpus->kind == GRANTS_GPUS_IDS) {
        cJSON *ids = cJSON_AddArrayToObject(request, "DeviceIDs");

        for (size_t i = 0; i < gpus->id_count; i++)
            push(ids, gpus->ids[i]);
    } else {
        cJSON_AddNumberToObject(request, "Count",
                                gpus->kind == GRANTS_GPUS_ALL ? -1 : (double)gpus->count);
    }
    capabilities = cJSON_CreateArray();
    push(capabilities, "gpu");
    cJSON_AddItemToArray(cJSON_AddArrayToObject(request, "Capabilities"), capabilities);
    return requests;
}

static char *list(const struct grants_gpus *gpus, const char *between, bool counted)
{
    auto_buf struct buf out;

    buf_init(&out, TEXT_MAX);
    if (gpus->kind == GRANTS_GPUS_NONE)
        (void)buf_addf(&out, "none");
    if (gpus->kind == GRANTS_GPUS_ALL)
        (void)buf_addf(&out, "all");
    if (gpus->kind == GRANTS_GPUS_COUNT && counted)
        (void)buf_addf(&out, "%" PRId64, gpus->count);
    for (int64_t i = 0; gpus->kind == GRANTS_GPUS_COUNT && !counted && i < gpus->count; i++)
        (void)buf_addf(&out, "%s%" PRId64, i ? between : "", i);
    for (size_t i = 0; gpus->kind == GRANTS_GPUS_IDS && i < gpus->id_count; i++)
        (void)buf_addf(&out, "%s%s", i ? between : "", gpus->ids[i]);
    return buf_take(&out, NULL);
}

char *gpus_visible(const struct grants_gpus *gpus)
{
    return list(gpus, ",", false);
}

char *gpus_text(const struct grants_gpus *gpus)
{
    return list(gpus, ", ", true);
}

/* "nvidia0", "nvidia12" */
static bool is_card(const char *name)
{
    static const char start[] = "nvidia";

    if (strncmp(name, start, strlen(start)) != 0)
        return false;
    name += strlen(start);
    return *name && strspn(name, "0123456789") == strlen(name);
}

bool gpus_is_device(const char *name)
{
    static const char *const others[] = {"nvidiactl",      "nvidia-uvm",  "nvidia-uvm-tools",
                                         "nvidia-modeset", "nvidia-caps", "dri"};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(name, others[i]) == 0)
            return true;
    return is_card(name);
}

bool gpus_are_there(const cJSON *devices)
{
    const cJSON *device;
    bool card = false, control = false;

    cJSON_ArrayForEach(device, devices)
    {
        const char *name = cJSON_GetStringValue(device);

        card = card || (name && is_card(name));
        control = control || (name && strcmp(name, "nvidiactl") == 0);
    }
    return card && control;
}
