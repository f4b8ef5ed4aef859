"""The front over stdio, with a scripted executor: what a client sees, and what bad input does."""

import json
import os
import signal
import struct
import subprocess
import time

import pytest

from front import BINARY, DONE, PULLING, QUEUED, RUNNING, STOP, Front

ERROR_PARSE, ERROR_REQUEST, ERROR_METHOD, ERROR_PARAMS = -32700, -32600, -32601, -32602
DEFAULT_LINE_MAX = 6 * (2 << 20) + 3 * (16 << 20) + 64 * 6 * 512 + 65536


@pytest.fixture
def front():
    with Front() as process:
        yield process


def result_of(reply):
    assert "error" not in reply
    return reply["result"]


def text_of(reply):
    (block,) = result_of(reply)["content"]
    assert block["type"] == "text" and block["text"]
    return block["text"]


# --- handshake and methods


@pytest.mark.parametrize("asked, answered", [
    ("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"), ("2025-03-26", "2025-03-26"),
    ("2024-11-05", "2024-11-05"), ("2026-07-28", "2025-11-25"), ("1999-01-01", "2025-11-25")])
def test_initialize(front, asked, answered):
    result = result_of(front.ask("initialize", {
        "protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}))
    assert result["protocolVersion"] == answered
    assert result["capabilities"] == {"tools": {}}
    assert result["serverInfo"]["name"] == "python-sandbox"
    front.notify("notifications/initialized", {})
    front.ping()
    assert front.executor.is_quiet(0)


def test_first_answer_is_quick():
    def time_to_first_answer():
        with Front() as front:
            front.ask("initialize", {"protocolVersion": "2025-11-25"})
            front.ask("tools/list")
            return time.monotonic() - front.started

    # The shell that starts it is in the time, and other work on the machine.
    assert min(time_to_first_answer() for _ in range(5)) < 0.1


def test_discover_then_initialize_on_one_pipe(front):
    claim = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                       "io.modelcontextprotocol/clientCapabilities": {}}}
    assert "2026-07-28" in result_of(front.ask("server/discover", claim))["supportedVersions"]
    assert front.ask("server/discover")["error"]["code"] == ERROR_PARAMS
    assert "protocolVersion" in result_of(front.ask("initialize", {}))
    assert len(result_of(front.ask("tools/list"))["tools"]) == 1


def test_tools_list_needs_no_handshake(front):
    result = result_of(front.ask("tools/list"))
    (tool,) = result["tools"]
    assert set(result) == {"tools"}
    assert tool["name"] == "run_python"
    assert tool["inputSchema"]["required"] == ["code"]
    assert set(tool["outputSchema"]["required"]) <= set(tool["outputSchema"]["properties"])
    assert len(tool["description"].encode()) < 2048
    assert front.ask("tools/list", {"cursor": "x"})["error"]["code"] == ERROR_PARAMS


def test_unknown(front):
    assert front.ask("resources/list")["error"]["code"] == ERROR_METHOD
    reply = front.ask("tools/call", {"name": "no_such_tool"})
    assert reply["error"]["code"] == ERROR_PARAMS and "no_such_tool" in reply["error"]["message"]
    front.notify("notifications/who_knows", {})
    front.send({"jsonrpc": "2.0", "id": 9, "result": {}})
    assert front.is_quiet()
    front.ping()


@pytest.mark.parametrize("id", ["0", '"0"', "-1", "9007199254740993", '"a b"', '""', '"\\u00e9"'])
def test_ids_are_echoed_as_written(front, id):
    front.write(b'{"jsonrpc":"2.0","id":%s,"method":"ping"}\n' % id.encode())
    assert front.line() == b'{"jsonrpc":"2.0","id":%s,"result":{}}' % id.encode()


# --- lines that are none


@pytest.mark.parametrize("line, code", [
    (b"garbage", ERROR_PARSE),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"', ERROR_PARSE),
    (b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}', ERROR_PARSE),
    (b"\x00\x01\x02", ERROR_PARSE),
    (b"[" * 100_000, ERROR_PARSE),
    (b'{"a":' * 50_000, ERROR_PARSE),
    (b"[]", ERROR_REQUEST),
    (b"5", ERROR_REQUEST),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', ERROR_REQUEST),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', ERROR_REQUEST),
    (b'{"jsonrpc":"2.0","id":false,"method":"ping"}', ERROR_REQUEST),
    (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', ERROR_REQUEST),
], ids=range(12))
def test_garbage_gets_one_error_without_id(front, line, code):
    front.write(line + b"\n")
    reply = front.receive()
    assert reply["error"]["code"] == code
    assert "id" not in reply
    front.ping()


def test_blank_lines_and_crlf(front):
    front.write(b'\n\r\n   \n{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n\n')
    assert front.receive()["id"] == 1
    assert front.is_quiet()


def test_split_writes(front):
    for byte in b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n':
        front.write(bytes([byte]))
        time.sleep(0.001)
    assert front.receive()["id"] == 1


def test_long_lines(front):
    # The largest code that is accepted, each byte as six.
    front.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_python",'
                b'"arguments":{"code":"#' + b"\\u0001" * ((1 << 20) - 1) + b'"}}}\n')
    call, asked = front.executor.run()
    assert len(asked["code"]) == 1 << 20
    front.executor.done(call)
    assert front.receive()["id"] == 1

    front.write(b'{"x":"' + b"y" * (2 * DEFAULT_LINE_MAX) + b'"}\n')
    reply = front.receive()
    assert "id" not in reply and f"{DEFAULT_LINE_MAX:,}" in reply["error"]["message"]
    assert front.is_quiet()
    front.ping()


