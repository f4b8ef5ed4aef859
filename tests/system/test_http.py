"""Streamable HTTP, request by request: what is let in, and what each answer says."""

import json

import pytest

from front import RUN, STOP
from web import (JSON, OTHER, STREAM, TOKEN, Client, WebFront, call_message, head, message, post,
                 wait_until)

MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {}}}
# What the default settings of code-max, stdin-max, files-bytes-max and files-max need.
BODY_MAX = 6 * (2 << 20) + 3 * (16 << 20) + 64 * 6 * 512 + 65536


@pytest.fixture(scope="module")
def front():
    with WebFront() as process:
        yield process
        assert process.lives()


@pytest.fixture(scope="module")
def guarded():
    with WebFront(tokens=[TOKEN, OTHER]) as process:
        yield process


@pytest.fixture(scope="module")
def paged():
    """One that pages of an origin may call."""
    with WebFront("--allowed-origin=https://app.example.com, http://tool.test:8080",
                  "--allowed-host=sandbox.example.com, gate.test:444", tokens=[TOKEN]) as process:
        yield process


def refused(front, request, status, method="POST"):
    """A refusal ends its connection."""
    with front.client() as client:
        client.send(request)
        reply = client.receive(method)
        assert reply.status == status, reply
        assert reply.headers.get("connection") == "close", reply
        assert client.ended()
        return reply


def error_of(reply, status, code):
    assert reply.status == status, reply
    answer = reply.json()
    assert answer["error"]["code"] == code, reply
    assert None not in answer.values()
    return answer


# --- the message, row by row


def test_request(front):
    reply = front.ask(post())
    assert reply.status == 200
    assert reply.json() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert "mcp-session-id" not in reply.headers


@pytest.mark.parametrize("body", [
    message("notifications/initialized", id=None), message("no/such", {}, id=None),
    message("notifications/cancelled", {"requestId": 1}, id=None),
    json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}),
    json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "m"}})])
def test_no_answer(front, body):
    reply = front.ask(post(body))
    assert reply.status == 202 and reply.body == b"" and reply.headers["content-length"] == "0"


@pytest.mark.parametrize("body", [
    b"", b"{", b"nonsense", b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', b"[" * 100000,
    b'{"jsonrpc":"2.0","id":1,"method":"ping"} x', b'{"jsonrpc":"2.0","id":1,"method":"\\u00"}'])
def test_not_json(front, body):
    assert "id" not in error_of(front.ask(post(body)), 400, -32700)


@pytest.mark.parametrize("body", [
    '{"jsonrpc":"2.0","id":null,"method":"ping"}', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    '{"jsonrpc":"2.0","id":true,"method":"ping"}', '{"jsonrpc":"1.0","id":1,"method":"ping"}',
    '{"id":1,"method":"ping"}', "1", '"ping"', "{}", "[]"])
def test_not_a_message(front, body):
    error_of(front.ask(post(body)), 400, -32600)


@pytest.mark.parametrize("method, params, headers, status, code", [
    ("no/such", {}, {}, 200, -32601),
    ("tools/call", {"name": "no_such"}, {}, 200, -32602),
    ("tools/list", {"cursor": "x"}, {}, 200, -32602),
    ("ping", {}, {"MCP_Protocol_Version": "1999-01-01"}, 400, -32022),
    ("tools/list", {}, {"MCP_Protocol_Version": "2026-07-28"}, 400, -32602),
    ("no/such", MODERN, {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "no/such"},
     404, -32601),
    ("tools/list", MODERN, {"Mcp_Method": "tools/list"}, 400, -32020),
    ("tools/list", MODERN, {"MCP_Protocol_Version": "2026-07-28"}, 400, -32020),
    ("tools/list", MODERN, {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "ping"},
     400, -32020)])
def test_error_statuses(front, method, params, headers, status, code):
    assert error_of(front.ask(post(message(method, params), **headers)), status, code)["id"] == 1


