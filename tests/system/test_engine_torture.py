"""One call, again and again: with each request to the engine failing, with the call cancelled or
the server ended at the i-th thing that happens. Always: at most one answer, nothing left, exit 0."""

import threading
import time

import pytest

from served import is_ok, run, serving, wait_until
from engine import Engine, close, close_after, garbage, half, status

REQUESTS = ["version", "info", "events", "image", "list", "create", "attach", "start", "remove"]
HAPPENINGS = sorted([*REQUESTS, "frame H", "job", "frame S", "frame O", "frame X"])
FAULTS = {"500": status(500, "no"), "close": close, "close after": close_after,
          "garbage": garbage, "half": half}


def test_a_good_call_takes_these():
    """The counts that the other tests go through."""
    with Engine() as engine:
        is_ok(run(engine))
        assert sorted(engine.steps()) == sorted(REQUESTS)
        assert sorted(engine.happenings) == HAPPENINGS


def each_request_with_each_fault():
    for step in REQUESTS:
        for name in FAULTS:
            yield step, name


@pytest.mark.parametrize("step, name", list(each_request_with_each_fault()))
def test_request_fails(step, name):
    with Engine() as engine:
        engine.fail(step, FAULTS[name])
        with serving(engine, wait=5, patience=2) as server:
            result = server.run()
            assert result.status in ("ok", "sandbox_error"), result
            if result.status == "sandbox_error":
                assert wait_until(lambda: server.run().status == "ok", 8, 0.3)


class Moment:
    """Lets a test act at the i-th thing that happens, which waits until the test has done so."""

    def __init__(self, engine, number):
        self.number = number
        self.came = threading.Event()
        self.acted = threading.Event()
        engine.hook = self.hook

    def hook(self, number):
        if number == self.number:
            self.came.set()
            self.acted.wait(10)
            time.sleep(0.03)


@pytest.mark.parametrize("number", range(1, len(HAPPENINGS) + 1))
def test_call_is_cancelled(number):
    with Engine() as engine:
        moment = Moment(engine, number)
        with serving(engine) as server:
            call = server.start()
            assert moment.came.wait(10)
            server.cancel(call)
            moment.acted.set()
            is_ok(server.run())
            early = {"remove", "frame X"} & set(engine.happenings[:number])
            assert early or not call.answered(), call.message


@pytest.mark.parametrize("number", range(1, len(HAPPENINGS) + 1))
def test_server_is_ended(number):
    with Engine() as engine:
        moment = Moment(engine, number)
        with serving(engine) as server:
            server.start()
            assert moment.came.wait(10)
            server.process.stdin.close()
            time.sleep(0.02)
            moment.acted.set()
            assert server.process.wait(5) == 0
            assert wait_until(lambda: not engine.containers, 5)
