"""Starts `python-sandbox front` by itself: the test is the client on its stdin and stdout, and the
executor on its descriptor 3."""

import io
import json
import os
import pathlib
import select
import socket
import struct
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.path.abspath(os.environ.get("PYTHON_SANDBOX_BINARY") or ROOT / "build/python-sandbox")
EXECUTOR_FD = 3
WAIT = 10

RUN, STOP, PHASE, OUTPUT, DONE, PROFILE = 1, 2, 16, 17, 18, 20
ARTIFACT, ARTIFACT_BYTES, ARTIFACT_REST = 21, 22, 23
QUEUED, PULLING, STARTING, RUNNING = 1, 2, 3, 4
STATUSES = "ok error timed_out out_of_memory killed cancelled busy sandbox_error".split()
HEADER = struct.Struct(">BxxxII")


def string(text):
    """An optional string on the wire."""
    if text is None:
        return b"\0"
    data = text.encode()
    return b"\1" + struct.pack(">I", len(data)) + data


class Executor:
    """The other end of the socketpair: takes requests apart, and says what the test wants."""

    def __init__(self, sock):
        self.sock = sock
        self.sock.settimeout(WAIT)
        self.data = b""

    def _fill(self, size):
        while len(self.data) < size:
            chunk = self.sock.recv(1 << 16)
            if not chunk:
                return False
            self.data += chunk
        return True

    def receive(self):
        """The next message as (type, call, payload); None at the end."""
        if not self._fill(HEADER.size):
            assert not self.data
            return None
        kind, call, length = HEADER.unpack(self.data[: HEADER.size])
        assert self._fill(HEADER.size + length)
        payload = self.data[HEADER.size : HEADER.size + length]
        self.data = self.data[HEADER.size + length :]
        return kind, call, payload

    def run(self):
        """The next message, which must be a RUN: its call number, and what it asks for."""
        kind, call, payload = self.receive()
        assert kind == RUN
        profile, timeout_ms, head, tail, *limits = struct.unpack_from(">8I", payload)
        reader = io.BytesIO(payload[32:])

        def string():
            return reader.read(*struct.unpack(">I", reader.read(4)))

        label, code, text = string(), string(), string()
        count = struct.unpack(">I", reader.read(4))[0]
        files = {string().decode(): string() for _ in range(count)}
        assert not reader.read()
        return call, {"profile": profile, "timeout_ms": timeout_ms, "keep": (head, tail),
                      "label": label.decode(), "code": code.decode(), "stdin": text.decode(),
                      "files": files, "artifacts": tuple(limits)}

    def is_quiet(self, seconds=0.2):
        return not self.data and not select.select([self.sock], [], [], seconds)[0]

    def send(self, kind, call, payload):
        self.sock.sendall(HEADER.pack(kind, call, len(payload)) + payload)

    def profile(self, index, image="", python="3.12.4", modules="", reason=""):
        """What the executor says of a profile."""
        texts = (text.encode() for text in (image, python, modules, reason))
        self.send(PROFILE, 0, struct.pack(">I", index)
                  + b"".join(struct.pack(">I", len(text)) + text for text in texts))

    def phase(self, call, phase, value=0):
        self.send(PHASE, call, struct.pack(">BI", phase, value))

    def output(self, call, data, stream=1, tail=False):
        for start in range(0, len(data), 65536):
            self.send(OUTPUT, call, bytes([stream - 1, tail]) + data[start : start + 65536])

    def artifact(self, call, name, data=b"", kind=1, reason=0, size=None, sha256=bytes(32)):
        """Names one, and with reason 0 sends all its bytes."""
        name = name.encode()
        size = len(data) if size is None else size
        self.send(ARTIFACT, call,
                  struct.pack(">BBQ32sI", kind, reason, size, sha256, len(name)) + name)
        for start in range(0, len(data) if reason == 0 else 0, 65536):
            self.send(ARTIFACT_BYTES, call, data[start : start + 65536])

    def rest(self, call, count, at_least=False):
        self.send(ARTIFACT_REST, call, struct.pack(">Q?", count, at_least))

    def done(self, call, status="ok", exit_code=0, oom_kills=0, us=12345, totals=(0, 0, 0, 0),
             message=None, value=None, image="image:tag", python="3.12.4"):
        self.send(DONE, call,
                  struct.pack(">BiIQQQ", STATUSES.index(status), exit_code, oom_kills, us, us, 0)
                  + struct.pack(">QQQQ", *totals)
                  + string(message) + string(value) + string(image) + string(python))

    def close(self):
        self.sock.close()


class Front:
    """The process, seen from the client."""

    def __init__(self, *flags, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                 stderr=subprocess.DEVNULL):
        ours, theirs = socket.socketpair()
        self.started = time.monotonic()
        # Descriptor 3 may be in use here: the child moves its end there itself.
        script = f"exec \"$0\" front \"$@\" {EXECUTOR_FD}<&{theirs.fileno()}"
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", script, BINARY, *flags], stdin=stdin, stdout=stdout,
            stderr=stderr, env={}, pass_fds=[theirs.fileno()])
        theirs.close()
        self.executor = Executor(ours)
        self.data = b""
        self.next_id = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.executor.close()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass
        self.process.kill()
        self.process.wait()

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.write(json.dumps(message).encode() + b"\n")

    def request(self, method, params=None, id=None):
        """Sends a request; its id."""
        if id is None:
            self.next_id += 1
            id = self.next_id
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)
        return id

    def notify(self, method, params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def call(self, code="print(1)", id=None, token=None, **arguments):
        params = {"name": "run_python", "arguments": {"code": code, **arguments}}
        if token is not None:
            params["_meta"] = {"progressToken": token}
        return self.request("tools/call", params, id)

    def line(self, timeout=WAIT):
        """The next line as bytes; None at the end of the stream."""
        end = time.monotonic() + timeout
        while b"\n" not in self.data:
            left = end - time.monotonic()
            ready = select.select([self.process.stdout], [], [], max(left, 0))[0]
            assert ready, "no line in time"
            chunk = os.read(self.process.stdout.fileno(), 1 << 20)
            if not chunk:
                assert not self.data, "half a line at the end"
                return None
            self.data += chunk
        line, self.data = self.data.split(b"\n", 1)
        return line

    def receive(self, timeout=WAIT):
        line = self.line(timeout)
        return None if line is None else json.loads(line)

    def ask(self, method, params=None, id=None):
        id = self.request(method, params, id)
        reply = self.receive()
        assert reply["id"] == id and type(reply["id"]) is type(id)
        return reply

    def is_quiet(self, seconds=0.2):
        return not self.data and not select.select([self.process.stdout], [], [], seconds)[0]

    def ping(self):
        assert self.ask("ping")["result"] == {}

    def end(self):
        """Closes stdin."""
        self.process.stdin.close()

    def wait(self, timeout=WAIT):
        return self.process.wait(timeout)