def test_line_ceiling_follows_the_settings():
    with Front("--code-max=1k", "--stdin-max=0", "--files-max=0") as front:
        front.write(b'"' + b"y" * (6 * 1024 + 65536 - 2) + b'"\n')
        assert front.receive()["error"]["message"] == "a message must be a JSON object"
        front.write(b'"' + b"y" * (6 * 1024 + 65536 - 1) + b'"\n')
        assert "too long" in front.receive()["error"]["message"]
        front.call("x" * 1025)
        assert "at most 1,024" in text_of(front.receive())
        front.ping()


def test_storm_of_notifications(front):
    front.write(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n'
                * 20_000)
    front.ping()


# --- calls


def test_call(front):
    front.ask("initialize", {"protocolVersion": "2025-11-25", "clientInfo": {"name": "me"}})
    id = front.call("print(input())", timeout_seconds="2.5", stdin="hé\n", toolCallId="x")
    call, asked = front.executor.run()
    assert asked == {"profile": 0, "timeout_ms": 2500, "keep": (100_000, 100_000), "label": "me",
                     "code": "print(input())", "stdin": "hé\n", "files": {},
                     "artifacts": (64, 512 << 10, 3_600_000, 506_250)}
    front.executor.phase(call, RUNNING)
    front.executor.output(call, "hé\n".encode())
    front.executor.done(call, totals=(4, 3, 0, 0))
    reply = front.receive()
    assert reply["id"] == id
    assert text_of(reply) == ("ok: exit code 0, 12 ms (image:tag, Python 3.12.4)\n"
                              "note: arguments that were ignored: toolCallId\n"
                              "\nstdout:\nhé\n")
    assert reply["result"]["structuredContent"] == {
        "status": "ok", "stdout": "hé\n", "stderr": "", "exit_code": 0, "timed_out": False,
        "truncated": False, "oom_kills": 0, "duration_ms": 12, "cpu_ms": 12,
        "notes": ["arguments that were ignored: toolCallId"], "image": "image:tag",
        "python": "3.12.4"}
    assert "isError" not in reply["result"]


@pytest.mark.parametrize("arguments, says", [
    (None, "code is missing"), ({}, "code is missing"), ({"code": 1}, "code must be a string"),
    ([], "arguments must be an object"), ("x", "arguments must be an object"),
    ({"code": "1", "timeout_seconds": 301}, "above 0 and at most 300"),
    ({"code": "1", "stdin": []}, "stdin must be a string")])
def test_bad_arguments(front, arguments, says):
    reply = front.ask("tools/call", {"name": "run_python", "arguments": arguments})
    assert reply["result"]["isError"] is True and says in text_of(reply)
    assert front.executor.is_quiet(0)


def test_arguments_as_string(front):
    front.request("tools/call", {"name": "run_python", "arguments": '{"code":"print(1)"}'})
    assert front.executor.run()[1]["code"] == "print(1)"


def test_concurrent_calls_and_ping(front):
    ids = [front.call(f"print({i})") for i in range(5)]
    calls = [front.executor.run()[0] for _ in ids]
    assert len(set(calls)) == 5
    front.ping()
    for call in reversed(calls):
        front.executor.done(call)
    assert [front.receive()["id"] for _ in ids] == ids[::-1]


def test_busy_when_the_table_is_full():
    with Front("--max-running=1", "--queue=0") as front:
        for _ in range(17):
            front.call()
        assert front.is_quiet()
        front.call(id="last")
        reply = front.receive()
        assert reply["id"] == "last"
        assert reply["result"]["structuredContent"]["status"] == "busy"
        front.ping()


