"""Profiles: each has its own containers, limits, image and preload; one that cannot be served leaves the others alone."""

import http.client
import json
import re
import socket
import subprocess
import time

import pytest
from sandbox import BINARY, Server, engine_flags, environment, py, spawn, wait_until
from sandbox import end as end_process

MIB = 1 << 20
LIMITS = """
import json, os, re, resource
def read(*paths):
    for path in paths:
        if os.path.exists('/sys/fs/cgroup/' + path):
            return open('/sys/fs/cgroup/' + path).read().strip()
mounts = {line.split()[4]: line for line in open('/proc/self/mountinfo')}
print(json.dumps({
    'memory': int(read('memory/memory.limit_in_bytes', 'memory.max')),
    'pids': int(read('pids/pids.max', 'pids.max')),
    'sizes': {where: int(re.search(r'size=(\\d+)k', mounts[where]).group(1))
              for where in ('/workspace', '/tmp', '/dev/shm')},
    'threads': [os.environ[name] for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS',
                                              'NUMEXPR_MAX_THREADS')],
    'processors': os.cpu_count(),
    'writable': [os.access(os.environ[name], os.W_OK) for name in ('HOME', 'MPLCONFIGDIR', 'XDG_CACHE_HOME')],
    'backend': os.environ['MPLBACKEND'],
}))
"""


@pytest.fixture
def config(tmp_path, base_image):
    def write(profiles, **settings):
        settings.setdefault("image", base_image)
        path = tmp_path / "config.json"
        path.write_text(json.dumps({"warm": 1, "profiles": profiles, **settings}))
        return "--config=%s" % path

    return write


def warm(engine, pid, **wanted):
    """Waits for so many running containers of each size, m256=1, and returns what the engine says of them."""
    found = []

    def ready():
        found[:] = engine.inspect_running(pid)
        sizes = [c["HostConfig"]["Memory"] for c in found]
        return all(sizes.count(int(name[1:]) * MIB) == count for name, count in wanted.items())

    assert wait_until(ready, 40), {c["HostConfig"]["Memory"] for c in found}
    return found


def refusal(server, **arguments):
    """The text of a call that is refused before anything is run."""
    message = server.start("print(1)", **arguments).response()
    assert message["result"]["isError"] is True and "structuredContent" not in message["result"]
    return message["result"]["content"][0]["text"]


TWO = {
    "small": {"memory": "256m", "description": "Standard library only."},
    "large": {"memory": "320m", "cpus": 1.5, "pids": 77, "workspace": "3m", "tmp": "2m", "shm": "1m",
              "timeout_max": 5, "exec": True},
}


def test_each_profile_has_its_own_pool_and_limits(engine, config):
    with Server(config(TWO)) as server:
        warm(engine, server.pid, m256=1, m320=1)
        small = server.facts(LIMITS)
        assert small["memory"] == 256 * MIB and small["pids"] == 128
        assert (small["threads"], small["processors"]) == (4 * ["1"], 1)
        large = server.facts(LIMITS, profile="large")
        assert large["memory"] == 320 * MIB and large["pids"] == 77
        assert large["sizes"] == {"/workspace": 3072, "/tmp": 2048, "/dev/shm": 1024}
        assert large["threads"] == 4 * ["2"] and 1 <= large["processors"] <= 2
        for found in small, large:
            assert found["writable"] == [True] * 3 and found["backend"].lower() == "agg"
        containers = warm(engine, server.pid, m256=1, m320=1)
        labels = {c["Config"]["Labels"]["python-sandbox.owner"] for c in containers}
        users = [c["Config"]["User"] for c in containers]
        assert len(labels) == 1 and len(set(users)) == len(users) == 2


def test_the_tool_offers_the_profiles(engine, config):
    with Server(config(TWO), "--profile=large", "--warm=0") as server:
        [tool] = server.request("tools/list")["tools"]
        argument = tool["inputSchema"]["properties"]["profile"]
        assert argument["enum"] == ["small", "large"] and argument["default"] == "large"
        assert "- small: Standard library only. (256 MB" in argument["description"]
        assert "- large (the default): (320 MB, 1.5 CPUs, up to 5 s)" in argument["description"]
        assert "320 MB of memory" in tool["description"]
        assert refusal(server, profile="medium").endswith('profile must be one of "small", "large"')
        assert "at most 5" in refusal(server, timeout_seconds=6)
        assert server.facts(LIMITS)["memory"] == 320 * MIB
        assert server.facts(LIMITS, profile="small", timeout_seconds=6)["memory"] == 256 * MIB


def test_one_profile_is_not_offered(engine, config):
    with Server(config({"only": {"memory": "256m"}}), "--warm=0") as server:
        [tool] = server.request("tools/list")["tools"]
        assert "profile" not in tool["inputSchema"]["properties"]
        result = server.run("print(1)", profile="other")
        assert result.status == "ok" and "ignored: profile" in result.text


