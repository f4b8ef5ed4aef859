"""The front by itself: what it makes of profiles, and of what the executor tells of them."""

import json
import struct

import pytest

from front import PROFILE, RUNNING, Front

PROFILES = {
    "small": {"description": "Standard library.", "memory": "128m", "timeout_max": "10", "timeout": "5"},
    "data": {"memory": "1g", "timeout_max": "600"},
}
MISSING = b"Traceback (most recent call last):\nModuleNotFoundError: No module named 'pandas'\n"


def start(profiles=None, *flags):
    return Front("--config=none", "--profiles=" + json.dumps(profiles or PROFILES), *flags)


@pytest.fixture
def front():
    with start() as front:
        yield front


def failed(front, **arguments):
    """The text of a script that lacks pandas."""
    id = front.call(**arguments)
    call, _ = front.executor.run()
    front.executor.phase(call, RUNNING)
    front.executor.output(call, MISSING, stream=2)
    front.executor.done(call, "error", exit_code=1, totals=(0, 0, len(MISSING), len(MISSING)))
    reply = front.receive()
    assert reply["id"] == id and reply["result"]["isError"] is True
    return reply["result"]["content"][0]["text"]


def test_a_profile_becomes_its_index(front):
    for arguments, index, timeout_ms in (({}, 0, 5000), ({"profile": "data"}, 1, 30000), ({"profile": "small"}, 0, 5000),
                                         ({"profile": "data", "timeout_seconds": 600}, 1, 600000)):
        front.call(**arguments)
        call, asked = front.executor.run()
        assert (asked["profile"], asked["timeout_ms"]) == (index, timeout_ms)
        front.executor.done(call)
        assert front.receive()["result"]["structuredContent"]["status"] == "ok"


def test_the_default_may_be_another():
    with start(None, "--profile=data") as front:
        front.call()
        assert front.executor.run()[1]["profile"] == 1
        [tool] = front.ask("tools/list")["result"]["tools"]
        assert tool["inputSchema"]["properties"]["profile"]["default"] == "data"
        assert tool["inputSchema"]["properties"]["timeout_seconds"]["maximum"] == 600


@pytest.mark.parametrize("value", ["", "Small", "large", 0, ["small"], {}, True])
def test_another_name_is_refused(front, value):
    id = front.call(profile=value)
    reply = front.receive()
    assert reply["id"] == id and reply["result"]["isError"] is True
    assert 'profile must be one of "small", "data"' in reply["result"]["content"][0]["text"]
    assert front.executor.is_quiet()


def test_texts_are_of_the_profile(front):
    for profile, limit in (("small", "128 MB"), ("data", "1 GB")):
        front.call(profile=profile)
        call, _ = front.executor.run()
        front.executor.done(call, "out_of_memory", exit_code=137, oom_kills=1)
        assert "stopped at the memory limit of " + limit in front.receive()["result"]["content"][0]["text"]
    front.call(profile="small")
    call, _ = front.executor.run()
    front.executor.done(call, "timed_out", exit_code=137)
    assert "timeout_seconds may be up to 10 s" in front.receive()["result"]["content"][0]["text"]


def test_what_the_executor_tells_becomes_a_hint(front):
    assert "use the standard library or what the image has" in failed(front)
    front.executor.profile(1, modules="numpy pandas")
    text = failed(front)
    assert 'the profile "data" has pandas: name it in the argument profile' in text
    front.executor.profile(0, modules="requests yaml")
    assert "or what there is besides: requests, yaml; the profile" in failed(front)
    assert "cannot be installed" not in failed(front, profile="data")
    front.executor.profile(1, modules="")
    assert "has pandas" not in failed(front)


def test_a_list_as_long_as_may_be(front):
    front.executor.profile(0, modules=("module%05d " * 2500 % tuple(range(2500)))[:32768].rpartition(" ")[0])
    text = failed(front)
    assert "module00000, module00001" in text and " more; the profile " in text and len(text) < 2500


@pytest.mark.parametrize("payload", [
    b"", bytes(19), bytes(21), struct.pack(">I", 16) + bytes(16),
    bytes(12) + struct.pack(">I", 32769) + 32769 * b"m" + bytes(4), bytes(4) + struct.pack(">I", 1) + b"\0" + bytes(12),
])
def test_a_malformed_profile_ends_the_server(payload):
    with start() as front:
        front.ping()
        front.executor.send(PROFILE, 0, payload)
        assert front.wait() == 1


@pytest.mark.parametrize("text", ["", "[]", "{}", "{\"a\":1}", "{\"A\":{}}", "{\"a\":{\"x\":1}}", "{\"a\":{}"])
def test_profiles_that_make_no_sense(text):
    with Front("--config=none", "--profiles=" + text) as front:
        assert front.wait() == 1