def test_cancel(front):
    id = front.call(token=1)
    call, _ = front.executor.run()
    front.executor.phase(call, RUNNING)
    assert front.receive()["method"] == "notifications/progress"
    front.notify("notifications/cancelled", {"requestId": str(id)})
    front.notify("notifications/cancelled", {"requestId": 999})
    front.notify("notifications/cancelled", {})
    assert front.executor.is_quiet()
    front.notify("notifications/cancelled", {"requestId": id, "reason": "user"})
    assert front.executor.receive() == (STOP, call, b"")
    front.executor.phase(call, PULLING, 5)
    front.executor.output(call, b"late")
    front.executor.done(call, "cancelled", -1)
    assert front.is_quiet(0.7)
    front.ping()


@pytest.mark.parametrize("token", [0, -1, "", "t" * 300])
def test_progress(front, token):
    front.call(token=token)
    call, _ = front.executor.run()
    front.executor.phase(call, QUEUED, 3)
    first = front.receive()
    assert first["method"] == "notifications/progress"
    assert first["params"]["progressToken"] == token
    assert type(first["params"]["progressToken"]) is type(token)
    assert first["params"]["message"] == "queued, 3rd in line"
    start = time.monotonic()
    for per_cent in range(50):
        front.executor.phase(call, PULLING, per_cent)
    second = front.receive()
    assert time.monotonic() - start > 0.4
    assert second["params"]["message"] == "pulling image: 49 %"
    assert second["params"]["progress"] > first["params"]["progress"]
    front.executor.phase(call, RUNNING)
    front.executor.done(call)
    assert "result" in front.receive()
    assert front.is_quiet(0.7)


@pytest.mark.parametrize("token", [1.5, {"a": 1}, [1], True])
def test_bad_progress_token_is_ignored(front, token):
    front.call(token=token)
    call, _ = front.executor.run()
    front.executor.phase(call, RUNNING)
    front.executor.done(call)
    assert "result" in front.receive()


def test_progress_while_running(front):
    front.call(token=0)
    call, _ = front.executor.run()
    front.executor.phase(call, RUNNING)
    assert front.receive()["params"]["message"] == "running"
    assert front.receive()["params"]["message"] == "running for 5 s"


# --- large output


def test_large_output_is_cut(front):
    front.call()
    call, _ = front.executor.run()
    front.executor.output(call, "é".encode() * 50_000)
    front.executor.output(call, b"\xa9" + "ü".encode() * 49_999 + b"x", tail=True)
    front.executor.done(call, totals=(4_800_000, 2_400_000, 0, 0))
    reply = front.receive()
    line = "\n… 2,350,000 characters left out of 2,400,000 …\n"
    assert line in text_of(reply)
    structured = reply["result"]["structuredContent"]
    assert structured["truncated"] is True
    assert structured["stdout"] == "é" * 25_000 + line + "ü" * 24_999 + "x"


