"""The server with an engine that fails: for each fault one right outcome, and the server lives on."""

import json
import struct
import threading
import time

import pytest

from served import Server, is_ok, is_refused, run, serving, table, wait_until
from engine import (Engine, IMAGE, LABEL, close, close_after, drip, garbage, half, raw, silence,
                    status, well)

MIB = 1 << 20


@pytest.fixture
def engine():
    with Engine() as engine:
        yield engine


def users(engine):
    """The user of each create, in their order."""
    return [json.loads(request.body)["User"]
            for _, request in engine.requests if request.step == "create"]


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


# Image


@pytest.mark.parametrize("fault, parts", [
    (status(500, "layer is lost"), ["image " + IMAGE, "500", "layer is lost"]),
    (status(200, body=b"{\"Id\":"), ["image " + IMAGE]),
    (status(200, body=b"{}"), ["image " + IMAGE]),
    (status(200, body=b"{\"Id\":7}"), ["image " + IMAGE]),
    (status(200, body=b"[" * 1000), ["image " + IMAGE]),
    (status(200, body=b" " * (9 * MIB)), ["image " + IMAGE, "did not answer"]),
    (close, ["image " + IMAGE, "did not answer"]),
    (garbage, ["image " + IMAGE, "did not answer"]),
])
def test_image_lookup_fails(engine, fault, parts):
    engine.fail("image", fault, count=None)
    is_refused(run(engine), *parts)
    assert engine.count("create") == engine.count("pull") == 0


def test_local_image_is_second(engine):
    engine.images = {"python-sandbox:slim": engine.image}
    result = run(engine)
    is_ok(result)
    assert result.data["image"] == "python-sandbox:slim"
    assert engine.count("pull") == 0


def test_pull_never(engine):
    engine.images = {}
    is_refused(run(engine, "--pull=never"), "--pull=never", "docker pull " + IMAGE)
    assert engine.count("pull") == 0


def test_image_is_pulled(engine):
    engine.images = {}
    is_ok(run(engine))
    pulled = [request.query for _, request in engine.requests if request.step == "pull"]
    assert pulled == [{"fromImage": "python", "tag": "3.12-slim"}]


@pytest.mark.parametrize("name, query", [
    ("host:5000/a/b", {"fromImage": "host:5000/a/b", "tag": "latest"}),
    ("host:5000/a/b:c", {"fromImage": "host:5000/a/b", "tag": "c"}),
    ("a@sha256:" + "1" * 64, {"fromImage": "a@sha256:" + "1" * 64}),
])
def test_image_names(engine, name, query):
    engine.images = {}
    engine.pull_lines = lambda line: engine.images.update({name: engine.image})
    is_ok(run(engine, "--image=" + name))
    assert [r.query for _, r in engine.requests if r.step == "pull"] == [query]


def test_call_during_a_pull_says_how_far_it_is(engine):
    engine.images = {}
    go = threading.Event()

    def lines(line):
        line({"status": "Pulling from library/python", "id": "3.12-slim"})
        line({"status": "Downloading", "id": "a", "progressDetail": {"current": 1, "total": 100}})
        line({"status": "Downloading", "id": "b", "progressDetail": {"current": 41, "total": 100}})
        line({"status": "Downloading", "progressDetail": {}})
        go.wait(20)
        line({"status": "Download complete", "id": "a"})
        line({"status": "Pull complete", "id": "b"})
        engine.images[IMAGE] = engine.image

    engine.pull_lines = lines
    with serving(engine, wait=2) as server:
        call = server.start()
        result = call.result()
        assert result.status == "busy", result
        assert "21 %" in result.text and "try again" in result.text, result
        assert 1.5 < result.seconds < 2.5
        assert any("21 %" in p.get("message", "") for p in call.progress), call.progress
        second = server.start()
        go.set()
        is_ok(second.result())
    assert engine.count("pull") == 1


def error_in_the_stream(line):
    line({"status": "Pulling from library/python", "id": "3.12-slim"})
    line({"errorDetail": {"message": "no space left"}, "error": "write /x: no space left"})


@pytest.mark.parametrize("lines, fault, parts", [
    (error_in_the_stream, None, ["no space left", "--image"]),
    (None, status(404, "pull access denied for x"), ["404", "--image"]),
    (None, status(500, body=b""), ["500", "(no message)"]),
    (None, close, ["did not answer"]),
    (None, half, ["did not answer"]),
])
def test_pull_fails(engine, lines, fault, parts):
    engine.images = {}
    if lines:
        engine.pull_lines = lines
    if fault:
        engine.fail("pull", fault, count=None)
    with serving(engine) as server:
        is_refused(server.run(), "image %s cannot be pulled" % IMAGE, *parts)
        engine.mend()
        engine.pull_lines = lambda line: engine.images.update({IMAGE: engine.image})
        assert wait_until(lambda: server.run().status == "ok", 5, 0.5)


