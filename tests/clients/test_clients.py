"""The official clients and two more, in every era that each speaks, over stdio and over HTTP with a
token: all run the same calls."""

import base64
import hashlib
import json
import struct
import zlib

import pytest
from driven import CONFIGURATIONS, MODERN, HttpServer, connected, containers, scripts
from sandbox import assert_gone, py, wait_until

pytestmark = pytest.mark.timeout(120)

GONE_S = 5
CLOSE_MS = 2000
AT_ONCE = 4
REPLY_MAX = 900000

# Pictures of noise, which no compression makes small.
PICTURES = """
    import os, struct, zlib
    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    def leave(name, width, height):
        rows = b''.join(b'\\0' + os.urandom(3 * width) for _ in range(height))
        open('outputs/' + name, 'wb').write(
            b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0))
            + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
    """

CALLS = {
    "print": dict(code="print('hello')\n6 * 7"),
    "exception": dict(code="1 / 0"),
    "timeout": dict(code="print('begun', flush=True)\nwhile True: pass", timeout_seconds=1),
    "stdin": dict(code="print(input()[::-1])", stdin="abc\n"),
    "bytes": dict(code=r"import os; os.write(1, b'\xff\0\xf0\x9f\x98\x80')"),
    "progress": dict(code=py("""
        import time
        for n in range(4):
            print(n, flush=True)
            time.sleep(0.7)
        """), progress=True),
    "files": dict(
        code="print(open('d/ä.csv').read(), sum(open('b', 'rb').read()))",
        files=[{"path": "d/ä.csv", "text": "x,y"},
               {"path": "b", "base64": base64.b64encode(bytes(range(256))).decode()}]),
    "artifacts": dict(code=py(PICTURES) + py("""
        leave('a.png', 40, 30)
        open('outputs/b.csv', 'w').write('x,y\\n\u2028 \U0001f600\\n')
        open('outputs/c.bin', 'wb').write(bytes(range(256)))
        open('outputs/d.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + bytes(50))
        os.symlink('/etc/passwd', 'outputs/e')
        """)),
    "twenty pictures": dict(code=py(PICTURES) + py("""
        for n in range(20):
            leave('%02d.png' % n, 300, 150 if n % 2 else 100)
        """), timeout_seconds=60),
    "unknown tool": dict(tool="run_cobol", code="DISPLAY 'HELLO'."),
    "wrong argument": dict(script="print(1)"),
    **{n: dict(code="print(input(), %d)" % n, stdin="line %d" % n) for n in range(AT_ONCE)},
}


@pytest.fixture(scope="module")
def http(engine, base_image, tmp_path_factory):
    with HttpServer(tmp_path_factory.mktemp("http"), "--queue-timeout=60") as server:
        yield server


def cancelled(engine, client):
    """One call that is given up while it runs, and one after it."""
    pids = set(client.servers())
    assert wait_until(lambda: not containers(engine, pids), 20), "earlier calls left containers"
    number = client.start(code="import time; time.sleep(60)")

    def running():
        pids.update(client.servers())
        return scripts(engine, pids)

    assert wait_until(running, 20), "the script does not run"
    answer = client.cancel(number).get()
    gone = client.hangs_up and wait_until(lambda: not containers(engine, pids), GONE_S)
    after = client.call(code="print('after')").result()
    return {"answer": answer, "gone": gone, "after": after}, pids


def all_calls(engine, driver, mode, http):
    """The facts of all calls, by name."""
    with connected(driver, mode, http) as client:
        found = {"client": client, "connected": client.connected, "list": client.list().get()}
        running = {name: client.call(**call) for name, call in CALLS.items()}
        found.update((name, answer.get()) for name, answer in running.items())
        found["cancelled"], pids = cancelled(engine, client)
        pids |= client.servers()
        found["closed"] = client.close()
        found["left"] = not wait_until(lambda: not containers(engine, pids), GONE_S)
    if not http:
        for pid in pids:
            assert_gone(engine, pid, 2)
    return found


@pytest.fixture(scope="module", params=["stdio", "http"])
def transport(request):
    return request.param


@pytest.fixture(scope="module", params=CONFIGURATIONS, ids="-".join)
def found(request, transport, engine, base_image):
    http = request.getfixturevalue("http") if transport == "http" else None
    return all_calls(engine, *request.param, http)


def structured(found, name):
    """The structured content of a call that must have some; the text tells the same status."""
    result = found[name]["result"]
    data = result["structuredContent"]
    assert result.get("isError", False) == (data["status"] != "ok"), result
    assert result["content"][0]["type"] == "text", result
    assert result["content"][0]["text"].startswith(data["status"]), result
    return data


def test_connect(found):
    client = found["client"]
    if client.driver == "inspector_cli":
        return  # it does not say to whom it talks
    server = found["connected"]["server"]
    assert server is None and client.mode == MODERN or server["name"] == "python-sandbox"
    assert found["connected"].get("version") in (
        [MODERN] if client.is_modern else ["2025-11-25", None])


def test_list(found):
    """The Inspector looks for what some clients cannot digest."""
    [tool] = found["list"]["result"]["tools"]
    assert tool["name"] == "run_python"
    assert set(tool["inputSchema"]["properties"]) == {"code", "timeout_seconds", "stdin", "files"}
    assert tool["inputSchema"]["required"] == ["code"]
    assert tool["outputSchema"]["type"] == "object"
    assert 0 < len(tool["description"]) <= 2048
    assert found["list"].get("exit", 0) == 0


