#include "executor/engine_call.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "executor/engine.h"
#include "executor/transport.h"

#define CONNECT_TIMEOUT_MS 5000
#define STALL_SECONDS      120L

static size_t on_header(char *bytes, size_t size, size_t count, void *arg)
{
    struct engine_call *call = arg;
    size_t len = size * count;

    if (len == 2 && memcmp(bytes, "\r\n", 2) == 0) {
        call->engine->curl.easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &call->status);
        if (call->attach && call->status == 101)
            call->switched = true;
    }
    return len;
}

bool engine_call_is_stream(const struct engine_call *call)
{
    return call->ops->data && (call->attach ? call->switched : call->status < 400);
}

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
    struct engine_call *call = arg;
    size_t len = size * count;

    if (engine_call_is_stream(call) && call->in.len >= ENGINE_CALL_WINDOW) {
        call->receive_paused = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    if (buf_add(&call->in, bytes, len) < 0)
        return 0;
    return len;
}

bool engine_call_is_refused(const struct engine_call *call)
{
    return call->attach && call->status && !call->switched;
}

static size_t on_read(char *bytes, size_t size, size_t count, void *arg)
{
    struct engine_call *call = arg;
    size_t len = size * count;

    if (engine_call_is_refused(call))
        return 0;
    if (!call->switched || call->out.len == 0) {
        call->send_paused = true;
        return CURL_READFUNC_PAUSE;
    }
    if (len > call->out.len)
        len = call->out.len;
    memcpy(bytes, call->out.data, len);
    buf_drop(&call->out, len);
    return len;
}

static int on_socket(void *arg, curl_socket_t fd, curlsocktype purpose)
{
    struct engine_call *call = arg;

    (void)purpose;
    call->fds[call->fds[0] != CURL_SOCKET_BAD] = fd;
    transport_bound(call->engine->endpoint, fd);
    return CURL_SOCKOPT_OK;
}

/* The connection may have outlived its call. */
static int on_close(void *arg, curl_socket_t fd)
{
    const struct engine *engine = arg;
    struct engine_call *call;

    LIST_FOREACH(call, &engine->calls, link)
    {
        for (size_t i = 0; i < ENGINE_CALL_SOCKETS; i++)
            call->fds[i] = call->fds[i] == fd ? CURL_SOCKET_BAD : call->fds[i];
    }
    return close(fd);
}

curl_socket_t engine_call_socket(const struct engine_call *call)
{
    return call->fds[0] == CURL_SOCKET_BAD ? call->fds[1] : call->fds[0];
}

struct engine_call *engine_call_new(struct engine *engine, const char *method, const char *path,
                                    int64_t timeout_ms, const struct engine_ops *ops, void *arg)
{
    const struct curl_api *curl = &engine->curl;
    struct engine_call *call = mem_alloc(sizeof(*call));
    auto_free char *url = transport_url(engine->endpoint, engine->api_version, path);

    call->engine = engine;
    call->ops = ops;
    call->arg = arg;
    call->open_deadline = CLOCK_NEVER;
    call->fds[0] = call->fds[1] = CURL_SOCKET_BAD;
    buf_init(&call->in, ENGINE_BODY_MAX);
    buf_init(&call->out, SIZE_MAX);
    LIST_INSERT_HEAD(&engine->calls, call, link);

    call->easy = curl->easy_init();
    if (!call->easy)
        abort(); /* out of memory */
    curl->easy_setopt(call->easy, CURLOPT_URL, url);
    call->route = transport_apply(curl, engine->endpoint, call->easy);
    curl->easy_setopt(call->easy, CURLOPT_NOPROXY, "*");
    curl->easy_setopt(call->easy, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(call->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl->easy_setopt(call->easy, CURLOPT_CUSTOMREQUEST, method);
    curl->easy_setopt(call->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    curl->easy_setopt(call->easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    curl->easy_setopt(call->easy, CURLOPT_BUFFERSIZE, 65536L);
    if (timeout_ms) {
        curl->easy_setopt(call->easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl->easy_setopt(call->easy, CURLOPT_LOW_SPEED_TIME, STALL_SECONDS);
    }
    curl->easy_setopt(call->easy, CURLOPT_HEADERFUNCTION, on_header);
    curl->easy_setopt(call->easy, CURLOPT_HEADERDATA, call);
    curl->easy_setopt(call->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl->easy_setopt(call->easy, CURLOPT_WRITEDATA, call);
    curl->easy_setopt(call->easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
    curl->easy_setopt(call->easy, CURLOPT_SOCKOPTDATA, call);
    curl->easy_setopt(call->easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    curl->easy_setopt(call->easy, CURLOPT_CLOSESOCKETDATA, engine);
    curl->easy_setopt(call->easy, CURLOPT_ERRORBUFFER, call->curl_text);
    curl->easy_setopt(call->easy, CURLOPT_PRIVATE, call);
    return call;
}

void engine_call_add_header(struct engine_call *call, const char *header)
{
    call->headers = call->engine->curl.slist_append(call->headers, header);
}

void engine_call_upgrade(struct engine_call *call)
{
    /* An empty value takes away a header that curl would add. */
    static const char *const headers[] = {"Connection: Upgrade", "Upgrade: tcp",
                                          "Expect:", "Transfer-Encoding:", "Content-Type:"};
    const struct curl_api *curl = &call->engine->curl;

    call->attach = true;
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
        engine_call_add_header(call, headers[i]);
    curl->easy_setopt(call->easy, CURLOPT_POST, 1L);
    curl->easy_setopt(call->easy, CURLOPT_READFUNCTION, on_read);
    curl->easy_setopt(call->easy, CURLOPT_READDATA, call);
    curl->easy_setopt(call->easy, CURLOPT_FORBID_REUSE, 1L);
    curl->easy_setopt(call->easy, CURLOPT_FRESH_CONNECT, 1L);
}

void engine_call_free(struct engine_call *call)
{
    const struct curl_api *curl = &call->engine->curl;

    LIST_REMOVE(call, link);
    if (call->easy) {
        curl->multi_remove_handle(call->engine->multi, call->easy);
        curl->easy_cleanup(call->easy);
    }
    curl->slist_free_all(call->headers);
    curl->slist_free_all(call->route);
    buf_done(&call->in);
    buf_done(&call->out);
    free(call);
}
