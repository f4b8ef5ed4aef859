"""The server with an engine that has no image, or fails to bring one."""

import threading

import pytest

from served import is_ok, is_refused, run, serving, wait_until
from engine import IMAGE, close, garbage, half, status

MIB = 1 << 20


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
