"""What is left of the machines when the tests end without a word."""

import json
import signal
import subprocess
import sys
import time

import cluster as swarm
import pytest
from sandbox import wait_until

START = """
import json, sys, time
sys.path[:0] = json.loads(sys.argv[1])
import cluster
found = cluster.Cluster("", "")
found.start_machines()
print("networks " + json.dumps(sorted(found.networks())), flush=True)
time.sleep(600)
"""


def processes(pid, networks):
    return [left for left in swarm.left_of(pid, networks) if str(left).startswith("process ")]


@pytest.mark.timeout(120, func_only=True)
def test_machines_end_with_whoever_made_them(machines):
    child = subprocess.Popen([sys.executable, "-c", START, json.dumps(sys.path)], stdout=subprocess.PIPE, text=True)
    try:
        told = next(line for line in child.stdout if line.startswith("networks "))
        networks = set(json.loads(told[len("networks "):]))
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
    start = time.monotonic()
    assert wait_until(lambda: not processes(child.pid, networks), 10), processes(child.pid, networks)
    print("processes gone after %.1f s" % (time.monotonic() - start))
    swarm.sweep()
    assert swarm.left_of(child.pid, networks) == []
