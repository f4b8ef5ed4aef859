/* gate: what may come in over HTTP, header by header; hosts, origins and media types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "front/bearer.h"
#include "front/gate.h"
#include "front/host.h"

#define TOKEN       "0123456789abcdef0123456789abcdef"
#define HEADERS_MAX 8
#define BODY_MAX    1000

struct header {
    const char *name;
    const char *value;
};

/* What a row changes of a good request: POST /mcp of this machine. */
struct row {
    const char *method;
    const char *target;
    const char *version;
    struct header headers[HEADERS_MAX];
    enum gate_route route;
    unsigned status;
};

static void judge(struct gate_verdict *verdict, const struct row *row,
                  const struct gate_options *options)
{
    struct gate_request request = {
        .method = row->method ? row->method : "POST",
        .target = row->target ? row->target : "/mcp",
        .version = row->version ? row->version : "HTTP/1.1",
    };

    for (size_t i = 0; i < HEADERS_MAX && row->headers[i].name; i++)
        gate_take_header(&request, row->headers[i].name, row->headers[i].value,
                         strlen(row->headers[i].value));
    gate_judge(verdict, &request, options);
}

static void check(const struct row *rows, size_t count, const struct gate_options *options)
{
    for (size_t i = 0; i < count; i++) {
        struct gate_verdict verdict;

        judge(&verdict, &rows[i], options);
        if (verdict.route != rows[i].route || verdict.status != rows[i].status)
            fail_msg("row %zu: route %d, status %u", i, (int)verdict.route, verdict.status);
        if (verdict.route == GATE_REFUSED)
            assert_non_null(verdict.reason);
    }
}

#define CHECK(rows, options) check(rows, sizeof(rows) / sizeof((rows)[0]), options)

#define HOST "Host", "localhost"
#define JSON "Content-Type", "application/json"

static const struct bearer nobody = {.count = 0};
static const struct gate_options local = {
    .loopback = true, .bearer = &nobody, .body_max = BODY_MAX};

