"""The engine goes away in the middle of a run and comes back. Uses an engine of its own, in a network
namespace of its own, so that the one that all others use stays as it is."""

import time

import pytest
from own_engine import NEEDS_OWN_ENGINE, OwnEngine
from sandbox import Server, assert_gone, wait_until

pytestmark = [*NEEDS_OWN_ENGINE, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def own(engine, base_image):
    with OwnEngine() as found:
        found.take_image(engine, base_image)
        yield found


def test_the_server_outlives_its_engine(own):
    with Server("--docker-host=unix://" + own.socket) as server:
        result = server.run("print('before')")
        assert (result.status, result.stdout) == ("ok", "before\n"), result.text
        call = server.start("import time; print('started', flush=True); time.sleep(120)", timeout_seconds=200)
        time.sleep(1)
        own.stop()

        result = call.result(30)
        assert result.status == "sandbox_error", result
        assert server.request("ping", timeout=1) == {}

        for _ in range(3):
            result = server.run("print(1)", wait=30)
            assert result.status == "sandbox_error", result
            assert own.socket in result.text, result
        assert server.request("ping", timeout=1) == {}
        assert server.request("tools/list")["tools"]

        own.start()
        start = time.monotonic()
        result = server.run("print('after')", wait=30)
        while result.status != "ok" and time.monotonic() - start < 10:
            time.sleep(0.5)
            result = server.run("print('after')", wait=30)
        assert (result.status, result.stdout) == ("ok", "after\n"), result
        assert time.monotonic() - start < 10
        pid = server.pid
    assert_gone(own.client, pid)


def test_an_engine_that_comes_late_is_found(own):
    own.stop()
    with Server("--docker-host=unix://" + own.socket) as server:
        result = server.run("print(1)", wait=30)
        assert result.status == "sandbox_error" and own.socket in result.text, result
        own.start()
        assert wait_until(lambda: server.run("print(2)", wait=30).status == "ok", 10, 0.5)
