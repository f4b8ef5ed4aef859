"""Streamable HTTP over time: streams, progress, connections that stay, and clients that go."""

import concurrent.futures
import json
import select
import signal
import socket
import struct
import time

import pytest

from front import PULLING, QUEUED, RUN, RUNNING, STOP
from web import (JSON, STREAM, Client, WebFront, call_message, events_of, head, message, post,
                 wait_until)

BOTH = "application/json, text/event-stream"


@pytest.fixture
def front():
    with WebFront() as process:
        yield process
        assert process.lives()


def open_call(front, client, **headers):
    """Sends a call; its number at the executor."""
    given = {key: headers.pop(key) for key in ("token", "id", "code") if key in headers}
    client.send(post(call_message(**given), **headers))
    return front.executor.run()[0]


# --- JSON or a stream


def test_result_without_progress_is_json(front):
    with front.client() as client:
        number = open_call(front, client, Accept=BOTH, token="t")
        front.executor.done(number)
        reply = client.receive()
        assert reply.status == 200 and reply.json()["id"] == 1


def test_progress_comes_as_a_stream(front):
    with front.client() as client:
        number = open_call(front, client, Accept=BOTH, token=0, id="a")
        front.executor.phase(number, QUEUED, 3)
        status, headers = client.head()
        assert status == 200
        assert headers["content-type"] == STREAM
        assert headers["cache-control"] == "no-cache, no-transform"
        assert headers["x-accel-buffering"] == "no"
        assert headers["transfer-encoding"] == "chunked"
        (first,) = events_of(client.chunk())
        assert first["method"] == "notifications/progress"
        assert first["params"]["progressToken"] == 0 and "3rd" in first["params"]["message"]
        front.executor.phase(number, RUNNING)
        (second,) = events_of(client.chunk())
        assert second["params"]["progress"] > first["params"]["progress"]
        front.executor.done(number)
        (last,) = events_of(client.chunk())
        assert last["id"] == "a" and last["result"]
        assert client.chunk() == b""
        # And the connection serves the next request.
        client.send(post())
        assert client.receive().json()["result"] == {}


@pytest.mark.parametrize("token", ["", -1, "x" * 300, 2**53])
def test_progress_tokens_come_back(front, token):
    with front.client() as client:
        number = open_call(front, client, token=token)
        front.executor.phase(number, PULLING, 7)
        client.head()
        (event,) = events_of(client.chunk())
        assert event["params"]["progressToken"] == token
        assert type(event["params"]["progressToken"]) is type(token)
        front.executor.done(number)


def test_progress_is_left_out_for_those_who_take_json_only(front):
    with front.client() as client:
        number = open_call(front, client, Accept=JSON, token="t")
        front.executor.phase(number, QUEUED, 3)
        front.executor.phase(number, RUNNING)
        assert client.is_quiet(0.7)
        front.executor.done(number)
        assert client.receive().json()["result"]


def test_stream_only_client(front):
    with front.client() as client:
        number = open_call(front, client, Accept=STREAM)
        front.executor.done(number)
        (event,) = client.receive().events()
        assert event["result"]


def test_stream_to_an_old_client(front):
    """HTTP/1.0 knows no chunks: the end of the connection is the end of the stream."""
    with front.client() as client:
        number = open_call(front, client, token=1, version="HTTP/1.0")
        front.executor.phase(number, QUEUED, 1)
        wait_until(lambda: not client.is_quiet(0))
        front.executor.done(number)
        reply = client.receive()
        assert "transfer-encoding" not in reply.headers
        assert [("id" in event) for event in reply.events()] == [False, True]


def test_large_result_comes_whole(front):
    text = b"0123456789abcdef" * 4096
    for accept in JSON, STREAM:
        with front.client() as client:
            number = open_call(front, client, Accept=accept)
            front.executor.output(number, text[:32768])
            front.executor.output(number, text[32768:])
            front.executor.done(number, totals=(len(text), len(text), 0, 0))
            reply = client.receive()
            answer = reply.json() if accept == JSON else reply.events()[0]
            assert len(json.dumps(answer)) > 40000


# --- connections


def test_keep_alive(front):
    with front.client() as client:
        for id in range(50):
            client.send(post(message(id=id)))
            assert client.receive().json()["id"] == id
    with front.client() as client:
        client.send(post(Connection="close"))
        assert client.receive().headers["connection"] == "close"
        assert client.ended()
    with front.client() as client:
        client.send(post(version="HTTP/1.0"))
        assert client.receive().status == 200
        assert client.ended()
    with front.client() as client:
        for _ in range(2):
            client.send(post(version="HTTP/1.0", Connection="Keep-Alive"))
            assert client.receive().status == 200


