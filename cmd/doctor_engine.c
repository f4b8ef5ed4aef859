/* What the engine says of itself, and the image that it has. */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "config.h"
#include "doctor.h"
#include "executor/about.h"
#include "executor/endpoint.h"
#include "executor/executor.h"
#include "executor/flaws.h"
#include "executor/gpus.h"

#define GB       (1024.0 * 1024 * 1024)
#define TEXT_MAX 4096
#define CGROUPS                                                                                    \
    "give the engine control of its cgroups: cgroup v2 with delegation of cpu, memory and pids"
#define TOOLKIT_OK "1.17.8"

/* Whether a list with ", " between its words has this one. */
static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);

    for (const char *p = list; *p; p += strspn(p, ", ")) {
        size_t found = strcspn(p, ",");

        if (found == len && strncmp(p, word, len) == 0)
            return true;
        p += found;
    }
    return false;
}

static const char *or_unknown(const char *text)
{
    return *text ? text : "unknown";
}

static void tell_host(struct doctor *doctor, const struct executor_facts *facts)
{
    const struct about *about = facts->about;
    bool rootless = has_word(about->security, "rootless");

    doctor_row(doctor, DOCTOR_GOOD, "host", NULL, "%s, kernel %s, %" PRId64 " processors, %.1f GB",
               or_unknown(about->system), or_unknown(about->kernel), about->processors,
               (double)facts->memory / GB);
    doctor_row(doctor, rootless ? DOCTOR_GOOD : DOCTOR_NOTE, "rootless", NULL, "%s",
               rootless ? "yes: the engine is not root"
                        : "no: the engine is root on its host; a rootless one is one wall more");
    if (strcmp(about->cgroup_driver, "none") == 0)
        doctor_row(doctor, DOCTOR_BAD, "cgroup", CGROUPS,
                   "version %s, and the engine controls none: limits cannot stand",
                   or_unknown(about->cgroup_version));
    else
        doctor_row(doctor, DOCTOR_GOOD, "cgroup", NULL, "version %s, driver %s",
                   or_unknown(about->cgroup_version), or_unknown(about->cgroup_driver));
    doctor_row(doctor, DOCTOR_GOOD, "storage", NULL, "%s", or_unknown(about->storage));
}

static void tell_security(struct doctor *doctor, const struct about *about)
{
    const char *labels = "; neither AppArmor nor SELinux";

    if (has_word(about->security, "apparmor") || has_word(about->security, "selinux"))
        labels = "";
    if (has_word(about->security, "seccomp"))
        doctor_row(doctor, DOCTOR_GOOD, "security", NULL, "%s%s", about->security, labels);
    else
        doctor_row(doctor, DOCTOR_WARN, "security", "use an engine and a kernel with seccomp",
                   "the engine does not name seccomp (it names: %s)%s",
                   *about->security ? about->security : "nothing", labels);
}

static const char *version_of(const struct about *about, const struct flaw *flaw)
{
    if (strcmp(flaw->part, "runc") == 0)
        return about->runc;
    if (strcmp(flaw->part, "containerd") == 0)
        return about->containerd;
    return about->toolkit;
}

static void tell_flaw(struct doctor *doctor, const struct flaw *flaw, const char *version)
{
    auto_free char *mend = mem_printf("update %s; a distribution may have patched it under the old "
                                      "number: ask its security tracker",
                                      flaw->part);
    auto_buf struct buf fixed;

    buf_init(&fixed, TEXT_MAX);
    for (size_t i = 0; i < sizeof(flaw->fixed) / sizeof(flaw->fixed[0]) && flaw->fixed[i]; i++)
        (void)buf_addf(&fixed, "%s%s", i ? ", " : "", flaw->fixed[i]);
    doctor_row(doctor, DOCTOR_WARN, "flaw", mend,
               "%s %s is older than the fixed upstream version (%s) of %s: %s", flaw->part, version,
               fixed.data, flaw->name, flaw->what);
}

