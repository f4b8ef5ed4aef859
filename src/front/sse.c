#include "front/sse.h"

#include <string.h>

#include "base/buf.h"

#define BEFORE  "event: message\ndata: "
#define AFTER   "\n\n"
#define COMMENT ": \n\n"

int sse_put_message(struct buf *out, const char *json, size_t len)
{
    size_t room = out->max - out->len;

    /* The whole event or none of it: half of one would spoil the next. */
    if (room < strlen(BEFORE AFTER) || room - strlen(BEFORE AFTER) < len)
        return -1;
    buf_add_text(out, BEFORE);
    buf_add(out, json, len);
    buf_add_text(out, AFTER);
    return 0;
}

int sse_put_comment(struct buf *out)
{
    return buf_add_text(out, COMMENT);
}