def test_exec_is_what_the_profile_says(engine, config):
    code = py(
        """
        import json, os, subprocess
        found = {}
        for folder in '/workspace', '/tmp', '/dev/shm':
            path = folder + '/program'
            with open(path, 'w') as file:
                file.write('#!/bin/sh\\necho it runs\\n')
            os.chmod(path, 0o755)
            try:
                found[folder] = subprocess.run([path], capture_output=True, text=True).stdout
            except PermissionError:
                found[folder] = 'refused'
        print(json.dumps(found))
        """
    )
    with Server(config(TWO), "--warm=0") as server:
        assert set(server.facts(code).values()) == {"refused"}
        runs = server.facts(code, profile="large")
    assert runs == {"/workspace": "it runs\n", "/tmp": "it runs\n", "/dev/shm": "refused"}


BROKEN = {
    "good": {"memory": "256m"},
    "preload": {"memory": "257m", "preload": ["json", "no_such_module"]},
    "prints": {"memory": "258m", "preload": ["this"]},
    "image": {"image": "nobody/has:this"},
    "runtime": {"runtime": "no-such-runtime"},
}
REASONS = {
    "preload": "the preload of no_such_module failed: ModuleNotFoundError: No module named 'no_such_module'",
    "prints": "the preload of this printed 'The Zen of Python",
    "image": "the engine has no image nobody/has:this",
    "runtime": "no-such-runtime",
}


def test_a_closed_profile_leaves_the_others_alone(engine, config):
    with Server(config(BROKEN), "--pull=never") as server:
        for name, reason in REASONS.items():
            result = wait_until(lambda name=name: refused(server, name), 40)
            assert result and reason in result.text, (name, result)
        warm(engine, server.pid, m256=1)
        for _ in range(4):
            result = server.run("print('good')")
            assert (result.status, result.stdout) == ("ok", "good\n"), result
        # While others fail again and again, a good one has its stock.
        warm(engine, server.pid, m256=1)
        for name, reason in REASONS.items():
            result = server.run("print(1)", profile=name)
            assert result.status == "sandbox_error" and reason in result.text, (name, result)


def refused(server, name):
    """The answer of a profile that is known to be closed; None while it may still come up."""
    result = server.run("print(1)", profile=name, timeout_seconds=5)
    assert result.status in ("sandbox_error", "busy"), result
    return result if result.status == "sandbox_error" else None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except OSError:
        return 0, ""
    finally:
        connection.close()