def test_print(found):
    data = structured(found, "print")
    assert (data["status"], data["stdout"], data["value"]) == ("ok", "hello\n", "42")
    assert "hello" in found["print"]["result"]["content"][0]["text"]


def test_exception(found):
    data = structured(found, "exception")
    assert data["status"] == "error" and data["exit_code"] == 1
    assert "ZeroDivisionError" in data["stderr"]
    assert "ZeroDivisionError" in found["exception"]["result"]["content"][0]["text"]


def test_timeout(found):
    data = structured(found, "timeout")
    assert (data["status"], data["timed_out"], data["stdout"]) == ("timed_out", True, "begun\n")


def test_stdin(found):
    assert structured(found, "stdin")["stdout"] == "cba\n"


def test_bytes(found):
    assert structured(found, "bytes")["stdout"] == "\ufffd\0\U0001f600"


def test_files(found):
    assert structured(found, "files")["stdout"] == "x,y %d\n" % sum(range(256))


def check_png(data, width):
    """A whole picture, as a reader takes it."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        body = data[at + 4 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(body)
        parts[body[:4]] = parts.get(body[:4], b"") + body[4:]
        at += 12 + length
    height = struct.unpack(">II", parts[b"IHDR"][:8])[1]
    assert len(zlib.decompress(parts[b"IDAT"])) == (3 * width + 1) * height


def blocks(found, name):
    """The blocks behind the text, by the names of the artifacts; each is what its entry says."""
    data = structured(found, name)
    entries = [entry for entry in data["artifacts"] if entry["included"]]
    behind = found[name]["result"]["content"][1:]
    assert len(entries) == len(behind)
    for entry, block in zip(entries, behind):
        if block["type"] == "image":
            content, kind = base64.b64decode(block["data"], validate=True), block["mimeType"]
        else:
            resource = block["resource"]
            kind = resource["mimeType"]
            content = (resource["text"].encode() if "text" in resource
                       else base64.b64decode(resource["blob"], validate=True))
        assert kind == entry["mime_type"] and len(content) == entry["size"], entry
        assert hashlib.sha256(content).hexdigest() == entry["sha256"], entry
    return {entry["name"]: block for entry, block in zip(entries, behind)}


def test_artifacts(found):
    came = blocks(found, "artifacts")
    assert [b["type"] for b in came.values()] == ["image", "resource", "resource", "resource"]
    check_png(base64.b64decode(came["a.png"]["data"]), 40)
    assert came["b.csv"]["resource"]["text"] == "x,y\n\u2028 \U0001f600\n"
    assert came["b.csv"]["resource"]["uri"] == "sandbox:///outputs/b.csv"
    assert came["c.bin"]["resource"]["mimeType"] == "application/octet-stream"
    assert came["d.png"]["resource"]["mimeType"] == "application/octet-stream"
    reasons = {e["name"]: e.get("reason", "") for e in structured(found, "artifacts")["artifacts"]}
    assert "damaged" in reasons["d.png"] and "not a regular file" in reasons["e"]


def test_twenty_large_pictures(found):
    """As many as the answer holds are blocks, the others are named; all of it is below its limit."""
    came = blocks(found, "twenty pictures")
    assert all(block["type"] == "image" and block["mimeType"] == "image/png" for block in came.values())
    for block in came.values():
        check_png(base64.b64decode(block["data"]), 300)
    entries = structured(found, "twenty pictures")["artifacts"]
    assert len(entries) == 20 and 5 <= len(came) < 20
    for entry in entries:
        assert entry["included"] or "no room" in entry["reason"] and len(entry["sha256"]) == 64
    size = len(json.dumps(found["twenty pictures"]["result"], ensure_ascii=False).encode())
    assert 600000 < size < REPLY_MAX


def test_unknown_tool(found):
    """The client's own error, or the server's as the client tells it."""
    answer = found["unknown tool"]
    assert "run_cobol" in str(answer)
    assert "error" in answer or answer["result"]["isError"]


def test_wrong_argument(found):
    answer = found["wrong argument"]["result"]
    assert answer["isError"] and "structuredContent" not in answer
    assert "code is missing" in answer["content"][0]["text"]


def test_concurrent_calls(found):
    outputs = [structured(found, n)["stdout"] for n in range(AT_ONCE)]
    assert outputs == ["line %d %d\n" % (n, n) for n in range(AT_ONCE)]


def test_progress(found):
    assert structured(found, "progress")["stdout"] == "0\n1\n2\n3\n"
    if found["client"].driver == "inspector_cli":
        return  # it asks for progress and does not show it
    values = [p["progress"] for p in found["progress"]["progress"]]
    assert values and values == sorted(set(values))
    assert all(p["message"] for p in found["progress"]["progress"])


def test_cancel(found):
    """Where the client cannot tell the server, its end does."""
    facts = found["cancelled"]
    assert "error" in facts["answer"], facts
    assert facts["gone"] or not found["client"].hangs_up, "the container outlived its call"
    assert facts["after"]["structuredContent"]["stdout"] == "after\n"


def test_close(found):
    assert not found["left"], "a container outlived its client"
    assert found["closed"]["milliseconds"] < CLOSE_MS
    # Version 2 of the TypeScript client tells that it aborted what it gave up.
    assert [e for e in found["closed"]["errors"] if "AbortError" not in e] == []
