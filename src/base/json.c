#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_check.h"
#include "base/mem.h"

#define INTEGER_MAX 9007199254740992.0 /* 2^53 */

cJSON *json_parse(const char *text, size_t len, struct error *err)
{
    cJSON *json;

    if (json_check(text, len, err) < 0)
        return NULL;
    json = cJSON_ParseWithLengthOpts(text, len, NULL, false);
    if (json == NULL)
        error_set(err, "no memory for a JSON text of %zu bytes; send a smaller one", len);
    return json;
}

void json_free_at(cJSON **json)
{
    cJSON_Delete(*json);
}

cJSON *json_get(const cJSON *object, const char *name)
{
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
}

cJSON *json_get_object(const cJSON *object, const char *name)
{
    cJSON *member = json_get(object, name);

    return cJSON_IsObject(member) ? member : NULL;
}

cJSON *json_get_array(const cJSON *object, const char *name)
{
    cJSON *member = json_get(object, name);

    return cJSON_IsArray(member) ? member : NULL;
}

const char *json_get_text(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(json_get(object, name));
}

bool json_get_int(const cJSON *object, const char *name, int64_t *ret)
{
    const cJSON *member = json_get(object, name);
    double value;

    if (member == NULL || !cJSON_IsNumber(member))
        return false;
    value = member->valuedouble;
    if (!(value >= -INTEGER_MAX && value <= INTEGER_MAX))
        return false;
    if ((double)(int64_t)value != value)
        return false;
    *ret = (int64_t)value;
    return true;
}

struct member {
    const char *name;
    size_t place;
};

static int compare_members(const void *left, const void *right)
{
    const struct member *a = left;
    const struct member *b = right;
    int order = strcmp(a->name, b->name);

    if (order != 0)
        return order;
    return a->place < b->place ? -1 : 1;
}

const char *json_duplicate(const cJSON *object)
{
    auto_free struct member *members = NULL;
    const struct member *first = NULL;
    const cJSON *item;
    size_t count = 0;

    if (!cJSON_IsObject(object))
        return NULL;
    cJSON_ArrayForEach(item, object) count++;
    members = mem_alloc(count * sizeof(*members));
    count = 0;
    cJSON_ArrayForEach(item, object)
    {
        members[count] = (struct member){item->string, count};
        count++;
    }

    /* Sorted, because comparing each with each takes minutes where a stranger sends many. */
    qsort(members, count, sizeof(*members), compare_members);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(members[i - 1].name, members[i].name) == 0 &&
            (first == NULL || members[i].place < first->place))
            first = &members[i];
    }
    return first == NULL ? NULL : first->name;
}
