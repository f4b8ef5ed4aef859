"""The real server in front of the fake engine, a small client for it, and what must hold whenever
it ends."""

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.path.abspath(os.environ.get("PYTHON_SANDBOX_BINARY") or ROOT / "build/python-sandbox")
CLOSE_S = 2.5  # from the end of the input to the end of the process


def wait_until(condition, timeout, step=0.01):
    """The first true value of condition(), or its last value when time is up."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value or time.monotonic() >= end:
            return value
        time.sleep(step)


def processes_of(session):
    """The living processes of a session."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, own = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(own) == session and state != "Z":
            found.append(int(stat.parent.name))
    return found


class Result:
    def __init__(self, message, seconds):
        assert "result" in message, message
        self.seconds = seconds
        self.content = message["result"]["content"]
        self.text = self.content[0]["text"]
        self.data = message["result"]["structuredContent"]
        self.status = self.data["status"]
        self.stdout = self.data["stdout"]
        self.exit_code = self.data["exit_code"]
        assert message["result"].get("isError", False) == (self.status != "ok"), self

    def __repr__(self):
        return "Result(%s, %r)" % (self.data, self.text)


class Call:
    def __init__(self, ident):
        self.ident = ident
        self.progress = []
        self.sent = time.monotonic()
        self.seconds = self.message = None
        self.done = threading.Event()

    def answered(self):
        return self.done.is_set()

    def result(self, timeout=30):
        assert self.done.wait(timeout), "no answer in %s s" % timeout
        return Result(self.message, self.seconds)


class Server:
    def __init__(self, *flags):
        env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON_SANDBOX_")}
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [BINARY, "serve", *flags], env=env, start_new_session=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.log)
        self.calls = {}
        self.violations = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                    "clientInfo": {"name": "faults", "version": "1"}})
        self._write({"method": "notifications/initialized"})

    def _read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            params = message.get("params", {})
            call = self.calls.get(message.get("id", params.get("progressToken")))
            if call is None or call.answered():
                self.violations.append(message)
            elif "method" in message:
                call.progress.append(params)
            else:
                call.seconds = time.monotonic() - call.sent
                call.message = message
                call.done.set()

    def _write(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def send(self, method, params):
        call = self.calls[len(self.calls) + 1] = Call(len(self.calls) + 1)
        self._write({"method": method, "id": call.ident, "params": params})
        return call

    def request(self, method, params):
        call = self.send(method, params)
        assert call.done.wait(10), "no answer to " + method
        return call.message["result"]

    def start(self, code="1", **arguments):
        return self.send("tools/call", {"name": "run_python",
                                        "arguments": {"code": code, **arguments},
                                        "_meta": {"progressToken": len(self.calls) + 1}})

    def run(self, code="1", **arguments):
        return self.start(code, **arguments).result()

    def cancel(self, call):
        self._write({"method": "notifications/cancelled", "params": {"requestId": call.ident}})

    def stderr(self):
        size = os.fstat(self.log.fileno()).st_size
        return os.pread(self.log.fileno(), size, 0).decode("utf-8", "replace")

    def close(self):
        """Ends the input, waits for the exit and returns its status."""
        self.process.stdin.close()
        status = self.process.wait(10)
        self.reader.join(10)
        assert not self.violations, self.violations
        return status

    def kill(self):
        """kill -9 of the process that the client started, and of nothing else."""
        self.process.kill()
        self.process.wait()
        self.reader.join(10)
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.log.close()


@contextlib.contextmanager
def serving(engine, *flags, warm=0, wait=3, leaves=0, patience=5):
    """Whatever happened in between: the server answers, ends by itself, and leaves no container."""
    server = Server("--docker-host=" + engine.path, "--warm=%d" % warm,
                    "--queue-timeout=%d" % wait, "--log-level=debug", *flags)
    try:
        yield server
        if server.process.stdin.closed:
            return
        assert server.request("ping", {}) == {}
        start = time.monotonic()
        assert server.close() == 0
        assert time.monotonic() - start < CLOSE_S
        assert wait_until(lambda: len(engine.containers) == leaves, patience), table(engine)
        assert not processes_of(server.process.pid)
    finally:
        print(server.stderr())
        server.kill()


def table(engine):
    return "containers left: %s" % [(c.name, c.state) for c in engine.containers.values()]


def run(engine, *flags, warm=0, wait=3, **arguments):
    """One server, one call."""
    with serving(engine, *flags, warm=warm, wait=wait) as server:
        return server.run(**arguments)


def is_refused(result, *parts):
    """The sandbox's fault, not the script's, in words that name the parts."""
    assert result.status == "sandbox_error", result
    assert result.exit_code == -1, result
    for part in parts:
        assert part in result.text, "%r is not in %s" % (part, result)
    assert all(c >= " " or c == "\n" for c in result.text), result
    assert len(result.text) < 2500, result


def is_ok(result, stdout="hello\n"):
    assert result.status == "ok" and result.stdout == stdout, result


# What a supervisor of the fake engine does

STARTED = (lambda s: s.started(), lambda s: s.out(b"partial"))


def job_then(*steps):
    def play(s):
        s.hello()
        s.job()
        for step in steps:
            step(s)

    return play
