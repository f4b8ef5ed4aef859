"""A Docker Engine made of threads on a unix socket: it keeps a table of containers and plays their
supervisors, and each step can be told to fail at its n-th use.

    with Engine() as engine:
        engine.fail("create", status(500, "no room"))
        engine.play = lambda s: (s.hello(), s.job(), s.started(), s.exit(3), s.hold())

Steps: version info events list image pull create attach start remove. "*" is any of them."""

import copy
import hashlib
import json
import os
import re
import shutil
import socket
import struct
import tempfile
import threading
import time
import urllib.parse

IMAGE = "python:3.12-slim"
LABEL = "python-sandbox.owner"
WAIT = 60  # nothing here waits longer than this

ROUTES = (
    ("version", "GET", r"/version"),
    ("info", "GET", r"/info"),
    ("events", "GET", r"/events"),
    ("list", "GET", r"/containers/json"),
    ("image", "GET", r"/images/(.+)/json"),
    ("pull", "POST", r"/images/create"),
    ("create", "POST", r"/containers/create"),
    ("attach", "POST", r"/containers/([^/]+)/attach"),
    ("start", "POST", r"/containers/([^/]+)/start"),
    ("remove", "DELETE", r"/containers/([^/]+)"),
)


class Gone(Exception):
    """The other side has closed, or the engine has stopped."""


class Request:
    def __init__(self, method, target, headers, body):
        parts = urllib.parse.urlsplit(target)
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.query = dict(urllib.parse.parse_qsl(parts.query))
        prefix = re.match(r"/v([0-9.]+)(/.*)", parts.path)
        self.api, path = prefix.groups() if prefix else (None, parts.path)
        self.step, self.name = "unknown", None
        for step, wanted, pattern in ROUTES:
            match = re.fullmatch(pattern, path)
            if match and method == wanted:
                self.step = step
                self.name = urllib.parse.unquote(match.group(1)) if match.groups() else None
                break


class Reply:
    def __init__(self, status, value=None, body=None, kind="application/json", chunked=False):
        self.status = status
        self.chunked = chunked
        self.kind = kind
        self.body = body if body is not None else b"" if value is None else encoded(value)


def encoded(value):
    return json.dumps(value).encode()


def refusal(status, message):
    return Reply(status, {"message": message})


class Connection:
    def __init__(self, engine, sock):
        self.engine = engine
        self.sock = sock
        self.data = bytearray()

    def read(self):
        try:
            chunk = self.sock.recv(1 << 16)
        except OSError:
            chunk = b""
        if not chunk:
            raise Gone
        self.data += chunk

    def take(self, size):
        while len(self.data) < size:
            self.read()
        taken = bytes(self.data[:size])
        del self.data[:size]
        return taken

    def take_until(self, end):
        while end not in self.data:
            self.read()
        return self.take(self.data.index(end) + len(end))

    def request(self):
        lines = self.take_until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ", 2)
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
        return Request(method, target, headers, self.take(int(headers.get("content-length", 0))))

    def send(self, data):
        try:
            self.sock.sendall(data)
        except OSError:
            raise Gone from None

    def reply(self, reply):
        head = "HTTP/1.1 %d Status\r\nContent-Type: %s\r\n" % (reply.status, reply.kind)
        if reply.chunked:
            self.send(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
            for part in (reply.body[:10], reply.body[10:], b""):
                self.chunk(part)
            return
        if reply.status != 204:
            head += "Content-Length: %d\r\n" % len(reply.body)
        self.send(head.encode() + b"\r\n" + reply.body)

    def start_chunks(self):
        self.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\n")

    def chunk(self, data):
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def wait_for_end(self):
        """Until the other side closes; what it sends is dropped."""
        try:
            while True:
                self.read()
                self.data.clear()
        except Gone:
            pass

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


# Faults: each gets the connection, the request, and what would do and answer it. The connection is
# closed after it, unless it returns True.


def status(code, message=None, body=None, kind="application/json", act=False):
    """Answers with this status; act: after the request was carried out all the same."""
    reply = refusal(code, message) if message is not None else Reply(code, None, body, kind)

    def fault(connection, request, handle):
        if act:
            handle()
        connection.reply(reply)
        return True

    return fault


def close(connection, request, handle):
    """Closes without an answer."""


def close_after(connection, request, handle):
    """Carries the request out, and closes without an answer."""
    handle()


def garbage(connection, request, handle):
    connection.send(b"\x00\xff\x01 no HTTP at all\r\n\r\n{\x80")


def silence(connection, request, handle):
    connection.wait_for_end()


def half(connection, request, handle):
    """An answer that breaks off in its body."""
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"Id\":\"")