static void framing(void **state)
{
    static const struct row rows[] = {
        {.headers = {{HOST}, {JSON}, {"Content-Length", "5"}}, .route = GATE_MCP},
        {.headers = {{HOST}, {JSON}, {"Transfer-Encoding", "chunked"}}, .route = GATE_MCP},
        {.headers = {{HOST}, {JSON}, {"transfer-encoding", " Chunked\t"}}, .route = GATE_MCP},
        {.headers = {{HOST}, {JSON}}, .route = GATE_MCP},
        {.headers = {{HOST}, {JSON}, {"Content-Length", "5"}, {"Transfer-Encoding", "chunked"}},
         .status = 400},
        {.headers = {{HOST}, {JSON}, {"Content-Length", "5"}, {"Content-Length", "5"}},
         .status = 400},
        {.headers = {{HOST}, {JSON}, {"Content-Length", "5"}, {"content-length", "6"}},
         .status = 400},
        {.headers = {{HOST}, {JSON}, {"Content-Length", "5, 5"}}, .status = 400},
        {.headers = {{HOST}, {JSON}, {"Content-Length", "+5"}}, .status = 400},
        {.headers = {{HOST}, {JSON}, {"Content-Length", "-5"}}, .status = 400},
        {.headers = {{HOST}, {JSON}, {"Content-Length", "0x5"}}, .status = 400},
        {.headers = {{HOST}, {JSON}, {"Content-Length", "5 "}}, .status = 400},
        {.headers = {{HOST}, {JSON}, {"Content-Length", ""}}, .status = 400},
        {.headers = {{HOST}, {JSON}, {"Transfer-Encoding", ""}}, .status = 400},
        {.headers = {{HOST}, {JSON}, {"Transfer-Encoding", "gzip, chunked"}}, .status = 400},
        {.headers = {{HOST}, {JSON}, {"Transfer-Encoding", "chunked, chunked"}}, .status = 400},
        {.headers = {{HOST}, {JSON}, {"Transfer-Encoding", "identity"}}, .status = 400},
        {.headers = {{HOST}, {JSON}, {"Transfer-Encoding", "chunkedx"}}, .status = 400},
        {.headers = {{HOST}, {JSON}, {"Transfer-Encoding", "chunked;q=1"}}, .status = 400},
        {.headers = {{HOST}, {JSON}, {"Transfer-Encoding", "\vchunked"}}, .status = 400},
        {.headers =
             {{HOST}, {JSON}, {"Transfer-Encoding", "chunked"}, {"Transfer-Encoding", "chunked"}},
         .status = 400},
        {.version = "HTTP/1.0",
         .headers = {{HOST}, {JSON}, {"Transfer-Encoding", "chunked"}},
         .status = 400},
        {.headers = {{HOST}, {HOST}, {JSON}}, .status = 400},
        {.headers = {{HOST}, {JSON}, {JSON}}, .status = 400},
        {.headers = {{HOST}, {JSON}, {"Origin", "http://localhost"}, {"Origin", "null"}},
         .status = 400},
        {.headers = {{HOST}, {JSON}, {"Authorization", "a"}, {"Authorization", "b"}},
         .status = 400},
        {.headers = {{HOST}, {JSON}, {"Mcp-Name", "a"}, {"Mcp-Name", "a"}}, .status = 400},
        {.headers = {{HOST}, {JSON}, {"User-Agent", "a"}, {"User-Agent", "b"}}, .route = GATE_MCP},
        {.headers = {{HOST}, {JSON}, {"X", "1"}, {"X", "2"}}, .route = GATE_MCP},
        {.headers = {{HOST}, {JSON}, {"Content-Length ", "5"}}, .status = 400},
        {.headers = {{HOST}, {JSON}, {"", "5"}}, .status = 400},
        {.headers = {{HOST}, {JSON}, {"X(", "5"}}, .status = 400},
        {.headers = {{HOST}, {JSON}, {"X", "a\rb"}}, .status = 400},
        {.headers = {{HOST}, {JSON}, {"X", "a\177b"}}, .status = 400},
        {.headers = {{HOST}, {JSON}, {"X", "a\tb \xc3\xa9"}}, .route = GATE_MCP},
        {.method = "GET",
         .target = "/healthz",
         .headers = {{"Content-Length", "5"}, {"Transfer-Encoding", "chunked"}},
         .status = 400},
    };

    (void)state;
    CHECK(rows, &local);
}

static void nul_in_a_value(void **state)
{
    struct gate_request request = {.malformed = false};

    (void)state;
    gate_take_header(&request, "Host", "localhost\0evil", 14);
    assert_true(request.malformed);
}

static void order_of_checks(void **state)
{
    struct bearer bearer = {.count = 1};
    const struct gate_options options = {.loopback = true, .bearer = &bearer, .body_max = BODY_MAX};
    static const struct row rows[] = {
        {.target = "/nowhere", .headers = {{"Host", "evil"}}, .status = 403},
        {.target = "/nowhere", .headers = {{HOST}, {"Origin", "null"}}, .status = 403},
        {.target = "/nowhere", .headers = {{HOST}}, .status = 404},
        {.method = "GET", .headers = {{HOST}}, .status = 401},
        {.method = "OPTIONS", .headers = {{HOST}, {"Origin", "http://localhost"}}, .status = 401},
        {.method = "GET", .headers = {{HOST}, {"Authorization", "Bearer " TOKEN}}, .status = 405},
        {.headers = {{HOST}, {"Authorization", "Bearer " TOKEN}, {"Content-Length", "1001"}},
         .status = 415},
        {.headers = {{HOST},
                     {"Authorization", "Bearer " TOKEN},
                     {JSON},
                     {"Accept", "a/b"},
                     {"Content-Length", "1001"}},
         .status = 413},
        {.headers = {{HOST},
                     {"Authorization", "Bearer " TOKEN},
                     {JSON},
                     {"Accept", "a/b"},
                     {"Content-Length", "1000"}},
         .status = 406},
        {.headers =
             {{HOST}, {"Authorization", "Bearer " TOKEN}, {JSON}, {"Content-Length", "00001000"}},
         .route = GATE_MCP},
        {.headers = {{HOST},
                     {"Authorization", "Bearer " TOKEN},
                     {JSON},
                     {"Content-Length", "18446744073709551617"}},
         .status = 413},
        {.method = "GET",
         .target = "/healthz",
         .headers = {{"Host", "evil"}},
         .route = GATE_HEALTH},
        {.method = "HEAD", .target = "/readyz", .version = "HTTP/1.0", .route = GATE_READY},
        {.method = "POST", .target = "/readyz", .status = 405},
        {.method = "GET", .target = "/metrics", .headers = {{HOST}}, .status = 401},
        {.method = "GET", .target = "/metrics", .headers = {{"Host", "evil"}}, .status = 403},
        {.method = "GET",
         .target = "/metrics?x",
         .headers = {{HOST}, {"Authorization", "bearer " TOKEN}},
         .route = GATE_METRICS},
    };

    (void)state;
    bearer_digest(TOKEN, strlen(TOKEN), bearer.digests[0]);
    CHECK(rows, &options);
}