def test_pipelined_requests_are_answered_in_order(front):
    with front.client() as client:
        client.send(b"".join(post(message(id=id)) for id in range(20)))
        assert [client.receive().json()["id"] for _ in range(20)] == list(range(20))


def test_pipelined_behind_a_call(front):
    with front.client() as client:
        client.send(post(call_message(id=1)) + post(message(id=2)) + post(call_message(id=3)))
        number, _ = front.executor.run()
        assert client.is_quiet() and front.executor.is_quiet(0)
        front.executor.done(number)
        assert client.receive().json()["id"] == 1
        assert client.receive().json()["id"] == 2
        number, _ = front.executor.run()
        front.executor.done(number)
        assert client.receive().json()["id"] == 3


def test_single_bytes(front):
    request = post(Accept=BOTH)
    with front.client() as client:
        client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(len(request)):
            client.send(request[i : i + 1])
            if i % 16 == 0:
                time.sleep(0.002)
        assert client.receive().json()["result"] == {}


def test_split_everywhere(front):
    request = post()
    with front.client() as client:
        client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(1, len(request)):
            client.send(request[:i])
            time.sleep(0.001)
            client.send(request[i:])
            assert client.receive().json()["result"] == {}


def test_half_closed(front):
    """The request is whole, and nothing more will come."""
    with front.client() as client:
        client.send(post())
        client.sock.shutdown(socket.SHUT_WR)
        assert client.receive().json()["result"] == {}
    for part in post()[:-1], post()[:40], b"":
        with front.client() as client:
            client.send(part)
            client.sock.shutdown(socket.SHUT_WR)
            # Mostly at once. An end that is there when the data is read is no news to the library, which
            # then ends the connection with those that send too slowly, after 20 s.
            assert client.ended(25)


def test_expect(front):
    body = message().encode()
    with front.client() as client:
        for _ in range(2):
            client.send(head(Content_Type=JSON, Content_Length=len(body), Expect="100-continue"))
            assert client.head() == (100, {})
            client.send(body)
            assert client.receive().json()["result"] == {}
    with front.client() as client:
        client.send(head(Content_Type="text/plain", Content_Length=5, Expect="100-continue"))
        assert client.receive().status == 415
    # One that does not wait for the word.
    with front.client() as client:
        client.send(post(Expect="100-continue"))
        assert client.receive().json()["result"] == {}


def test_cheap_requests_are_answered_while_calls_run(front):
    clients = [front.client() for _ in range(20)]
    try:
        numbers = [open_call(front, client) for client in clients]
        start = time.monotonic()
        assert all(front.lives() for _ in range(20))
        assert time.monotonic() - start < 2
        for number in numbers:
            front.executor.done(number)
        assert all(client.receive().status == 200 for client in clients)
    finally:
        for client in clients:
            client.sock.close()


# --- clients that go


@pytest.mark.parametrize("how", ["close", "reset", "half"])
@pytest.mark.parametrize("streaming", [False, True])
def test_hang_up(front, how, streaming):
    with front.client() as client:
        number = open_call(front, client, token=1)
        if streaming:
            front.executor.phase(number, QUEUED, 1)
            client.head()
            client.chunk()
        if how == "half":
            client.sock.shutdown(socket.SHUT_WR)
        else:
            linger = struct.pack("ii", how == "reset", 0)
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            client.sock.close()
        assert front.executor.receive() == (STOP, number, b"")
        front.executor.done(number, "cancelled")
        assert front.executor.is_quiet()


def test_many_clients_that_vanish(front):
    assert front.lives()
    before = front.descriptors()
    clients = [front.client() for _ in range(80)]
    numbers = {open_call(front, client, token=i) for i, client in enumerate(clients)}
    assert len(numbers) == 80
    for number in numbers:
        front.executor.phase(number, QUEUED, 1)
    for client in clients:
        client.sock.close()
    stopped = set()
    for _ in clients:
        kind, number, _ = front.executor.receive()
        assert kind == STOP
        stopped.add(number)
    assert stopped == numbers
    for number in numbers:
        front.executor.done(number, "cancelled")
    assert wait_until(lambda: front.descriptors() <= before)


