"""Both eras of the protocol and batches on one pipe, with a scripted executor."""

import json

import pytest

from front import RUNNING, STOP, Front

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
CLIENT = "io.modelcontextprotocol/clientInfo"
SERVER = "io.modelcontextprotocol/serverInfo"
ERROR_REQUEST, ERROR_METHOD, ERROR_PARAMS, ERROR_VERSION = -32600, -32601, -32602, -32022
LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


@pytest.fixture
def front():
    with Front() as process:
        yield process


def claim(client=None, **meta):
    """Parameters of a modern request."""
    meta = {VERSION: "2026-07-28", CAPABILITIES: {}, **meta}
    if client:
        meta[CLIENT] = {"name": client, "version": "1"}
    return {"_meta": meta}


def run_params(code="print(1)"):
    return {"name": "run_python", "arguments": {"code": code}}


def assert_modern(result):
    assert result["resultType"] == "complete"
    assert result["_meta"][SERVER]["name"] == "python-sandbox"


def assert_legacy(result):
    assert not {"resultType", "_meta", "ttlMs", "cacheScope"} & set(result)


@pytest.mark.parametrize("revision", LEGACY)
def test_discover_then_initialize_then_both(front, revision):
    """No message changes what another one means."""
    result = front.ask("server/discover", claim("probe"))["result"]
    assert_modern(result)
    assert result["supportedVersions"] == ["2026-07-28"]
    assert result["capabilities"] == {"tools": {}}
    assert result["ttlMs"] >= 0 and result["cacheScope"] == "public"

    result = front.ask("initialize", {"protocolVersion": revision, "capabilities": {},
                                      "clientInfo": {"name": "old", "version": "1"}})["result"]
    assert_legacy(result)
    assert result["protocolVersion"] == revision
    front.notify("notifications/initialized", {})

    for _ in range(2):
        front.ping()
        assert front.ask("ping", claim())["error"]["code"] == ERROR_METHOD
        assert front.ask("initialize", claim())["error"]["code"] == ERROR_METHOD
        assert front.ask("server/discover")["error"]["code"] == ERROR_PARAMS
        assert_modern(front.ask("tools/list", claim())["result"])
        assert_legacy(front.ask("tools/list")["result"])

        old = front.call()
        new = front.request("tools/call", {**run_params(), **claim("new")})
        first, asked = front.executor.run()
        assert asked["label"] == "old"
        second, asked = front.executor.run()
        assert asked["label"] == "new"
        front.executor.done(second)
        front.executor.done(first)
        reply = front.receive()
        assert reply["id"] == new
        assert_modern(reply["result"])
        reply = front.receive()
        assert reply["id"] == old
        assert_legacy(reply["result"])


@pytest.mark.parametrize("method", ["tools/list", "tools/call", "server/discover", "initialize"])
def test_unserved_version(front, method):
    error = front.ask(method, claim(**{VERSION: "v999.0.0"}))["error"]
    assert error["code"] == ERROR_VERSION
    assert error["data"] == {"supported": ["2026-07-28"], "requested": "v999.0.0"}


@pytest.mark.parametrize("meta", [
    {VERSION: "2026-07-28"}, {VERSION: "2026-07-28", CAPABILITIES: []},
    {VERSION: "2026-07-28", CAPABILITIES: None}, {VERSION: 20260728, CAPABILITIES: {}},
    {VERSION: None, CAPABILITIES: {}}])
def test_incomplete_claim(front, meta):
    assert front.ask("tools/list", {"_meta": meta})["error"]["code"] == ERROR_PARAMS


def test_cancelled_modern_call(front):
    """Nothing more comes for its id: no answer, and no progress."""
    id = front.request("tools/call", {**run_params(), **claim(progressToken="t")})
    call, _ = front.executor.run()
    front.executor.phase(call, RUNNING)
    assert front.receive()["params"]["progressToken"] == "t"
    front.notify("notifications/cancelled", {"requestId": id, **claim()})
    assert front.executor.receive()[:2] == (STOP, call)
    front.executor.phase(call, RUNNING, 1)
    front.executor.output(call, b"late\n")
    front.executor.done(call, "cancelled")
    assert front.is_quiet(0.7)
    front.notify("notifications/cancelled", {"requestId": id})
    front.ping()


@pytest.mark.parametrize("token", [0, -1, "", "x" * 300, 2**53 + 1, 10**30])
@pytest.mark.parametrize("params", [claim, lambda **meta: {"_meta": meta}])
def test_tokens_are_echoed(front, token, params):
    front.request("tools/call", {**run_params(), **params(progressToken=token)})
    call, _ = front.executor.run()
    front.executor.phase(call, RUNNING)
    told = front.receive()["params"]
    assert told["progressToken"] == token and type(told["progressToken"]) is type(token)
    front.executor.done(call)
    assert "result" in front.receive()


