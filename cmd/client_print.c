#include "client_config.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/json.h"

#define TEXT_MAX (1024 * 1024)

/* cJSON indents with tabs and puts one after each name; in texts they are escaped. */
void client_print_json(const cJSON *tree)
{
    char *text = cJSON_Print(tree);
    char before = '\n';

    for (const char *at = text; at && *at; before = *at++) {
        if (*at != '\t')
            putchar(*at);
        else
            fputs(before == ':' ? " " : "  ", stdout);
    }
    putchar('\n');
    cJSON_free(text);
}

static void print_toml(const cJSON *value)
{
    auto_buf struct buf out;

    buf_init(&out, TEXT_MAX);
    if (!cJSON_IsString(value))
        printf("%" PRId64, (int64_t)value->valuedouble);
    else if (json_put_text(&out, value->valuestring) == 0)
        fputs(out.data, stdout); /* TOML has the escapes of JSON */
}

void client_print_toml(const char *heading, const char *name, const cJSON *entry)
{
    const cJSON *member, *item;

    printf("[%s.%s]\n", heading, name);
    cJSON_ArrayForEach(member, entry)
    {
        printf("%s = ", member->string);
        if (!cJSON_IsArray(member)) {
            print_toml(member);
        } else {
            putchar('[');
            cJSON_ArrayForEach(item, member)
            {
                print_toml(item);
                fputs(item->next ? ", " : "", stdout);
            }
            putchar(']');
        }
        putchar('\n');
    }
}
