"""Streamable HTTP: who is let in, by host, origin and token."""

import contextlib
import time

import pytest

from front import RUN
from web import JSON, OTHER, TOKEN, WebFront, call_message, head, post, refused


@pytest.fixture(scope="module")
def paged():
    """One that pages of an origin may call."""
    with WebFront("--allowed-origin=https://app.example.com, http://tool.test:8080",
                  "--allowed-host=sandbox.example.com, gate.test:444", tokens=[TOKEN]) as process:
        yield process


# --- Host and Origin


@pytest.mark.parametrize("host", [
    "localhost", "LocalHost:1", "127.0.0.1", "127.0.0.1:65535", "[::1]", "[::1]:80", "localhost:"])
def test_hosts_of_this_machine(http_front, host):
    assert http_front.ask(post(Host=host)).status == 200


@pytest.mark.parametrize("host", [
    "evil.example.com", "evil.example.com:80", "localhost.evil.com", "127.0.0.1.nip.io", "10.0.0.5",
    "10.244.0.5:8000", "localhost:80:80", "localhost:x", "[::2]", "[::1", "::1", "user@localhost",
    "localhost evil.com", "127.0.0.2"])
@pytest.mark.parametrize("target", ["/mcp", "/metrics", "/nowhere"])
def test_other_hosts(http_front, host, target):
    refused(http_front, post(Host=host, target=target), 403)


@pytest.mark.parametrize("version", ["HTTP/1.0", "HTTP/1.1"])
def test_no_host(http_front, version):
    refused(http_front, post(Host=None, version=version), 400)


def test_allowed_hosts(paged):
    token = {"Authorization": "Bearer " + TOKEN}
    for host in "sandbox.example.com", "SANDBOX.example.com:8443", "gate.test:444", "localhost:1":
        assert paged.ask(post(Host=host, **token)).status == 200
    for host in "gate.test", "gate.test:445", "x.sandbox.example.com", "sandbox.example.com.":
        refused(paged, post(Host=host, **token), 403)


def test_hosts_where_other_machines_can_connect():
    with WebFront(tokens=[TOKEN], address="0.0.0.0:0") as http_front:
        token = {"Authorization": "Bearer " + TOKEN}
        for host in "10.0.0.5", "192.168.1.7:8000", "[2001:db8::1]:8000", "localhost":
            assert http_front.ask(post(Host=host, **token)).status == 200
        for host in "evil.example.com", "1.2.3", "[1.2.3.4]", "1.2.3.4.5":
            refused(http_front, post(Host=host, **token), 403)
        refused(http_front, post(Origin="http://localhost:3000", **token), 403)


@pytest.mark.parametrize("origin, status", [
    ("http://127.0.0.1:8000", 200), ("http://localhost", 200), ("https://[::1]:1", 200),
    ("HTTP://LOCALHOST:99", 200), ("null", 403), ("http://evil.example.com", 403),
    ("http://localhost.evil.com", 403), ("http://localhost@evil.com", 403), ("", 403),
    ("ftp://localhost", 403), ("http://127.0.0.1:80/x", 403), ("file://", 403)])
def test_origins(http_front, origin, status):
    reply = http_front.ask(post(Origin=origin))
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


def test_preflight_where_no_page_is_allowed(http_front, guarded):
    assert refused(http_front, preflight("http://localhost:3000"), 405).headers["allow"] == "POST"
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


@pytest.mark.parametrize("sent", [b"", b"G", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow:"])
def test_connections_that_send_nothing_shut_nobody_out(sent):
    """More of them than there may be; those that have a request under way stay."""
    with WebFront(tokens=[TOKEN], descriptors=200) as front, contextlib.ExitStack() as stack:
        caller = stack.enter_context(front.client())
        caller.send(post(call_message(), Authorization="Bearer " + TOKEN))
        kind, number, _ = front.executor.receive()
        assert kind == RUN
        for _ in range(300):
            client = stack.enter_context(front.client())
            with contextlib.suppress(ConnectionError):
                client.send(sent)
        start = time.monotonic()
        for _ in range(10):
            assert front.lives()
        assert time.monotonic() - start < 10  # a silent one has 20 s
        front.executor.done(number, "cancelled")
        assert caller.receive().status == 200