@pytest.mark.parametrize("headers", [
    {}, {"MCP_Protocol_Version": "2025-11-25"}, {"MCP_Protocol_Version": "  2025-06-18 \t"},
    {"Mcp_Session_Id": "abc", "Last_Event_ID": "7"}, {"Accept_Encoding": "br, gzip"},
    {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2_Settings": "AAMAAABk"},
    {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13"},
    {"Content_Type": "application/json; charset=utf-8"}, {"Content_Type": "Application/JSON"},
    {"Content_Encoding": "identity"}, {"User_Agent": ["a", "b"]}])
def test_headers_that_do_no_harm(front, headers):
    reply = front.ask(post(**headers))
    assert reply.status == 200 and reply.json()["result"] == {}
    assert not {"mcp-session-id", "content-encoding", "upgrade"} & set(reply.headers)


def test_modern_request(front):
    reply = front.ask(post(message("tools/list", MODERN), MCP_Protocol_Version="2026-07-28",
                           Mcp_Method="tools/list"))
    assert reply.status == 200 and reply.json()["result"]["resultType"] == "complete"


# --- paths and methods


@pytest.mark.parametrize("target", [
    "/", "/mcp2", "/MCP", "//mcp", "/mcp//", "/%6dcp", "/mcp/x", "*", "http://localhost/mcp",
    "/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource/mcp",
    "/register", "/favicon.ico", "/healthz/"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_unknown_paths(front, target, method):
    reply = refused(front, head(method, target, Content_Length=0), 404)
    assert reply.body == b"" and "content-type" not in reply.headers


def test_both_spellings_of_the_path(front):
    for target in "/mcp", "/mcp/", "/mcp?x=1", "/mcp/?":
        assert front.ask(post(target=target)).status == 200


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "OPTIONS", "HEAD", "TRACE",
                                    "BREW", "post"])
def test_methods(front, method):
    reply = refused(front, head(method), 405, method)
    assert reply.headers["allow"] == "POST"
    assert "access-control-allow-origin" not in reply.headers


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("version, host", [
    ("HTTP/1.1", "10.244.0.5:8000"), ("HTTP/1.1", "evil.example.com"), ("HTTP/1.0", None)])
def test_health(guarded, method, version, host):
    guarded.status()
    for target in "/healthz", "/readyz":
        reply = wait_until(lambda target=target: (
            r := guarded.ask(head(method, target, version, Host=host), method)).status == 200 and r)
        assert reply.body == (b"" if method == "HEAD" else b"ok\n")
    refused(guarded, head("POST", "/healthz", Content_Length=0), 405)


def test_health_keeps_the_connection(front):
    with front.client() as client:
        for _ in range(3):
            client.send(head("GET", "/healthz"))
            assert client.receive().status == 200


# --- Content-Type, Accept, sizes


@pytest.mark.parametrize("headers", [
    {"Content_Type": None}, {"Content_Type": "text/plain"}, {"Content_Type": "application/jsonp"},
    {"Content_Type": "multipart/form-data; boundary=application/json"}, {"Content_Type": ""},
    {"Content_Encoding": "gzip"}, {"Content_Encoding": "br"},
    {"Content_Encoding": "identity, gzip"}])
def test_content_that_is_not_served(front, headers):
    reply = refused(front, post("SECRET" * 10, **headers), 415)
    assert b"SECRET" not in reply.body


@pytest.mark.parametrize("accept, kind", [
    (None, JSON), ("", JSON), ("*/*", JSON), ("application/*", JSON), ("application/json", JSON),
    ("application/json, text/event-stream", JSON), ("text/event-stream, application/json", JSON),
    ("APPLICATION/JSON;q=0.5", JSON), (["text/event-stream", "application/json"], JSON),
    ("text/html, */*;q=0.1", JSON), ("text/event-stream", STREAM), ("text/*", STREAM),
    ("application/json;q=0, text/event-stream", STREAM),
    ("application/json; q=0.000, text/*", STREAM)])
def test_accept(front, accept, kind):
    reply = front.ask(post(Accept=accept))
    assert reply.status == 200
    answer = reply.json() if kind == JSON else reply.events()[0]
    assert answer["result"] == {}


@pytest.mark.parametrize("accept", ["text/html", "application/xml, image/*", "application/json;q=0",
                                    "*/*;q=0", ";;,,"])
def test_accept_that_excludes_all(front, accept):
    refused(front, post(Accept=accept), 406)


def test_errors_are_json_for_those_who_want_streams_too(front):
    error_of(front.ask(post("{", Accept=STREAM)), 400, -32700)


def test_length_over_the_limit_is_refused_before_it_comes(front):
    for length in BODY_MAX + 1, 10**15, 10**17:
        refused(front, head(Content_Type=JSON, Content_Length=length), 413)
    reply = front.ask(post(" " * (BODY_MAX - 100) + message()))
    assert reply.status == 200


def test_refusal_reaches_a_client_that_is_still_sending(front):
    with front.client() as client:
        client.send(head(Content_Type=JSON, Content_Length=BODY_MAX + 1))
        try:
            for _ in range(BODY_MAX // 65536):
                client.send(b" " * 65536)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert client.receive().status == 413


def chunked(data, size=1 << 20):
    body = b"".join(b"%x\r\n%s\r\n" % (len(data[i:i + size]), data[i:i + size])
                    for i in range(0, len(data), size))
    return head(Content_Type=JSON, Transfer_Encoding="chunked") + body + b"0\r\n\r\n"


def test_chunked(front):
    for size in 1, 7, 1 << 20:
        reply = front.ask(chunked(message().encode(), size))
        assert reply.status == 200 and reply.json()["result"] == {}
    assert front.ask(chunked(b" " * (BODY_MAX + 1))).status == 413
    assert front.ask(chunked(b" " * (BODY_MAX - 100) + message().encode())).status == 200


def test_bodies_that_are_held_are_bounded(front):
    """Many clients that send a long message slowly: some are asked to come again."""
    part = b" " * (BODY_MAX - 1)
    clients = [front.client() for _ in range(10)]
    try:
        for client in clients:
            client.send(head(Content_Type=JSON, Content_Length=BODY_MAX) + part)
        for client in clients:
            client.send(b" ")
        replies = [client.receive() for client in clients]
    finally:
        for client in clients:
            client.sock.close()
    assert {r.status for r in replies} == {400, 503}
    assert all(r.headers["retry-after"] for r in replies if r.status == 503)
    assert front.lives()


# --- Host and Origin


@pytest.mark.parametrize("host", [
    "localhost", "LocalHost:1", "127.0.0.1", "127.0.0.1:65535", "[::1]", "[::1]:80", "localhost:"])
def test_hosts_of_this_machine(front, host):
    assert front.ask(post(Host=host)).status == 200


@pytest.mark.parametrize("host", [
    "evil.example.com", "evil.example.com:80", "localhost.evil.com", "127.0.0.1.nip.io", "10.0.0.5",
    "10.244.0.5:8000", "localhost:80:80", "localhost:x", "[::2]", "[::1", "::1", "user@localhost",
    "localhost evil.com", "127.0.0.2"])
@pytest.mark.parametrize("target", ["/mcp", "/metrics", "/nowhere"])
def test_other_hosts(front, host, target):
    refused(front, post(Host=host, target=target), 403)


@pytest.mark.parametrize("version", ["HTTP/1.0", "HTTP/1.1"])
def test_no_host(front, version):
    refused(front, post(Host=None, version=version), 400)


def test_allowed_hosts(paged):
    token = {"Authorization": "Bearer " + TOKEN}
    for host in "sandbox.example.com", "SANDBOX.example.com:8443", "gate.test:444", "localhost:1":
        assert paged.ask(post(Host=host, **token)).status == 200
    for host in "gate.test", "gate.test:445", "x.sandbox.example.com", "sandbox.example.com.":
        refused(paged, post(Host=host, **token), 403)


def test_hosts_where_other_machines_can_connect():
    with WebFront(tokens=[TOKEN], address="0.0.0.0:0") as front:
        token = {"Authorization": "Bearer " + TOKEN}
        for host in "10.0.0.5", "192.168.1.7:8000", "[2001:db8::1]:8000", "localhost":
            assert front.ask(post(Host=host, **token)).status == 200
        for host in "evil.example.com", "1.2.3", "[1.2.3.4]", "1.2.3.4.5":
            refused(front, post(Host=host, **token), 403)
        refused(front, post(Origin="http://localhost:3000", **token), 403)


@pytest.mark.parametrize("origin, status", [
    ("http://127.0.0.1:8000", 200), ("http://localhost", 200), ("https://[::1]:1", 200),
    ("HTTP://LOCALHOST:99", 200), ("null", 403), ("http://evil.example.com", 403),
    ("http://localhost.evil.com", 403), ("http://localhost@evil.com", 403), ("", 403),
    ("ftp://localhost", 403), ("http://127.0.0.1:80/x", 403), ("file://", 403)])
def test_origins(front, origin, status):
    reply = front.ask(post(Origin=origin))
    assert reply.status == status
    assert "access-control-allow-origin" not in reply.headers


# --- pages


def preflight(origin, target="/mcp", **headers):
    return head("OPTIONS", target, Origin=origin, Access_Control_Request_Method="POST",
                Access_Control_Request_Headers="authorization,content-type,mcp-protocol-version,"
                "mcp-method,mcp-name", **headers)


def test_preflight(paged):
    for origin in "https://app.example.com", "http://tool.test:8080":
        reply = paged.ask(preflight(origin), "OPTIONS")
        assert reply.status == 204 and reply.body == b""
        assert reply.headers["access-control-allow-origin"] == origin
        assert reply.headers["vary"] == "Origin"
        assert "POST" in reply.headers["access-control-allow-methods"]
        allowed = reply.headers["access-control-allow-headers"].split(", ")
        assert {"authorization", "content-type", "mcp-protocol-version", "mcp-method",
                "mcp-name"} <= set(allowed)


@pytest.mark.parametrize("origin", ["https://evil.example.com", "null", "https://app.example.com:1",
                                    "http://app.example.com", "http://localhost:3000", "*"])
def test_preflight_of_other_pages(paged, origin):
    reply = refused(paged, preflight(origin), 403)
    assert "access-control-allow-origin" not in reply.headers


def test_preflight_where_no_page_is_allowed(front, guarded):
    assert refused(front, preflight("http://localhost:3000"), 405).headers["allow"] == "POST"
    refused(guarded, preflight("http://localhost:3000"), 401)


def test_answers_to_allowed_pages_say_so(paged):
    origin = "https://app.example.com"
    token = {"Authorization": "Bearer " + TOKEN}
    for request, status in [
            (post(Origin=origin, **token), 200), (post(Origin=origin), 401),
            (head("GET", Origin=origin, **token), 405),
            (post(Origin=origin, Content_Type="text/plain", **token), 415),
            (post("{", Origin=origin, **token), 400),
            (head("GET", "/nowhere", Origin=origin), 404)]:
        reply = paged.ask(request)
        assert reply.status == status
        assert reply.headers["access-control-allow-origin"] == origin
        assert reply.headers["vary"] == "Origin"
    reply = paged.ask(post(**token))
    assert "access-control-allow-origin" not in reply.headers
    assert reply.headers["vary"] == "Origin"


# --- tokens


@pytest.mark.parametrize("value", [
    "Bearer " + TOKEN, "bearer " + TOKEN, "BEARER " + OTHER, "Bearer  " + TOKEN,
    "Bearer\t" + TOKEN + "  "])
def test_right_token(guarded, value):
    assert guarded.ask(post(Authorization=value)).status == 200


@pytest.mark.parametrize("value, given", [
    (None, False), ("", False), ("Bearer", False), ("Bearer ", False), ("Basic " + TOKEN, False),
    (TOKEN, False), ("Bearer" + TOKEN, False), ("Bearer " + TOKEN[:-1], True),
    ("Bearer " + TOKEN + "x", True), ("Bearer " + TOKEN.upper(), True),
    ("Bearer " + TOKEN + " " + OTHER, True), ("Bearer " + TOKEN + "," + OTHER, True),
    ("Bearer x", True), ("Bearer " + "x" * 8000, True)])
@pytest.mark.parametrize("method, target", [
    ("POST", "/mcp"), ("GET", "/mcp"), ("DELETE", "/mcp/"), ("OPTIONS", "/mcp"), ("GET", "/metrics"),
    ("POST", "/mcp?access_token=" + TOKEN + "&token=" + TOKEN)])
def test_wrong_token(guarded, method, target, value, given):
    # The body never comes: the answer must not wait for it.
    request = head(method, target, Authorization=value, Content_Type=JSON, Content_Length=500)
    reply = refused(guarded, request, 401)
    want = 'Bearer realm="python-sandbox"' + (', error="invalid_token"' if given else "")
    assert reply.headers["www-authenticate"] == want
    assert TOKEN.encode() not in reply.body
    assert reply.json()["error"] == ("invalid_token" if given else "missing_token")


def test_token_before_method_and_after_host(guarded):
    refused(guarded, post(Host="evil.example.com"), 403)
    refused(guarded, post(target="/.well-known/oauth-authorization-server"), 404)
    refused(guarded, head("GET", Authorization="Bearer " + TOKEN), 405)
    refused(guarded, post(Authorization=["Bearer " + TOKEN, "Bearer " + TOKEN]), 400)


# --- framing


@pytest.mark.parametrize("headers", [
    {"Transfer_Encoding": "chunked"}, {"Content_Length": [40, 40]}, {"Content_Length": [40, 41]},
    {"Content_Length": "40, 40"}, {"Content_Length": "+40"}, {"Content_Length": "-1"},
    {"Content_Length": "0x28"}, {"Content_Length": "40 40"}, {"Content_Length": ""},
    {"Content_Length": None, "Transfer_Encoding": "gzip, chunked"},
    {"Content_Length": None, "Transfer_Encoding": "identity"},
    {"Content_Length": None, "Transfer_Encoding": "chunked, chunked"},
    {"Content_Length": None, "Transfer_Encoding": "xchunked"},
    {"Content_Length": None, "Transfer_Encoding": ["chunked", "chunked"]},
    {"Content_Length": None, "Transfer_Encoding": "chunked", "version": "HTTP/1.0"},
    {"Transfer_Encoding": "gzip"}, {"Host": ["localhost", "localhost"]},
    {"Host": ["localhost", "evil.com"]}, {"Origin": ["http://localhost", "http://evil.com"]},
    {"Content_Type": [JSON, "text/plain"]}, {"Mcp_Method": ["ping", "tools/call"]},
    {"MCP_Protocol_Version": ["2025-11-25", "2025-06-18"]}, {"X_Bad": "a\x01b"}])
@pytest.mark.parametrize("target", ["/mcp", "/healthz"])
def test_framing_that_two_servers_may_read_differently(front, target, headers):
    smuggled = "5\r\n" + "x" * 5 + "\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    request = head(**{"target": target, "Content_Type": JSON, "Content_Length": 40, **headers})
    with front.client() as client:
        client.send(request + smuggled.encode())
        assert client.receive().status == 400
        # The library repeats the head of its own refusal of a bad Content-Length in its body.
        if not headers.get("Transfer_Encoding") and "Content_Length" in headers:
            while client.fill():
                pass
            assert b" 200 " not in client.data and client.data.count(b"HTTP/1.1") <= 1
            client.data = b""
        assert client.ended()


def test_what_follows_a_refused_request_is_no_request(guarded):
    with guarded.client() as client:
        client.send(post("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") + head("GET", "/healthz"))
        assert client.receive().status == 401
        assert client.ended()


def test_body_of_a_probe_is_no_request(front):
    inner = head("GET", "/nowhere")
    with front.client() as client:
        client.send(head("GET", "/healthz", Content_Length=len(inner)) + inner)
        client.send(head("GET", "/healthz"))
        assert client.receive().status == 200
        assert client.receive().status == 200
        assert client.is_quiet()


MALFORMED = {
    "no version": b"GET /mcp\r\nHost: localhost\r\n\r\n",
    "no target": b"GET HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "two spaces": b"POST  /mcp  HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "blank before the method": b" POST /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "version 9": b"GET /mcp HTTP/9.9\r\nHost: localhost\r\n\r\n",
    "version 2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "version in lower case": b"GET /mcp http/1.1\r\nHost: localhost\r\n\r\n",
    "no host": b"POST /mcp HTTP/1.1\r\n\r\n",
    "empty host": b"POST /mcp HTTP/1.1\r\nHost: \r\n\r\n",
    "blank before the colon": b"POST /mcp HTTP/1.1\r\nHost : localhost\r\n\r\n",
    "no colon": b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nnonsense\r\n\r\n",
    "no name": b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n",
    "blank in a name": b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX Y: 1\r\n\r\n",
    "bracket in a name": b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX[]: 1\r\n\r\n",
    "bell in a name": b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX\x07Y: 1\r\n\r\n",
    "high byte in a name": b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX\xe9: 1\r\n\r\n",
    "first header folded": b"POST /mcp HTTP/1.1\r\n Host: localhost\r\n\r\n",
    "bell in a value": b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: \x07\r\n\r\n",
    "delete in a value": b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: \x7f\r\n\r\n",
    "negative length": b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
    "length of words": b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: ten\r\n\r\n",
    "length past 64 bits": b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                           b"99999999999999999999999\r\n\r\n",
    "length and coding": b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
                         b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "coding with a tab": b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: \x0bchunked"
                         b"\r\n\r\n0\r\n\r\n",
    "long target": b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "long header": b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100000 + b"\r\n\r\n",
    "many headers": b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20000 + b"\r\n",
    "noise": bytes(range(1, 256)) + b"\r\n\r\n",
    "a secure hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 40 + b"\r\n\r\n",
}
BAD_CHUNKS = {
    "size 0x4": b"0x4\r\nabcd\r\n0\r\n\r\n", "size -1": b"-1\r\n\r\n", "no size": b"\r\nab\r\n0\r\n\r\n",
    "size of words": b"ten\r\n0123456789\r\n0\r\n\r\n", "blank size": b" 4\r\nabcd\r\n0\r\n\r\n",
    "huge size": b"fffffffffffffffff\r\n", "longer than said": b"2\r\nabcd\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_requests(front, name):
    with front.client() as client:
        try:
            client.send(MALFORMED[name])
            status, _ = client.head()
        except (ConnectionResetError, BrokenPipeError):
            # What was too long for its buffer may be cut off before its answer has been read.
            assert name in ("long header", "long target", "many headers")
            return
        except AssertionError:
            # Not even the start of a request: an end without an answer.
            assert not client.data
            return
        # No version but 1.x: for that alone HTTP has a status of its own.
        assert 400 <= status < 500 or (status == 505 and name.startswith("version")), status


@pytest.mark.parametrize("name", BAD_CHUNKS)
def test_malformed_chunks(front, name):
    with front.client() as client:
        client.send(head(Content_Type=JSON, Transfer_Encoding="chunked") + BAD_CHUNKS[name])
        assert 400 <= client.head()[0] < 500


@pytest.mark.parametrize("fragment", [
    b"P", b"POST", b"POST /m", b"POST /mcp HTTP/1", b"POST /mcp HTTP/1.1\r\n",
    b"POST /mcp HTTP/1.1\r\nHost: local", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n",
    head(Content_Type=JSON, Content_Length=100), head(Content_Type=JSON, Content_Length=100) + b"{",
    head(Content_Type=JSON, Transfer_Encoding="chunked") + b"5\r\n{"])
def test_fragments_wait(front, fragment):
    with front.client() as client:
        client.send(fragment)
        assert client.is_quiet()
    assert front.lives()


def test_no_call_came_of_all_this(front):
    assert front.executor.is_quiet(0)


# --- metrics


def test_metrics_need_the_token(guarded):
    refused(guarded, head("GET", "/metrics"), 401)
    reply = guarded.ask(head("GET", "/metrics", Authorization="Bearer " + TOKEN))
    assert reply.status == 200
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"


def series_of(front):
    parser = pytest.importorskip("prometheus_client.parser")
    text = front.ask(head("GET", "/metrics")).body.decode()
    families = list(parser.text_string_to_metric_families(text))
    assert all(f.documentation and f.type != "unknown" for f in families)
    assert all(f.name.startswith("python_sandbox_") for f in families)
    samples = [s for f in families for s in f.samples]
    found = {(s.name.removeprefix("python_sandbox_"), *sorted(s.labels.items())): s.value
             for s in samples}
    assert len(found) == len(samples)
    return found


def test_metrics():
    with WebFront() as front:
        before = series_of(front)
        for status in "ok", "timed_out", "ok":
            with front.client() as client:
                client.send(post(call_message()))
                number, _ = front.executor.run()
                for phase in 1, 3, 4:
                    front.executor.phase(number, phase, 1 if phase == 1 else 0)
                front.executor.done(number, status, totals=(5, 5, 7, 7))
                assert client.receive().status == 200
        front.status(running=3, queued=4, warm=5, alive=6, starts=7, failures=8, losses=9)
        front.ask(head("GET", "/nowhere"))
        assert wait_until(lambda: series_of(front)[("calls_running",)] == 3)
        found = series_of(front)
        assert found[("calls_total", ("status", "ok"))] == 2
        assert found[("calls_total", ("status", "timed_out"))] == 1
        assert found[("call_duration_seconds_count",)] == 3
        for phase in "queue", "start", "run":
            assert found[("call_phase_duration_seconds_count", ("phase", phase))] == 3
        assert found[("output_bytes_total", ("stream", "stderr"))] == 21
        assert found[("calls_queued",)] == 4
        assert found[("containers_ready", ("profile", "default"))] == 5
        assert found[("containers", ("profile", "default"))] == 6
        assert found[("container_starts_total", ("profile", "default"))] == 7
        assert found[("container_start_failures_total", ("profile", "default"))] == 8
        assert found[("engine_losses_total",)] == 9
        assert found[("http_requests_total", ("code", "4xx"))] == 1
        assert found[("http_requests_total", ("code", "2xx"))] >= 4
        assert found[("http_received_bytes_total",)] >= 3 * len(call_message())
        assert found[("http_connections",)] >= 1
        assert found[("ready",)] == 1
        assert set(found) == set(before)


def test_client_names_add_no_series():
    with WebFront() as front:
        before = set(series_of(front))
        for i in range(50):
            name = f'a"b\\c\n{i}}} 1\npython_sandbox_evil 1'
            front.ask(post(message("initialize", {
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": name, "version": name}})))
            front.ask(post(call_message(code=3)))
        assert set(series_of(front)) == before


# --- readiness


def test_readiness_follows_the_executor():
    with WebFront() as front:
        def is_ready():
            reply = front.ask(head("GET", "/readyz"))
            if reply.status == 200:
                assert reply.body == b"ok\n"
            else:
                assert reply.status == 503 and reply.body.startswith(b"not ready: "), reply.body
            return reply.status == 200

        assert not is_ready()
        front.status()
        assert wait_until(is_ready)
        for fault in "engine", "image", "walls", "room":
            front.status(**{fault: False})
            assert wait_until(lambda: not is_ready())
            front.status()
            assert wait_until(is_ready)
        front.status(draining=True)
        assert wait_until(lambda: not is_ready())
        assert front.ask(head("GET", "/healthz")).status == 200


def test_calls_of_equal_ids_on_many_connections(front):
    """Ids are not unique: every client has its own."""
    clients = [front.client() for _ in range(8)]
    try:
        numbers = []
        for i, client in enumerate(clients):
            client.send(post(call_message(f"print({i})", id=1)))
            number, asked = front.executor.run()
            assert asked["code"] == f"print({i})"
            numbers.append(number)
        for i in reversed(range(8)):
            front.executor.output(numbers[i], b"%d\n" % i)
            front.executor.done(numbers[i], totals=(2, 2, 0, 0))
        for i, client in enumerate(clients):
            answer = client.receive().json()
            assert answer["id"] == 1
            assert answer["result"]["structuredContent"]["stdout"] == f"{i}\n"
    finally:
        for client in clients:
            client.sock.close()


def test_cancel_of_another_connection_is_ignored(front):
    with front.client() as client:
        client.send(post(call_message(id=7)))
        number, _ = front.executor.run()
        cancel = message("notifications/cancelled", {"requestId": 7}, id=None)
        assert front.ask(post(cancel)).status == 202
        assert front.executor.is_quiet()
        front.executor.done(number)
        assert client.receive().json()["id"] == 7


def test_hang_up_stops_the_call(front):
    for close in Client.__exit__, lambda client: client.sock.shutdown(1):
        client = front.client()
        client.send(post(call_message()))
        assert front.executor.receive()[0] == RUN
        close(client)
        kind, number, _ = front.executor.receive()
        assert kind == STOP
        front.executor.done(number, "cancelled")
        client.sock.close()
    assert front.lives()
