"""What the end-to-end tests share: an MCP client over stdio, and looks at the processes and
descriptors of this machine."""

import json
import os
import pathlib
import queue
import subprocess
import tempfile
import textwrap
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.path.abspath(os.environ.get("PYTHON_SANDBOX_BINARY") or ROOT / "build/python-sandbox")
IMAGES = ("python:3.12-slim", "python-sandbox:slim")  # in the order in which the server looks
REPLY_MAX = 900_000
STATUSES = (
    "ok error timed_out out_of_memory killed cancelled busy sandbox_error".split()
)

# A variable by which the processes of one start are found, also those that leave its session.
MARK = "END_TO_END_MARK"

# Every process of the product that a test started; the leak check looks for their containers.
STARTED = []
MARKS = {}


def py(text):
    """A script written inside a test, without its indentation."""
    return textwrap.dedent(text).lstrip("\n")


def wait_until(condition, timeout, step=0.05):
    """The first true value of condition(), or its last value when time is up."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value or time.monotonic() >= end:
            return value
        time.sleep(step)


def environment(extra=None):
    """This environment without the tests' own variables: the server refuses those it does not know."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON_SANDBOX_")}
    env.update(extra or {})
    return env


def engine_flags():
    """Clients pass no DOCKER_HOST on to the server; the flag says the same."""
    host = os.environ.get("DOCKER_HOST")
    return ["--docker-host=" + host] if host else []


def spawn(arguments, env=None, command=(BINARY,), **options):
    """Starts the product in a session of its own and with a mark."""
    mark = "%d.%d" % (os.getpid(), len(STARTED))
    process = subprocess.Popen(
        [*command, *arguments],
        env=environment({**(env or {}), MARK: mark}),
        start_new_session=True,
        **options,
    )
    STARTED.append(process.pid)
    MARKS[process.pid] = mark
    return process


# Processes


def processes():
    """Pid, state, parent and session of every process."""
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            stat = pathlib.Path("/proc", name, "stat").read_text()
        except OSError:
            continue
        state, parent, _, session = stat.rpartition(")")[2].split()[:4]
        yield int(name), state, int(parent), int(session)


