#!/usr/bin/env python3
"""Warm calls beside `docker run`, in one run and by turns.

Prints the median and the 90th percentile of the time from request line to result line for print(1), each
with the pool full, and of `docker run --rm` with the same walls. Only their ratio is judged, and only
generously: absolute times belong to the machine.

Usage: warm.py [CALLS [DOCKER_RUNS]]
"""

import pathlib
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "docker"))

from docker_engine import Engine  # noqa: E402
from sandbox import IMAGES, Server, wait_until  # noqa: E402

WARM = 2
REFILL_WAIT_S = 3
READY_WAIT_S = 0.2  # from a container's start, which the engine shows, to its readiness
RATIO_MIN = 10
CODE = "print(1)"

DOCKER_RUN = """
docker run --rm --read-only --network none --cap-drop ALL --security-opt no-new-privileges
--memory 512m --memory-swap 512m --pids-limit 128 --cpus 1 --user 60599:60599 --workdir /workspace
--log-driver none --ulimit core=0
--tmpfs /workspace:rw,nosuid,nodev,size=256m,nr_inodes=16384,mode=0700,uid=60599,gid=60599
--tmpfs /tmp:rw,nosuid,nodev,size=64m,nr_inodes=16384,mode=0700,uid=60599,gid=60599
""".split()


def percentile_90(values):
    return sorted(values)[int(0.9 * (len(values) - 1) + 0.5)]


def wait_for_full_pool(server, engine, before, warm=WARM, ready_wait=READY_WAIT_S):
    """Until the container of the last call has gone and another one has taken its place."""

    def full():
        found = {c["Id"] for c in engine.containers(server.pid, running=True)}
        return found if len(found) == warm and found != before else None

    found = wait_until(full, REFILL_WAIT_S, 0.02)
    time.sleep(ready_wait)
    return found or before


def warm_call(server):
    result = server.run(CODE)
    assert (result.status, result.stdout) == ("ok", "1\n"), result
    return result.seconds * 1e3


def docker_run(image, code=CODE, expected="1\n"):
    command = DOCKER_RUN + [image, "python3", "-I", "-c", code]
    start = time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, expected), done
    return (time.monotonic() - start) * 1e3


def line(name, values):
    figures = (name, statistics.median(values), percentile_90(values), min(values), len(values))
    return "%-22s median %7.1f ms   p90 %7.1f ms   best %7.1f ms   n %d" % figures


def main():
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    if not shutil.which("docker"):
        sys.exit("warm.py: no docker command to compare with")
    engine = Engine()
    image = next((name for name in IMAGES if engine.has_image(name)), None)
    if not image:
        sys.exit("warm.py: the engine has none of %s; run make setup" % ", ".join(IMAGES))
    warm, cold = [], []
    docker_run(image)  # both sides once without counting
    with Server("--warm=%d" % WARM) as server:
        pool = wait_for_full_pool(server, engine, set())
        for n in range(calls):
            warm.append(warm_call(server))
            pool = wait_for_full_pool(server, engine, pool)
            while len(cold) * calls < (n + 1) * runs:
                cold.append(docker_run(image))
    ratio = statistics.median(cold) / statistics.median(warm)
    print(line("warm call", warm))
    print(line("docker run --rm", cold))
    passed = ratio >= RATIO_MIN
    print("%s warm calls are %.0f times faster than docker run" % ("ok  " if passed else "FAIL", ratio))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
