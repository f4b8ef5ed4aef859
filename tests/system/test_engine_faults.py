"""The server with an engine that fails at a container: for each fault one right outcome, and the
server lives on."""

import json
import time

import pytest

from served import is_ok, is_refused, run, serving, table, wait_until
from engine import IMAGE, LABEL, close, close_after, garbage, half, raw, status

MIB = 1 << 20


def users(engine):
    """The user of each create, in their order."""
    return [json.loads(request.body)["User"]
            for _, request in engine.requests if request.step == "create"]


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
