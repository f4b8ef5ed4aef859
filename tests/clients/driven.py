"""The clients that the tests drive, each behind the same few operations, and the servers that they
talk to."""

import contextlib
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import threading

import sandbox
from sandbox import BINARY, STARTED, end, engine_flags, processes, wait_until

HERE = pathlib.Path(__file__).resolve().parent
NODE_MODULES = os.environ.get("PYTHON_SANDBOX_TEST_NODE_MODULES") or str(HERE / "node_modules")
INSPECTOR = pathlib.Path(
    os.environ.get("PYTHON_SANDBOX_TEST_INSPECTOR") or HERE / "inspector/node_modules")
MACHINES = {"x86_64": "x64", "aarch64": "arm64"}
NODE_22 = INSPECTOR / ("node-linux-" + MACHINES.get(platform.machine(), "none")) / "bin/node"
LAUNCHER = INSPECTOR / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"

MODERN = "2026-07-28"
MODES = {
    "typescript_v1": ["legacy"],
    "typescript_v2": ["legacy", "auto", MODERN],
    "python_sdk": ["legacy", "auto", MODERN],
    "fastmcp_client": ["legacy", "auto", MODERN],
    "inspector_cli": ["legacy", "auto", "modern"],
}
CONFIGURATIONS = [(driver, mode) for driver, modes in MODES.items() for mode in modes]
ANSWER_S = 100


def command_of(driver, config):
    if driver.startswith("typescript"):
        node = shutil.which("node")
        assert node, "no node; run make setup"
        assert os.path.isdir(NODE_MODULES), "no %s; tests/tools.sh fills it" % NODE_MODULES
        return [node, HERE / (driver + ".mjs"), NODE_MODULES, json.dumps(config)]
    if driver == "inspector_cli":
        assert NODE_22.exists() and LAUNCHER.exists(), "no %s; tests/tools.sh" % LAUNCHER
        config = {**config, "node": str(NODE_22), "script": str(LAUNCHER)}
    return [sys.executable, HERE / (driver + ".py"), json.dumps(config)]


class HttpServer:
    """The product over HTTP, with a token that it demands."""

    def __init__(self, folder, *flags):
        tokens = pathlib.Path(folder, "tokens")
        self.token = subprocess.check_output([BINARY, "token"], text=True).strip()
        tokens.touch(0o600)
        tokens.write_text(self.token + "\n")
        self.log = open(pathlib.Path(folder, "log"), "w+")
        self.process = sandbox.spawn(
            ["serve", "--http=127.0.0.1:0", "--token-file=%s" % tokens, "--warm=0", *engine_flags(),
             *flags],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log)
        self.pid = self.process.pid
        self.url = wait_until(self._url, 10)
        assert self.url, self.stderr()
        self.port = int(re.search(r":(\d+)/", self.url).group(1))

    def _url(self):
        found = re.search(r"http://127\.0\.0\.1:\d+/mcp", self.stderr())
        return found and found.group(0)

    def stderr(self):
        return os.pread(self.log.fileno(), 1 << 20, 0).decode()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.process.terminate()
                assert self.process.wait(10) == 0, self.stderr()
        finally:
            end(self.process)
            self.log.close()


class Answer:
    """What a client said of one operation."""

    def __init__(self):
        self.done = threading.Event()
        self.facts = None

    def get(self):
        assert self.done.wait(ANSWER_S), "no answer in %d s" % ANSWER_S
        assert self.facts is not None, "the client ended before it answered"
        return self.facts

    def result(self):
        facts = self.get()
        assert "result" in facts, facts
        return facts["result"]


class Client:
    """A driver; without the URL of a server it starts one of its own."""

    def __init__(self, driver, mode, http=None):
        self.driver, self.mode, self.http = driver, mode, http
        config = {"mode": mode}
        if http:
            config.update(url=http.url, token=http.token)
        else:
            config["command"] = [BINARY, "serve", "--warm=0", *engine_flags()]
        self.answers = {"connected": Answer(), "closed": Answer()}
        self.process = subprocess.Popen(
            command_of(driver, config), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**sandbox.environment(), "FASTMCP_CHECK_FOR_UPDATES": "off"},
            start_new_session=True)
        STARTED.append(self.process.pid)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    @property
    def is_modern(self):
        return self.mode != "legacy"

    @property
    def hangs_up(self):
        """Whether the server hears of a call given up: before 2026-07-28, HTTP has no way."""
        return not self.http or self.is_modern or self.driver == "inspector_cli"

    def _read(self):
        for line in self.process.stdout:
            facts = json.loads(line)
            answer = self.answers[facts["id"]]
            assert not answer.done.is_set(), "a second answer: %s" % facts
            answer.facts = facts
            answer.done.set()
        for answer in list(self.answers.values()):
            answer.done.set()

    def send(self, op, **request):
        ident = len(self.answers)
        if op != "cancel":
            self.answers[ident] = Answer()
        line = json.dumps({"id": ident, "op": op, **request}) + "\n"
        self.process.stdin.write(line)
        self.process.stdin.flush()
        return ident

    def list(self):
        return self.answers[self.send("list")]

    def call(self, tool="run_python", **request):
        return self.answers[self.start(tool, **request)]

    def start(self, tool="run_python", progress=False, timeout=None, reset=False, **arguments):
        """Sends a call and returns its number, by which it can be cancelled."""
        return self.send("call", tool=tool, arguments=arguments, progress=progress,
                         timeout=timeout, reset=reset)

    def cancel(self, number):
        self.send("cancel", call=number)
        return self.answers[number]

    def servers(self):
        """The servers that this client started, or the one that it talks to over HTTP."""
        if self.http:
            return {self.http.pid}
        table = {pid: parent for pid, _, parent, _ in processes()}
        ours = sandbox.product_processes()
        found = {pid for pid in ours if table.get(pid) not in ours and self._is_below(pid, table)}
        STARTED.extend(found - set(STARTED))
        return found

    def _is_below(self, pid, table):
        while pid in table and pid != self.process.pid:
            pid = table[pid]
        return pid == self.process.pid

    def close(self):
        """Ends the client in good order and returns what it says of its end."""
        self.process.stdin.close()
        closed = self.answers["closed"].get()
        assert self.process.wait(10) == 0
        self.reader.join(10)
        self.process.stdout.close()
        return closed

    def kill(self):
        end(self.process)


@contextlib.contextmanager
def connected(driver, mode, http=None):
    client = Client(driver, mode, http)
    try:
        client.connected = client.answers["connected"].get()
        yield client
    finally:
        client.kill()


def containers(engine, pids, running=False):
    return [c for pid in pids for c in engine.containers(pid, running)]


def scripts(engine, pids):
    """In how many containers a script runs beside the supervisor."""

    def count(ident):
        status, text = engine.raw("GET", "/containers/%s/top" % ident)
        return len(json.loads(text)["Processes"] or ()) if status == 200 else 0

    return sum(count(c["Id"]) >= 2 for c in containers(engine, pids, running=True))
