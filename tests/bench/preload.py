#!/usr/bin/env python3
"""What `preload` saves and costs: the same pandas script on warm containers of one image, with pandas preloaded,
without, and by `docker run`, in one run and by turns.

Prints the time from request to result of each over HTTP, where /metrics tells when a container waits again; the
same when none waits; and the memory of one that waits. All must print the same table; the times are not judged.

Usage: preload.py [CALLS [DOCKER_RUNS]]
"""

import contextlib
import http.client
import json
import pathlib
import re
import socket
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "docker"))

import datascience  # noqa: E402
import warm  # noqa: E402
from docker_engine import Engine, EngineError  # noqa: E402
from sandbox import IMAGES, end, engine_flags, py, spawn, wait_until  # noqa: E402

PRELOAD = ["pandas"]
READY_S = 120
QUIET_S = 0.5  # between a container's readiness and the call, for the engine to come to rest
COLD_CALLS = 3
READY = re.compile(r'^python_sandbox_containers_ready\{profile="datascience"\} (\d+)$', re.M)
CODE = py(
    """
    import pandas as pd
    print(pd.DataFrame({"a": [1, 2, 3, 4], "b": [0.5, 1.5, 2.5, 3.5]}).describe())
    """
)
EXPECTED = py(
    """
                  a         b
    count  4.000000  4.000000
    mean   2.500000  2.000000
    std    1.290994  1.290994
    min    1.000000  0.500000
    25%    1.750000  1.250000
    50%    2.500000  2.000000
    75%    3.250000  2.750000
    max    4.000000  3.500000
    """
)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Server:
    """One over HTTP on a connection that stays, with so many warm containers, and the times of its calls."""

    def __init__(self, engine, image, preload, count):
        self.engine, self.count, self.times = engine, count, []
        profile = {"image": image, "preload": preload, "memory": "512m"}
        settings = {"warm": count, "queue_timeout": 60, "profiles": {"datascience": profile}}
        port = free_port()
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(settings, file)
            file.flush()
            flags = ["--config=" + file.name, "--http=127.0.0.1:%d" % port, "--log-level=warn", *engine_flags()]
            self.process = spawn(["serve", *flags])
            self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=READY_S)
            try:
                assert wait_until(self.answers, 10), "the server does not answer"
            except BaseException:
                self.close()
                raise

    def answers(self):
        with contextlib.suppress(OSError):
            return bool(self.get("/healthz"))
        self.connection.close()
        return False

    def get(self, path):
        self.connection.request("GET", path)
        return self.connection.getresponse().read().decode()

    def waiting(self):
        return int(READY.search(self.get("/metrics")).group(1)) == self.count

    def refill(self):
        assert wait_until(self.waiting, READY_S), "no container became ready"
        time.sleep(QUIET_S)

    def call(self):
        params = {"name": "run_python", "arguments": {"code": CODE}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        start = time.monotonic()
        self.connection.request("POST", "/mcp", body, headers)
        answer = self.connection.getresponse()
        text = answer.read().decode()
        self.times.append((time.monotonic() - start) * 1e3)
        if answer.getheader("Content-Type") == "text/event-stream":
            text = text.rpartition("data: ")[2]
        result = json.loads(text)["result"]["structuredContent"]
        assert (result["status"], result["stdout"]) == ("ok", EXPECTED), result

    def memory_mb(self):
        """Private memory of a container that waits, as its cgroup counts it."""
        ident = self.engine.containers(self.process.pid, running=True)[0]["Id"]
        stats = self.engine.json("GET", "/containers/%s/stats?stream=false&one-shot=true" % ident)
        memory = stats["memory_stats"]["stats"]
        return memory.get("rss", memory.get("anon")) / 1e6

    def close(self):
        self.connection.close()
        self.process.terminate()
        self.process.wait(30)
        end(self.process)


def measure(engine, image, calls, runs):
    """Prints the times of warm calls with preload, without, and of docker run; returns how many times faster the
    first are."""
    docker = []
    warm.docker_run(image, CODE, EXPECTED)  # once without counting
    with contextlib.ExitStack() as stack:
        servers = [
            stack.enter_context(contextlib.closing(Server(engine, image, modules, 1)))
            for modules in (PRELOAD, [])
        ]
        for server in servers:
            server.refill()
        memory = tuple(server.memory_mb() for server in servers)
        for n in range(calls):
            for server in servers:
                server.call()
                server.refill()
            while len(docker) * calls < (n + 1) * runs:
                docker.append(warm.docker_run(image, CODE, EXPECTED))
    loaded, plain = (server.times for server in servers)
    print(warm.line("preloaded, warm", loaded))
    print(warm.line("not preloaded, warm", plain))
    print(warm.line("docker run --rm", docker))
    print("memory of a container that waits: %.0f MB preloaded, %.0f MB not" % memory)
    return [statistics.median(other) / statistics.median(loaded) for other in (plain, docker)]


def measure_cold(engine, image, modules):
    with contextlib.closing(Server(engine, image, modules, 0)) as server:
        for _ in range(COLD_CALLS):
            server.call()
        return server.times


def main():
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    engine = Engine()
    base = next((name for name in IMAGES if engine.has_image(name)), None)
    if not base:
        sys.exit("preload.py: the engine has none of %s; run make setup" % ", ".join(IMAGES))
    try:
        image = datascience.ensure(engine, base)
    except EngineError as error:
        print("ok   preload: not measured, there is no data-science image: %s" % error)
        return 0
    times = measure(engine, image, calls, runs)
    print(warm.line("preloaded, cold", measure_cold(engine, image, PRELOAD)))
    print(warm.line("not preloaded, cold", measure_cold(engine, image, [])))
    print("ok   preload: %.0f times faster than without, %.0f times faster than docker run" % tuple(times))
    return 0


if __name__ == "__main__":
    sys.exit(main())
