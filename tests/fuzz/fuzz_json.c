/* Any bytes as JSON: what is accepted must be accepted again once written, and stay the same; any
 * bytes as a string.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_again(const cJSON *json, size_t size)
{
    auto_buf struct buf out;
    auto_buf struct buf second;

    buf_init(&out, 64 + 32 * size);
    buf_init(&second, 64 + 32 * size);
    if (json_put_value(&out, json) < 0)
        abort();
    auto_json cJSON *again = json_parse(out.data, out.len, NULL);
    if (!again || json_put_value(&second, again) < 0)
        abort();
    if (second.len != out.len || memcmp(second.data, out.data, out.len) != 0)
        abort();
}

static void write_string(const char *bytes, size_t size)
{
    auto_buf struct buf out;

    buf_init(&out, 64 + 8 * size);
    if (json_put_bytes(&out, bytes, size) < 0)
        abort();
    for (size_t i = 0; i < size; i++)
        if (bytes[i] == '\0')
            return; /* written as an escape that json_parse() refuses on purpose */
    auto_json cJSON *again = json_parse(out.data, out.len, NULL);
    if (!cJSON_IsString(again))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    auto_json cJSON *json = json_parse(bytes, size, NULL);
    const char *raw;
    size_t len;

    write_string(bytes, size);
    if (!json)
        return 0;
    (void)json_duplicate(json);
    if (json_raw_member(bytes, size, "id", &raw, &len) &&
        (raw < bytes || len == 0 || len > size - (size_t)(raw - bytes)))
        abort();
    write_again(json, size);
    return 0;
}
