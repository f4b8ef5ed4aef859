/* What an image is built from: the files that docker build gets on its stdin. */
#pragma once

struct error;

/* An archive with the recipe, the requirements and, where this machine has them, the certificates
 * that the build is to trust: those of SSL_CERT_FILE, else the system's own. requirements is a
 * path; NULL: the list of that name in docker/images. The caller closes the descriptor, which
 * stands at the start; -1 with err where a file cannot be read or is too large. */
int image_context(const char *profile, const char *requirements, struct error *err);
