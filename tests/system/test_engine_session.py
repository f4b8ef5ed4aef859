"""The server and an engine that is not there, not one, or comes and goes."""

import threading
import time

import pytest

from served import STARTED, Server, is_ok, is_refused, job_then, run, serving, table, wait_until
from engine import close, drip, garbage, half, raw, silence, status, well

MIB = 1 << 20


# Connecting


def test_no_socket(engine):
    engine.stop()
    is_refused(run(engine), engine.path + " (--docker-host)", "No such file", "Start one")


def test_connection_refused(engine):
    engine.stop(keep_socket=True)
    is_refused(run(engine), engine.path, "Connection refused", "--docker-host or DOCKER_HOST")


def test_silence_until_the_deadline(engine):
    """The engine accepts and says nothing: first the call's own deadline, then the engine's."""
    engine.fail("version", silence, count=None)
    with serving(engine, wait=1) as server:
        result = server.run()
        assert result.status == "busy" and "try again" in result.text, result
        assert result.seconds < 2
    engine.requests.clear()
    is_refused(run(engine, wait=10), "no Docker Engine", "did not answer", "5")


@pytest.mark.parametrize("fault", [close, garbage, half, raw(b"HTTP/1.1 200 OK\r\n")])
def test_version_breaks_off(engine, fault):
    engine.fail("version", fault, count=None)
    is_refused(run(engine), "no Docker Engine", engine.path)


def test_version_drips(engine):
    engine.fail("version", drip, count=None)
    result = run(engine, wait=1)
    assert result.status == "busy" and "try again" in result.text, result


@pytest.mark.parametrize("fault, parts", [
    (status(500, "the daemon\nis sick"), ["the engine answered 500: the daemon is sick"]),
    (status(502, body=b"<html>\n<h1>Bad Gateway</h1>", kind="text/html"), ["502", "Bad Gateway"]),
    (status(400, body=b""), ["the engine answered 400: (no message)"]),
    (status(200, body=b"{"), ["is no Docker Engine", "/version"]),
    (status(200, body=b""), ["is no Docker Engine"]),
    (status(200, body=b"[]"), ["is no Docker Engine"]),
    (status(200, body=b"{\"ApiVersion\":1.44}"), ["is no Docker Engine"]),
    (status(200, body=b"{\"ApiVersion\":\"latest\"}"), ["is no Docker Engine"]),
    (status(200, body=b"x" * (9 * MIB)), ["did not answer"]),
])
def test_version_is_wrong(engine, fault, parts):
    engine.fail("version", fault, count=None)
    is_refused(run(engine), *parts)


# API versions


@pytest.mark.parametrize("newest, oldest, used", [
    ("1.40", "1.12", "1.40"),
    ("1.41", None, "1.41"),
    ("1.52", "1.44", "1.51"),
    ("1.51", "1.51", "1.51"),
    ("2.0", "1.24", "1.51"),
])
def test_api_version_is_negotiated(engine, newest, oldest, used):
    engine.version.update(ApiVersion=newest, MinAPIVersion=oldest)
    is_ok(run(engine))
    assert {request.api for _, request in engine.requests[1:]} == {used}
    assert engine.requests[0][1].api is None


@pytest.mark.parametrize("newest, oldest", [("1.39", "1.12"), ("1.60", "1.52"), ("2.1", "2.0")])
def test_api_versions_do_not_meet(engine, newest, oldest):
    engine.version.update(ApiVersion=newest, MinAPIVersion=oldest)
    is_refused(run(engine), "from %s to %s" % (oldest, newest), "1.40 to 1.51", "update")
    assert engine.count("info") == 0


def test_engine_refuses_the_version_with_an_empty_body(engine):
    engine.fail("info", status(400, body=b""), count=None)
    is_refused(run(engine), "the engine answered 400: (no message)")


@pytest.mark.parametrize("fault", [status(500, "no"), close, status(200, body=b"{"), half,
                                   status(200, body=b"{\"MemTotal\":\"8g\"}")])
def test_info_fails(engine, fault):
    engine.fail("info", fault, count=None)
    is_refused(run(engine), "does not tell its memory")


def test_unknown_architecture(engine):
    engine.version["Arch"] = "riscv64"
    is_refused(run(engine), "'riscv64'", "amd64 and arm64")
    assert engine.count("create") == 0


# Engines that come and go


def test_engine_comes_back(engine):
    with serving(engine, warm=1) as server:
        is_ok(server.run())
        engine.stop()
        assert wait_until(lambda: "the engine went away" in server.stderr(), 2)
        is_refused(server.run(), "no Docker Engine answers", engine.path)
        engine.start()
        is_ok(server.run())
        engine.stop(keep_socket=True)
        is_refused(server.run(), engine.path)
        engine.start()
        is_ok(server.run())


