"""Streamable HTTP against the clock. All cases run at the same time, each in a thread, since what
they do is wait."""

import concurrent.futures
import contextlib
import socket
import struct
import time

import pytest

from front import RUN
from web import JSON, STREAM, WebFront, call_message, events_of, head, post

CASES = []
LARGE = 5_000_000  # bytes of a reply that no kernel takes over as a whole


def case(function):
    CASES.append(function)
    return function


def until_cut(client, send=None, pause=0.3, limit=100):
    """Seconds until the server ends the connection, while send() is called again and again."""
    start = time.monotonic()
    client.sock.settimeout(pause)
    while time.monotonic() - start < limit:
        try:
            if client.sock.recv(1) == b"":
                return time.monotonic() - start
        except TimeoutError:
            pass
        except ConnectionError:
            return time.monotonic() - start
        if send:
            try:
                client.send(send)
            except ConnectionError:
                return time.monotonic() - start
    raise AssertionError("not cut")


@case
def silent_connection(front):
    with front.client() as client:
        assert 18 < until_cut(client) < 23


@case
def slow_first_line(front):
    with front.client() as client:
        client.send("POST /")
        assert 18 < until_cut(client, "x") < 23


@case
def slow_headers(front):
    with front.client() as client:
        client.send("POST /mcp HTTP/1.1\r\nHost: localhost\r\n")
        assert 18 < until_cut(client, "X: y\r\n") < 23


@case
def slow_headers_of_a_second_request(front):
    with front.client() as client:
        client.send(post())
        assert client.receive().status == 200
        client.send("POST /mcp HTTP/1.1\r\nHost: localhost\r\n")
        assert 18 < until_cut(client, "X: y\r\n") < 23


@case
def slow_body(front):
    with front.client() as client:
        client.send(head(Content_Type=JSON, Content_Length=10000))
        assert 18 < until_cut(client, " ") < 23


@case
def slow_chunks(front):
    with front.client() as client:
        client.send(head(Content_Type=JSON, Transfer_Encoding="chunked"))
        assert 18 < until_cut(client, "1\r\n \r\n") < 23


@case
def endless_chunks(front):
    """Beyond what a message may be, speed buys no time."""
    with front.client() as client:
        client.send(head(Content_Type=JSON, Transfer_Encoding="chunked"))
        chunk = b"%x\r\n" % (1 << 20) + b" " * (1 << 20) + b"\r\n"
        assert 18 < until_cut(client, chunk, 0.05) < 40


@case
def body_that_is_long_but_not_slow(front):
    """More than the time of a short one, at a pace that is accepted."""
    with front.client() as client:
        step = 100_000
        client.send(head(Content_Type=JSON, Content_Length=30 * step))
        for _ in range(29):
            client.send(b" " * step)
            time.sleep(1)
        body = post().split(b"\r\n\r\n", 1)[1]
        client.send(b" " * (step - len(body)) + body)
        assert client.receive().json()["result"] == {}


def reuse_after(seconds):
    @case
    def reuse(front):
        with front.client() as client:
            client.send(post())
            assert client.receive().json()["result"] == {}
            time.sleep(seconds)
            client.send(post())
            assert client.receive().json()["result"] == {}

    reuse.__name__ = f"reuse_after_{seconds}_s"


for idle in 5, 15, 60, 76:
    reuse_after(idle)


@case
def idle_connection_ends_some_day(front):
    with front.client() as client:
        client.send(post())
        assert client.receive().status == 200
        assert 80 < until_cut(client, limit=110) < 95


@case
def long_call(front):
    """A result that takes long comes as a stream, which is never silent for long."""
    with front.client() as client:
        start = time.monotonic()
        client.send(post(call_message("long")))
        status, headers = client.head()
        assert 4.5 < time.monotonic() - start < 6.5
        assert status == 200 and headers["content-type"] == STREAM
        client.sock.settimeout(17)
        assert [client.chunk() for _ in range(4)] == [b": \n\n"] * 4
        assert 49 < time.monotonic() - start < 53
        (event,) = events_of(client.chunk())
        assert event["result"]["structuredContent"]["status"] == "ok"
        assert 60 < time.monotonic() - start < 64
        assert client.chunk() == b""


@case
def long_call_for_json(front):
    with front.client() as client:
        client.send(post(call_message("long"), Accept=JSON))
        client.sock.settimeout(90)
        assert client.receive().json()["result"]["structuredContent"]["status"] == "ok"


def connect_with_little_room(front):
    client = front.client()
    client.sock.close()
    client.sock = socket.socket()
    client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.sock.connect(front.address)
    return client


def fetch_too_late(front, accept):
    """The answer waits for a minute; what has not been fetched then is lost."""
    with connect_with_little_room(front) as client:
        client.send(post(call_message("large"), Accept=accept))
        time.sleep(70)
        size = 0
        with contextlib.suppress(ConnectionError):
            while received := len(client.sock.recv(1 << 20)):
                size += received
        assert 0 < size < LARGE


@case
def reader_that_does_not_read(front):
    fetch_too_late(front, JSON)


@case
def reader_of_a_stream_that_does_not_read(front):
    fetch_too_late(front, STREAM)


@case
def reader_that_is_slow(front):
    with connect_with_little_room(front) as client:
        client.send(post(call_message("large"), Accept=JSON))
        size = int(client.head()[1]["content-length"])
        assert size > LARGE
        for _ in range(200):
            client.take(4096)
            time.sleep(0.1)
        client.take(size - 200 * 4096)


def play_executor(front):
    """Ends each call when its script says so."""
    due = []
    while True:
        now = time.monotonic()
        for end, number in [entry for entry in due if entry[0] <= now]:
            front.executor.done(number)
            due.remove((end, number))
        if front.executor.is_quiet(0.05):
            continue
        message = front.executor.receive()
        if message is None or message[0] != RUN:
            return
        number = message[1]
        if b"large" in message[2]:
            _, _, head_max, tail_max = struct.unpack_from(">4I", message[2])
            for size, tail in (head_max, False), (tail_max, True):
                front.executor.output(number, "\U0001f600".encode() * (size // 4), tail=tail)
            front.executor.done(number, totals=(1 << 30, 1 << 28, 0, 0))
        else:
            due.append((now + 61, number))


@pytest.fixture(scope="module")
def results():
    """What became of each case, as a future."""
    with WebFront("--reply-max=8m", "--text-max=1000000") as front, \
            concurrent.futures.ThreadPoolExecutor(len(CASES) + 1) as pool:
        front.lives()
        executor = pool.submit(play_executor, front)
        futures = {function.__name__: pool.submit(function, front) for function in CASES}
        yield futures
        concurrent.futures.wait(futures.values(), 250)
        assert front.lives()
        assert not executor.done()
        front.executor.sock.shutdown(socket.SHUT_RDWR)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", [function.__name__ for function in CASES])
def test_time(results, name):
    results[name].result(250)
