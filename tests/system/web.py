"""Starts `python-sandbox front` over HTTP, with the test as its executor, and talks to it with raw
sockets."""

import contextlib
import hashlib
import json
import os
import select
import socket
import struct
import subprocess
import time

from front import BINARY, WAIT, Executor

TOKEN = "t" * 16 + "-The.Right~Token+1/2="
OTHER = "o" * 43
STATUS = 19
JSON = "application/json"
STREAM = "text/event-stream"


class Reply:
    """One HTTP answer: status, headers with lower-case names, and body."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def json(self):
        assert self.headers["content-type"] == JSON, self
        return json.loads(self.body)

    def events(self):
        """The messages of a stream; comments are left out."""
        assert self.headers["content-type"] == STREAM, self
        return events_of(self.body)

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:300]!r}"


def events_of(body):
    found = []
    for event in body.decode().split("\n\n"):
        if event.startswith("event: message\ndata: "):
            found.append(json.loads(event.split("data: ", 1)[1]))
        else:
            assert event.strip() in ("", ":"), event
    return found


class Client:
    """One connection."""

    def __init__(self, address):
        self.sock = socket.create_connection(address, WAIT)
        self.data = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data if isinstance(data, bytes) else data.encode())

    def fill(self):
        chunk = self.sock.recv(1 << 16)
        self.data += chunk
        return bool(chunk)

    def until(self, end):
        while end not in self.data:
            assert self.fill(), f"the end of the connection instead of {end!r}: {self.data[:500]!r}"
        found, self.data = self.data.split(end, 1)
        return found

    def take(self, size):
        while len(self.data) < size:
            assert self.fill(), f"the end of the connection in a body: {self.data[:500]!r}"
        found, self.data = self.data[:size], self.data[size:]
        return found

    def head(self):
        lines = self.until(b"\r\n\r\n").decode().split("\r\n")
        version, status, *_ = lines[0].split(" ")
        assert version in ("HTTP/1.1", "HTTP/1.0"), lines
        pairs = [line.split(": ", 1) for line in lines[1:]]
        names = [name.lower() for name, _ in pairs]
        assert len(set(names)) == len(names), lines
        return int(status), {name.lower(): value for name, value in pairs}

    def chunk(self):
        """The next chunk of a stream, b"" at its end."""
        size = int(self.until(b"\r\n"), 16)
        data = self.take(size)
        assert self.take(2) == b"\r\n"
        return data

    def receive(self, method="POST"):
        status, headers = self.head()
        while status == 100:
            status, headers = self.head()
        body = b""
        if method == "HEAD" or status in (204, 304):
            pass
        elif headers.get("transfer-encoding") == "chunked":
            while True:
                data = self.chunk()
                if not data:
                    break
                body += data
        elif "content-length" in headers:
            body = self.take(int(headers["content-length"]))
        else:
            while self.fill():
                pass
            body, self.data = self.data, b""
        return Reply(status, headers, body)

    def ended(self, timeout=WAIT):
        """Whether the server ends the connection within the time, without another byte."""
        self.sock.settimeout(timeout)
        try:
            return not self.data and self.sock.recv(1) == b""
        except TimeoutError:
            return False
        except ConnectionResetError:
            return True
        finally:
            self.sock.settimeout(WAIT)

    def is_quiet(self, seconds=0.2):
        return not self.data and not select.select([self.sock], [], [], seconds)[0]


def message(method="ping", params=None, id=1):
    body = {"jsonrpc": "2.0", "method": method}
    if id is not None:
        body["id"] = id
    if params is not None:
        body["params"] = params
    return json.dumps(body)


def call_message(code="print(1)", token=None, id=1, **arguments):
    params = {"name": "run_python", "arguments": {"code": code, **arguments}}
    if token is not None:
        params["_meta"] = {"progressToken": token}
    return message("tools/call", params, id)


def head(method="POST", target="/mcp", version="HTTP/1.1", **headers):
    """A request's head; a header is left out with None, and given twice with a list."""
    given = {"Host": "localhost", **{k.replace("_", "-"): v for k, v in headers.items()}}
    lines = [f"{method} {target} {version}"]
    for name, values in given.items():
        for value in values if isinstance(values, list) else [values]:
            if value is not None:
                lines.append(f"{name}: {value}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def post(body=None, **headers):
    """A whole POST of a message."""
    body = message() if body is None else body
    body = body if isinstance(body, bytes) else body.encode()
    given = {"Content_Type": JSON, "Content_Length": len(body), **headers}
    return head(**given) + body


def ask(address, request, method="POST"):
    """The answer to one request on a connection of its own."""
    with Client(address) as client:
        client.send(request)
        return client.receive(method)


class WebFront:
    """The process. executor is scripted by the test; tokens are those that it accepts; descriptors
    are those that it may have."""

    def __init__(self, *flags, tokens=(), address="127.0.0.1:0", listen="127.0.0.1", descriptors=None):
        ours, theirs = socket.socketpair()
        family = socket.AF_INET6 if ":" in listen else socket.AF_INET
        with socket.create_server((listen, 0), family=family, backlog=512) as listener, \
                os.fdopen(os.memfd_create("tokens"), "wb", buffering=0) as digests:
            listener.setblocking(False)
            self.address = listener.getsockname()[:2]
            for token in tokens:
                digests.write(hashlib.sha256(token.encode()).digest())
            digests.seek(0)
            fds = [theirs.fileno(), digests.fileno(), listener.fileno()]
            # Above the places where they are to be, so that none is lost.
            fds = [os.dup2(fd, 30 + i) for i, fd in enumerate(fds)]
            script = "ulimit -n %d; " % descriptors if descriptors else ""
            script += 'exec "$0" front "$@" 3<&30 4<&31 5<&32 30<&- 31<&- 32<&-'
            self.process = subprocess.Popen(
                ["/bin/bash", "-c", script, BINARY, "--http=" + address, *flags],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                env={}, pass_fds=fds)
            for fd in fds:
                os.close(fd)
        theirs.close()
        self.executor = Executor(ours)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.executor.close()
        self.process.stderr.close()
        self.process.kill()
        self.process.wait()

    def client(self):
        return Client(self.address)

    def ask(self, request, method="POST"):
        return ask(self.address, request, method)

    def status(self, engine=True, image=True, walls=True, room=True, draining=False, running=0,
               queued=0, warm=0, alive=0, starts=0, failures=0, losses=0):
        """What the executor says of itself."""
        self.executor.send(STATUS, 0, struct.pack(
            ">3B2IQI2B2I2Q", engine, room, draining, running, queued, losses, 1, image, walls, warm,
            alive, starts, failures))

    def lives(self):
        reply = self.ask(post(Authorization="Bearer " + TOKEN))
        assert reply.status == 200 and reply.json()["result"] == {}, reply
        return True

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def wait_until(condition, timeout=WAIT, step=0.02):
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value or time.monotonic() >= end:
            return value
        time.sleep(step)


@contextlib.contextmanager
def took(least, most):
    start = time.monotonic()
    yield
    assert least <= time.monotonic() - start <= most


def refused(front, request, status, method="POST"):
    """A refusal ends its connection."""
    with front.client() as client:
        client.send(request)
        reply = client.receive(method)
        assert reply.status == status, reply
        assert reply.headers.get("connection") == "close", reply
        assert client.ended()
        return reply