def test_reason_of_a_refused_pull(engine):
    engine.images = {}
    engine.fail("pull", status(404, "pull access denied for x"), count=None)
    is_refused(run(engine), "404", "pull access denied for x")


def test_pull_that_brings_no_image(engine):
    """It says that it went well, and the image is still not there."""
    engine.images = {}
    engine.pull_lines = lambda line: line({"status": "Status: Image is up to date"})
    with serving(engine, wait=2) as server:
        result = server.run()
        assert result.status in ("sandbox_error", "busy"), result
    assert engine.count("pull") <= 5


# Create


def test_name_conflict_takes_the_next_user(engine):
    engine.fail("create", status(409, "Conflict. The container name is already in use"), count=3)
    is_ok(run(engine))
    first, *others = [int(user.split(":")[0]) for user in users(engine)]
    assert others == [first + 1, first + 2, first + 3]
    names = [r.query["name"] for _, r in engine.requests if r.step == "create"]
    assert names == ["python-sandbox-%d" % n for n in (first, *others)]


def test_every_name_is_taken(engine):
    engine.fail("create", status(409, "Conflict"), count=None)
    is_refused(run(engine, wait=15), "no container", "409", "Conflict")
    assert engine.count("create") <= 1000


def test_failed_create_is_told_at_once(engine):
    engine.fail("create", status(500, "no room"), count=None)
    result = run(engine)
    is_refused(result, "no room")
    assert result.seconds < 1


@pytest.mark.parametrize("fault, parts", [
    (status(500, "no room"), ["no container", "500", "no room"]),
    (status(400, "invalid tmpfs option [\"nr_inodes\"]"), ["400", "nr_inodes"]),
    (status(201, body=b"{}"), ["no container", "no id"]),
    (status(201, body=b"{\"Id\":"), ["no container", "no id"]),
    (status(201, body=json.dumps({"Id": "0" * 500}).encode()), ["no container", "no id"]),
    (status(201, body=b"x" * (9 * MIB)), ["no container", "did not answer"]),
    (close, ["no container", "did not answer"]),
    (half, ["no container", "did not answer"]),
    (garbage, ["no container", "did not answer"]),
])
def test_create_fails(engine, fault, parts):
    engine.fail("create", fault, count=None)
    is_refused(run(engine, wait=1), *parts)
    assert engine.count("create") <= 4  # libcurl asks again where a used connection breaks


def test_image_goes_away_before_create(engine):
    """It is looked up again, and pulled."""
    engine.images[IMAGE] = {**engine.image, "Id": "sha256:gone"}
    engine.fail("create", status(404, "No such image: sha256:gone"))
    with serving(engine, wait=10) as server:
        result = server.run()
        assert result.status in ("ok", "sandbox_error"), result
        assert wait_until(lambda: server.run().status == "ok", 8, 0.5)
    assert engine.count("image") == 2


# Attach


@pytest.mark.parametrize("switch", [
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n",
    b"HTTP/1.1 101 UPGRADED\r\nCONTENT-TYPE: application/vnd.docker.multiplexed-stream\r\n"
    b"connection: upgrade\r\nuPGRADE: TCP\r\n\r\n",
    b"HTTP/1.1 101 \r\nUpgrade: tcp\r\n\r\n",
])
def test_heads_of_an_attach(engine, switch):
    engine.switch = switch
    is_ok(run(engine))


@pytest.mark.parametrize("fault, parts", [
    (raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\n"),
     ["200 in place of 101", "proxy", "Connection and Upgrade"]),
    (status(200, body=b""), ["200 in place of 101", "proxy"]),
    (status(403, "forbidden by\r\npolicy"), ["attach", "403", "forbidden by", "policy"]),
    (status(404, "No such container"), ["attach", "404"]),
    (status(500, body=b""), ["attach", "500", "(no message)"]),
    (close, ["attach", "did not answer"]),
    (garbage, ["attach", "did not answer"]),
    (raw(b"HTTP/1.1 101 UPGRADED\r\nUpgr"), ["attach", "did not answer"]),
    (raw(b"HTTP/1.1 101 UPGRADED\r\nUpgrade: tcp\r\n\r\n"), ["ended"]),
])
def test_attach_fails(engine, fault, parts):
    engine.fail("attach", fault, count=None)
    is_refused(run(engine), *parts)
    assert engine.count("start") <= 1


# Start

DEEP = ("failed to create task for container: failed to create shim task: OCI runtime create "
        "failed: runc create failed: unable to start container process: "
        + "error during container init: \"nested\"\n\tcaused \\ by: " * 60
        + "exec: \"python3\": executable file not found in $PATH: unknown")


