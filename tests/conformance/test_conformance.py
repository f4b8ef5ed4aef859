"""The official conformance suite against the HTTP server, in the build that has the suite's tools
(make FLAVOUR=fixtures). No engine is needed: none of its calls runs a script."""

import json
import os
import pathlib
import platform
import re
import subprocess
import tempfile
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BINARY = os.environ.get("PYTHON_SANDBOX_FIXTURES_BINARY") or ROOT / "build/fixtures/python-sandbox"
MODULES = pathlib.Path(os.environ.get("PYTHON_SANDBOX_TEST_CONFORMANCE") or HERE / "node_modules")
MACHINES = {"x86_64": "x64", "aarch64": "arm64"}
NODE = MODULES / ("node-linux-" + MACHINES.get(platform.machine(), "none")) / "bin/node"
SUITE = MODULES / "@modelcontextprotocol/conformance/dist/index.js"

REVISIONS = ["2025-11-25", "2026-07-28"]
TOOLS = ["tools-list", "tools-call-simple-text", "tools-call-image", "tools-call-audio",
         "tools-call-embedded-resource", "tools-call-mixed-content", "tools-call-error",
         "tools-call-with-progress", "json-schema-2020-12", "dns-rebinding-protection"]
NAMED = {
    "2025-11-25": ["server-initialize", "ping", *TOOLS],
    "2026-07-28": ["server-stateless", "http-header-validation",
                   "http-custom-header-server-validation", *TOOLS],
}
LIMIT_S = 120


@pytest.fixture(scope="module")
def url():
    """The endpoint of a server that ends in good order."""
    assert os.path.exists(BINARY), "no %s; make FLAVOUR=fixtures" % BINARY
    command = [str(BINARY), "serve", "--http=127.0.0.1:0", "--warm=0",
               "--docker-host=/nonexistent/docker.sock"]
    with tempfile.TemporaryFile("w+") as log:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=log, env={"PATH": os.environ["PATH"]})
        try:
            yield wait_for_url(server, log)
            server.terminate()
            assert server.wait(10) == 0
        finally:
            server.kill()
            server.wait()


def wait_for_url(server, log):
    end = time.monotonic() + 10
    text = ""
    while time.monotonic() < end and server.poll() is None:
        log.seek(0)
        text = log.read()
        found = re.search(r"http://127\.0\.0\.1:\d+/mcp", text)
        if found:
            return found.group(0)
        time.sleep(0.05)
    raise AssertionError("the server does not serve: " + text)


def run_suite(url, folder, *arguments):
    """Runs the suite; its exit code and output, and all checks as (scenario, check)."""
    assert NODE.exists() and SUITE.exists(), "no Node or suite in %s; tests/tools.sh" % MODULES
    done = subprocess.run([NODE, SUITE, "server", "--url", url, "-o", folder, *arguments],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S)
    checks = []
    for path in sorted(pathlib.Path(folder).glob("*/checks.json")):
        scenario = re.sub(r"^server-(.*)-\d{4}-\d\d-\d\dT.*$", r"\1", path.parent.name)
        checks += [(scenario, check) for check in json.loads(path.read_text())]
    return done.returncode, done.stdout, checks


@pytest.fixture(scope="module")
def whole_run(url, tmp_path_factory):
    """The whole suite, once for each revision."""
    runs = {}

    def run(revision):
        if revision not in runs:
            runs[revision] = run_suite(
                url, tmp_path_factory.mktemp(revision), "--suite", "all", "--spec-version", revision,
                "--expected-failures", HERE / ("expected-failures-%s.yml" % revision))
        return runs[revision]

    return run


@pytest.mark.parametrize("revision", REVISIONS)
def test_whole_suite(whole_run, revision):
    """What fails is out of scope, and all that is listed as such still fails."""
    code, output, checks = whole_run(revision)
    assert code == 0, output
    assert len({name for name, _ in checks}) > 25


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_message_fits_the_schema(whole_run, revision):
    """In every scenario; the few that speak HTTP for themselves do not look."""
    _, output, checks = whole_run(revision)
    valid = [(name, c) for name, c in checks if c["id"] == "wire-schema-valid"]
    assert len(valid) > 25, output
    assert [(name, c) for name, c in valid if c["status"] != "SUCCESS"] == []


@pytest.mark.parametrize("revision, scenario",
                         [(revision, name) for revision in REVISIONS for name in NAMED[revision]])
def test_scenario(whole_run, revision, scenario):
    """Passes whole, and not for want of checks."""
    _, output, checks = whole_run(revision)
    checks = [c for name, c in checks if name == scenario]
    bad = [(c["id"], c.get("errorMessage")) for c in checks
           if c["status"] not in ("SUCCESS", "SKIPPED", "INFO")]
    assert bad == [], output
    assert [c for c in checks if c["status"] == "SUCCESS" and c["id"] != "wire-schema-valid"]


def test_scenarios_alone(url, tmp_path):
    """The suite's own verdict on those that it does not score yet."""
    for scenario in ["http-header-validation", "http-custom-header-server-validation"]:
        code, output, _ = run_suite(url, tmp_path, "--scenario", scenario, "--spec-version",
                                    "2026-07-28")
        assert code == 0, output
