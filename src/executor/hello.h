/* What a container's supervisor says of it once it is ready: the payload of H. Pure. */
#pragma once

#include <stddef.h>

struct container_facts;
struct spec_instance;
struct spec_profile;

/* Fills in what is known now, the walls too. -1 with the error of facts where a wall does not stand
 * or the payload is none. */
int hello_take(const char *bytes, size_t len, const struct spec_profile *profile,
               const struct spec_instance *instance, struct container_facts *facts);
