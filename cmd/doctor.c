/* Is everything there that a call needs, do the walls stand; and how to mend what is not. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "config.h"
#include "doctor.h"
#include "local.h"
#include "options.h"
#include "verbs.h"

static bool examine(const struct config *config, bool json, struct error *err)
{
    struct local *local = local_start(config, LOCAL_ALL, 1, err);
    struct doctor doctor;

    if (!local) {
        fprintf(stderr, "python-sandbox: %s\n", err->text);
        return false;
    }
    doctor_begin(&doctor, config, json);
    doctor_runs(&doctor, local);
    doctor_data(&doctor);
    doctor_files(&doctor);
    local_end(local);
    doctor_end(&doctor);
    return doctor.good;
}

int cmd_doctor(int argc, char **argv)
{
    bool json = verbs_take_flag(&argc, argv, "--json");
    struct config config;
    struct config_arguments rest;
    struct error err;
    int status = 2;

    if (options_load(&config, argc, argv, false, "[--json] [FLAGS]",
                     "Check engine, image, walls and files, and say how to mend what fails; exit "
                     "status 0 when all that is configured stands.",
                     &rest, &err) < 0) {
        fprintf(stderr, "python-sandbox: %s\n", err.text);
        return status;
    }
    log_open(config.log_level == LOG_LEVEL_DEBUG ? STDERR_FILENO : -1, config.log_level);
    if (rest.count)
        fprintf(stderr, "python-sandbox: doctor takes flags only, not \"%s\"\n", rest.rest[0]);
    else
        status = examine(&config, json, &err) ? EXIT_SUCCESS : EXIT_FAILURE;
    free(rest.rest);
    config_done(&config);
    return status;
}