@pytest.mark.parametrize("token", [1.5, None, True, {}, [1], "x" * 2000])
def test_tokens_that_are_none(front, token):
    front.request("tools/call", {**run_params(), **claim(progressToken=token)})
    call, _ = front.executor.run()
    front.executor.phase(call, RUNNING)
    assert front.is_quiet(0.7)
    front.executor.done(call)
    assert "result" in front.receive()


def test_last_line_of_output(front):
    front.call(token=1)
    call, _ = front.executor.run()
    front.executor.phase(call, RUNNING)
    assert front.receive()["params"]["message"] == "running"
    front.executor.output(call, b"epoch 1\r\x1b[32mepoch 2\x1b[0m\r")
    told = front.receive(4)["params"]
    assert told["message"] in ("running for 1 s: epoch 2", "running for 2 s: epoch 2")
    assert told["progress"] == 2
    front.executor.done(call)
    assert "result" in front.receive()


# --- structured copies


@pytest.mark.parametrize("flags, client, expected", [
    ([], "some-client", True), ([], "claude-code", False), ([], "codex-mcp-client", False),
    (["--structured-content=always"], "claude-code", True),
    (["--structured-content=never"], "some-client", False)])
def test_structured_copy(flags, client, expected):
    """For whom there is one; the schema is declared just there."""
    with Front(*flags) as front:
        front.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                 "clientInfo": {"name": client, "version": "1"}})
        for params in ({}, claim(client)):
            [tool] = front.ask("tools/list", params)["result"]["tools"]
            assert ("outputSchema" in tool) is expected
            front.request("tools/call", {**run_params(), **params})
            call, _ = front.executor.run()
            front.executor.output(call, b"hello\n")
            front.executor.done(call, totals=(6, 6, 0, 0))
            result = front.receive()["result"]
            assert ("structuredContent" in result) is expected
            assert "hello" in result["content"][0]["text"]


# --- batches


def test_batch(front):
    messages = [{"jsonrpc": "2.0", "id": "a", "method": "ping"},
                {"jsonrpc": "2.0", "method": "notifications/initialized"},
                {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": run_params()},
                {"jsonrpc": "2.0", "id": 3, "method": "no/such"}, 5]
    front.send(messages)
    call, _ = front.executor.run()
    front.ping()  # others are served meanwhile
    front.executor.done(call)
    answers = front.receive()
    assert [a.get("id") for a in answers] == ["a", 3, None, 2]
    assert answers[0]["result"] == {} and "content" in answers[3]["result"]
    assert answers[1]["error"]["code"] == ERROR_METHOD
    assert answers[2]["error"]["code"] == ERROR_REQUEST and "id" not in answers[2]


def test_batch_without_answers(front):
    front.send([{"jsonrpc": "2.0", "method": "notifications/initialized"}] * 3)
    assert front.is_quiet()
    front.ping()


@pytest.mark.parametrize("batch", [
    [], [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}],
    [{"jsonrpc": "2.0", "id": 1, "method": "ping"},
     {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": claim()}],
    [{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in range(51)]])
def test_batch_refused(front, batch):
    front.send(batch)
    reply = front.receive()
    assert reply["error"]["code"] == ERROR_REQUEST and "id" not in reply
    front.ping()


def test_cancel_in_a_batch(front):
    front.send([{"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": run_params()}
                for n in (1, 2)])
    first, _ = front.executor.run()
    second, _ = front.executor.run()
    front.notify("notifications/cancelled", {"requestId": 1})
    assert front.executor.receive()[:2] == (STOP, first)
    front.executor.done(second)
    assert [a["id"] for a in front.receive()] == [2]
    front.executor.done(first, "cancelled")
    assert front.is_quiet()


def test_reply_ceiling_of_a_batch():
    with Front("--reply-max=60k") as front:
        front.send([{"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": run_params()}
                    for n in (1, 2, 3)])
        for _ in range(3):
            call, _ = front.executor.run()
            front.executor.output(call, b"x" * 60000)
            front.executor.done(call, totals=(60000, 60000, 0, 0))
        line = front.line()
        assert 30000 < len(line) < 60 << 10
        for answer in json.loads(line):
            assert "left out of 60,000" in answer["result"]["content"][0]["text"]


# --- names and duplicates


@pytest.mark.parametrize("text, code", [
    (b'{"jsonrpc":"2.0","id":1,"Method":"ping"}', ERROR_REQUEST),
    (b'{"jsonrpc":"2.0","id":1,"method":"Ping"}', ERROR_METHOD),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":1,"a":2}}', ERROR_PARAMS),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"a":1,"\\u0061":2}}}',
     ERROR_PARAMS),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"run_python"}}',
     ERROR_PARAMS)])
def test_names_are_exact(front, text, code):
    front.write(text + b"\n")
    reply = front.receive()
    assert reply["error"]["code"] == code and reply["id"] == 1


def test_duplicate_argument(front):
    front.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_python",'
                b'"arguments":{"code":"1","code":"2"}}}\n')
    result = front.receive()["result"]
    assert result["isError"] and "more than once" in result["content"][0]["text"]
