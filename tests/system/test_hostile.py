"""The walls around our own processes: a front that has been taken over (make FLAVOUR=hostile), what
both processes hold, and clocks that are system calls."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import threading

import pytest

from served import BINARY, ROOT, processes_of, wait_until
from engine import Engine
from front import (ARTIFACT, ARTIFACT_BYTES, ARTIFACT_REST, DONE, HEADER, OUTPUT, PHASE, PROFILE,
                   RUN, STOP, string)
from web import STATUS, ask, call_message, post

HOSTILE = os.environ.get("PYTHON_SANDBOX_HOSTILE_BINARY") or ROOT / "build/hostile/python-sandbox"
FRONT_UID, EXECUTOR_UID = 60598, 60599
OTHER = 60590  # a user and a group of nobody's
SPARE = 64  # calls that the front may have open besides those that run or wait
MIB = 1 << 20
BUSY = 6  # as wire numbers it
NO_CAPABILITY = "0" * 16

MODES = ["stdio", "http"]
IS_ROOT = os.geteuid() == 0
USERS = [None, OTHER] if IS_ROOT else [None]
needs_root = pytest.mark.skipif(not IS_ROOT, reason="only root sees what a process holds")


@pytest.fixture
def engine():
    with Engine() as engine:
        os.chmod(engine.folder, 0o711)
        os.chmod(engine.path, 0o666)
        engine.jobs = []
        engine.play = lambda supervisor: play(engine, supervisor)
        yield engine


def play(engine, supervisor):
    """A script that prints a line; one that is to hang does until it is stopped."""
    supervisor.hello()
    job = supervisor.job()
    engine.jobs.append(job)
    supervisor.started()
    if job["code"] != "hang":
        supervisor.out(b"hello\n")
        supervisor.exit(out=6)
    supervisor.hold()


class Server:
    """A whole server; what is written to it goes to the front, which may be the hostile one."""

    def __init__(self, engine, mode, binary, *flags, user=None, **variables):
        env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON_SANDBOX_")}
        who = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        self.folder = tempfile.mkdtemp(prefix="hostile.")
        os.chmod(self.folder, 0o755)
        self.binary = shutil.copy(binary, self.folder)
        self.log = tempfile.TemporaryFile()
        self.mode = mode
        self.data = b""
        self.process = subprocess.Popen(
            [self.binary, "serve", "--docker-host=" + engine.path, "--warm=0", "--log-level=debug",
             *(["--http=127.0.0.1:0"] if mode == "http" else []), *flags],
            env={**env, "HOME": self.folder, **variables}, start_new_session=True, cwd="/",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, **who)

    def write(self, data):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def stderr(self):
        return os.pread(self.log.fileno(), os.fstat(self.log.fileno()).st_size, 0).decode()

    def logs(self, text, timeout=10):
        return wait_until(lambda: text in self.stderr(), timeout)

    def front(self):
        """The front's process id."""
        def find():
            for pid in processes_of(self.process.pid):
                with contextlib.suppress(OSError):
                    if b"\0front\0" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                        return pid
            return None
        return wait_until(find, 10)

    def take(self, size):
        while len(self.data) < size:
            chunk = os.read(self.process.stdout.fileno(), 1 << 16)
            if not chunk:
                raise EOFError
            self.data += chunk
        taken, self.data = self.data[:size], self.data[size:]
        return taken

    def receive(self):
        """The executor's next message through a relay, but for what it says of itself."""
        while True:
            kind, call, length = HEADER.unpack(self.take(HEADER.size))
            payload = self.take(length)
            if kind != STATUS:
                return kind, call, payload

    def done(self):
        """The next DONE: its call, and the number of its status."""
        while True:
            kind, call, payload = self.receive()
            if kind == DONE:
                return call, payload[0]

    def line(self):
        while b"\n" not in self.data:
            self.data += os.read(self.process.stdout.fileno(), 1 << 16)
        line, self.data = self.data.split(b"\n", 1)
        return json.loads(line)

    def ask(self, text):
        """The answer to an MCP request."""
        if self.mode == "stdio":
            self.write(text.encode() + b"\n")
            return self.line()
        assert self.logs("serving MCP at")
        port = int(re.search(r"http://127\.0\.0\.1:(\d+)/mcp", self.stderr()).group(1))
        return ask(("127.0.0.1", port), post(text)).json()

    def runs_a_script(self):
        result = self.ask(call_message())["result"]["structuredContent"]
        assert (result["status"], result["stdout"]) == ("ok", "hello\n")

    def end(self):
        """As its clients end it."""
        if self.mode == "http":
            self.process.send_signal(signal.SIGTERM)
        else:
            self.process.stdin.close()
        return self.process.wait(10)


