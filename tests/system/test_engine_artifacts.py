"""The server over an engine whose supervisors leave artifacts: what is passed on, and that a container
which breaks the rules gets a verdict of the sandbox's."""

import base64
import struct
import time

import pytest

from served import run, serving


def leaving(*acts, code=0):
    """A supervisor that does this once the script has ended."""

    def play(supervisor):
        supervisor.hello()
        supervisor.job()
        supervisor.started()
        for act in acts:
            act(supervisor)
        supervisor.exit(code)
        supervisor.hold()

    return play


def artifact(*args, **kwargs):
    return lambda s: s.artifact(*args, **kwargs)


def artifacts(result):
    return {entry["name"]: entry for entry in result.data.get("artifacts", [])}


def blocks(result):
    return result.content[1:]


def test_files_go_down_before_the_input(engine):
    jobs = []

    def play(supervisor):
        supervisor.hello()
        jobs.append(supervisor.job())
        supervisor.started()
        supervisor.exit()
        supervisor.hold()

    engine.play = play
    data = bytes(range(256)) * 1000
    files = [{"path": "d/ä\n.bin", "base64": base64.b64encode(data).decode()},
             {"path": "empty", "text": ""}, {"path": "z", "text": "last"}]
    assert run(engine, code="print(1)", stdin="input", files=files).status == "ok"
    [job] = jobs
    assert job["files"] == {"d/ä\n.bin": data, "empty": b"", "z": b"last"}
    assert (job["code"], job["stdin"]) == ("print(1)", b"input")
    assert job["outputs"] == {"files": 64, "file": 512 << 10, "total": 3600000, "figures": 506250}


def test_artifacts_come_up(engine):
    data = bytes(range(256)) * 100
    engine.play = leaving(
        lambda s: s.frame("C"), artifact("figure-1.png", b"no image", kind=2), artifact("a.bin", data),
        artifact("d/empty.txt"), artifact("giant", reason=4, size=5 << 30), lambda s: s.rest(9936, 1))
    result = run(engine)
    assert result.status == "ok", result
    found = artifacts(result)
    assert list(found) == ["figure-1.png", "a.bin", "d/empty.txt", "giant"]
    assert found["figure-1.png"]["kind"] == "figure" and found["giant"]["size"] == 5 << 30
    assert result.data["artifacts_left_out"] == 9936 and "at least 9,936 more" in result.text
    assert base64.b64decode(blocks(result)[1]["resource"]["blob"]) == data


def test_names_are_made_fit(engine):
    engine.play = leaving(artifact(b"a\nb\xff", reason=6), artifact(b"\xff" * 1024, reason=6))
    names = list(artifacts(run(engine)))
    assert names[0] == "a\ufffdb\ufffd"
    assert set(names[1]) == {"\ufffd"} and len(names[1].encode()) <= 1024


@pytest.mark.parametrize("code, signal, status", [(0, 0, "ok"), (1, 0, "error"), (-1, 11, "killed")])
def test_after_every_end(engine, code, signal, status):
    def play(supervisor):
        supervisor.hello()
        supervisor.job()
        supervisor.started()
        supervisor.artifact("a.txt", b"left")
        supervisor.exit(code, signal)
        supervisor.hold()

    engine.play = play
    result = run(engine)
    assert result.status == status and artifacts(result)["a.txt"]["included"], result


def test_collecting_has_time_of_its_own(engine):
    """Longer than the executor's patience with a script that is over its deadline."""
    engine.play = leaving(lambda s: time.sleep(1), lambda s: s.frame("C"), lambda s: time.sleep(3),
                          artifact("a.txt", b"late"))
    result = run(engine, timeout_seconds=1)
    assert result.status == "ok" and artifacts(result)["a.txt"]["included"], result


def test_collecting_ends(engine):
    """A supervisor that hangs while it collects is given up, and what came whole is kept."""
    engine.play = leaving(artifact("a.txt", b"whole"),
                          lambda s: s.frame("A", struct.pack(">BBQ32s", 1, 0, 100, bytes(32)) + b"b"),
                          lambda s: s.frame("a", b"x" * 50), lambda s: s.hold())
    result = run(engine, timeout_seconds=1)
    assert result.status == "timed_out" and result.seconds < 12, result
    found = artifacts(result)
    assert found["a.txt"]["included"] and not found["b"]["included"]
    assert "could not be read" in found["b"]["reason"]


def begun(size, kind=1, reason=0, name=b"x"):
    return lambda s: s.frame("A", struct.pack(">BBQ32s", kind, reason, size, bytes(32)) + name)


BROKEN = {
    "too many": ([artifact("a", reason=1)] * 65, "more artifacts than it may"),
    "one too large": ([begun((512 << 10) + 1)], "524289 bytes, more than it may"),
    "together too large": ([artifact("a", bytes(512 << 10))] * 7, "more than it may"),
    "incomplete before the next": ([begun(10), begun(10)], "10 bytes of an artifact out"),
    "incomplete before the end": ([begun(10), lambda s: s.frame("a", b"x")], "9 bytes of an artifact out"),
    "incomplete before the rest": ([begun(10), lambda s: s.rest(1)], "10 bytes"),
    "more than announced": ([begun(1), lambda s: s.frame("a", b"xx")], "2 bytes of an artifact where 1"),
    "bytes of none": ([lambda s: s.frame("a", b"x")], "1 bytes of an artifact where 0"),
    "no bytes": ([begun(1), lambda s: s.frame("a")], "0 bytes of an artifact where 1"),
    "a figure after a file": ([artifact("a"), artifact("figure-1.png", kind=2)], "figure after a file"),
    "after the rest": ([lambda s: s.rest(1), artifact("a")], "more artifacts than it may"),
    "rest twice": ([lambda s: s.rest(1)] * 2, "twice"),
    "of no kind": ([begun(0, kind=3)], "out of range"),
    "for no reason": ([begun(0, reason=7)], "out of range"),
    "negative": ([begun(1 << 63, reason=1)], "out of range"),
    "no name": ([begun(0, name=b"")], "42 bytes"),
    "rest of another size": ([lambda s: s.frame("R", bytes(8))], "rest frame"),
    "frame too long": ([begun(0, name=b"x" * 1025)], "malformed frame"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_promise(engine, name):
    acts, words = BROKEN[name]
    engine.play = leaving(*acts)
    with serving(engine) as server:
        result = server.run()
        assert result.status == "sandbox_error" and result.exit_code == -1
        assert words in result.text[:500]
        engine.play = leaving(artifact("a.txt", b"fine"))
        assert server.run().status == "ok"
