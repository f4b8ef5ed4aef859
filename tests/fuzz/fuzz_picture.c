/* Any bytes as what a script left behind: what passes for a picture has a type and a size, all else
 * has neither. In base64 they come back as they were, and taken for base64 they do no harm. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/mem.h"
#include "front/picture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_picture(const uint8_t *data, size_t size)
{
    struct picture picture;

    picture_look(data, size, &picture);
    if (!picture_type(picture.kind)) {
        if (picture.width || picture.height || picture.pixels)
            abort();
        return;
    }
    if (!picture.width || !picture.height || !picture.pixels)
        abort();
}

static void check_base64(const char *bytes, size_t size)
{
    auto_free char *room = mem_alloc(base64_room(base64_size(size)) + 1);
    auto_buf struct buf text;
    size_t len;

    buf_init(&text, base64_size(size));
    if (base64_put(&text, bytes, size) < 0 || text.len != base64_size(size))
        abort();
    if (base64_decode(text.data, text.len, room, &len, NULL) < 0 || len != size ||
        memcmp(room, bytes, size) != 0)
        abort();
    if (base64_decode(bytes, size, room, &len, NULL) == 0 && len > base64_room(size))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_picture(data, size);
    if (size > 0)
        check_base64((const char *)data, size);
    return 0;
}