def is_marked(pid, mark):
    try:
        variables = pathlib.Path("/proc", str(pid), "environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return ("%s=%s" % (MARK, mark)).encode() in variables


def members(pid):
    """The living processes of one start of the product: those of its session, and those with its mark."""
    mark = MARKS.get(pid)
    return [
        number
        for number, state, _, session in processes()
        if state != "Z" and (session == pid or mark and is_marked(number, mark))
    ]


def product_processes():
    """Every living process of the product on this machine."""
    found = set()
    for pid, state, _, _ in processes():
        try:
            if state != "Z" and os.readlink("/proc/%d/exe" % pid) == BINARY:
                found.add(pid)
        except OSError:
            pass
    return found


def children():
    """Pids of this process's children."""
    return [pid for pid, _, parent, _ in processes() if parent == os.getpid()]


def descriptors():
    return len(os.listdir("/proc/self/fd"))


# The MCP client


class ServerGone(Exception):
    pass


class Result:
    """The result of one run_python, with what must hold for every result checked."""

    def __init__(self, message, seconds):
        assert "result" in message, "JSON-RPC error instead of a result: %s" % message
        result = message["result"]
        self.seconds = seconds
        self.is_error = result.get("isError", False)
        self.content = result["content"]
        self.text = self.content[0]["text"]
        self.data = result["structuredContent"]
        self.artifacts = {a["name"]: a for a in self.data.get("artifacts", [])}
        self.status = self.data["status"]
        self.stdout = self.data["stdout"]
        self.stderr = self.data["stderr"]
        self.exit_code = self.data["exit_code"]
        self.check(result)

    def check(self, result):
        data = self.data
        assert result["content"][0]["type"] == "text" and self.text, result["content"][0]
        assert self.status in STATUSES, self
        assert self.is_error == (self.status != "ok"), self
        assert data["timed_out"] is (self.status == "timed_out"), self
        assert isinstance(data["truncated"], bool), self
        assert isinstance(self.exit_code, int) and -1 <= self.exit_code <= 255, self
        assert isinstance(data["oom_kills"], int) and data["oom_kills"] >= 0, self
        assert data["duration_ms"] >= 0 and data["cpu_ms"] >= 0, self
        assert None not in data.values(), "a member that is null: %s" % data
        included = [a["name"] for a in self.artifacts.values() if a["included"]]
        assert len(included) == len(self.content) - 1, self
        assert all("\n- %s: " % name in self.text for name in self.artifacts), self
        if self.status == "ok":
            assert self.exit_code == 0, self

    def __repr__(self):
        def short(value):
            return value[:700] + " [...] " + value[-700:] if len(value) > 1500 else value

        data = {k: short(v) if isinstance(v, str) else v for k, v in self.data.items()}
        return "Result(%s, text=%r)" % (data, short(self.text))


class Call:
    """One request under way."""

    def __init__(self, ident):
        self.ident = ident
        self.token = "progress-%s" % ident
        self.progress = []  # params of its progress notifications
        self.sent = time.monotonic()
        self.seconds = None
        self.message = None
        self.done = threading.Event()

    def finish(self, message):
        self.seconds = time.monotonic() - self.sent
        self.message = message
        self.done.set()

    def answered(self):
        return self.done.is_set()

    def response(self, timeout=60):
        assert self.done.wait(timeout), "no answer to request %s in %s s" % (self.ident, timeout)
        if self.message is None:
            raise ServerGone("the server ended before it answered request %s" % self.ident)
        return self.message

    def result(self, timeout=60):
        return Result(self.response(timeout), self.seconds)


class Server:
    """The product over stdio. Checks each line that it writes; close() reports what was wrong."""

    def __init__(
        self, *flags, env=None, initialize=True, verb=("serve",), command=(BINARY,), stderr=None
    ):
        self.log = tempfile.TemporaryFile()
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": stderr or self.log}
        self.process = spawn([*verb, *flags], env, command, **pipes)
        self.pid = self.process.pid
        self.calls = {}
        self.violations = []  # lines that break the protocol
        self.strays = queue.Queue()  # messages that belong to no call
        self.longest_line = 0
        self.next_id = 1
        self.lock = threading.Lock()
        self.ended = False
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        if initialize:
            try:
                self.initialize()
            except BaseException:
                self.kill()
                raise

    def _read(self):
        for line in self.process.stdout:
            self.longest_line = max(self.longest_line, len(line))
            try:
                assert line.endswith(b"\n"), "no newline at the end"
                assert len(line) < REPLY_MAX, "%d bytes" % len(line)
                message = json.loads(line.decode("utf-8", "strict"))
                assert isinstance(message, dict), "not an object"
                assert message.get("jsonrpc") == "2.0", "jsonrpc is not 2.0"
            except (AssertionError, ValueError) as error:
                self.violations.append("%s: %r" % (error, line[:300]))
                continue
            self._dispatch(message)
        with self.lock:
            self.ended = True
            for call in self.calls.values():
                if not call.answered():
                    call.finish(None)

    def _dispatch(self, message):
        if message.get("method") == "notifications/progress":
            for call in list(self.calls.values()):
                if call.token == message["params"]["progressToken"]:
                    if call.answered():
                        self.violations.append("progress after the answer: %s" % message)
                    call.progress.append(message["params"])
                    return
        call = self.calls.get(message.get("id")) if "id" in message else None
        if call is None or "method" in message:
            self.strays.put(message)
        elif call.answered():
            self.violations.append("second answer to %s" % call.ident)
        else:
            call.finish(message)

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, method, params=None, progress=False):
        with self.lock:
            call = Call(self.next_id)
            self.next_id += 1
            self.calls[call.ident] = call
            if self.ended:
                call.finish(None)
        message = {"jsonrpc": "2.0", "id": call.ident, "method": method}
        if params is not None:
            message["params"] = dict(params)
        if progress:
            message["params"]["_meta"] = {"progressToken": call.token}
        line = json.dumps(message).encode() + b"\n"
        call.sent = time.monotonic()
        with self.lock:
            try:
                self.write(line)
            except (BrokenPipeError, ValueError):
                pass  # the reader tells that the server has ended
        return call

    def request(self, method, params=None, timeout=30):
        message = self.send(method, params).response(timeout)
        assert "result" in message, message
        return message["result"]

    def notify(self, method, params=None):
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        with self.lock:
            self.write(json.dumps(message).encode() + b"\n")

    def initialize(self, version="2025-11-25"):
        client = {"name": "end-to-end", "version": "1"}
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
        result = self.request("initialize", params)
        self.notify("notifications/initialized")
        return result

    def start(self, code, progress=False, **arguments):
        """Sends run_python and returns the Call."""
        arguments["code"] = code
        return self.send("tools/call", {"name": "run_python", "arguments": arguments}, progress)

    def run(self, code, wait=60, **arguments):
        """run_python to its Result."""
        return self.start(code, **arguments).result(wait)

    def facts(self, code, wait=60, **arguments):
        """Runs a script that must end well and prints one JSON value; returns the value."""
        result = self.run(code, wait, **arguments)
        assert result.status == "ok", result
        return json.loads(result.stdout)

    def cancel(self, call):
        self.notify("notifications/cancelled", {"requestId": call.ident, "reason": "test"})

    def stderr(self):
        # The server shares the file's offset, so it is read without moving it.
        fd = self.log.fileno()
        return os.pread(fd, os.fstat(fd).st_size, 0).decode("utf-8", "replace")

    def close(self, timeout=10):
        """Ends the input, waits for the exit and returns its status."""
        if self.process.stdin.closed:
            return self.process.returncode
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("the server did not end within %s s of EOF" % timeout)
        self._release()
        return self.process.returncode

    def signal(self, number, timeout=10):
        """Sends a signal and returns the seconds until the exit."""
        start = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(timeout)
        seconds = time.monotonic() - start
        self._release()
        return seconds

    def kill(self):
        """kill -9 of the process that the client started, and of nothing else."""
        self.process.kill()
        self.process.wait()
        self._release()

    def _release(self):
        self.reader.join(10)
        assert not self.reader.is_alive(), "a process of the server keeps stdout open"
        for pipe in (self.process.stdin, self.process.stdout, self.log):
            try:
                pipe.close()
            except BrokenPipeError:
                pass
        assert not self.violations, self.violations

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.process.stdin.closed:
            return
        if kind is None:
            self.close()
        else:
            self.kill()


def assert_serves(server):
    """The next call is served normally."""
    result = server.run("print('served')")
    assert (result.status, result.stdout) == ("ok", "served\n"), result


def assert_gone(engine, pid, timeout=5):
    """Neither a container in any state nor a process is left of a server."""
    start = time.monotonic()
    wait_until(lambda: not engine.containers(pid) and not members(pid), timeout)
    left = [(c["Id"][:12], c["State"], c["Status"]) for c in engine.containers(pid)]
    assert not left, "containers left after %.1f s: %s" % (time.monotonic() - start, left)
    assert not members(pid), "processes left of %d: %s" % (pid, members(pid))


def wait_for_processes(engine, pid, count, timeout=15):
    """Waits until the one container of a server without warm ones holds that many processes."""

    def look():
        found = engine.containers(pid, running=True)
        return found and engine.process_count(found[0]["Id"]) >= count

    assert wait_until(look, timeout), "no container of %d with %d processes" % (pid, count)


def end(process, timeout=10):
    """Ends a process that a test started, if it has not ended, and closes its pipes."""
    if process.poll() is None:
        process.kill()
    process.wait(timeout)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            try:
                pipe.close()
            except BrokenPipeError:
                pass