@pytest.mark.parametrize("fault, parts", [
    (status(400, DEEP), ["does not start", "400", "not found in $PATH: unknown"]),
    (status(500, DEEP * 30), ["does not start", "500", "not found in $PATH: unknown"]),
    (status(500, body=b"<html>\r\n<body>Bad\tGateway</body>\r\n</html>", kind="text/html"),
     ["does not start", "500", "Gateway"]),
    (status(500, body=b""), ["does not start", "500", "(no message)"]),
    (status(500, body=b"\xff\xfe\x00\x01"), ["does not start", "500"]),
    (status(500, body=b"{\"message\":7}"), ["does not start", "500"]),
    (status(304, body=b""), ["does not start"]),
    (status(404, "No such container"), ["does not start", "404"]),
    (close, ["does not start", "did not answer"]),
    (garbage, ["does not start", "did not answer"]),
])
def test_start_fails(engine, fault, parts):
    engine.fail("start", fault, count=None)
    is_refused(run(engine), *parts)


def test_the_end_of_a_long_message_is_kept(engine):
    engine.fail("start", status(400, DEEP))
    text = run(engine).text
    assert "..." in text and len(text) < 1300 and "\n\t" not in text, text


# The stream, before the hello


@pytest.mark.parametrize("play, parts", [
    (lambda s: None, ["ended"]),
    (lambda s: s.docker(b"supervisor: cannot do it\n", stream=2),
     ["the container ended by itself: supervisor: cannot do it"]),
    (lambda s: s.docker(b"Traceback:\n" + b"  a line\n" * 20 + b"OSError: none\n", stream=2),
     ["the container ended by itself: OSError: none"]),
    (lambda s: s.connection.send(b"no frames at all\n"), ["not framed as Docker frames it"]),
    (lambda s: s.connection.send(b"\1\0\0\0\0\0\1\0H\0"), ["ended"]),
    (lambda s: (s.connection.send(b"\1\0\0\0\xff\xff\xff\xffQ"), s.hold()), ["unknown type"]),
    (lambda s: (s.docker(b"H\xff\xff\xff\xff"), s.hold()), ["malformed frame", "4294967295"]),
    (lambda s: (s.docker(b"Hello, world\n"), s.hold()), ["malformed frame"]),
    (lambda s: (s.frame("H", b"{"), s.hold()), []),
    (lambda s: (s.frame("H", b""), s.hold()), []),
    (lambda s: (s.frame("H", b"null"), s.hold()), ["wall 'user'"]),
    (lambda s: (s.started(), s.hold()), ["spoke out of turn"]),
    (lambda s: (s.exit(), s.hold()), ["spoke out of turn"]),
    (lambda s: (s.hello(), s.hello(), s.hold()), ["spoke out of turn"]),
])
def test_stream_before_the_job(engine, play, parts):
    engine.play = play
    is_refused(run(engine), *parts)


def test_long_complaint(engine):
    complaint = b"Traceback:\n" + b"  a line\n" * 1000 + b"OSError: none\n"
    engine.play = lambda s: s.docker(complaint, stream=2)
    is_refused(run(engine), "the container ended by itself: OSError: none")


# Walls


@pytest.mark.parametrize("wall, changes", [
    ("user", {"uid": 0}),
    ("groups", {"groups": [0]}),
    ("CapEff", {"CapEff": "00000000a80425fb"}),
    ("no_new_privs", {"no_new_privs": 0}),
    ("seccomp", {"seccomp": 0}),
    ("network", {"interfaces": ["lo", "eth0"]}),
    ("memory", {"cgroup": {"memory.max": "max", "pids.max": "128", "cpu.max": "100000 100000"}}),
])
def test_wall_that_does_not_stand(engine, wall, changes):
    engine.play = lambda s: (s.hello(**changes), s.hold())
    is_refused(run(engine), "the wall '%s' does not stand: asked for" % wall, ", found ")


def test_broken_wall_is_not_tried_in_a_loop(engine):
    """Calls keep coming, and each is told; the engine is asked seldom."""
    engine.play = lambda s: (s.hello(seccomp=0), s.hold())
    results = []
    with serving(engine, warm=2) as server:
        end = time.monotonic() + 7
        while time.monotonic() < end:
            results.append(server.run())
            time.sleep(0.1)
        assert len(results) > 10
        for result in results:
            is_refused(result, "the wall 'seccomp' does not stand")
        assert engine.count("create") <= 4


def test_wall_that_stands_again(engine):
    engine.plays = [lambda s: (s.hello(seccomp=0), s.hold())]
    with serving(engine) as server:
        is_refused(server.run(), "the wall 'seccomp' does not stand")
        assert wait_until(lambda: server.run().status == "ok", 4, 0.3)


# The script


def job_then(*steps):
    def play(s):
        s.hello()
        s.job()
        for step in steps:
            step(s)

    return play