@contextlib.contextmanager
def serve(engine, mode, *flags, binary=HOSTILE, **options):
    """However it ends, nothing is left, and the engine was asked for the template only."""
    assert os.path.exists(binary), "no %s; make FLAVOUR=hostile" % binary
    server = Server(engine, mode, binary, *flags, **options)
    try:
        yield server
        if server.process.poll() is None:
            assert server.end() == 0
        assert wait_until(lambda: not engine.containers, 5)
        assert wait_until(lambda: not processes_of(server.process.pid), 5)
        check_requests(engine, *flags)
    finally:
        print(server.stderr())
        server.process.kill()
        server.process.wait()
        with contextlib.suppress(BrokenPipeError):
            server.process.stdin.close()
        server.process.stdout.close()
        server.log.close()
        shutil.rmtree(server.folder)


def check_requests(engine, *flags):
    """Every container that was asked for is the one that `policy` prints, down to the last byte,
    but for its user id and its server."""
    policy = json.loads(subprocess.run([BINARY, "policy", "--json", *flags], check=True,
                                       capture_output=True, env={}).stdout)
    for _, request in engine.requests:
        assert request.step != "unknown", request.target
        if request.step != "create":
            assert not request.body, request.target
            continue
        body = json.loads(request.body)
        uid, group = body["User"].split(":")
        assert uid == group and 60600 <= int(uid) <= 65499
        assert request.query == {"name": "python-sandbox-" + uid}
        expected = json.loads(json.dumps(policy["create"]).replace("60600", uid))
        environment = expected["Env"]
        environment[:] = [v for v in environment if not v.startswith("PATH=")]  # the image's own
        security = body["HostConfig"]["SecurityOpt"]
        assert security[1].startswith("seccomp={")
        assert json.loads(security[1].removeprefix("seccomp=")) == policy["seccomp"]
        expected["HostConfig"]["SecurityOpt"][1] = security[1]
        assert body["Cmd"][3] == supervisor()
        expected["Cmd"][3] = body["Cmd"][3]
        expected["Image"] = engine.image["Id"]
        assert list(body["Labels"]) == list(expected["Labels"])
        expected["Labels"] = body["Labels"]
        assert body == expected


def supervisor():
    return "".join(part.read_text()
                   for part in sorted((ROOT / "src/sandbox/supervisor").glob("*.py")))


# --- A front that has been taken over


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("mode", MODES)
def test_everything_is_refused(engine, mode, user):
    with serve(engine, mode, user=user) as server:
        server.write(b"attempts\n")
        assert server.logs("hostile done")
        found = re.findall(r" hostile ([\w-]+): (\w+)", server.stderr())
        results = dict(found)
        assert len(results) == len(found) > 160
        for name in ("open-read", "open-socket", "execve", "clone", "ptrace-attach", "kill",
                     "connect-engine", "socket-1", "socket-2", "mmap-exec", "mprotect-code",
                     "fcntl-setown", "sendto-fastopen", "setuid", "io_uring_setup", "bpf"):
            assert name in results
        # Nothing is refused by accident, for another reason than the filter.
        assert {name: word for name, word in results.items() if word != "EPERM"} == {
            "sendto-address": "EISCONN", "recvmsg-rights": "ENOMSG"}
        # The executor does not even notice.
        server.write(b"relay\n" + message(RUN, 1, run()))
        assert server.done() == (1, 0)
        server.process.stdin.close()
        assert server.process.wait(10) == 0


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="other architectures have no such call")
@pytest.mark.parametrize("abi", ["i386", "x32"])
def test_calls_of_another_abi_kill(engine, abi):
    with serve(engine, "stdio") as server:
        front = server.front()
        server.write(abi.encode() + b"\n")
        assert server.process.wait(10) == 1
        assert not os.path.exists(f"/proc/{front}")
        assert "error the front was ended by signal 31 " in server.stderr()
        assert "hostile" not in server.stderr()
    assert engine.count("create") == 0


@needs_root
def test_descriptors_are_not_taken(engine):
    with serve(engine, "stdio") as server:
        assert server.logs("image python")
        before = descriptors(server.process.pid)
        server.write(b"descriptors\n")
        assert server.logs("hostile descriptors: ok")
        server.write(b"relay\n" + message(RUN, 1, run()))
        assert server.done() == (1, 0)
        after = descriptors(server.process.pid)
        new = [target for fd, target in after.items() if fd not in before]
        assert all(target.startswith("socket:") for target in new) and len(new) < 5