def test_watchers_see_each_profile(engine, config):
    port = free_port()
    process = spawn(["serve", *engine_flags(), "--http=127.0.0.1:%d" % port, "--pull=never", config(BROKEN)],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        closed = "ok, without preload, prints, image, runtime\n"
        assert wait_until(lambda: ask(port, "/readyz") == (200, closed), 40, 0.2), ask(port, "/readyz")
        failures = re.compile(r'python_sandbox_container_start_failures_total\{profile="prints"\} [1-9]')
        assert wait_until(lambda: failures.search(ask(port, "/metrics")[1]), 40, 0.2)
        text = ask(port, "/metrics")[1]
        assert 'python_sandbox_containers_ready{profile="good"} 1\n' in text
        assert 'python_sandbox_containers_ready{profile="preload"} 0\n' in text
        assert 'python_sandbox_image_present{profile="image"} 0\n' in text
        assert 'python_sandbox_walls_sound{profile="good"} 1\n' in text
    finally:
        process.terminate()
        process.wait(20)
        end_process(process)


def test_a_default_that_is_closed_is_not_ready(engine, config):
    port = free_port()
    process = spawn(["serve", *engine_flags(), "--http=127.0.0.1:%d" % port, "--pull=never", "--profile=prints",
                     config(BROKEN)],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert wait_until(lambda: 'containers_ready{profile="good"} 1\n' in ask(port, "/metrics")[1], 40, 0.2)
        status, text = ask(port, "/readyz")
        assert status == 503 and text.startswith("not ready"), text
    finally:
        process.terminate()
        process.wait(20)
        end_process(process)


def test_a_preload_is_there_and_costs_the_call_nothing(engine, config, modules_image):
    profiles = {
        "plain": {"image": modules_image},
        "loaded": {"image": modules_image, "memory": "256m", "preload": ["slow_one", "quiet_one"]},
    }
    code = "import sys, json\nprint(json.dumps([n in sys.modules for n in ('slow_one', 'quiet_one')]))"
    with Server(config(profiles)) as server:
        warm(engine, server.pid, m512=1, m256=1)
        assert server.facts(code) == [False, False]
        # The container runs long before it is ready.
        result = wait_until(lambda: server.run("import slow_one", profile="loaded"), 60)
        assert result.status == "ok" and result.data["duration_ms"] < 2500, result
        assert server.facts(code, profile="loaded") == [True, True]


def test_a_missing_module_is_told_with_where_it_is(engine, config, base_image, modules_image):
    profiles = {
        "stock": {"memory": "256m"},
        "modules": {"memory": "257m", "image": modules_image},
        "again": {"memory": "258m", "image": modules_image, "warm": 0},
    }
    with Server(config(profiles)) as server:
        for name in ("stock", "modules"):
            assert server.run("print(1)", profile=name).status == "ok"
        time.sleep(0.5)  # what is known of a profile is told five times in a second
        here = server.run("import quiet_one")
        assert "which is all that the image has" in here.text, here
        assert 'the profile "modules" has quiet_one: name it in the argument profile' in here.text, here
        there = server.run("import nowhere", profile="modules")
        assert re.search(r"what there is besides: .*package_one, .*quiet_one", there.text), there
        assert "has nowhere" not in there.text, there
        part = server.run("import package_one.other", profile="modules")
        assert part.status == "error" and "packages cannot be installed" not in part.text, part


def test_the_budget_is_shared(engine, config):
    """Two profiles, and room for one container: the stock of one makes way for a run of the other."""
    profiles = {"one": {"memory": "256m"}, "two": {"memory": "300m"}}
    with Server(config(profiles, memory_budget="400m")) as server:
        for name in ("two", "one", "two"):
            result = server.run("print('%s')" % name, profile=name)
            assert (result.status, result.stdout) == ("ok", name + "\n"), result
            together = sum(c["HostConfig"]["Memory"] for c in engine.inspect_running(server.pid))
            assert together <= 400 * MIB, together
        calls = [server.start("print(1)", profile=name) for name in ("one", "two", "one", "two")]
        assert [call.result().status for call in calls] == 4 * ["ok"]


def test_many_calls_to_one_profile_do_not_starve_another(engine, config):
    profiles = {"one": {"memory": "256m"}, "two": {"memory": "257m"}}
    with Server(config(profiles), "--max-running=4") as server:
        first = [server.start("import time; time.sleep(0.2); print(1)", profile="one") for _ in range(8)]
        other = server.run("print(2)", profile="two")
        assert other.status == "ok", other
        assert [call.result().status for call in first] == 8 * ["ok"]


# The verbs


def run(*arguments, timeout=80):
    done = subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=timeout, env=environment(),
                          check=False)
    return done.returncode, done.stdout, done.stderr


def test_run_takes_a_profile(engine, config, tmp_path):
    script = tmp_path / "limits.py"
    script.write_text(LIMITS)
    log = tmp_path / "audit.log"
    flags = [*engine_flags(), config(TWO), "--audit-log=%s" % log]
    for chosen, memory in (([], 256), (["--profile=large"], 320), (["--profile=large", "--memory=400m"], 400)):
        status, out, err = run("run", *flags, *chosen, str(script))
        assert (status, json.loads(out)["memory"]) == (0, memory * MIB), err
    assert [json.loads(line)["profile"] for line in log.read_text().splitlines()] == ["small", "large", "large"]
    status, _, err = run("run", *flags, "--profile=medium", str(script))
    assert status == 2 and 'profile: there is none named "medium"; the JSON file has small, large' in err


def test_run_leaves_the_other_profiles_alone(engine, config, tmp_path):
    """Neither their images nor their failures matter."""
    script = tmp_path / "one.py"
    script.write_text("print(1)")
    assert run("run", *engine_flags(), config(BROKEN), str(script)) == (0, "1\n", "")
    status, _, err = run("run", *engine_flags(), config(BROKEN), "--profile=preload", str(script))
    assert status == 125 and REASONS["preload"] in err


def test_the_audit_log_names_the_profile(engine, config, tmp_path):
    log = tmp_path / "audit.log"
    with Server(config(TWO), "--audit-log=%s" % log, "--warm=0") as server:
        server.run("print(1)", profile="large")
        server.run("print(1)")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["profile"] for line in lines] == ["large", "small"]
    assert [line["memory_bytes"] for line in lines] == [320 * MIB, 256 * MIB]


def test_doctor_looks_at_each_profile(engine, config):
    chosen = {name: BROKEN[name] for name in ("good", "preload", "image")}
    status, out, _ = run("doctor", "--json", "--pull=never", *engine_flags(), config(chosen))
    found = json.loads(out)
    rows = {name: {row["name"]: row for row in found["rows"] if row.get("profile") == name} for name in chosen}
    assert status == 1 and found["good"] is False
    assert {row["verdict"] for row in rows["good"].values()} == {"ok"}
    assert {"image", "walls", "python", "packages", "latency"} <= set(rows["good"])
    assert rows["preload"]["run"]["verdict"] == "fail" and REASONS["preload"] in rows["preload"]["run"]["text"]
    assert rows["image"]["image"]["verdict"] == "fail" and REASONS["image"] in rows["image"]["image"]["text"]
    assert sum(row["name"] == "engine" for row in found["rows"]) == 1
    good, broken, missing = found["profiles"]
    assert (good["name"], broken["name"], missing["name"]) == tuple(chosen)
    assert good["walls"] and all(wall["good"] for wall in good["walls"]) and good["latency_ms"] >= 0


def test_doctor_is_green_where_all_are(engine, config):
    status, out, err = run("doctor", "--pull=never", *engine_flags(), config(TWO))
    assert status == 0, out + err
    assert out.count("\nprofile small (the default)\n") == out.count("\nprofile large\n") == 1