def pause(s):
    """What follows is not read together with what came before."""
    time.sleep(0.1)


STARTED = (lambda s: s.started(), lambda s: s.out(b"partial"))
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


# Removal


@pytest.mark.parametrize("fault", [
    status(404, "No such container", act=True),
    status(409, "removal of container is already in progress", act=True),
    status(500, "driver failed", act=True),
    close,
    close_after,
    garbage,
])
def test_removal_fails_once(engine, fault):
    engine.fail("remove", fault)
    is_ok(run(engine))


@pytest.mark.parametrize("code", [409, 500])
def test_removal_is_refused_for_a_while(engine, code):
    engine.fail("remove", status(code, "removal is already in progress"), count=20)
    engine.play = lambda s: (s.hello(seccomp=0), s.hold())  # no supervisor ends by itself
    with serving(engine) as server:
        is_refused(server.run())
        assert wait_until(lambda: not engine.containers, 3)


def test_container_that_never_started_is_removed(engine):
    engine.fail("start", status(500, "no"))
    with serving(engine) as server:
        is_refused(server.run())
        assert wait_until(lambda: not engine.containers, 1)


@pytest.mark.parametrize("fault", [garbage, half])
def test_removal_without_an_answer_is_asked_for_again(engine, fault):
    engine.fail("start", status(500, "no"))
    engine.fail("remove", fault)
    with serving(engine, patience=2) as server:
        is_refused(server.run())


def test_create_whose_answer_is_lost(engine):
    engine.fail("create", close_after)
    with serving(engine, patience=2) as server:
        server.run()


def own_mark(engine):
    """The owner label of the server that last created a container, in parts."""
    body = next(r.body for _, r in reversed(engine.requests) if r.step == "create")
    label = json.loads(body)["Labels"][LABEL]
    return dict(part.split("=", 1) for part in label.split())


def mark_of(parts, **changed):
    return " ".join("%s=%s" % item for item in {**parts, **changed}.items())


def test_start_of_the_server_sweeps_what_dead_ones_left(engine):
    with serving(engine) as server:
        is_ok(server.run())
        alive = own_mark(engine)
        ended = mark_of(alive, pid=2**22 + 1)
        reused = mark_of(alive, start=1)
        unsure = [
            mark_of(alive, boot="gone"),
            mark_of(alive, pidns=1),
            mark_of(alive, pidns=1, container="0" * 64),
            "no mark",
            "",
        ]
        for mark in (ended, reused):
            for state in ("created", "running", "exited"):
                engine.add({LABEL: mark}, state)
        kept = [engine.add({}), engine.add({LABEL: mark_of(alive)}, "created", 9999)]
        for mark in unsure:
            kept.append(engine.add({LABEL: mark}, "running", 9999))
            kept.append(engine.add({LABEL: mark}, "paused", 9999))
            kept.append(engine.add({LABEL: mark}, "created", 100))
            engine.add({LABEL: mark}, "created", 9999)
            engine.add({LABEL: mark}, "exited", 9999)
        with serving(engine, leaves=len(kept)) as second:
            is_ok(second.run())
            assert wait_until(lambda: len(engine.containers) == len(kept), 3), table(engine)
        assert set(engine.containers) == {c.id for c in kept}
        engine.containers.clear()


def test_ages_are_by_the_engines_clock(engine):
    """It may be that of another machine, here an hour behind."""
    engine.info["SystemTime"] = time.strftime("%Y-%m-%dT%H:%M:%S.5Z", time.gmtime(time.time() - 3600))
    elsewhere = {LABEL: "pid=9 start=1 boot=other pidns=1"}
    young = engine.add(elsewhere, "created", 3600 + 100)
    engine.add(elsewhere, "created", 3600 + 300)
    with serving(engine, leaves=1) as server:
        is_ok(server.run())
        assert wait_until(lambda: set(engine.containers) == {young.id}, 3), table(engine)
    engine.containers.clear()


# Engines that come and go


def test_engine_comes_back(engine):
    with serving(engine, warm=1) as server:
        is_ok(server.run())
        engine.stop()
        assert wait_until(lambda: not engine.connections, 2)
        is_refused(server.run(), "no Docker Engine answers", engine.path)
        engine.start()
        is_ok(server.run())
        engine.stop(keep_socket=True)
        is_refused(server.run(), engine.path)
        engine.start()
        is_ok(server.run())


def test_what_an_engine_left_behind_is_not_held_against_the_next(engine):
    """Its containers end before it does: a failure, which is forgotten with the engine."""
    with serving(engine, warm=1) as server:
        is_ok(server.run())
        assert wait_until(lambda: [c.state for c in engine.containers.values()] == ["running"], 2)
        for warm in list(engine.containers.values()):
            warm.stream.close()
        assert wait_until(lambda: "the container ended" in server.stderr(), 2)
        engine.stop()
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
