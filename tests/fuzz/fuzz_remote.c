/* Any text as the name of an engine, and as a certificate: what is taken is as the headers say. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "executor/address.h"
#include "executor/x509.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_free char *text = mem_strndup((const char *)data, size);
    struct address address;
    int64_t until;

    (void)x509_until((const char *)data, size, &until);
    if (address_parse(text, "fuzz", &address, NULL) < 0)
        return 0;
    if (address.path ? address.path[0] != '/' || address.host
                     : !address.host || !*address.host || address.port < 1 || address.port > 65535)
        abort();
    if (address.host && strpbrk(address.host, "/@,[]%?# \t\n"))
        abort();
    address_done(&address);
    return 0;
}
