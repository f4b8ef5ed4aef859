#include "executor/walls.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

#define FOUND_MAX 200

static cJSON *add(cJSON *walls, const char *name, const char *asked, const char *found, bool good)
{
    size_t len = strnlen(found, FOUND_MAX);
    auto_free char *cut = mem_strndup(found, text_whole_end(found, len));
    cJSON *wall = cJSON_CreateObject();

    cJSON_AddStringToObject(wall, "wall", name);
    cJSON_AddStringToObject(wall, "asked", asked);
    cJSON_AddStringToObject(wall, "found", cut);
    cJSON_AddBoolToObject(wall, "good", good);
    cJSON_AddItemToArray(walls, wall);
    return wall;
}

void walls_stand(cJSON *walls, const char *name, const char *asked, const char *found)
{
    (void)add(walls, name, asked, found, true);
}

void walls_fall(cJSON *walls, const char *name, const char *asked, const char *found,
                const char *mend)
{
    cJSON *wall = add(walls, name, asked, found ? found : "nothing", false);

    cJSON_AddStringToObject(wall, "mend", mend);
}

void walls_fall_because(cJSON *walls, const char *name, const char *asked, const char *reason,
                        const char *mend)
{
    cJSON *wall = add(walls, name, asked, reason, false);

    cJSON_AddStringToObject(wall, "mend", mend);
    cJSON_AddStringToObject(wall, "reason", reason);
}

static int fallen(const cJSON *wall, struct error *err)
{
    const char *name = json_get_text(wall, "wall");
    const char *reason = json_get_text(wall, "reason");
    const char *mend = json_get_text(wall, "mend");

    if (reason)
        return error_set(err, "the wall '%s' does not stand: %s; %s", name, reason, mend);
    return error_set(err, "the wall '%s' does not stand: asked for %s, found %s; %s", name,
                     json_get_text(wall, "asked"), json_get_text(wall, "found"), mend);
}

int walls_verdict(const cJSON *walls, struct error *err)
{
    const cJSON *wall;

    cJSON_ArrayForEach(wall, walls)
    {
        if (!cJSON_IsTrue(json_get(wall, "good")))
            return fallen(wall, err);
    }
    return cJSON_GetArraySize(walls) > 0 ? 0 : error_set(err, "no wall was measured");
}
