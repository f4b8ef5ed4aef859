/* The payloads of STATUS and PROFILE, for wire.c alone. */
#pragma once

#include "base/limits.h"

#include <stddef.h>
#include <stdint.h>

struct buf;
struct bytes_reader;
struct wire_profile;
struct wire_status;

#define WIRE_STATUS_FIXED (3 + 2 * 4 + 8 + 4)
#define WIRE_STATUS_POOL  (2 + 2 * 4 + 2 * 8)
#define WIRE_STATUS_MIN   (WIRE_STATUS_FIXED + WIRE_STATUS_POOL)
#define WIRE_STATUS_MAX   (WIRE_STATUS_FIXED + LIMIT_PROFILES_MAX * WIRE_STATUS_POOL)

/* Five numbers, of which four are lengths. */
#define WIRE_PROFILE_MIN (5 * 4)
#define WIRE_PROFILE_MAX                                                                           \
    (WIRE_PROFILE_MIN + LIMIT_IMAGE_MAX + LIMIT_PYTHON_MAX + LIMIT_MODULES_MAX + LIMIT_MESSAGE_MAX)

/* Each decodes; the reader is bad where a field does not fit. */
void wire_status_decode(struct bytes_reader *reader, struct wire_status *status);
void wire_profile_decode(struct bytes_reader *reader, struct wire_profile *profile);

/* The sizes of the payloads; values over a ceiling are a programming error. */
size_t wire_status_size(const struct wire_status *status);
size_t wire_profile_size(const struct wire_profile *profile);

/* Each appends the payload; the caller has made sure that out has room. */
void wire_status_put(struct buf *out, const struct wire_status *status);
void wire_profile_put(struct buf *out, const struct wire_profile *profile);
