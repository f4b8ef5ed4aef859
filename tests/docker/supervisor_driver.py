"""Speaks the supervisor's own protocol (src/sandbox/frame.h) in a real container.

Uses the Docker Engine API directly: create, attach, start. PYTHON_SANDBOX_TEST_PYTHON names the
folder of another Python that takes the place of the image's, to try the supervisor with it.
"""

import collections
import hashlib
import http.client
import json
import os
import pathlib
import re
import select
import socket
import struct
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = sorted((ROOT / "src/sandbox/supervisor").glob("*.py"))
SUPERVISOR = "".join(part.read_text() for part in PARTS)
ENGINE = "/var/run/docker.sock"
API = "/v1.41"
UID = 65533
PYTHON = os.environ.get("PYTHON_SANDBOX_TEST_PYTHON")
WAIT_S = 30
EXIT_FIELDS = (
    "exit_code signal timed_out oom_kills cpu_us duration_us peak_memory_bytes"
    " stdout_bytes stdout_chars stderr_bytes stderr_chars"
).split()

OUTPUTS = {"files": 100, "file": 4 << 20, "total": 16 << 20, "figures": 16 << 20}

Exit = collections.namedtuple("Exit", EXIT_FIELDS)
Artifact = collections.namedtuple("Artifact", "kind reason size sha256 name data")
Result = collections.namedtuple(
    "Result", "exit stdout stderr stdout_tail stderr_tail value artifacts rest frames"
)


class Ended(Exception):
    """The container's output ended; what its stderr said is the argument."""


class UnixConnection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(WAIT_S)
        self.sock.connect(ENGINE)