def test_what_an_engine_left_behind_is_not_held_against_the_next(engine):
    """Its containers end before it does: a failure, which is forgotten with the engine."""
    engine.plays = [lambda s: None]
    with serving(engine, warm=1) as server:
        assert wait_until(lambda: "the container ended" in server.stderr(), 2)
        engine.stop()
        assert wait_until(lambda: "the engine went away" in server.stderr(), 2)
        is_refused(server.run(), "no Docker Engine answers", engine.path)
        engine.start()
        is_ok(server.run())


def test_engine_starts_after_the_server(engine):
    engine.stop()
    with serving(engine) as server:
        is_refused(server.run())
        engine.start()
        is_ok(server.run())


def test_engine_stops_during_a_run(engine):
    engine.play = job_then(*STARTED, lambda s: s.hold())
    with serving(engine) as server:
        call = server.start()
        assert wait_until(lambda: "frame O" in engine.happenings, 5)
        engine.stop()
        result = call.result()
        is_refused(result, "engine")
        assert result.stdout == "partial"
        engine.play = well
        engine.start()
        is_ok(server.run())


def test_end_of_the_events_harms_no_run(engine):
    go = threading.Event()
    engine.play = job_then(*STARTED, lambda s: go.wait(10), lambda s: s.exit(out=7),
                           lambda s: s.hold())
    with serving(engine) as server:
        call = server.start()
        assert wait_until(lambda: "frame O" in engine.happenings, 5)
        engine.end_events()
        assert wait_until(lambda: engine.count("events") == 2, 5)
        go.set()
        is_ok(call.result(), "partial")
        engine.play = well
        is_ok(server.run())


def test_events_that_make_no_sense(engine):
    engine.play = job_then(*STARTED, lambda s: s.connection.read())
    with serving(engine) as server:
        call = server.start()
        assert wait_until(lambda: "frame O" in engine.happenings, 5)
        for data in (b"{\n", b"\n\n", b"null\n", b"\xff\xfe\n", b"{\"Action\":7}\n",
                     b"{\"Action\":\"oom\"}\n", b"x" * 200000 + b"\n"):
            engine.watchers[0].chunk(data)
        server.cancel(call)
        engine.play = well
        is_ok(server.run())
    assert engine.count("events") == 1


def test_warm_container_that_ends_is_replaced(engine):
    ended = threading.Event()

    def play(s):
        s.hello()
        ended.wait(10)

    engine.plays = [play]
    with serving(engine, warm=1, wait=10) as server:
        assert wait_until(lambda: engine.count("start") == 1, 5)
        time.sleep(0.1)
        ended.set()
        assert wait_until(lambda: engine.count("start") == 2, 5)
        is_ok(server.run())


def test_a_call_waits_for_what_replaces_a_warm_container(engine):
    """Somebody removed it; nothing is wrong with the engine."""
    with serving(engine, warm=1) as server:
        for _ in range(3):
            assert wait_until(lambda: [c.state for c in engine.containers.values()] == ["running"], 2)
            assert wait_until(lambda: "frame H" in engine.happenings, 2)
            time.sleep(0.1)
            engine.happenings.clear()
            next(iter(engine.containers.values())).stream.close()
            is_ok(server.run())


def test_killed_server_leaves_nothing(engine):
    """One container runs, one is created and not yet started when the server dies."""
    engine.play = job_then(*STARTED, lambda s: s.hold())
    server = Server("--docker-host=" + engine.path, "--warm=0")
    server.start()
    assert wait_until(lambda: "frame O" in engine.happenings, 5)
    engine.fail("start", silence)
    server.start()
    assert wait_until(lambda: engine.count("start") == 2, 5)
    server.kill()
    assert wait_until(lambda: not engine.containers, 5), table(engine)


def test_a_call_cancelled_while_its_container_starts_leaves_none(engine):
    """The container that it waited for is nobody's then."""
    with serving(engine, "--warm=0") as server:
        is_ok(server.run())
        engine.play = lambda supervisor: (time.sleep(0.5), well(supervisor))
        call = server.start()
        assert wait_until(lambda: engine.steps().count("start") == 2, 5)
        server.cancel(call)
        assert wait_until(lambda: not engine.containers, 5)


def test_a_call_cancelled_at_once_starts_none(engine):
    with serving(engine, "--warm=0") as server:
        is_ok(server.run())
        server.cancel(server.start())
        assert server.request("ping", {}) == {}
        assert wait_until(lambda: not engine.containers, 5)