def test_200_calls_at_a_time(front):
    """More than may be open: each gets one answer, some of them busy."""
    def drive(index):
        with front.client() as client:
            client.send(post(call_message(id=index, token=index), Accept=BOTH))
            reply = client.receive()
            events = reply.events() if reply.headers["content-type"] == STREAM else [reply.json()]
            answers = [event for event in events if "id" in event]
            assert len(answers) == 1 and answers[0]["id"] == index
            assert all(e["params"]["progressToken"] == index for e in events if "id" not in e)
            return answers[0]["result"]["structuredContent"]["status"]

    with concurrent.futures.ThreadPoolExecutor(200) as pool:
        futures = [pool.submit(drive, index) for index in range(200)]
        open_numbers = []
        while sum(future.done() for future in futures) + len(open_numbers) < 200:
            if front.executor.is_quiet(0.02):
                continue
            kind, number, _ = front.executor.receive()
            assert kind == RUN
            open_numbers.append(number)
            front.executor.phase(number, QUEUED, len(open_numbers))
        for number in open_numbers:
            front.executor.done(number)
        statuses = [future.result(30) for future in futures]
    assert set(statuses) == {"ok", "busy"}
    assert statuses.count("ok") == len(open_numbers) == 88


def test_more_connections_than_places(front):
    """Those that find no place wait; none is lost."""
    clients = []
    try:
        while len(clients) < 1000:
            clients.append(front.client())
            clients[-1].send(post())
            if not select.select([clients[-1].sock], [], [], 0.5)[0]:
                break
            assert clients[-1].receive().status == 200
        for client in clients[:200]:
            client.sock.close()
        assert 200 < len(clients) < 1000
        assert clients[-1].receive().json()["result"] == {}
    finally:
        for client in clients:
            client.sock.close()
    assert wait_until(front.lives)


# --- the end


def test_end_of_the_executor():
    with WebFront() as front:
        front.status()
        client, idle = front.client(), front.client()
        open_call(front, client)
        front.executor.close()
        structured = client.receive().json()["result"]["structuredContent"]
        assert structured["status"] == "sandbox_error"
        assert front.process.wait(2) == 0
        idle.sock.close()


def test_end_of_the_server():
    """Calls are answered by those who stop it; a client that does not read holds up nothing."""
    with WebFront() as front:
        front.status(draining=True, room=False)
        clients = [front.client() for _ in range(3)]
        numbers = [open_call(front, client, token=1) for client in clients]
        front.executor.phase(numbers[0], QUEUED, 1)
        clients[0].head()
        front.executor.done(numbers[0], "cancelled")
        front.executor.close()
        assert events_of(clients[0].chunk())
        for client in clients[1:]:
            structured = client.receive().json()["result"]["structuredContent"]
            assert structured["status"] == "busy"
        start = time.monotonic()
        assert front.process.wait(2) == 0
        assert time.monotonic() - start < 1
        for client in clients:
            client.sock.close()


def test_calls_that_a_stopped_server_has_not_started():
    """May be tried again, at another server too; those whose script runs end with it."""
    with WebFront("--retry-elsewhere") as front:
        front.status(draining=True)
        with front.client() as runs, front.client() as waits:
            front.executor.phase(open_call(front, runs), RUNNING)
            front.executor.phase(open_call(front, waits), QUEUED, 1)
            front.executor.close()
            for client, http, status in (runs, 200, "cancelled"), (waits, 503, "busy"):
                reply = client.receive()
                assert reply.status == http, reply
                assert reply.json()["result"]["structuredContent"]["status"] == status


def test_what_the_executor_must_not_send():
    for bad in b"\xff" * 12, struct.pack(">BxxxII", 19, 0, 3), struct.pack(">BxxxII", 2, 1, 0):
        with WebFront() as front:
            front.executor.sock.sendall(bad)
            assert front.process.wait(2) == 1
            assert b"executor" in front.process.stderr.read()


def test_signals_are_for_the_executor(front):
    assert front.lives()
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        front.process.send_signal(number)
    assert front.lives()


def test_hung_up_before_the_end_of_the_body(front):
    for part in 10, 60, 200:
        with front.client() as client:
            client.send(post(call_message())[:-part])
    assert front.executor.is_quiet()


def test_context_of_another_client_is_kept_apart(front):
    """A client that has gone, and one on a new connection with the same id."""
    with Client(front.address) as client:
        number = open_call(front, client, id=5)
    assert front.executor.receive() == (STOP, number, b"")
    with front.client() as client:
        other = open_call(front, client, id=5)
        front.executor.done(number, "cancelled")
        assert client.is_quiet()
        front.executor.done(other)
        assert client.receive().json()["id"] == 5
