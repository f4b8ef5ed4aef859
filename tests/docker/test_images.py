"""An image with ENTRYPOINT, HEALTHCHECK and VOLUME opens nothing."""

import time

import pytest
from attacks import PLACES, WRITABLE, assert_only_memory_is_writable
from sandbox import Server, assert_serves, py, wait_until


@pytest.fixture(scope="module", params=["/data", "/srv//./data/", "/workspace/", "/tmp/x/.."])
def holed(request, engine, base_image):
    """A server on an image with ENTRYPOINT, HEALTHCHECK and VOLUME."""
    tag = "python-sandbox-test:holes%s" % request.param.replace("/", "-")
    changes = [
        'ENTRYPOINT ["/bin/sh", "-c", "echo from the entrypoint; sleep 1000"]',
        "HEALTHCHECK --interval=1s CMD echo healthcheck; sleep 1000",
        'VOLUME ["%s"]' % request.param,
        "USER 0:0",
        "WORKDIR /data",
        'CMD ["echo", "from the command"]',
    ]
    engine.commit(base_image, tag, changes)
    volumes = engine.volumes()
    try:
        with Server("--image=" + tag) as server:
            yield server
        assert wait_until(lambda: engine.volumes() <= volumes, 5), "a volume is left"
    finally:
        engine.remove_image(tag)


def test_an_image_with_holes_runs_under_our_supervisor(holed, engine):
    result = holed.run(
        py(
            """
            import os, time
            time.sleep(3)  # time for a health check
            print(os.getpid() != 1, os.getppid(), os.getuid() != 0, os.getcwd())
            for pid in sorted(p for p in os.listdir('/proc') if p.isdigit()):
                with open('/proc/%s/cmdline' % pid, 'rb') as f:
                    print(pid, f.read().split(b'\\0')[0].decode(), flush=True)
            """
        )
    )
    assert (result.status, result.stderr) == ("ok", ""), result
    lines = result.stdout.splitlines()
    assert lines[0] == "True 1 True /workspace"
    assert lines[1].startswith("1 python3")
    programs = {line.split(" ", 1)[1].rsplit("/", 1)[-1] for line in lines[1:]}
    assert all(name.startswith("python3") for name in programs), programs
    assert result.data["image"].startswith("python-sandbox-test:holes")


def test_an_image_with_holes_has_no_entrypoint_and_no_health_check(holed, engine):
    assert_serves(holed)
    [facts, *_] = wait_until(lambda: engine.inspect_running(holed.pid), 10)
    assert not facts["Config"]["Entrypoint"]
    assert facts["Config"]["Healthcheck"]["Test"] == ["NONE"]
    assert "Health" not in facts["State"] or facts["State"]["Health"] is None


def test_an_image_with_holes_has_no_further_writable_place(holed):
    assert holed.facts(WRITABLE) == PLACES
    lines = holed.facts("import json; print(json.dumps(open('/proc/self/mountinfo').readlines()))")
    assert_only_memory_is_writable(lines)


def test_a_volume_has_no_way_around_the_size_limit(holed):
    started = time.monotonic()
    result = holed.run(
        py(
            """
            import os
            total = 0
            for place in ('/workspace', '/data'):
                try:
                    with open(place + '/bomb', 'wb', 0) as f:
                        while total < 600 << 20:
                            total += f.write(b'x' * (1 << 20))
                except OSError:
                    pass
            print(total >> 20 <= 256)
            """
        )
    )
    assert (result.status, result.stdout) == ("ok", "True\n"), result
    assert time.monotonic() - started < 30
