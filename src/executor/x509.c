#include "executor/x509.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/base64.h"
#include "base/mem.h"

#define BEGIN "-----BEGIN CERTIFICATE-----"
#define END   "-----END CERTIFICATE-----"

#define TAG_INTEGER          0x02
#define TAG_UTC_TIME         0x17
#define TAG_GENERALIZED_TIME 0x18
#define TAG_SEQUENCE         0x30
#define TAG_VERSION          0xa0

/* Longest length that is taken: four bytes of it. */
#define LENGTH_BYTES_MAX 4

struct der {
    const unsigned char *at, *end;
};

/* Takes one element off the front: its tag, and what is in it. */
static bool take(struct der *from, unsigned char *ret_tag, struct der *ret)
{
    size_t len, left = (size_t)(from->end - from->at);
    const unsigned char *at = from->at;
    unsigned count;

    if (left < 2)
        return false;
    *ret_tag = at[0];
    len = at[1];
    at += 2;
    if (len & 0x80) {
        count = len & 0x7f;
        if (count == 0 || count > LENGTH_BYTES_MAX || count > left - 2)
            return false;
        for (len = 0; count; count--)
            len = len << 8 | *at++;
    }
    if (len > (size_t)(from->end - at))
        return false;
    *ret = (struct der){at, at + len};
    from->at = at + len;
    return true;
}

static bool take_tag(struct der *from, unsigned char tag, struct der *ret)
{
    unsigned char found;

    return take(from, &found, ret) && found == tag;
}

/* Two digits; -1 where they are none. */
static int two(const unsigned char *text)
{
    if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9')
        return -1;
    return (text[0] - '0') * 10 + text[1] - '0';
}

/* "YYMMDDHHMMSSZ" of this century or the last, or "YYYYMMDDHHMMSSZ" (RFC 5280, 4.1.2.5). */
static bool read_time(struct der text, unsigned char tag, int64_t *ret)
{
    size_t len = (size_t)(text.end - text.at);
    struct tm tm = {0};
    int parts[6], century = 0;

    if (tag == TAG_GENERALIZED_TIME && len == 15) {
        century = two(text.at);
        text.at += 2;
    } else if (tag != TAG_UTC_TIME || len != 13) {
        return false;
    }
    for (size_t i = 0; i < 6; i++)
        parts[i] = two(text.at + 2 * i);
    for (size_t i = 0; i < 6; i++) {
        if (parts[i] < 0 || century < 0)
            return false;
    }
    if (text.at[12] != 'Z')
        return false;
    if (tag == TAG_UTC_TIME)
        century = parts[0] < 50 ? 20 : 19;
    tm.tm_year = century * 100 + parts[0] - 1900;
    tm.tm_mon = parts[1] - 1;
    tm.tm_mday = parts[2];
    tm.tm_hour = parts[3];
    tm.tm_min = parts[4];
    tm.tm_sec = parts[5];
    *ret = timegm(&tm);
    return true;
}

/* Certificate: SEQUENCE { SEQUENCE { version, serial, algorithm, issuer, SEQUENCE { from, until
 * } ... */
static bool read_until(struct der all, int64_t *ret)
{
    struct der certificate, body, field, validity;
    unsigned char tag;

    if (!take_tag(&all, TAG_SEQUENCE, &certificate) ||
        !take_tag(&certificate, TAG_SEQUENCE, &body) || !take(&body, &tag, &field))
        return false;
    if (tag == TAG_VERSION && !take(&body, &tag, &field))
        return false;
    return tag == TAG_INTEGER && take_tag(&body, TAG_SEQUENCE, &field) &&
           take_tag(&body, TAG_SEQUENCE, &field) && take_tag(&body, TAG_SEQUENCE, &validity) &&
           take(&validity, &tag, &field) && take(&validity, &tag, &field) &&
           read_time(field, tag, ret);
}

static bool read_block(const char *text, size_t len, int64_t *ret)
{
    auto_free char *bytes = mem_alloc(base64_room(len) + 1);
    const unsigned char *at = (const unsigned char *)bytes;
    size_t count;

    return base64_decode(text, len, bytes, &count, NULL) == 0 &&
           read_until((struct der){at, at + count}, ret);
}

int x509_until(const char *pem, size_t len, int64_t *ret)
{
    const char *end = pem + len, *begin;
    int64_t earliest = INT64_MAX, until;

    while ((begin = memmem(pem, (size_t)(end - pem), BEGIN, strlen(BEGIN)))) {
        begin += strlen(BEGIN);
        pem = memmem(begin, (size_t)(end - begin), END, strlen(END));
        if (!pem || !read_block(begin, (size_t)(pem - begin), &until))
            return -1;
        if (until < earliest)
            earliest = until;
    }
    if (earliest == INT64_MAX)
        return -1;
    *ret = earliest;
    return 0;
}