static void pages(void **state)
{
    const struct gate_options options = {.loopback = true,
                                         .origins = "https://a.example, http://b.example:8080",
                                         .bearer = &nobody,
                                         .body_max = BODY_MAX};
    static const struct row rows[] = {
        {.method = "OPTIONS",
         .headers = {{HOST}, {"Origin", "https://a.example"}},
         .route = GATE_PREFLIGHT},
        {.method = "OPTIONS",
         .headers = {{HOST}, {"Origin", "http://b.example:8080"}},
         .route = GATE_PREFLIGHT},
        {.method = "OPTIONS", .headers = {{HOST}, {"Origin", "http://b.example"}}, .status = 403},
        {.method = "OPTIONS", .headers = {{HOST}, {"Origin", "http://localhost"}}, .status = 403},
        {.method = "OPTIONS", .headers = {{HOST}}, .status = 405},
        {.method = "OPTIONS",
         .target = "/metrics",
         .headers = {{HOST}, {"Origin", "https://a.example"}},
         .status = 405},
        {.headers = {{HOST}, {JSON}, {"Origin", "https://a.example"}}, .route = GATE_MCP},
        {.headers = {{HOST}, {JSON}, {"Origin", "http://localhost:1"}}, .route = GATE_MCP},
        {.headers = {{HOST}, {JSON}, {"Origin", "https://a.example.com"}}, .status = 403},
    };
    struct gate_verdict verdict;

    (void)state;
    CHECK(rows, &options);
    judge(&verdict, &rows[6], &options);
    assert_string_equal(verdict.origin, "https://a.example");
    judge(&verdict, &rows[7], &options);
    assert_null(verdict.origin);
}

static void hosts(void **state)
{
    static const char *const loopback[] = {"localhost",  "LOCALHOST:1", "127.0.0.1",
                                           "127.0.0.1:", "[::1]",       "[::1]:65535"};
    static const char *const others[] = {"",      "localhost:x", "localhost:1:2", "localhost.",
                                         "[::1",  "[::1]x",      "::1",           "127.0.0.2",
                                         ":8000", "[]",          "localhost "};
    static const char *const addresses[] = {"10.0.0.1", "10.0.0.1:80", "[2001:db8::1]:80"};
    static const char *const names[] = {"example.com", "10.0.0", "10.0.0.1.2", "[10.0.0.1]",
                                        "2001:db8::1", "[]",     "[::1",       "10.0.0.1:x"};
    static const char list[] = " a.example,b.example:444\tC.example ";

    (void)state;
    for (size_t i = 0; i < sizeof(loopback) / sizeof(loopback[0]); i++)
        assert_true(host_is_loopback(loopback[i]));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(host_is_loopback(others[i]));
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
        assert_true(host_is_address(addresses[i]));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_false(host_is_address(names[i]));
    assert_true(host_in_list("a.example", list));
    assert_true(host_in_list("A.example:80", list));
    assert_true(host_in_list("b.example:444", list));
    assert_true(host_in_list("c.example", list));
    assert_false(host_in_list("b.example", list));
    assert_false(host_in_list("x.a.example", list));
    assert_false(host_in_list("", list));
    assert_false(host_in_list("a.example", NULL));
    assert_false(host_in_list("a.example", ""));
    assert_true(origin_is_loopback("https://[::1]:1"));
    assert_false(origin_is_loopback("null"));
    assert_false(origin_is_loopback("http://localhost/"));
    assert_true(origin_in_list("HTTPS://a.example", "x https://A.example"));
    assert_false(origin_in_list("https://a.example/", "https://a.example"));
    assert_true(origin_in_list("https://a.example", "https://a.example:443"));
    assert_true(origin_in_list("http://a.example:80", "https://b.example:443,HTTP://a.example"));
    assert_true(origin_in_list("http://[::1]", "http://[::1]:80"));
    assert_false(origin_in_list("https://a.example", "https://a.example:80"));
    assert_false(origin_in_list("http://a.example", "http://a.example:8080"));
    assert_false(origin_in_list("https://a.example:4430", "https://a.example:443"));
    assert_false(origin_in_list("https://:443", "https://"));
}

