"""200 clients over HTTP at once, most of them in the queue: each gets its one answer; when all hang
up, nothing is left of their calls."""

import asyncio
import json
import pathlib
import time

import pytest
from driven import MODERN, HttpServer, containers, scripts
from sandbox import members, wait_until

CLIENTS = 200
FLAGS = ["--queue=200", "--queue-timeout=600", "--max-running=8"]
PLACES = 8
GONE_S = 5

# The C library keeps what a first wave made it take, in pieces. What a later wave adds would be a
# leak, of 5 KiB for each client.
KEPT_KB = 6144
LEAK_KB = 1024

META = "io.modelcontextprotocol/"
ENVELOPE = {
    META + "protocolVersion": MODERN,
    META + "clientInfo": {"name": "load", "version": "1"},
    META + "clientCapabilities": {},
}

pytestmark = pytest.mark.timeout(280)


@pytest.fixture
def server(engine, base_image, tmp_path):
    with HttpServer(tmp_path, *FLAGS) as running:
        yield running


def request(server, number, code, timeout):
    """A call with a progress token; every other client is a modern one."""
    meta = {"progressToken": "token-%d" % number}
    lines = [
        "POST /mcp HTTP/1.1",
        "Host: 127.0.0.1:%d" % server.port,
        "Authorization: Bearer " + server.token,
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
    ]
    if number % 2:
        meta.update(ENVELOPE)
        lines += ["MCP-Protocol-Version: " + MODERN, "Mcp-Method: tools/call",
                  "Mcp-Name: run_python"]
    arguments = {"code": code, "timeout_seconds": timeout}
    body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call",
                       "params": {"name": "run_python", "arguments": arguments, "_meta": meta}})
    lines.append("Content-Length: %d" % len(body))
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


class Caller:
    """One client with a connection of its own."""

    def __init__(self, server, number):
        self.server, self.number = server, number
        self.messages = []

    async def ask(self, code, timeout=60):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        self.writer.write(request(self.server, self.number, code, timeout))
        head = await self.reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ") and b"text/event-stream" in head, head

    async def message(self):
        """The next message of the stream, None at its end."""
        while True:
            size = int(await self.reader.readuntil(b"\r\n"), 16)
            data = (await self.reader.readexactly(size + 2))[:-2]
            if not data:
                return None
            if not data.startswith(b":"):
                assert data.startswith(b"event: message\ndata: ") and data.endswith(b"\n\n"), data
                self.messages.append(json.loads(data.split(b"data: ", 1)[1]))
                return self.messages[-1]

    async def whole(self, code):
        await self.ask(code)
        while await self.message() is not None:
            pass
        self.writer.close()

    def check(self, stdout):
        """Progress, and then the one answer."""
        *progress, answer = self.messages
        assert answer["id"] == self.number, answer
        assert answer["result"]["structuredContent"]["stdout"] == stdout, answer
        assert all(m["method"] == "notifications/progress" for m in progress), progress
        assert all(m["params"]["progressToken"] == "token-%d" % self.number for m in progress)
        values = [m["params"]["progress"] for m in progress]
        assert values == sorted(set(values))
        return any("queue" in m["params"]["message"] for m in progress)


def memory(server):
    """Resident kilobytes of each process of the server."""
    found = {}
    for pid in sorted(members(server.pid)):
        status = pathlib.Path("/proc", str(pid), "status").read_text()
        found[pid] = int(status.split("VmRSS:")[1].split()[0])
    return found


async def answered(server):
    callers = [Caller(server, n) for n in range(CLIENTS)]
    await asyncio.gather(*(c.whole("print(%d)" % c.number) for c in callers))
    queued = [c.check("%d\n" % c.number) for c in callers]
    assert sum(queued) > CLIENTS / 2, "only %d of them were queued" % sum(queued)


async def vanished(server, engine):
    """Clients that all hang up, when as many scripts run as can and each has heard of its call."""
    callers = [Caller(server, n) for n in range(CLIENTS)]
    await asyncio.gather(*(c.ask("import time; time.sleep(60)") for c in callers))
    await asyncio.gather(*(c.message() for c in callers))

    def all_run():
        return scripts(engine, [server.pid]) == PLACES

    assert await asyncio.to_thread(wait_until, all_run, 30, 0.2)
    for caller in callers:
        caller.writer.transport.abort()


def test_200_clients(server, engine, capsys):
    told = []

    def wave(what, act):
        start = time.monotonic()
        asyncio.run(act)
        acted = time.monotonic()
        gone = wait_until(lambda: not containers(engine, [server.pid]), GONE_S)
        found = memory(server)
        told.append("%s in %.1f s, containers gone %.1f s later, resident kB %s"
                    % (what, acted - start, time.monotonic() - acted, found))
        assert gone, "containers outlived their clients"
        return found

    try:
        before = wave("1 client answered", Caller(server, 0).whole("print(0)"))
        wave("%d clients answered" % CLIENTS, answered(server))
        first = wave("%d clients hung up" % CLIENTS, vanished(server, engine))
        second = wave("%d clients hung up" % CLIENTS, vanished(server, engine))
    finally:
        with capsys.disabled():
            print("", *told, sep="\n")

    last = Caller(server, CLIENTS)
    asyncio.run(last.whole("print('after')"))
    last.check("after\n")
    assert set(before) == set(first) == set(second)
    assert all(second[pid] <= before[pid] + KEPT_KB for pid in before), told
    assert all(second[pid] <= first[pid] + LEAK_KB for pid in before), told
