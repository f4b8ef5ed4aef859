"""Streamable HTTP, request by request: what is let in, and what each answer says."""

import json

import pytest

from web import JSON, STREAM, head, message, post, refused, wait_until

MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {}}}
# What the default settings of code-max, stdin-max, files-bytes-max and files-max need.
BODY_MAX = 6 * (2 << 20) + 3 * (16 << 20) + 64 * 6 * 512 + 65536


def error_of(reply, status, code):
    assert reply.status == status, reply
    answer = reply.json()
    assert answer["error"]["code"] == code, reply
    assert None not in answer.values()
    return answer


# --- the message, row by row


def test_request(http_front):
    reply = http_front.ask(post())
    assert reply.status == 200
    assert reply.json() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert "mcp-session-id" not in reply.headers


@pytest.mark.parametrize("body", [
    message("notifications/initialized", id=None), message("no/such", {}, id=None),
    message("notifications/cancelled", {"requestId": 1}, id=None),
    json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}),
    json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "m"}})])
def test_no_answer(http_front, body):
    reply = http_front.ask(post(body))
    assert reply.status == 202 and reply.body == b"" and reply.headers["content-length"] == "0"


@pytest.mark.parametrize("body", [
    b"", b"{", b"nonsense", b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', b"[" * 100000,
    b'{"jsonrpc":"2.0","id":1,"method":"ping"} x', b'{"jsonrpc":"2.0","id":1,"method":"\\u00"}'])
def test_not_json(http_front, body):
    assert "id" not in error_of(http_front.ask(post(body)), 400, -32700)


@pytest.mark.parametrize("body", [
    '{"jsonrpc":"2.0","id":null,"method":"ping"}', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    '{"jsonrpc":"2.0","id":true,"method":"ping"}', '{"jsonrpc":"1.0","id":1,"method":"ping"}',
    '{"id":1,"method":"ping"}', "1", '"ping"', "{}", "[]"])
def test_not_a_message(http_front, body):
    error_of(http_front.ask(post(body)), 400, -32600)


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
def test_error_statuses(http_front, method, params, headers, status, code):
    assert error_of(http_front.ask(post(message(method, params), **headers)), status, code)["id"] == 1


@pytest.mark.parametrize("headers", [
    {}, {"MCP_Protocol_Version": "2025-11-25"}, {"MCP_Protocol_Version": "  2025-06-18 \t"},
    {"Mcp_Session_Id": "abc", "Last_Event_ID": "7"}, {"Accept_Encoding": "br, gzip"},
    {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2_Settings": "AAMAAABk"},
    {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13"},
    {"Content_Type": "application/json; charset=utf-8"}, {"Content_Type": "Application/JSON"},
    {"Content_Encoding": "identity"}, {"User_Agent": ["a", "b"]}])
def test_headers_that_do_no_harm(http_front, headers):
    reply = http_front.ask(post(**headers))
    assert reply.status == 200 and reply.json()["result"] == {}
    assert not {"mcp-session-id", "content-encoding", "upgrade"} & set(reply.headers)


def test_modern_request(http_front):
    reply = http_front.ask(post(message("tools/list", MODERN), MCP_Protocol_Version="2026-07-28",
                           Mcp_Method="tools/list"))
    assert reply.status == 200 and reply.json()["result"]["resultType"] == "complete"


# --- paths and methods


@pytest.mark.parametrize("target", [
    "/?x", "/mcp2", "/MCP", "//mcp", "/mcp//", "/%6dcp", "/mcp/x", "*", "http://localhost/mcp",
    "/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource/mcp",
    "/register", "/favicon.ico", "/healthz/"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_unknown_paths(http_front, target, method):
    reply = refused(http_front, head(method, target, Content_Length=0), 404)
    assert reply.body == b"" and "content-type" not in reply.headers


def test_both_spellings_of_the_path(http_front):
    for target in "/mcp", "/mcp/", "/mcp?x=1", "/mcp/?":
        assert http_front.ask(post(target=target)).status == 200


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "OPTIONS", "HEAD", "TRACE",
                                    "BREW", "post"])
def test_methods(http_front, method):
    reply = refused(http_front, head(method), 405, method)
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


def test_health_keeps_the_connection(http_front):
    with http_front.client() as client:
        for _ in range(3):
            client.send(head("GET", "/healthz"))
            assert client.receive().status == 200


# --- Content-Type, Accept, sizes


@pytest.mark.parametrize("headers", [
    {"Content_Type": None}, {"Content_Type": "text/plain"}, {"Content_Type": "application/jsonp"},
    {"Content_Type": "multipart/form-data; boundary=application/json"}, {"Content_Type": ""},
    {"Content_Encoding": "gzip"}, {"Content_Encoding": "br"},
    {"Content_Encoding": "identity, gzip"}])
def test_content_that_is_not_served(http_front, headers):
    reply = refused(http_front, post("SECRET" * 10, **headers), 415)
    assert b"SECRET" not in reply.body


@pytest.mark.parametrize("accept, kind", [
    (None, JSON), ("", JSON), ("*/*", JSON), ("application/*", JSON), ("application/json", JSON),
    ("application/json, text/event-stream", JSON), ("text/event-stream, application/json", JSON),
    ("APPLICATION/JSON;q=0.5", JSON), (["text/event-stream", "application/json"], JSON),
    ("text/html, */*;q=0.1", JSON), ("text/event-stream", STREAM), ("text/*", STREAM),
    ("application/json;q=0, text/event-stream", STREAM),
    ("application/json; q=0.000, text/*", STREAM)])
def test_accept(http_front, accept, kind):
    reply = http_front.ask(post(Accept=accept))
    assert reply.status == 200
    answer = reply.json() if kind == JSON else reply.events()[0]
    assert answer["result"] == {}


@pytest.mark.parametrize("accept", ["text/html", "application/xml, image/*", "application/json;q=0",
                                    "*/*;q=0", ";;,,"])
def test_accept_that_excludes_all(http_front, accept):
    refused(http_front, post(Accept=accept), 406)


def test_errors_are_json_for_those_who_want_streams_too(http_front):
    error_of(http_front.ask(post("{", Accept=STREAM)), 400, -32700)


def test_length_over_the_limit_is_refused_before_it_comes(http_front):
    for length in BODY_MAX + 1, 10**15, 10**17:
        refused(http_front, head(Content_Type=JSON, Content_Length=length), 413)
    reply = http_front.ask(post(" " * (BODY_MAX - 100) + message()))
    assert reply.status == 200


def test_refusal_reaches_a_client_that_is_still_sending(http_front):
    with http_front.client() as client:
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


def test_chunked(http_front):
    for size in 1, 7, 1 << 20:
        reply = http_front.ask(chunked(message().encode(), size))
        assert reply.status == 200 and reply.json()["result"] == {}
    assert http_front.ask(chunked(b" " * (BODY_MAX + 1))).status == 413
    assert http_front.ask(chunked(b" " * (BODY_MAX - 100) + message().encode())).status == 200


def test_bodies_that_are_held_are_bounded(http_front):
    """Many clients that send a long message slowly: some are asked to come again."""
    part = b" " * (BODY_MAX - 1)
    clients = [http_front.client() for _ in range(10)]
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
    assert http_front.lives()