def raw(data):
    """These bytes, and the end."""
    return lambda connection, request, handle: connection.send(data)


def drip(connection, request, handle):
    """A head that comes byte by byte and never ends."""
    for byte in b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 10000:
        connection.send(bytes([byte]))
        time.sleep(0.05)


class Container:
    def __init__(self, ident, name, body):
        self.id = ident
        self.name = name
        self.body = body
        self.uid = int(body["User"].split(":")[0])
        self.state = "created"
        self.created = int(time.time())
        self.started = threading.Event()
        self.stream = None  # the attached connection


class Supervisor:
    """What PID 1 says: frame.h inside the engine's own frames."""

    def __init__(self, engine, container, connection):
        self.engine = engine
        self.container = container
        self.connection = connection

    def docker(self, data, stream=1):
        """Bytes in one frame of the engine's."""
        self.connection.send(struct.pack(">BxxxI", stream, len(data)) + data)

    def frame(self, kind, data=b""):
        self.docker(kind.encode() + struct.pack(">I", len(data)) + data)
        self.engine.happened("frame " + kind)

    def hello(self, **changes):
        facts = hello(self.container)
        for name, value in changes.items():
            if value is None:
                facts.pop(name)
            else:
                facts[name] = value
        self.frame("H", encoded(facts))

    def job(self):
        """What came down: the header line as an object, with the script, its files and its input."""
        job = json.loads(self.connection.take_until(b"\n"))
        job["code"] = self.connection.take(job["code"]).decode()
        job["files"] = {f["path"]: self.connection.take(f["size"]) for f in job["files"]}
        job["stdin"] = self.connection.take(job["stdin"])
        self.engine.happened("job")
        return job

    def started(self):
        self.frame("S")

    def out(self, data):
        self.frame("O", data)

    def artifact(self, name, data=b"", kind=1, reason=0, size=None):
        """Named, and with reason 0 sent as a whole."""
        size = len(data) if size is None else size
        name = name if isinstance(name, bytes) else name.encode()
        self.frame("A", struct.pack(">BBQ", kind, reason, size) + hashlib.sha256(data).digest() + name)
        for at in range(0, len(data) if reason == 0 else 0, 100000):
            self.frame("a", data[at : at + 100000])

    def rest(self, count, at_least=0):
        self.frame("R", struct.pack(">QB", count, at_least))

    def exit(self, code=0, signal=0, timed_out=0, oom_kills=0, peak=1 << 20, out=0):
        self.frame("X", struct.pack(">11q", code, signal, timed_out, oom_kills, 1000, 2000, peak,
                                    out, out, 0, 0))

    def hold(self):
        self.connection.wait_for_end()


