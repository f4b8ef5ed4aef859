"""Files in and artifacts out, over a scripted executor: what goes down, what a client gets, and that
whatever comes, the line stays below its ceiling."""

import base64
import hashlib
import json
import os
import struct
import zlib

import pytest

from front import DONE, Front

REPLY_MAX = 900000


@pytest.fixture
def front():
    with Front() as process:
        yield process


def png(side=10, size=100, seed=0):
    """One of so many pixels a side, with so many bytes of image data that no reader would take."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    data = b"\x78\x9c" + bytes((n * n + seed) % 256 for n in range(size))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", data) + chunk(b"IEND", b""))


def content_of(reply):
    """The blocks behind the text, the text, and the entries of the structured copy, by name."""
    result = reply["result"]
    first, *blocks = result["content"]
    entries = result["structuredContent"].get("artifacts", [])
    included = [e["name"] for e in entries if e["included"]]
    assert len(included) == len(blocks), result
    for block in blocks:
        if block["type"] == "image":
            assert set(block) == {"type", "data", "mimeType"}
            base64.b64decode(block["data"], validate=True)
        else:
            assert block["type"] == "resource"
            assert set(block["resource"]) in ({"uri", "mimeType", "text"}, {"uri", "mimeType", "blob"})
    assert all(("\n- %s: " % e["name"]) in first["text"] for e in entries), first["text"]
    return blocks, first["text"], {e["name"]: e for e in entries}


def left(front, *artifacts, rest=None, **done):
    """The answer to a call whose script leaves these: pairs of name and what artifact() takes."""
    front.call()
    call, _ = front.executor.run()
    for name, facts in artifacts:
        front.executor.artifact(call, name, **facts)
    if rest:
        front.executor.rest(call, *rest)
    front.executor.done(call, **done)
    line = front.line()
    assert len(line) < REPLY_MAX
    return json.loads(line)


# --- files in


def test_files_reach_the_executor(front):
    front.call("1", files=[{"path": "data/ä.csv", "text": "x,y\n"},
                           {"path": "b", "base64": base64.b64encode(bytes(range(256))).decode()},
                           {"path": "empty", "text": ""}])
    _, asked = front.executor.run()
    assert asked["files"] == {"data/ä.csv": b"x,y\n", "b": bytes(range(256)), "empty": b""}
    assert asked["artifacts"] == (64, 512 << 10, 4 * REPLY_MAX, 506250)


def test_files_as_a_string(front):
    front.call("1", files=json.dumps([{"path": "a", "text": "t"}]))
    assert front.executor.run()[1]["files"] == {"a": b"t"}


def test_the_most_that_is_accepted():
    """Sixteen megabytes in sixty-four files, each byte as it is hardest to send."""
    with Front("--workspace=64m") as front:
        size = (16 << 20) // 64
        data = os.urandom(size)
        encoded = base64.encodebytes(data).decode()
        front.call("1", files=[{"path": "d/%d" % n, "base64": encoded} for n in range(64)])
        _, asked = front.executor.run()
        assert len(asked["files"]) == 64 and set(asked["files"].values()) == {data}


@pytest.mark.parametrize("files, parts", [
    ([{"path": "../a", "text": ""}], ["files[0]", '"../a"', '".."']),
    ([{"path": "/etc/passwd", "text": ""}], ["must be relative"]),
    ([{"path": "a"}], ["neither text nor base64"]),
    ([{"path": "a", "text": "", "base64": ""}], ["both text and base64"]),
    ([{"path": "a", "base64": "abc"}], ["cut off"]),
    ([{"path": "a", "text": ""}, {"path": "a/b", "text": ""}], ["files[1]", "cannot both be"]),
    ([{"path": "script.py", "text": ""}], ["the script itself"]),
    ([{"path": str(n), "text": ""} for n in range(65)], ["65", "at most 64"]),
    ([{"path": "a", "text": "x" * ((16 << 20) + 1)}], ["16,777,217 bytes", "16,777,216"]),
    ({"path": "a"}, ["files must be a list"]),
    ("no list", ["files must be a list"]),
])
def test_bad_files_are_refused(front, files, parts):
    front.call("1", files=files)
    reply = front.receive()
    assert reply["result"]["isError"]
    text = reply["result"]["content"][0]["text"]
    assert all(part in text for part in ["nothing was run", *parts]), text
    assert front.executor.is_quiet(0)


def test_files_fit_the_workspace():
    with Front("--workspace=1m") as front:
        front.call("1", files=[{"path": "a", "text": "x" * (1 << 20)}])
        text = front.receive()["result"]["content"][0]["text"]
        assert "/workspace, which has 1 MB" in text


def test_files_switched_off():
    with Front("--files-max=0") as front:
        [tool] = front.ask("tools/list")["result"]["tools"]
        assert "files" not in tool["inputSchema"]["properties"]
        front.call("1", files=[{"path": "a", "text": ""}])
        assert "at most 0" in front.receive()["result"]["content"][0]["text"]


# --- artifacts out


def test_each_kind(front):
    picture = png()
    reply = left(front, ("figure-1.png", dict(data=picture, kind=2)), ("a b.csv", dict(data=b"x,y\n")),
                 ("b.bin", dict(data=b"\0\xff")), rest=(3,))
    (image, text, binary), told, entries = content_of(reply)
    assert image == {"type": "image", "mimeType": "image/png",
                     "data": base64.b64encode(picture).decode()}
    assert text["resource"] == {"uri": "sandbox:///outputs/a%20b.csv", "mimeType": "text/csv",
                                "text": "x,y\n"}
    assert binary["resource"] == {"uri": "sandbox:///outputs/b.bin", "blob": "AP8=",
                                  "mimeType": "application/octet-stream"}
    assert entries["figure-1.png"] == {
        "name": "figure-1.png", "kind": "figure", "mime_type": "image/png", "size": len(picture),
        "sha256": hashlib.sha256(picture).hexdigest(), "included": True}
    assert reply["result"]["structuredContent"]["artifacts_left_out"] == 3
    assert "and 3 more" in told


def test_after_a_failure(front):
    reply = left(front, ("a.txt", dict(data=b"partial")), status="timed_out", exit_code=137)
    assert reply["result"]["isError"]
    (block,), _, _ = content_of(reply)
    assert block["resource"]["text"] == "partial"


@pytest.mark.parametrize("name, data, reason", [
    ("fake.png", b"\x89PNG\r\n\x1a\n" + os.urandom(100), "damaged"),
    ("half.png", png()[:-20], "damaged"),
    ("bomb.png", png(65000), "65,000 × 65,000 pixels"),
    ("large.png", png(2001), "2,000 a side"),
    ("fake.gif", b"GIF89a" + os.urandom(50), "damaged"),
])
def test_no_pictures(front, name, data, reason):
    (block,), text, entries = content_of(left(front, (name, dict(data=data))))
    assert block["type"] == "resource"
    assert block["resource"]["mimeType"] == "application/octet-stream"
    assert reason in entries[name]["reason"] and reason in text


def test_drawings_are_text(front):
    (block,), _, _ = content_of(left(front, ("a.svg", dict(data=b"<svg/>"))))
    assert block["resource"]["mimeType"] == "text/xml"


def test_what_does_not_come_along(front):
    reasons = {1: "larger", 2: "took all the room", 3: "not a regular file", 4: "sparse",
               5: "could not be read", 6: "rename"}
    blocks, text, entries = content_of(left(front, *(
        ("%d.png" % reason, dict(reason=reason, size=5 << 30)) for reason in reasons)))
    assert blocks == []
    for reason, part in reasons.items():
        assert part in entries["%d.png" % reason]["reason"] and part in text
        assert "sha256" not in entries["%d.png" % reason]


def test_twenty_large_figures(front):
    """As many as fit come along, in their order; each of the others is named with its hash."""
    figures = [("figure-%d.png" % n, dict(data=png(1500, 150000, n), kind=2)) for n in range(1, 21)]
    blocks, text, entries = content_of(left(front, *figures))
    assert [b["mimeType"] for b in blocks] == 4 * ["image/png"]
    assert [entries[name]["included"] for name, _ in figures] == 4 * [True] + 16 * [False]
    for name, facts in figures[4:]:
        assert entries[name]["sha256"] == hashlib.sha256(facts["data"]).hexdigest()
        assert "no room" in entries[name]["reason"]


def test_figures_of_the_size_that_was_asked_for(front):
    """Twenty that together are as large as they may be, beside a text of the usual length."""
    front.call()
    call, asked = front.executor.run()
    room = asked["artifacts"][3] // 20
    for n in range(20):
        front.executor.artifact(call, "figure-%d.png" % n, png(800, room - 60, n), kind=2)
    front.executor.output(call, b"0123456789" * 5000)
    front.executor.done(call, totals=(50000, 50000, 0, 0))
    line = front.line()
    blocks, _, _ = content_of(json.loads(line))
    assert len(blocks) == 20 and len(line) < REPLY_MAX


def test_beside_a_flood(front):
    """The text has its room first, and figures what is left."""
    front.call()
    call, _ = front.executor.run()
    front.executor.artifact(call, "figure-1.png", png(10, 400000), kind=2)
    front.executor.artifact(call, "figure-2.png", png(10, 40000), kind=2)
    front.executor.output(call, b"\1" * 50000)
    front.executor.done(call, totals=(50000, 50000, 0, 0))
    line = front.line()
    blocks, _, entries = content_of(json.loads(line))
    assert len(line) < REPLY_MAX and len(blocks) == 1 and entries["figure-2.png"]["included"]


def test_bytes_that_break_off(front):
    """The run was cut off in the middle of an artifact."""
    front.call()
    call, _ = front.executor.run()
    front.executor.send(21, call, struct.pack(">BBQ32sI", 1, 0, 100, bytes(32), 1) + b"a")
    front.executor.send(22, call, b"x" * 50)
    front.executor.done(call, status="cancelled", exit_code=-1, message="the end")
    blocks, _, entries = content_of(front.receive())
    assert not blocks and "could not be read" in entries["a"]["reason"]


@pytest.mark.parametrize("break_it", [
    lambda e, call: e.artifact(call, "a", b"", reason=1) or [
        e.artifact(call, "b", reason=1) for _ in range(64)],
    lambda e, call: e.artifact(call, "a", bytes((512 << 10) + 1)),
    lambda e, call: e.send(22, call, b"of nothing"),
    lambda e, call: e.send(21, call, struct.pack(">BBQ32sI", 1, 1, 1, bytes(32), 3) + b"a\nb"),
    lambda e, call: e.send(23, call, b"short"),
], ids=["too many", "too large", "no artifact", "newline", "short"])
def test_an_executor_that_breaks_the_rules_ends_the_front(front, break_it):
    front.call()
    call, _ = front.executor.run()
    try:
        break_it(front.executor, call)
        front.executor.send(DONE, call, b"")
    except (BrokenPipeError, ConnectionResetError):
        pass
    assert front.wait() != 0


@pytest.mark.parametrize("client, types", [
    ("claude-code", ["image", "resource", "resource"]),
    ("Anthropic/ClaudeAI", ["image", "resource"]),
    ("langchain4j", []),
])
def test_clients_that_lose_a_result_with_some_blocks(front, client, types):
    front.ask("initialize", {"protocolVersion": "2025-11-25", "clientInfo": {"name": client}})
    front.call()
    call, _ = front.executor.run()
    for name, data in ("a.png", png()), ("b.txt", b"text"), ("c.bin", b"\0"):
        front.executor.artifact(call, name, data)
    front.executor.done(call)
    first, *blocks = front.receive()["result"]["content"]
    assert [block["type"] for block in blocks] == types
    assert first["text"].count("this client takes") == 3 - len(types)


def test_images_switched_off():
    with Front("--image-max=0") as front:
        blocks, text, entries = content_of(left(front, ("figure-1.png", dict(data=png(), kind=2))))
        assert blocks == [] and "switched off" in text


def test_nothing_is_collected():
    with Front("--artifacts-max=0") as front:
        front.call()
        call, asked = front.executor.run()
        assert asked["artifacts"][0] == 0
        front.executor.rest(call, 7)
        front.executor.done(call)
        blocks, text, _ = content_of(front.receive())
        assert blocks == [] and "- 7 more" in text
