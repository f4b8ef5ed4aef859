"""A script that runs longer than the client waits: progress makes it wait on where it says so."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from driven import HttpServer, connected, containers
from sandbox import assert_gone, py, wait_until

pytestmark = pytest.mark.timeout(150)

PATIENCE_MS = 20_000
GONE_S = 5
SCRIPT = py("""
    import time
    for second in range(61):
        print("second", second, flush=True)
        time.sleep(1)
    """)


def run_script(engine, reset, http=None):
    """The answer of the TypeScript client, whose time limit progress resets or does not, and
    whether the container is gone."""
    with connected("typescript_v1", "legacy", http) as client:
        answer = client.call(code=SCRIPT, timeout_seconds=90, progress=True, timeout=PATIENCE_MS,
                             reset=reset).get()
        pids = client.servers()
        gone = wait_until(lambda: not containers(engine, pids), GONE_S)
        after = client.call(code="print('after')").result()
        closed = client.close()
    if not http:
        for pid in pids:
            assert_gone(engine, pid, 2)
    assert after["structuredContent"]["stdout"] == "after\n"
    assert closed["errors"] == []
    return answer, gone


def survived(answer, gone):
    data = answer["result"]["structuredContent"]
    assert data["status"] == "ok" and data["duration_ms"] >= 61_000
    assert data["stdout"].endswith("second 60\n")
    assert len(answer["progress"]) >= 60_000 / PATIENCE_MS
    assert any("second" in p["message"] for p in answer["progress"])
    assert gone


def test_a_script_of_a_minute(engine, base_image, tmp_path):
    """Three clients at once, so that the minute passes once."""
    with HttpServer(tmp_path) as http, ThreadPoolExecutor() as threads:
        patient = threads.submit(run_script, engine, True)
        over_http = threads.submit(run_script, engine, True, http)
        impatient = threads.submit(run_script, engine, False)
        survived(*patient.result())
        survived(*over_http.result())
        answer, gone = impatient.result()
    assert "timed out" in answer["error"], answer
    assert gone, "the container outlived its call"
