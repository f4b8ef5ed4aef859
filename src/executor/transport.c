#include "executor/transport.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/mem.h"
#include "executor/endpoint.h"
#include "executor/fault.h"
#include "executor/remote.h"
#include "executor/x509.h"

/* A machine that went away without a word is noticed after 10 + 15 seconds: the first probe, then
 * what no answer came to in this time. */
#define KEEPALIVE_IDLE_S     10
#define KEEPALIVE_INTERVAL_S 5
#define UNANSWERED_MS        15000

static CURLcode set_pem(const struct curl_api *curl, CURL *easy, CURLoption option, char *pem)
{
    struct curl_blob blob = {.data = pem, .len = strlen(pem), .flags = CURL_BLOB_NOCOPY};

    return curl->easy_setopt(easy, option, &blob);
}

static CURLcode set_certs(const struct curl_api *curl, CURL *easy, const struct certs *certs)
{
    CURLcode r = set_pem(curl, easy, CURLOPT_CAINFO_BLOB, certs->ca);

    if (r == CURLE_OK)
        r = set_pem(curl, easy, CURLOPT_SSLCERT_BLOB, certs->cert);
    if (r == CURLE_OK)
        r = set_pem(curl, easy, CURLOPT_SSLKEY_BLOB, certs->key);
    return r;
}

int transport_start(const struct curl_api *curl, const struct endpoint *endpoint, struct error *err)
{
    const struct remote *remote = endpoint_remote(endpoint);
    CURLcode r = CURLE_OK;
    CURL *easy;

    if (curl->global_init(remote ? CURL_GLOBAL_SSL : CURL_GLOBAL_NOTHING) != CURLE_OK)
        return error_set(err, "libcurl cannot be initialised");
    if (remote) {
        easy = curl->easy_init();
        r = easy ? set_certs(curl, easy, &remote->certs) : CURLE_FAILED_INIT;
        curl->easy_cleanup(easy);
    }
    if (r != CURLE_OK)
        return error_set(err,
                         "this libcurl takes no certificates from memory (%s), as an engine on "
                         "another machine needs: 7.77 with OpenSSL is the oldest that does",
                         curl->easy_strerror(r));
    return 0;
}

char *transport_url(const struct endpoint *endpoint, const char *api_version, const char *path)
{
    const struct remote *remote = endpoint_remote(endpoint);
    const char *slash = api_version ? "/v" : "";
    const char *version = api_version ? api_version : "";

    if (!remote)
        return mem_printf("http://engine%s%s%s", slash, version, path);
    return mem_printf("https://%s%s%s%s", remote->name + strlen("tcp://"), slash, version, path);
}

static void apply_tls(const struct curl_api *curl, const struct remote *remote, CURL *easy)
{
    curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https");
    curl->easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl->easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    curl->easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    /* The CAs that the system trusts may not vouch for an engine. */
    curl->easy_setopt(easy, CURLOPT_CAINFO, NULL);
    curl->easy_setopt(easy, CURLOPT_CAPATH, NULL);
    (void)set_certs(curl, easy, &remote->certs);
    curl->easy_setopt(easy, CURLOPT_KEYPASSWD, ""); /* or it is asked for on a terminal */
    curl->easy_setopt(easy, CURLOPT_CERTINFO, 1L);
    curl->easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl->easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl->easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_IDLE_S);
    curl->easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_INTERVAL_S);
}

struct curl_slist *transport_apply(const struct curl_api *curl, const struct endpoint *endpoint,
                                   CURL *easy)
{
    const struct remote *remote = endpoint_remote(endpoint);
    struct curl_slist *route;

    if (!remote) {
        curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http");
        curl->easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, endpoint_socket(endpoint));
        return NULL;
    }
    apply_tls(curl, remote, easy);
    route = remote->route ? curl->slist_append(NULL, remote->route) : NULL;
    curl->easy_setopt(easy, CURLOPT_RESOLVE, route);
    return route;
}

void transport_bound(const struct endpoint *endpoint, curl_socket_t fd)
{
    const unsigned unanswered = UNANSWERED_MS;

    if (endpoint_remote(endpoint))
        (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered, sizeof(unanswered));
}

/* Whatever the text says: libcurl keeps the first that it had, which may be of a look at a socket
 * that the other end has reset. */
static bool is_cut_off(CURLcode result)
{
    return result == CURLE_SSL_CONNECT_ERROR || result == CURLE_SEND_ERROR ||
           result == CURLE_RECV_ERROR || result == CURLE_GOT_NOTHING;
}

void transport_explain(const struct curl_api *curl, const struct endpoint *endpoint, CURL *easy,
                       CURLcode result, const char *text, struct error *err)
{
    long reason = 0;

    if (result == CURLE_COULDNT_CONNECT)
        curl->easy_getinfo(easy, CURLINFO_OS_ERRNO, &reason);
    if (reason)
        text = strerror((int)reason);
    else if (!*text)
        text = curl->easy_strerror(result);
    fault_silence(endpoint_name(endpoint), text, endpoint_remote(endpoint) && is_cut_off(result),
                  err);
}

int64_t transport_peer_until(const struct curl_api *curl, CURL *easy)
{
    static const char name[] = "Cert:";
    struct curl_certinfo *chain = NULL;
    int64_t until;

    if (curl->easy_getinfo(easy, CURLINFO_CERTINFO, &chain) != CURLE_OK || !chain ||
        chain->num_of_certs < 1)
        return 0;
    for (const struct curl_slist *line = chain->certinfo[0]; line; line = line->next) {
        if (strncmp(line->data, name, strlen(name)) == 0 &&
            x509_until(line->data, strlen(line->data), &until) == 0)
            return until;
    }
    return 0;
}
