#include "executor/curl_api.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"

#define LIBRARY "libcurl.so.4"

/* Where each symbol goes; ISO C has no cast from what dlsym() returns to a function. */
#define SYMBOL(name)                                                                               \
    {                                                                                              \
        "curl_" #name, offsetof(struct curl_api, name)                                             \
    }

int curl_api_load(struct curl_api *ret, struct error *err)
{
    static const struct {
        const char *name;
        size_t offset;
    } symbols[] = {
        SYMBOL(global_init),         SYMBOL(global_cleanup), SYMBOL(easy_init),
        SYMBOL(easy_cleanup),        SYMBOL(easy_setopt),    SYMBOL(easy_getinfo),
        SYMBOL(easy_pause),          SYMBOL(easy_perform),   SYMBOL(easy_strerror),
        SYMBOL(multi_init),          SYMBOL(multi_cleanup),  SYMBOL(multi_add_handle),
        SYMBOL(multi_remove_handle), SYMBOL(multi_perform),  SYMBOL(multi_info_read),
        SYMBOL(multi_poll),          SYMBOL(slist_append),   SYMBOL(slist_free_all),
    };
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    struct curl_api api;

    if (!library)
        return error_set(err, "cannot load libcurl: %s; install libcurl4", dlerror());
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *symbol = dlsym(library, symbols[i].name);

        if (!symbol)
            return error_set(err, LIBRARY " has no %s; 7.68 is the oldest that does",
                             symbols[i].name);
        memcpy((char *)&api + symbols[i].offset, &symbol, sizeof(symbol));
    }
    *ret = api;
    return 0;
}