def hello(container):
    """The facts of a container whose walls all stand as they were asked for."""
    host = container.body["HostConfig"]
    quota = host["NanoCpus"] * 100000 // 10**9
    mounts = ["600 500 0:50 / / ro,relatime - overlay overlay rw,lowerdir=/l,upperdir=/u",
              "601 600 0:51 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw",
              *("%d 601 0:51 /%s /proc/%s ro,nosuid,nodev,noexec,relatime - proc proc rw"
                % (620 + n, name, name) for n, name in enumerate(("bus", "fs", "irq", "sys"))),
              "602 600 0:52 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755",
              "603 602 0:53 / /dev/pts rw,nosuid,noexec,relatime - devpts devpts rw,gid=5",
              "604 600 0:54 / /sys ro,nosuid,nodev,noexec,relatime - sysfs sysfs ro",
              "605 604 0:55 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw",
              "606 602 0:56 / /dev/mqueue rw,nosuid,nodev,noexec,relatime - mqueue mqueue rw",
              "607 602 0:57 / /dev/shm rw,nosuid,nodev,noexec,relatime - tmpfs shm rw,size=%dk"
              % (host["ShmSize"] // 1024)]
    for number, (path, options) in enumerate(host["Tmpfs"].items()):
        flags = ",".join(o for o in options.split(",") if "=" not in o)
        sizes = ",".join(o for o in options.split(",") if "=" in o)
        sizes = re.sub(r"size=(\d+)", lambda m: "size=%dk" % (int(m.group(1)) // 1024), sizes)
        mounts.append("%d 600 0:%d / %s %s,relatime - tmpfs tmpfs rw,%s"
                      % (610 + number, 60 + number, path, flags, sizes))
    environ = dict(item.split("=", 1) for item in container.body["Env"])
    environ.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin")
    return {
        "python": "3.12.4", "executable": "/usr/local/bin/python3", "uid": container.uid,
        "gid": container.uid, "groups": [container.uid], "hostname": container.body["Hostname"],
        "environ": {**environ, "HOSTNAME": container.body["Hostname"]},
        **{name: "0" * 16 for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")},
        "no_new_privs": 1, "seccomp": 2, "interfaces": ["lo"],
        "mountinfo": "\n".join(mounts) + "\n",
        "rlimits": {"RLIMIT_" + u["Name"].upper(): [u["Soft"], u["Hard"]]
                    for u in host["Ulimits"]},
        "cgroup": {"memory.max": str(host["Memory"]), "memory.swap.max": "0",
                   "pids.max": str(host["PidsLimit"]), "cpu.max": "%d 100000" % quota},
        "refused": {"unshare": 1, "keyctl": 1, "io_uring_setup": 38},
        "devices": ["fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "stderr",
                    "stdin", "stdout", "tty", "urandom", "zero"],
        "nodes": {"/dev/null": "c 1:3"},
        "cgroup_roots": ["/"], "unmasked": [], "swap_bytes": 0,
        "resolver": True,
    }


def well(supervisor):
    """A script that prints a line and ends well."""
    supervisor.hello()
    supervisor.job()
    supervisor.started()
    supervisor.out(b"hello\n")
    supervisor.exit(out=6)
    supervisor.hold()


class Engine:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="engine.")
        self.path = os.path.join(self.folder, "docker.sock")
        self.version = {"Version": "25.0.0", "ApiVersion": "1.44", "MinAPIVersion": "1.24",
                        "Arch": "amd64", "Os": "linux"}
        self.info = {"MemTotal": 8 << 30, "ServerVersion": "25.0.0"}
        self.image = {"Id": "sha256:" + "0" * 64, "Config": {"Env": ["PATH=/usr/local/bin:/usr/bin:/bin"]}}
        self.images = {IMAGE: self.image}
        self.play = well  # what the supervisor of a new container does
        self.plays = []  # of the next ones, before that
        self.pull_lines = lambda line: self.images.update({IMAGE: self.image})
        self.switch = b"HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream" \
                      b"\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
        self.hook = None  # called with the number of each thing that happens
        self.requests = []  # (time, Request)
        self.containers = {}
        self.watchers = []  # connections that read events
        self.lock = threading.RLock()
        self.faults = []
        self.connections = set()
        self.listener = None
        self.created = 0
        self.happenings = []

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder)

    def start(self):
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(128)
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def stop(self, keep_socket=False):
        """As a daemon that ends: every connection breaks, and every container that runs is gone."""
        if self.listener is None:
            return
        listener, self.listener = self.listener, None
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        if not keep_socket:
            os.unlink(self.path)
        with self.lock:
            for connection in list(self.connections):
                connection.close()
            for container in list(self.containers.values()):
                if container.state == "running":
                    del self.containers[container.id]

    # What tests ask for and look at

    def fail(self, step, fault, nth=1, count=1):
        """The nth use of a step from now on fails, and count - 1 after it; None: all after it."""
        last = None if count is None else nth + count - 1
        with self.lock:
            self.faults.append({"step": step, "fault": fault, "nth": nth, "last": last, "used": 0})

    def mend(self):
        with self.lock:
            self.faults = []

    def count(self, step):
        return sum(request.step == step for _, request in self.requests)

    def steps(self):
        return [request.step for _, request in self.requests]

    def post(self, action, ident):
        """An event of a container, to all who watch."""
        event = {"Type": "container", "Action": action, "Actor": {"ID": ident}}
        for watcher in list(self.watchers):
            try:
                watcher.chunk(encoded(event) + b"\n")
            except Gone:
                pass

    def end_events(self):
        for watcher in list(self.watchers):
            watcher.close()

    def add(self, labels, state="created", age=0):
        """A container that nobody asked for here."""
        with self.lock:
            name = "added-%d" % self.created
            made = self._make(name, {"User": "0:0", "Image": "x", "Labels": labels})
            made.state = state
            made.created -= age
            return made

    def happened(self, what):
        with self.lock:
            self.happenings.append(what)
            number = len(self.happenings)
        if self.hook:
            self.hook(number)

    # Connections

    def _accept(self, listener):
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        connection = Connection(self, sock)
        with self.lock:
            if self.listener is None:
                sock.close()
                return
            self.connections.add(connection)
        try:
            while self._serve_one(connection):
                pass
        except (Gone, ValueError):
            pass
        finally:
            with self.lock:
                self.connections.discard(connection)
            connection.close()
            sock.close()

    def _serve_one(self, connection):
        request = connection.request()
        with self.lock:
            self.requests.append((time.monotonic(), request))
            fault = self._fault_of(request.step)
        self.happened(request.step)
        handle = getattr(self, "_" + request.step, self._unknown)
        if fault:
            return fault(connection, request, lambda: handle(connection, request))
        reply = handle(connection, request)
        if reply is None:
            return False
        connection.reply(reply)
        return True

    def _fault_of(self, step):
        found = None
        for fault in self.faults:
            if fault["step"] in ("*", step):
                fault["used"] += 1
                last = fault["last"]
                if fault["used"] >= fault["nth"] and (last is None or fault["used"] <= last):
                    found = found or fault["fault"]
        return found

    # Steps; None: the handler has answered by itself, and the connection ends

    def _unknown(self, connection, request):
        return refusal(404, "page not found")

    def _version(self, connection, request):
        return Reply(200, self.version)

    def _info(self, connection, request):
        return Reply(200, self.info)

    def _list(self, connection, request):
        with self.lock:
            found = list(self.containers.values())
        return Reply(200, [{"Id": c.id, "Names": ["/" + c.name], "State": c.state,
                            "Created": c.created, "Labels": c.body.get("Labels", {})} for c in found])

    def _image(self, connection, request):
        image = self.images.get(request.name)
        if image is None:
            return refusal(404, "No such image: " + request.name)
        return Reply(200, image, chunked=True)

    def _pull(self, connection, request):
        connection.start_chunks()
        self.pull_lines(lambda value: connection.chunk(encoded(value) + b"\r\n"))
        connection.chunk(b"")
        return None

    def _events(self, connection, request):
        connection.start_chunks()
        self.watchers.append(connection)
        connection.wait_for_end()
        self.watchers.remove(connection)
        return None

    def _create(self, connection, request):
        name, body = request.query["name"], json.loads(request.body)
        with self.lock:
            if any(c.name == name for c in self.containers.values()):
                return refusal(409, 'Conflict. The container name "/%s" is already in use by '
                                    "another container." % name)
            if body["Image"] not in [image["Id"] for image in self.images.values()]:
                return refusal(404, "No such image: " + body["Image"])
            container = self._make(name, body)
        return Reply(201, {"Id": container.id, "Warnings": []})

    def _make(self, name, body):
        self.created += 1
        container = Container("%064x" % self.created, name, copy.deepcopy(body))
        self.containers[container.id] = container
        return container

    def _start(self, connection, request):
        container = self.containers.get(request.name)
        if container is None:
            return refusal(404, "No such container: " + request.name)
        container.state = "running"
        container.started.set()
        return Reply(204)

    def _remove(self, connection, request):
        with self.lock:
            container = self.containers.pop(request.name, None)
        if container is None:
            return refusal(404, "No such container: " + request.name)
        if container.stream:
            container.stream.close()
        return Reply(204)

    def _attach(self, connection, request):
        container = self.containers.get(request.name)
        if container is None:
            return refusal(404, "No such container: " + request.name)
        with self.lock:
            play = self.plays.pop(0) if self.plays else self.play
        container.stream = connection
        connection.send(self.switch)
        end = time.monotonic() + WAIT
        while not container.started.wait(0.005):
            if is_closed(connection.sock) or time.monotonic() > end:
                return None  # it stays as it is: created
        try:
            play(Supervisor(self, container, connection))
        finally:
            # The supervisor has ended, and AutoRemove does the rest.
            with self.lock:
                self.containers.pop(container.id, None)
        return None


def is_closed(sock):
    try:
        return not sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True