static void accepts(void **state)
{
    static const struct {
        const char *value;
        struct media_accept accept;
    } rows[] = {
        {NULL, {true, true}},
        {" ", {true, true}},
        {"*/*", {true, true}},
        {"application/json", {true, false}},
        {"text/event-stream", {false, true}},
        {"Application/JSON ; q=0.1 , TEXT/*", {true, true}},
        {"application/*;q=0, text/event-stream;q=1", {false, true}},
        {"application/json;v=1;q=0.00", {false, false}},
        {"application/json;q=0.001", {true, false}},
        {"text/html", {false, false}},
        {"application/jsonp, xapplication/json", {false, false}},
        {",,;", {false, false}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct media_accept accept = {false, false};

        media_accept(&accept, rows[i].value);
        if (accept.json != rows[i].accept.json || accept.stream != rows[i].accept.stream)
            fail_msg("row %zu", i);
    }
    assert_true(media_is_json("application/json"));
    assert_true(media_is_json(" Application/JSON ;charset=utf-8"));
    assert_false(media_is_json(""));
    assert_false(media_is_json("application/json-patch+json"));
    assert_false(media_is_json("text/json"));
}

static void tokens(void **state)
{
    struct bearer bearer = {.count = 2};
    static const struct {
        const char *value;
        enum bearer_verdict verdict;
    } rows[] = {
        {NULL, BEARER_MISSING},           {"", BEARER_MISSING},
        {"Bearer", BEARER_MISSING},       {"Bearer  ", BEARER_MISSING},
        {"Basic " TOKEN, BEARER_MISSING}, {"Bearer" TOKEN, BEARER_MISSING},
        {"Bearer " TOKEN, BEARER_RIGHT},  {"bEARER \t " TOKEN " ", BEARER_RIGHT},
        {"Bearer other", BEARER_RIGHT},   {"Bearer " TOKEN "0", BEARER_WRONG},
        {"Bearer Other", BEARER_WRONG},
    };

    (void)state;
    bearer_digest("other", 5, bearer.digests[0]);
    bearer_digest(TOKEN, strlen(TOKEN), bearer.digests[1]);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (bearer_check(&bearer, rows[i].value) != rows[i].verdict)
            fail_msg("row %zu", i);
    }
    assert_int_equal(bearer_check(&nobody, NULL), BEARER_RIGHT);
}

/* The example of FIPS 180. */
static void digest(void **state)
{
    static const uint8_t abc[] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40,
                                  0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17,
                                  0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};
    uint8_t got[BEARER_DIGEST_SIZE];

    (void)state;
    bearer_digest("abc", 3, got);
    assert_memory_equal(got, abc, sizeof(got));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(framing),         cmocka_unit_test(nul_in_a_value),
        cmocka_unit_test(order_of_checks), cmocka_unit_test(pages),
        cmocka_unit_test(hosts),           cmocka_unit_test(accepts),
        cmocka_unit_test(tokens),          cmocka_unit_test(digest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