static void tell_parts(struct doctor *doctor, const struct about *about)
{
    const struct flaw *flaw;
    bool touched = false;

    doctor_row(doctor, DOCTOR_GOOD, "runtime", NULL, "%s; runc %s, containerd %s",
               or_unknown(about->runtime), or_unknown(about->runc), or_unknown(about->containerd));
    for (size_t i = 0; (flaw = flaws_at(i)); i++) {
        if (!flaws_touch(flaw, version_of(about, flaw)))
            continue;
        tell_flaw(doctor, flaw, version_of(about, flaw));
        touched = true;
    }
    if (!*about->runc && !*about->containerd)
        doctor_row(doctor, DOCTOR_NOTE, "flaw", NULL,
                   "the engine does not tell the versions of its parts");
    else if (!touched)
        doctor_row(doctor, DOCTOR_GOOD, "flaw", NULL, "none that doctor knows of");
}

/* Of a profile that grants some. */
static void tell_granted_gpus(struct doctor *doctor, const struct config_profile *profile,
                              const struct about *about)
{
    auto_free char *asked = gpus_text(&profile->gpus);
    enum gpus_way way;
    struct error err;

    if (gpus_find_way(about, &profile->gpus, &way, &err) < 0)
        doctor_row(doctor, DOCTOR_BAD, "gpu", NULL, "profile %s: %s", profile->name, err.text);
    else
        doctor_row(doctor, DOCTOR_GOOD, "gpu", NULL, "profile %s: %s, through %s", profile->name,
                   asked, way == GPUS_CDI ? "CDI" : "NVIDIA's runtime");
}

static void tell_gpu(struct doctor *doctor, const struct about *about)
{
    const struct config *config = doctor->config;
    const char *toolkit = *about->toolkit ? about->toolkit : "of a version that it does not tell";
    bool granted = false;

    for (size_t i = 0; i < config->profile_count; i++) {
        if (config->profiles[i].gpus.kind == GRANTS_GPUS_NONE)
            continue;
        tell_granted_gpus(doctor, &config->profiles[i], about);
        granted = true;
    }
    if (!granted && !about->nvidia && about->cdi != ABOUT_CDI_GPUS)
        doctor_row(doctor, DOCTOR_NOTE, "gpu", NULL,
                   "not configured; the engine has no runtime for one");
    else if (about->nvidia)
        doctor_row(doctor, DOCTOR_NOTE, "gpu", NULL,
                   "%sNVIDIA Container Toolkit %s; it should be " TOOLKIT_OK " or later",
                   granted ? "" : "not configured; ", toolkit);
}

bool doctor_engine(struct doctor *doctor, const struct executor_facts *facts)
{
    if (!facts->up) {
        doctor_row(doctor, DOCTOR_BAD, "engine", NULL, "%s", facts->reason);
        return false;
    }
    doctor_row(doctor, DOCTOR_GOOD, "engine", NULL, "%s, API %s, %s, at %s", facts->version,
               facts->api, facts->arch, endpoint_name(facts->endpoint));
    doctor_endpoint(doctor, facts);
    tell_host(doctor, facts);
    tell_security(doctor, facts->about);
    tell_parts(doctor, facts->about);
    tell_gpu(doctor, facts->about);
    return true;
}

bool doctor_image(struct doctor *doctor, const struct executor_profile_facts *facts)
{
    if (facts->image != IMAGE_READY) {
        doctor_row(doctor, DOCTOR_BAD, "image", NULL, "%s", facts->image_reason);
        return false;
    }
    doctor_row(doctor, DOCTOR_GOOD, "image", NULL, "%s, %s", facts->image_reference,
               facts->image_id);
    if (facts->slots > 0)
        doctor_row(doctor, DOCTOR_GOOD, "room", NULL, "%" PRId64 " container%s", facts->slots,
                   facts->slots == 1 ? " fits" : "s fit");
    else
        doctor_row(
            doctor, DOCTOR_WARN, "room", "give a script less memory, or raise --memory-budget",
            "not even one container fits the memory budget; one is run at a time all the same");
    return true;
}