# --- Crafted messages


def message(kind, call, payload=b""):
    return HEADER.pack(kind, call, len(payload)) + payload


def run(code=b"print(1)", timeout_ms=1000, head=1000, tail=1000, label=b"me", stdin=b"", profile=0,
        limits=(64, 1000, 2000, 500), files=(), count=None):
    """files: pairs of path and bytes."""
    payload = struct.pack(">8I", profile, timeout_ms, head, tail, *limits)
    for part in (label, code, stdin):
        payload += struct.pack(">I", len(part)) + part
    payload += struct.pack(">I", len(files) if count is None else count)
    for part in (part for file in files for part in file):
        payload += struct.pack(">I", len(part)) + part
    return payload


OUTCOME = (struct.pack(">BiIQQQ", 0, 0, 0, 1, 1, 0) + struct.pack(">QQQQ", 0, 0, 0, 0)
           + 4 * string(None))
BROKEN = {
    "phase": (message(PHASE, 1, b"\1\0\0\0\1"), "message type 16 goes the other way"),
    "output": (message(OUTPUT, 1, b"\0\0x"), "message type 17 goes the other way"),
    "done": (message(DONE, 1, OUTCOME), "message type 18 goes the other way"),
    "status": (message(STATUS, 0, bytes(19) + b"\0\0\0\1" + bytes(26)), "message type 19 goes the other way"),
    "profile": (message(PROFILE, 0, bytes(20)), "message type 20 goes the other way"),
    "type 0": (message(0, 1), "unknown type 0"),
    "type 3": (message(3, 1), "unknown type 3"),
    "type 255": (message(255, 1), "unknown type 255"),
    "reserved": (b"\1\0\1\0" + message(RUN, 1, run())[4:], "reserved bytes"),
    "call 0": (message(RUN, 0, run()), "call 0"),
    "stop 0": (message(STOP, 0), "call 0"),
    "stop with payload": (message(STOP, 1, b"x"), "STOP"),
    "length 2^32-1": (struct.pack(">BxxxII", RUN, 1, 0xFFFFFFFF), "RUN"),
    "length over": (struct.pack(">BxxxII", RUN, 1, 96 * MIB + 128 + 256 * 520 + 49), "RUN"),
    "length 0": (message(RUN, 1), "RUN"),
    "profile 1": (message(RUN, 1, run(profile=1)), "there is no profile 1"),
    "profile 16": (message(RUN, 1, run(profile=16)), "RUN"),
    "profile 2^32-1": (message(RUN, 1, run(profile=0xFFFFFFFF)), "RUN"),
    "timeout 0": (message(RUN, 1, run(timeout_ms=0)), "RUN"),
    "timeout over": (message(RUN, 1, run(timeout_ms=86400001)), "RUN"),
    "timeout 2^32-1": (message(RUN, 1, run(timeout_ms=0xFFFFFFFF)), "RUN"),
    "keep over": (message(RUN, 1, run(head=8 * MIB, tail=1)), "RUN"),
    "keep wraps": (message(RUN, 1, run(head=0xFFFFFFFF, tail=2)), "RUN"),
    "label over": (message(RUN, 1, run(label=b"x" * 129)), "RUN"),
    "code over": (message(RUN, 1, run(code=b"x" * (16 * MIB + 1))), "RUN"),
    "stdin over": (message(RUN, 1, run(stdin=b"x" * (16 * MIB + 1))), "RUN"),
    "more behind": (message(RUN, 1, run() + b"x"), "RUN"),
    "too short": (message(RUN, 1, run()[:-1] + b""), "RUN"),
    "string over": (message(RUN, 1, struct.pack(">9I", 0, 1000, *6 * [0], 0xFFFFFFF0) + bytes(40)),
                    "RUN"),
    "artifacts over": (message(RUN, 1, run(limits=(1001, 0, 0, 0))), "RUN"),
    "artifact over": (message(RUN, 1, run(limits=(0, 64 * MIB + 1, 0, 0))), "RUN"),
    "artifact bytes over": (message(RUN, 1, run(limits=(0, 0, 0xFFFFFFFF, 0))), "RUN"),
    "figures over": (message(RUN, 1, run(limits=(0, 0, 0, 64 * MIB + 1))), "RUN"),
    "files over": (message(RUN, 1, run(files=[(b"%d" % n, b"") for n in range(257)])), "RUN"),
    "files counted": (message(RUN, 1, run(files=[(b"a", b"")], count=2)), "RUN"),
    "file over": (message(RUN, 1, run(files=[(b"a", bytes(64 * MIB)), (b"b", b"x")])), "RUN"),
    "file outside": (message(RUN, 1, run(files=[(b"../a", b"")])), "RUN"),
    "file at the root": (message(RUN, 1, run(files=[(b"/etc/x", b"")])), "RUN"),
    "file over the script": (message(RUN, 1, run(files=[(b"script.py", b"")])), "RUN"),
    "file twice": (message(RUN, 1, run(files=[(b"a", b""), (b"a", b"")])), "RUN"),
    "file and folder": (message(RUN, 1, run(files=[(b"a", b""), (b"a/b", b"")])), "RUN"),
    "file without name": (message(RUN, 1, run(files=[(b"", b"")])), "RUN"),
    "file of bytes": (message(RUN, 1, run(files=[(b"\xff", b"")])), "RUN"),
    "artifact": (message(ARTIFACT, 1, struct.pack(">BBQ32sI", 1, 1, 1, bytes(32), 1) + b"a"),
                 "message type 21 goes the other way"),
    "artifact bytes": (message(ARTIFACT_BYTES, 1, b"x"), "message type 22 goes the other way"),
    "artifact rest": (message(ARTIFACT_REST, 1, bytes(9)), "message type 23 goes the other way"),
    "same call": (message(RUN, 7, run(b"hang")) + message(RUN, 7, run()), "call 7 is open already"),
    "too many calls": (b"".join(message(RUN, n, run(b"hang")) for n in range(1, SPARE + 6)),
                       "more than %d open calls" % (SPARE + 4)),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_ends_the_server(engine, mode, name):
    data, words = BROKEN[name]
    with serve(engine, mode, "--max-running=2", "--queue=2") as server:
        assert server.logs("image python")
        server.write(b"relay\n")
        # What comes after it is not read.
        writer = threading.Thread(target=server.write, args=(data + 3 * message(RUN, 99, run()),))
        writer.start()
        assert server.process.wait(10) == 0
        writer.join(10)
        assert re.search("error the front broke the protocol: .*" + re.escape(words),
                         server.stderr())
    assert all(job["code"] == "hang" for job in engine.jobs)
    assert engine.count("create") <= 2


@pytest.mark.parametrize("mode", MODES)
def test_the_template_holds_at_every_limit(engine, mode):
    flags = ("--memory=300m", "--pids=50", "--cpus=1.5", "--timeout=7", "--timeout-max=7")
    requests = [run(timeout_ms=86400000), run(head=8 * MIB, tail=0), run(label=b"\n\x1b[31m\0" * 18),
                run(code=b""), run(code=b"\n{\"code\":0}\n" * 1000), run(stdin=bytes(range(256))),
                run(files=[(b"\n{\"a\"}/\xc3\xa9", bytes(range(256))), (b"b", b"")])]
    with serve(engine, mode, *flags) as server:
        server.write(b"relay\n" + message(STOP, 1) + message(STOP, 0xFFFFFFFF))
        for number, payload in enumerate(requests, 1):
            server.write(message(RUN, number, payload))
            assert server.done() == (number, 0)
            server.write(message(STOP, number))
        server.write(message(RUN, 0xFFFFFFFF, run(b"hang")))
        assert wait_until(lambda: len(engine.jobs) == len(requests) + 1, 10)
        server.write(message(STOP, 0xFFFFFFFF) * 3)
        assert server.done() == (0xFFFFFFFF, 5)
        server.process.stdin.close()
        assert server.process.wait(10) == 0
        assert "error" not in server.stderr()
    assert engine.count("create") == len(requests) + 1
    assert [job["timeout_ms"] for job in engine.jobs] == [7000] + 7 * [1000]
    assert engine.jobs[6]["files"] == {"\n{\"a\"}/é": bytes(range(256)), "b": b""}
    assert all(job["name"] == "script.py" and job["argv"] == [] for job in engine.jobs)


def test_what_waits_is_bounded(engine):
    """Files of calls that wait fill a room that they share, and leave it again."""
    files = [(b"a", bytes(64 * MIB))]
    with serve(engine, "stdio", "--max-running=1", "--queue=10", "--timeout-max=60") as server:
        server.write(b"relay\n" + message(RUN, 1, run(b"hang", 60000)))
        assert wait_until(lambda: len(engine.jobs) == 1, 10)
        for number in range(2, 6):
            server.write(message(RUN, number, run(timeout_ms=9000, files=files)))
        assert server.done() == (5, BUSY)
        server.write(message(STOP, 1))
        assert {server.done()[0] for _ in range(4)} == {1, 2, 3, 4}
        server.write(message(RUN, 6, run(timeout_ms=9000, files=files)))
        assert server.done() == (6, 0)
        server.process.stdin.close()
        assert server.process.wait(10) == 0
    assert len(engine.jobs) == 5


# --- What the processes hold, and how they live with it


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("mode", MODES)
def test_a_session_under_the_filters(engine, mode, user):
    with serve(engine, mode, user=user) as server:
        server.write(b"serve\n")
        tools = server.ask('{"jsonrpc":"2.0","id":1,"method":"tools/list"}')["result"]["tools"]
        assert [tool["name"] for tool in tools] == ["run_python"]
        for _ in range(3):
            server.runs_a_script()


def status(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return {name: value.split() for name, _, value in
            (line.partition(":") for line in text.splitlines())}


def descriptors(pid):
    found = {}
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            found[int(fd)] = os.readlink(f"/proc/{pid}/fd/{fd}")
    return found


def unix_sockets():
    lines = pathlib.Path("/proc/net/unix").read_text().splitlines()[1:]
    return {"socket:[%s]" % line.split()[6] for line in lines}


def check_confined(pid, uid, gid):
    facts = status(pid)
    assert (facts["Seccomp"], facts["NoNewPrivs"]) == (["2"], ["1"])
    assert facts["Uid"] == 4 * [str(uid)] and facts["Gid"] == 4 * [str(gid)]
    assert facts["Groups"] == []
    if uid != 0:
        for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
            assert facts[name] == [NO_CAPABILITY], name


def check_descriptors(engine, server, mode):
    """Both processes have these and no others."""
    log = os.readlink(f"/proc/self/fd/{server.log.fileno()}")
    streams = [os.readlink(f"/proc/self/fd/{stream.fileno()}")
               for stream in (server.process.stdin, server.process.stdout)]
    front = descriptors(server.front())
    unix = unix_sockets()
    assert [front.pop(fd) for fd in (0, 1, 2, 10)] == [streams[0], log, log, streams[1]]
    assert front.pop(3) in unix
    if mode == "http":
        assert front.pop(4) == "anon_inode:[eventpoll]"
        assert front.pop(5) not in unix  # the listener
    assert not front
    executor = descriptors(server.process.pid)
    assert [executor.pop(fd) for fd in range(4)] == ["/dev/null", "/dev/null", log,
                                                     "anon_inode:[signalfd]"]
    assert executor.pop(4).startswith("pipe:")  # the reaper's
    # The front, libcurl's own pair, and the engine.
    assert set(executor.values()) <= unix_sockets()
    assert wait_until(lambda: len(descriptors(server.process.pid)) - 5
                      == 3 + len(engine.connections), 5), descriptors(server.process.pid)


@needs_root
@pytest.mark.parametrize("holder", ["root", "group", "other"])
@pytest.mark.parametrize("mode", MODES)
def test_what_the_processes_hold(engine, mode, holder):
    os.chown(engine.path, 0, 0 if holder == "root" else OTHER)
    os.chmod(engine.path, 0o660)
    user = OTHER if holder == "other" else None
    with serve(engine, mode, binary=BINARY, user=user) as server:
        server.runs_a_script()
        check_confined(server.front(), *(2 * [FRONT_UID] if user is None else 2 * [OTHER]))
        check_confined(server.process.pid, *{
            "root": (0, 0), "group": (EXECUTOR_UID, OTHER), "other": (OTHER, OTHER)}[holder])
        check_descriptors(engine, server, mode)
        server.runs_a_script()


@pytest.fixture(scope="module")
def raw_clocks():
    with tempfile.TemporaryDirectory(prefix="clocks.") as folder:
        os.chmod(folder, 0o755)
        library = os.path.join(folder, "raw_clocks.so")
        subprocess.run([os.environ.get("CC", "cc"), "-D_GNU_SOURCE", "-shared", "-fPIC", "-o",
                        library, str(ROOT / "tests/system/raw_clocks.c")], check=True)
        yield library


@pytest.mark.parametrize("mode", MODES)
def test_clocks_may_be_system_calls(engine, mode, raw_clocks):
    with serve(engine, mode, binary=BINARY, LD_PRELOAD=raw_clocks) as server:
        server.runs_a_script()
        if IS_ROOT:
            for pid in (server.process.pid, server.front()):
                assert raw_clocks in pathlib.Path(f"/proc/{pid}/maps").read_text()
        server.runs_a_script()
