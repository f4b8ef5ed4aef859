"""The server with an engine that fails while a script runs: the verdict stays true."""

import struct
import time

import pytest

from served import STARTED, is_ok, is_refused, job_then, run, serving, wait_until
from engine import well


def pause(s):
    """What follows is not read together with what came before."""
    time.sleep(0.1)


EXIT = [0, 0, 0, 0, 1000, 2000, 1 << 20, 7, 7, 0, 0]


def exit_bytes(**changes):
    values = list(EXIT)
    for index, value in changes.items():
        values[int(index[1:])] = value
    return struct.pack(">11q", *values)


@pytest.mark.parametrize("play, parts", [
    (job_then(), ["ended"]),
    (job_then(*STARTED), ["ended"]),
    (job_then(*STARTED, lambda s: s.docker(b"supervisor: oh\n", stream=2)),
     ["ended by itself: supervisor: oh"]),
    (job_then(*STARTED, lambda s: s.frame("X", b"\0" * 87), lambda s: s.hold()), ["malformed"]),
    (job_then(*STARTED, lambda s: s.frame("X", b""), lambda s: s.hold()), ["malformed"]),
    (job_then(*STARTED, lambda s: s.frame("X", b"\xff" * 88), lambda s: s.hold()), ["malformed"]),
    (job_then(*STARTED, lambda s: s.frame("X", exit_bytes(_0=256)), lambda s: s.hold()),
     ["out of range"]),
    (job_then(*STARTED, lambda s: s.frame("X", exit_bytes(_2=2)), lambda s: s.hold()),
     ["out of range"]),
    (job_then(*STARTED, lambda s: s.docker(b"X\0\0\0\x59"), lambda s: s.hold()), ["malformed"]),
    (job_then(*STARTED, lambda s: s.docker(b"O\0\4\0\1"), lambda s: s.hold()), ["malformed"]),
    (job_then(*STARTED, lambda s: s.docker(b"O\xff\xff\xff\xff"), lambda s: s.hold()),
     ["malformed"]),
    (job_then(*STARTED, lambda s: s.docker(b"\0"), lambda s: s.hold()), ["unknown type"]),
    (job_then(*STARTED, pause, lambda s: s.connection.send(b"\3\0\0\0\0\0\0\1x"),
              lambda s: s.hold()), ["not framed"]),
    (job_then(*STARTED, lambda s: s.hello(), lambda s: s.hold()), ["out of turn"]),
    (job_then(*STARTED, lambda s: s.connection.send(b"\1\0\0\0\0\0\0\x5dX\0\0\0\x58" + b"\0" * 20)),
     ["ended"]),
])
def test_stream_after_the_job(engine, play, parts):
    engine.play = play
    result = run(engine)
    is_refused(result, *parts)
    assert result.stdout == ("partial" if "frame O" in engine.happenings else ""), result


@pytest.mark.parametrize("more", [
    lambda s: s.exit(9),
    lambda s: s.out(b"late"),
    lambda s: s.frame("X", b"\xff" * 88),
    lambda s: s.docker(b"\xff\xff"),
    lambda s: s.connection.send(b"\xff" * 100),
    lambda s: s.docker(b"late complaint", stream=2),
    lambda s: None,
])
def test_what_follows_the_exit_changes_nothing(engine, more):
    engine.play = job_then(*STARTED, lambda s: s.exit(out=7), pause, more)
    with serving(engine) as server:
        is_ok(server.run(), "partial")
        engine.play = well
        is_ok(server.run())


def test_exit_and_broken_bytes_in_one_read(engine):
    end = b"X\0\0\0\x58" + exit_bytes()
    engine.play = job_then(*STARTED, lambda s: s.connection.send(
        struct.pack(">BxxxI", 1, len(end)) + end + b"\xff" * 8), lambda s: s.hold())
    is_ok(run(engine), "partial")


@pytest.mark.parametrize("ends, status_, code", [
    (dict(code=3), "error", 3),
    (dict(code=-1, signal=11), "killed", 139),
    (dict(code=-1, signal=9), "killed", 137),
    (dict(code=-1, signal=9, oom_kills=1), "out_of_memory", 137),
    (dict(code=0, oom_kills=2), "ok", 0),
    (dict(code=-1, signal=9, timed_out=1), "timed_out", 137),
    (dict(code=-1, signal=9, timed_out=1, oom_kills=3), "timed_out", 137),
    (dict(code=137), "error", 137),
])
def test_verdicts(engine, ends, status_, code):
    engine.play = job_then(*STARTED, lambda s: s.exit(out=7, **ends), lambda s: s.hold())
    result = run(engine)
    assert (result.status, result.exit_code, result.stdout) == (status_, code, "partial"), result
    assert result.data["oom_kills"] == ends.get("oom_kills", 0)


@pytest.mark.parametrize("delay", [0.1, 0])
def test_oom_event_then_the_end(engine, delay):
    """The whole container ran out of memory: only the engine can tell."""

    def play(s):
        job_then(*STARTED)(s)
        engine.post("oom", s.container.id)
        time.sleep(delay)

    engine.play = play
    for _ in range(3):
        result = run(engine)
        assert result.status == "out_of_memory" and result.exit_code == 137, result
        assert result.stdout == "partial" and result.data["oom_kills"] == 1, result


def test_oom_event_of_another_container(engine):
    def play(s):
        job_then(*STARTED)(s)
        engine.post("oom", "f" * 64)
        time.sleep(0.1)

    engine.play = play
    is_refused(run(engine), "ended")


def test_supervisor_misses_the_deadline(engine):
    """The executor's own comes two seconds later, and keeps what was printed."""
    engine.play = job_then(*STARTED, lambda s: s.hold())
    result = run(engine, timeout_seconds=1)
    assert result.status == "timed_out" and result.stdout == "partial", result
    assert 2.5 < result.seconds < 4
    assert "by force" in result.text


def test_cancelled_call_is_not_answered(engine):
    engine.play = job_then(*STARTED, lambda s: s.hold())
    with serving(engine) as server:
        call = server.start()
        assert wait_until(lambda: "frame O" in engine.happenings, 5)
        server.cancel(call)
        assert wait_until(lambda: not engine.containers, 2)
        time.sleep(0.2)
        assert not call.answered()