@pytest.mark.parametrize("reply_max", ["16k", "60k", "200000"])
@pytest.mark.parametrize("filler", [b"x", b"\xff", b"\0", "🐍".encode(), b'"\\'])
def test_reply_ceiling(reply_max, filler):
    with Front(f"--reply-max={reply_max}") as front:
        front.call()
        call, _ = front.executor.run()
        data = filler * (60_000 // len(filler))
        for stream in (1, 2):
            front.executor.output(call, data, stream)
        chars = len(data.decode(errors="replace"))
        front.executor.done(call, totals=(len(data), chars) * 2)
        line = front.line()
        size = int(reply_max[:-1]) * 1024 if reply_max.endswith("k") else int(reply_max)
        assert len(line) + 1 < size
        assert f"of {chars:,} …" in text_of(json.loads(line))


def test_reader_that_stops_reading(front):
    """Replies wait, other calls go on, and nothing is lost or torn."""
    ids = []
    for i in range(40):
        ids.append(front.call())
        call, _ = front.executor.run()
        front.executor.output(call, b"%d" % (i % 10) * 50_000)
        front.executor.done(call, totals=(50_000, 50_000, 0, 0))
    ids.append(front.request("ping"))
    replies = [front.receive() for _ in ids]
    assert [reply["id"] for reply in replies] == ids
    assert len(replies[7]["result"]["structuredContent"]["stdout"]) == 50_000


def test_backlog_is_bounded():
    """A client that only writes is not read from for ever."""
    with Front() as front:
        os.set_blocking(front.process.stdin.fileno(), False)
        lines = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n' * 1000
        sent = 0
        quiet_since = time.monotonic()
        while time.monotonic() - quiet_since < 1:
            try:
                sent += os.write(front.process.stdin.fileno(), lines[sent % len(lines) :])
                quiet_since = time.monotonic()
            except BlockingIOError:
                time.sleep(0.01)
            assert sent < 100_000_000
        with open(f"/proc/{front.process.pid}/status", encoding="ascii") as status:
            (kb,) = (int(row.split()[1]) for row in status if row.startswith("VmHWM"))
        assert kb < 200_000
        # It reads on when the client does.
        for _ in range(sent // (len(lines) // 1000)):
            assert front.line().startswith(b'{"jsonrpc":"2.0","id":1,')


def test_stderr_that_nobody_reads():
    with Front("--log-level=debug", stderr=subprocess.PIPE) as front:
        for _ in range(2000):
            front.write(b"garbage\n")
            front.line()
        front.ping()


# --- the end


def test_end_of_input(front):
    front.end()
    assert front.executor.receive() is None
    front.executor.close()
    assert front.wait(2) == 0


def test_end_of_input_during_a_run(front):
    id = front.call()
    call, _ = front.executor.run()
    front.end()
    assert front.executor.receive() is None
    front.executor.output(call, b"partial")
    front.executor.done(call, "cancelled", -1, message="the server is stopping")
    front.executor.close()
    reply = front.receive()
    assert reply["id"] == id
    assert reply["result"]["structuredContent"]["status"] == "cancelled"
    assert reply["result"]["structuredContent"]["stdout"] == "partial"
    assert front.line() is None
    assert front.wait(2) == 0


def test_end_of_input_with_an_executor_that_hangs(front):
    front.call()
    front.executor.run()
    start = time.monotonic()
    front.end()
    assert front.wait(3) == 0
    assert 0.8 < time.monotonic() - start < 2


def test_last_line_without_newline(front):
    front.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    front.end()
    assert front.receive()["id"] == 1


def test_input_from_a_file(tmp_path):
    path = tmp_path / "in"
    path.write_bytes(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n' * 3)
    with open(path, "rb") as file, Front(stdin=file) as front:
        assert [front.receive()["id"] for _ in range(3)] == [1, 1, 1]
        assert front.executor.receive() is None
        front.executor.close()
        assert front.wait(2) == 0


def test_output_to_a_file(tmp_path):
    with open(tmp_path / "out", "w+b") as file, Front(stdout=file) as front:
        front.request("ping")
        front.end()
        assert front.executor.receive() is None
        front.executor.close()
        assert front.wait(2) == 0
        file.seek(0)
        assert file.read() == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'


def test_stdout_closed(front):
    front.call()
    front.executor.run()
    front.process.stdout.close()
    front.request("ping")
    assert front.executor.receive() is None
    front.executor.close()
    assert front.wait(2) == 0


def test_stdout_that_nobody_reads_does_not_delay_the_end(front):
    for _ in range(3):
        front.call()
        call, _ = front.executor.run()
        front.executor.output(call, b"x" * 50_000)
        front.executor.done(call, totals=(50_000, 50_000, 0, 0))
    front.end()
    assert front.executor.receive() is None
    front.executor.close()
    start = time.monotonic()
    assert front.wait(3) == 0
    assert time.monotonic() - start < 2


def test_executor_that_ends(front):
    id = front.call()
    front.executor.run()
    front.executor.close()
    reply = front.receive()
    assert reply["id"] == id
    assert reply["result"]["structuredContent"]["status"] == "sandbox_error"
    assert front.line() is None
    assert front.wait(2) == 0


def test_signals_are_ignored(front):
    front.ping()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        front.process.send_signal(number)
    front.ping()


@pytest.mark.parametrize("bad", [
    b"\xff" * 12,
    struct.pack(">BxxxII", 99, 1, 0),
    struct.pack(">BxxxII", DONE, 1, 0),
    struct.pack(">BxxxII", DONE, 1, 0xFFFFFFFF),
    struct.pack(">BxxxII", 1, 1, 5),
    struct.pack(">BxxxII", STOP, 1, 0),
    struct.pack(">BxxxIIBI", 16, 7, 5, RUNNING, 0),
], ids=["noise", "type", "short", "huge", "run", "stop", "call"])
def test_malformed_message_from_the_executor(bad):
    with Front(stderr=subprocess.PIPE) as front:
        front.call()
        front.executor.run()
        front.executor.sock.sendall(bad)
        assert front.wait(2) == 1
        assert b"executor" in front.process.stderr.read()


def test_not_started_by_hand():
    done = subprocess.run(
        ["/bin/bash", "-c", "exec \"$0\" front 3<&-", BINARY],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False)
    assert done.returncode == 1
    assert done.stdout == b"" and b"serve" in done.stderr
