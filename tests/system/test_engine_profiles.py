"""Profiles with an engine whose containers do as the tests say: one profile's trouble is not another's."""

import json
import os
import tempfile
import time

import pytest

from served import is_ok, is_refused, serving, wait_until
from engine import well

MIB = 1 << 20


@pytest.fixture
def config():
    paths = []

    def write(profiles, **settings):
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
            json.dump({"profiles": profiles, **settings}, file)
        paths.append(file.name)
        return "--config=" + file.name

    yield write
    for path in paths:
        os.unlink(path)


def memory(supervisor):
    return supervisor.container.body["HostConfig"]["Memory"] // MIB


def alive(engine, size):
    return [c for c in list(engine.containers.values()) if c.body["HostConfig"]["Memory"] == size * MIB]


def acts(**by_size):
    """A play for the containers of each size: m128=well."""
    def play(supervisor):
        by_size["m%d" % memory(supervisor)](supervisor)

    return play


def mute(supervisor):
    """It never says hello."""
    supervisor.hold()


def slow(supervisor):
    """As with a long preload."""
    time.sleep(1)
    well(supervisor)


def busy(supervisor):
    """A script that never ends."""
    supervisor.hello()
    supervisor.job()
    supervisor.started()
    supervisor.hold()


TWO = {"a": {"memory": "128m"}, "b": {"memory": "256m"}}


def test_a_call_gets_a_container_of_its_profile(engine, config):
    profiles = {
        "a": {"memory": "128m", "exec": True, "shm": "1m", "preload": ["json"], "pids": 20},
        "b": {"memory": "256m", "runtime": "runsc", "cpus": 2.5},
    }
    with serving(engine, config(profiles)) as server:
        is_ok(server.run(profile="b"))
        is_ok(server.run(profile="a"))
    b, a = (json.loads(r.body) for _, r in engine.requests if r.step == "create")
    assert [b["HostConfig"][k] for k in ("Memory", "NanoCpus", "Runtime")] == [256 * MIB, 2500000000, "runsc"]
    assert ",noexec," in b["HostConfig"]["Tmpfs"]["/tmp"] and len(b["Cmd"]) == 4
    assert [a["HostConfig"][k] for k in ("Memory", "PidsLimit", "ShmSize")] == [128 * MIB, 20, MIB]
    assert ",exec," in a["HostConfig"]["Tmpfs"]["/tmp"] and a["Cmd"][4:] == ["json"]
    assert "Runtime" not in a["HostConfig"]


def test_a_profile_whose_containers_say_nothing_is_in_nobodys_way(engine, config):
    """Its starts hold up those of others for a moment, not until they are given up."""
    engine.play = acts(m128=mute, m256=well)
    with serving(engine, config(TWO), warm=2, wait=10) as server:
        assert wait_until(lambda: len(alive(engine, 128)) == 2, 3)
        start = time.monotonic()
        is_ok(server.run(profile="b"))
        assert time.monotonic() - start < 5
        waiting = [server.start(profile="a") for _ in range(4)]
        for _ in range(3):
            is_ok(server.run(profile="b"))
        assert {call.result().status for call in waiting} == {"busy"}


def test_an_image_that_is_pulled_takes_no_place(engine, config):
    """Runs that wait for it leave the only place to others."""
    profiles = {"a": {"memory": "128m", "image": "far/away:1"}, "b": {"memory": "256m"}}
    engine.pull_lines = lambda say: (say({"status": "Pulling"}), time.sleep(6))
    with serving(engine, config(profiles), "--max-running=1", wait=4) as server:
        waiting = server.start(profile="a")
        assert wait_until(lambda: engine.count("pull") == 1, 3)
        for _ in range(3):
            is_ok(server.run(profile="b"))
        result = waiting.result()
        assert result.status == "busy" and "far/away:1 is being pulled" in result.text, result


def test_a_missing_image_closes_its_profile_alone(engine, config):
    profiles = {"a": {"memory": "128m", "image": "far/away:1"}, "b": {"memory": "256m"}}
    with serving(engine, config(profiles), "--pull=never") as server:
        is_refused(server.run(profile="a"), "far/away:1", "--pull=never")
        is_ok(server.run(profile="b"))


def test_stock_makes_way_for_another_profile(engine, config):
    """The budget holds one container of b, or two of a."""
    with serving(engine, config(TWO, memory_budget="300m"), warm=2) as server:
        # Whose image is found first has its stock first.
        assert wait_until(lambda: len(alive(engine, 128)) == 2 or len(alive(engine, 256)) == 1, 3)
        for profile in "bab":
            is_ok(server.run(profile=profile))
        assert wait_until(lambda: len(alive(engine, 128)) + len(alive(engine, 256)) > 0, 3)
    assert engine.count("create") < 16


def test_the_budget_is_never_passed(engine, config):
    """Neither by runs nor by the stock, which would take twice as much."""
    def used():
        return sum(c.body["HostConfig"]["Memory"] for c in list(engine.containers.values())) // MIB

    most = []
    with serving(engine, config(TWO, memory_budget="600m"), warm=3, wait=20) as server:
        calls = [server.start(profile=name) for name in "abbaab"]
        while not all(call.answered() for call in calls):
            most.append(used())
            time.sleep(0.005)
        assert not wait_until(lambda: most.append(used()) or most[-1] > 600, 2)
        assert most[-1] > 600 - 2 * 128, most[-1]
        for call in calls:
            is_ok(call.result())
    assert max(most) <= 600, most


def test_a_run_that_holds_the_budget_lets_others_wait_not_fail(engine, config):
    engine.play = acts(m128=well, m256=busy)
    with serving(engine, config(TWO, memory_budget="300m"), wait=1) as server:
        server.start(profile="b")
        assert wait_until(lambda: engine.count("create") == 1, 3)
        time.sleep(0.2)
        result = server.run(profile="a")
        assert result.status == "busy" and "no place became free" in result.text, result
        server.process.stdin.close()


def test_starts_take_turns(engine, config):
    """Many calls to one profile do not keep another's from a start."""
    engine.play = acts(m128=slow, m256=well)
    with serving(engine, config(TWO), "--max-running=9", wait=20) as server:
        calls = [server.start(profile="a") for _ in range(8)]
        result = server.run(profile="b")
        is_ok(result)
        assert result.seconds < 3, result.seconds
        assert not all(call.answered() for call in calls)
        for call in calls:
            is_ok(call.result())


def test_sweeping_knows_every_profiles_containers(engine, config):
    """Those of the second profile are no strays of the first."""
    with serving(engine, config(TWO), warm=1) as server:
        assert wait_until(lambda: len(alive(engine, 128)) == len(alive(engine, 256)) == 1, 3)
        before = {c.id for c in engine.containers.values()}
        engine.end_events()
        assert wait_until(lambda: engine.count("list") >= 2, 5)
        time.sleep(0.3)
        assert before <= set(engine.containers)
        is_ok(server.run(profile="b"))


