#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define FIRST_SIZE 64

void buf_init(struct buf *buf, size_t max)
{
    *buf = (struct buf){.max = max};
}

void buf_done(struct buf *buf)
{
    free(buf->block);
    buf_init(buf, buf->max);
}

static void move_to_front(struct buf *buf)
{
    if (buf->data != buf->block)
        memmove(buf->block, buf->data, buf->len + 1);
    buf->data = buf->block;
}

/* Makes room for len more bytes and the NUL. */
static int reserve(struct buf *buf, size_t len)
{
    size_t dropped = (size_t)(buf->data - buf->block);
    size_t need;

    if (len > buf->max - buf->len)
        return -1;
    need = buf->len + len + 1;
    if (need <= buf->size - dropped)
        return 0;

    /* Bytes move only after as many were dropped, or when the block doubles: constant time per
     * byte. */
    move_to_front(buf);
    if (need <= buf->size && dropped >= buf->len)
        return 0;
    buf->size = 2 * need > FIRST_SIZE ? 2 * need : FIRST_SIZE;
    buf->block = mem_realloc(buf->block, buf->size);
    buf->data = buf->block;
    return 0;
}

int buf_add(struct buf *buf, const void *bytes, size_t len)
{
    if (reserve(buf, len) < 0)
        return -1;
    if (len > 0)
        memcpy(buf->data + buf->len, bytes, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
    return 0;
}

int buf_add_text(struct buf *buf, const char *text)
{
    return buf_add(buf, text, strlen(text));
}

int buf_addf(struct buf *buf, const char *format, ...)
{
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0 || reserve(buf, (size_t)len) < 0)
        return -1;

    va_start(args, format);
    vsnprintf(buf->data + buf->len, (size_t)len + 1, format, args);
    va_end(args);
    buf->len += (size_t)len;
    return 0;
}

void buf_add_tail(struct buf *buf, const void *bytes, size_t len)
{
    size_t part = len < buf->max ? len : buf->max;

    if (buf->len > buf->max - part)
        buf_drop(buf, buf->len - (buf->max - part));
    (void)buf_add(buf, (const char *)bytes + (len - part), part);
}

void buf_drop(struct buf *buf, size_t len)
{
    if (len < buf->len) {
        buf->data += len;
        buf->len -= len;
        return;
    }
    buf->data = buf->block;
    buf->len = 0;
    if (buf->data != NULL)
        buf->data[0] = '\0';
}

char *buf_take(struct buf *buf, size_t *ret_len)
{
    char *bytes;

    if (ret_len != NULL)
        *ret_len = buf->len;
    if (buf->block == NULL)
        return mem_strdup("");
    move_to_front(buf);
    bytes = buf->block;
    buf_init(buf, buf->max);
    return bytes;
}
