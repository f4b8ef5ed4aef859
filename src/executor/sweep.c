#include "executor/sweep.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "executor/engine.h"
#include "executor/owner.h"
#include "executor/url.h"

#define LIST_TIMEOUT_MS   10000
#define REMOVE_TIMEOUT_MS 30000
#define REMOVALS_MAX      1000

struct sweep {
    struct engine *engine;
    bool (*unwanted)(void *arg, const struct sweep_item *item);
    void *arg;
    struct engine_call *list;
    unsigned open; /* removals that were not answered */
    int count;
};

static void on_removed(void *arg, const struct engine_reply *reply)
{
    struct sweep *sweep = arg;

    sweep->open--;
    if (reply->status != 204 && reply->status != 404 && reply->status != 409)
        log_warn("a container left by a server that is gone cannot be removed: %s",
                 reply->error.text);
}

static bool read_item(const cJSON *item, struct sweep_item *ret)
{
    const char *state = json_get_text(item, "State");

    *ret = (struct sweep_item){
        .id = json_get_text(item, "Id"),
        .owner = json_get_text(json_get_object(item, "Labels"), OWNER_LABEL),
        .runs = !state || (strcmp(state, "created") != 0 && strcmp(state, "exited") != 0 &&
                           strcmp(state, "dead") != 0),
    };
    (void)json_get_int(item, "Created", &ret->created_s);
    return ret->id && url_is_id(ret->id) && ret->owner;
}

static void on_listed(void *arg, const struct engine_reply *reply)
{
    static const struct engine_ops ops = {.done = on_removed};
    struct sweep *sweep = arg;
    auto_json cJSON *list = reply->status == 200 ? json_parse(reply->body, reply->len, NULL) : NULL;
    const cJSON *item;

    sweep->list = NULL;
    sweep->count = cJSON_IsArray(list) ? 0 : -1;
    cJSON_ArrayForEach(item, list)
    {
        auto_free char *path = NULL;
        struct sweep_item found;

        if (!read_item(item, &found) || sweep->open == REMOVALS_MAX ||
            !sweep->unwanted(sweep->arg, &found))
            continue;
        path = mem_printf("/containers/%s?force=1&v=1", found.id);
        engine_send(sweep->engine, "DELETE", path, NULL, REMOVE_TIMEOUT_MS, &ops, sweep);
        sweep->open++;
        sweep->count++;
    }
    if (sweep->count > 0)
        log_info("removing %d container(s) left by servers that are gone", sweep->count);
}

struct sweep *sweep_start(struct engine *engine,
                          bool (*unwanted)(void *arg, const struct sweep_item *item), void *arg)
{
    static const struct engine_ops ops = {.done = on_listed};
    struct sweep *sweep = mem_alloc(sizeof(*sweep));
    auto_free char *filters = url_escape("{\"label\":[\"" OWNER_LABEL "\"]}");
    auto_free char *path = mem_printf("/containers/json?all=1&filters=%s", filters);

    sweep->engine = engine;
    sweep->unwanted = unwanted;
    sweep->arg = arg;
    sweep->list = engine_send(engine, "GET", path, NULL, LIST_TIMEOUT_MS, &ops, sweep);
    return sweep;
}

bool sweep_is_over(const struct sweep *sweep)
{
    return !sweep->list && sweep->open == 0;
}

int sweep_count(const struct sweep *sweep)
{
    return sweep->count;
}

void sweep_free(struct sweep *sweep)
{
    free(sweep);
}