def request(method, path, body=None):
    connection = UnixConnection("engine")
    try:
        data = None if body is None else json.dumps(body)
        connection.request(method, API + path, data, {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer = response.read()
        if response.status >= 300:
            raise OSError("%s %s: %d %s" % (method, path, response.status, answer[:500]))
        return json.loads(answer) if answer else None
    finally:
        connection.close()


def create_body(image, memory=256 << 20, cpus=1.0, home="/workspace/home", tmpfs=None, modules=(),
                supervisor=SUPERVISOR, binds=()):
    workspace = "rw,exec,nosuid,nodev,size=64m,nr_inodes=16384,mode=0700,uid=%d,gid=%d" % (UID, UID)
    body = {
        "Image": image,
        "Entrypoint": [],
        "Cmd": ["python3", "-I", "-c", supervisor, *modules],
        "User": "%d:%d" % (UID, UID),
        "WorkingDir": "/workspace",
        "Env": ["HOME=" + home, "LANG=C.UTF-8", "MPLBACKEND=Agg", "MPLCONFIGDIR=/tmp/mpl"],
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "OpenStdin": True,
        "StdinOnce": True,
        "NetworkDisabled": True,
        "HostConfig": {
            "ReadonlyRootfs": True,
            "NetworkMode": "none",
            "CgroupnsMode": "private",
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges:true"],
            "LogConfig": {"Type": "none", "Config": {}},
            "AutoRemove": True,
            "PidsLimit": 128,
            "Binds": list(binds),
            "Memory": memory,
            "MemorySwap": memory,
            "NanoCpus": int(cpus * 1e9),
            "Sysctls": {"net.ipv4.ip_unprivileged_port_start": "0"},
            "Tmpfs": {
                "/workspace": tmpfs or workspace,
                "/tmp": "rw,nosuid,nodev,noexec,size=32m,mode=1777",
            },
        },
    }
    if PYTHON:
        body["Cmd"][0] = "/opt/python/bin/python3"
        body["HostConfig"]["Binds"].append(PYTHON + ":/opt/python:ro")
        body["Env"].append("LD_LIBRARY_PATH=/opt/python/lib")
    return body


class Container:
    """One supervisor, from create to removal. A context manager."""

    def __init__(self, image, **options):
        self.id = request("POST", "/containers/create", create_body(image, **options))["Id"]
        self.raw = bytearray()
        self.buffer = bytearray()  # of the container's stdout, the frames
        self.errors = bytearray()
        try:
            self.sock = self.attach()
            request("POST", "/containers/%s/start" % self.id)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if getattr(self, "sock", None):
            self.sock.close()
            self.sock = None
        if self.id:
            try:
                request("DELETE", "/containers/%s?force=1" % self.id)
            except OSError:
                pass  # it has gone by itself
            self.id = None

    def attach(self):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(WAIT_S)
        sock.connect(ENGINE)
        path = "%s/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1" % (API, self.id)
        head = "POST %s HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
        sock.sendall((head % path).encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += sock.recv(1)
        assert answer.startswith(b"HTTP/1.1 101"), answer
        return sock

    def give_cpus(self, cpus):
        """From now on."""
        request("POST", "/containers/%s/update" % self.id, {"NanoCpus": int(cpus * 1e9)})

    def running(self):
        try:
            return request("GET", "/containers/%s/json" % self.id)["State"]["Running"]
        except OSError:
            return False

    def wait_gone(self, seconds=5):
        end = time.monotonic() + seconds
        while self.running() and time.monotonic() < end:
            time.sleep(0.05)
        return not self.running()

    def receive(self, timeout):
        """Takes the engine's frames apart: 1 is stdout, 2 is stderr."""
        if not select.select([self.sock], [], [], max(0, timeout))[0]:
            raise TimeoutError("no frame in time; stderr: %r" % bytes(self.errors))
        data = self.sock.recv(1 << 20)
        if not data:
            raise Ended(bytes(self.errors).decode())
        self.raw += data
        while len(self.raw) >= 8:
            stream, size = struct.unpack_from(">BxxxI", self.raw)
            if len(self.raw) < 8 + size:
                break
            (self.buffer if stream == 1 else self.errors).extend(self.raw[8 : 8 + size])
            del self.raw[: 8 + size]

    def frame(self, timeout=WAIT_S):
        """The next frame: its type and its payload."""
        end = time.monotonic() + timeout
        while True:
            if len(self.buffer) >= 5:
                kind, size = struct.unpack_from(">cI", self.buffer)
                assert kind in b"HSOEoeCAaRVX" and size <= 262144, bytes(self.buffer[:40])
                if len(self.buffer) >= 5 + size:
                    payload = bytes(self.buffer[5 : 5 + size])
                    del self.buffer[: 5 + size]
                    return kind.decode(), payload
            self.receive(end - time.monotonic())

    def rest(self, timeout=WAIT_S):
        """Reads to the end of the output; returns what stderr said."""
        end = time.monotonic() + timeout
        try:
            while True:
                self.receive(end - time.monotonic())
        except Ended as ended:
            return str(ended)

    def hello(self, timeout=WAIT_S):
        kind, payload = self.frame(timeout)
        assert kind == "H"
        return json.loads(payload)

    def send(self, data):
        self.sock.sendall(data)

    def start(self, code, **options):
        self.send(job(code, **options))

    def result(self, timeout=WAIT_S):
        """All frames up to X."""
        end = time.monotonic() + timeout
        frames = []
        while not frames or frames[-1][0] != "X":
            frames.append(self.frame(end - time.monotonic()))
        assert frames[0][0] == "S"
        parts = {kind: [p for k, p in frames if k == kind] for kind in "OEoeV"}
        last = Exit(*struct.unpack(">11q", frames[-1][1]))
        value = parts["V"][0].decode() if parts["V"] else None
        streams = [b"".join(parts[k]) for k in "OEoe"]
        return Result(last, *streams, value, *artifacts(frames), frames)


def artifacts(frames):
    """All artifacts, checked, and the rest: count and flag, or None."""
    found = []
    rest = None
    for kind, payload in frames:
        if kind in "AR" and found and not found[-1].reason:
            assert found[-1].size == len(found[-1].data), found[-1].name
        if kind == "A":
            fields = struct.unpack_from(">BBQ32s", payload)
            name = payload[42:].decode()
            assert 1 <= len(payload) - 42 <= 1024 and name.isprintable(), name
            found.append(Artifact(*fields[:3], fields[3].hex(), name, bytearray()))
        elif kind == "a":
            assert not found[-1].reason and payload
            found[-1].data.extend(payload)
        elif kind == "R":
            assert rest is None
            rest = struct.unpack(">QB", payload)
    for artifact in found:
        if not artifact.reason:
            assert len(artifact.data) == artifact.size, artifact.name
            assert hashlib.sha256(artifact.data).hexdigest() == artifact.sha256, artifact.name
    order = "".join(kind for kind, _ in frames if kind in "OEARVX")
    assert re.fullmatch("[OE]*A*R?V?X", order), order
    return found, rest


def job(
    code,
    stdin=b"",
    timeout_ms=20000,
    name="script.py",
    argv=(),
    head=65536,
    tail=65536,
    files=(),
    outputs=None,
):
    """The bytes of one job. stdin None: streamed; files: pairs of path and bytes."""
    code = code if isinstance(code, bytes) else code.encode()
    header = {
        "timeout_ms": timeout_ms,
        "name": name,
        "argv": list(argv),
        "code": len(code),
        "stdin": -1 if stdin is None else len(stdin),
        "head": head,
        "tail": tail,
        "files": [{"path": path, "size": len(data)} for path, data in files],
        "outputs": {**OUTPUTS, **(outputs or {})},
    }
    payload = code + b"".join(data for _, data in files) + (stdin or b"")
    return json.dumps(header).encode() + b"\n" + payload


def chunk(data):
    return struct.pack(">I", len(data)) + data


def run(image, code, timeout=WAIT_S, container=None, **options):
    """One script in a container of its own."""
    with Container(image, **(container or {})) as box:
        box.hello()
        box.start(code, **options)
        return box.result(timeout)
