"""Streamable HTTP: metrics, readiness, and what becomes of calls."""

import pytest

from front import RUN, STOP
from web import TOKEN, Client, WebFront, call_message, head, message, post, refused, wait_until


# --- metrics


def test_metrics_need_the_token(guarded):
    refused(guarded, head("GET", "/metrics"), 401)
    reply = guarded.ask(head("GET", "/metrics", Authorization="Bearer " + TOKEN))
    assert reply.status == 200
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"


def series_of(http_front):
    parser = pytest.importorskip("prometheus_client.parser")
    text = http_front.ask(head("GET", "/metrics")).body.decode()
    families = list(parser.text_string_to_metric_families(text))
    assert all(f.documentation and f.type != "unknown" for f in families)
    assert all(f.name.startswith("python_sandbox_") for f in families)
    samples = [s for f in families for s in f.samples]
    found = {(s.name.removeprefix("python_sandbox_"), *sorted(s.labels.items())): s.value
             for s in samples}
    assert len(found) == len(samples)
    return found


def test_metrics():
    with WebFront() as http_front:
        before = series_of(http_front)
        for status in "ok", "timed_out", "ok":
            with http_front.client() as client:
                client.send(post(call_message()))
                number, _ = http_front.executor.run()
                for phase in 1, 3, 4:
                    http_front.executor.phase(number, phase, 1 if phase == 1 else 0)
                http_front.executor.done(number, status, totals=(5, 5, 7, 7))
                assert client.receive().status == 200
        http_front.status(running=3, queued=4, warm=5, alive=6, starts=7, failures=8, losses=9)
        http_front.ask(head("GET", "/nowhere"))
        assert wait_until(lambda: series_of(http_front)[("calls_running",)] == 3)
        found = series_of(http_front)
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
    with WebFront() as http_front:
        before = set(series_of(http_front))
        for i in range(50):
            name = f'a"b\\c\n{i}}} 1\npython_sandbox_evil 1'
            http_front.ask(post(message("initialize", {
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": name, "version": name}})))
            http_front.ask(post(call_message(code=3)))
        assert set(series_of(http_front)) == before


# --- readiness


def test_readiness_follows_the_executor():
    with WebFront() as http_front:
        def is_ready():
            reply = http_front.ask(head("GET", "/readyz"))
            if reply.status == 200:
                assert reply.body == b"ok\n"
            else:
                assert reply.status == 503 and reply.body.startswith(b"not ready: "), reply.body
            return reply.status == 200

        assert not is_ready()
        http_front.status()
        assert wait_until(is_ready)
        for fault in "engine", "image", "walls", "room":
            http_front.status(**{fault: False})
            assert wait_until(lambda: not is_ready())
            http_front.status()
            assert wait_until(is_ready)
        http_front.status(draining=True)
        assert wait_until(lambda: not is_ready())
        assert http_front.ask(head("GET", "/healthz")).status == 200


def test_calls_of_equal_ids_on_many_connections(http_front):
    """Ids are not unique: every client has its own."""
    clients = [http_front.client() for _ in range(8)]
    try:
        numbers = []
        for i, client in enumerate(clients):
            client.send(post(call_message(f"print({i})", id=1)))
            number, asked = http_front.executor.run()
            assert asked["code"] == f"print({i})"
            numbers.append(number)
        for i in reversed(range(8)):
            http_front.executor.output(numbers[i], b"%d\n" % i)
            http_front.executor.done(numbers[i], totals=(2, 2, 0, 0))
        for i, client in enumerate(clients):
            answer = client.receive().json()
            assert answer["id"] == 1
            assert answer["result"]["structuredContent"]["stdout"] == f"{i}\n"
    finally:
        for client in clients:
            client.sock.close()


def test_cancel_of_another_connection_is_ignored(http_front):
    with http_front.client() as client:
        client.send(post(call_message(id=7)))
        number, _ = http_front.executor.run()
        cancel = message("notifications/cancelled", {"requestId": 7}, id=None)
        assert http_front.ask(post(cancel)).status == 202
        assert http_front.executor.is_quiet()
        http_front.executor.done(number)
        assert client.receive().json()["id"] == 7


def test_hang_up_stops_the_call(http_front):
    for close in Client.__exit__, lambda client: client.sock.shutdown(1):
        client = http_front.client()
        client.send(post(call_message()))
        assert http_front.executor.receive()[0] == RUN
        close(client)
        kind, number, _ = http_front.executor.receive()
        assert kind == STOP
        http_front.executor.done(number, "cancelled")
        client.sock.close()
    assert http_front.lives()


def test_the_way_to_mcp_is_told(http_front):
    reply = http_front.ask(head("GET", "/"))
    assert reply.status == 404 and b"/mcp" in reply.body
    assert http_front.ask(head("GET", "/.well-known/oauth-protected-resource")).body == b""
