"""The server's own life: start, queue, several at once, and every way to end."""

import fcntl
import io
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import tarfile
import time

import pytest
from docker_engine import LABEL
from sandbox import BINARY, Server, assert_gone, end, processes, py, spawn, wait_until

NOWHERE = "/nonexistent/docker.sock"
SLEEP = "import time; print('started', flush=True); time.sleep(60)"


# Start


def test_initialize_is_answered_within_20_ms_without_an_engine():
    times = []
    for _ in range(10):
        start = time.monotonic()
        with Server(env={"DOCKER_HOST": "unix://" + NOWHERE}) as server:
            times.append(time.monotonic() - start)
            listed = time.monotonic()
            assert [t["name"] for t in server.request("tools/list")["tools"]] == ["run_python"]
            assert time.monotonic() - listed < 0.5
    print("initialize: best %.1f ms, median %.1f ms" % (min(times) * 1e3, statistics.median(times) * 1e3))
    assert min(times) < 0.020, times


def test_a_call_without_an_engine_names_the_path_tried():
    with Server(env={"DOCKER_HOST": "unix://" + NOWHERE}) as server:
        result = server.run("print(1)", wait=30)
        assert result.status == "sandbox_error" and NOWHERE in result.text, result
        assert "DOCKER_HOST" in result.text
        assert server.request("ping") == {}
    with Server("--docker-host=" + NOWHERE) as server:
        result = server.run("print(1)", wait=30)
        assert result.status == "sandbox_error" and NOWHERE in result.text, result


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("unshare"), reason="hiding the engine needs root"
)
def test_a_call_without_an_engine_names_every_path_tried():
    """Without a setting the server searches; here every usual place is hidden from it."""
    hide = 'mount -t tmpfs none /run && exec "$0" "$@"'
    command = ["unshare", "--mount", "sh", "-c", hide, BINARY]
    env = {"XDG_RUNTIME_DIR": "/run/user/4321", "HOME": "/nonexistent", "DOCKER_HOST": ""}
    with Server(command=command, env=env) as server:
        result = server.run("print(1)", wait=30)
    assert result.status == "sandbox_error", result
    for path in ("/var/run/docker.sock", "/run/user/4321/docker.sock", "podman"):
        assert path in result.text, path
    assert re.search(r"No such file|does not exist|not there|not found", result.text), result


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
def test_protocol_versions(engine, version):
    with Server(initialize=False) as server:
        assert server.initialize(version)["protocolVersion"] == version


def test_serve_is_the_default(engine, base_image):
    with Server(verb=()) as server:
        assert server.run("print(1)").stdout == "1\n"


def test_an_image_that_is_not_there_is_named(engine):
    with Server("--image=does-not-exist:1", "--pull=never") as server:
        for _ in range(2):
            result = server.run("print(1)", wait=30)
            assert result.status == "sandbox_error" and "does-not-exist:1" in result.text, result
        assert server.request("ping") == {}


@pytest.fixture(scope="module")
def empty_image(engine):
    """An image without anything, Python included."""
    tag = "python-sandbox-test:empty"
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("etc/nothing"))
    query = {"fromSrc": "-", "repo": "python-sandbox-test", "tag": "empty"}
    status, text = engine.raw("POST", "/images/create", data.getvalue(), **query)
    assert status == 200 and engine.has_image(tag), text
    yield tag
    engine.remove_image(tag)


def test_an_image_without_python_is_named_and_not_tried_all_the_time(engine, empty_image):
    since = int(time.time())
    with Server("--image=" + empty_image) as server:
        result = server.run("print(1)", wait=30)
        time.sleep(8)
        assert server.request("ping") == {}
        filters = json.dumps({"type": ["container"], "event": ["create"], "label": [LABEL]})
        query = {"since": since, "until": int(time.time()), "filters": filters}
        events = map(json.loads, engine.raw("GET", "/events", **query)[1].splitlines())
        owners = [event["Actor"]["Attributes"][LABEL] for event in events]
        creates = sum(owner.startswith("pid=%d " % server.pid) for owner in owners)
    assert_gone(engine, server.pid)
    assert 1 <= creates <= 12, "%d containers created in 8 s" % creates
    assert result.status == "sandbox_error", result
    assert empty_image in result.text and "python3" in result.text, result


# End


def end_by_eof(server):
    start = time.monotonic()
    server.close()
    return time.monotonic() - start


ENDS = {
    "EOF": end_by_eof,
    "SIGTERM": lambda server: server.signal(signal.SIGTERM),
    "SIGINT": lambda server: server.signal(signal.SIGINT),
    "SIGHUP": lambda server: server.signal(signal.SIGHUP),
}


@pytest.mark.parametrize("how", ENDS)
def test_the_end_during_runs(engine, base_image, how):
    server = Server()
    calls = [server.start(SLEEP) for _ in range(3)]
    assert wait_until(lambda: len(engine.containers(server.pid, running=True)) >= 3, 15)
    time.sleep(0.5)
    assert ENDS[how](server) < 2
    assert_gone(engine, server.pid, 1)
    assert all(call.message is None or call.result().status == "cancelled" for call in calls)


@pytest.mark.parametrize("how", ENDS)
def test_the_end_without_a_run(engine, base_image, how):
    server = Server()
    server.run("print(1)")
    assert ENDS[how](server) < 2
    assert_gone(engine, server.pid, 1)


def test_the_end_right_after_the_start(engine, base_image):
    for delay in (0, 0.02, 0.1, 0.2):
        server = Server()
        time.sleep(delay)
        assert end_by_eof(server) < 2
        assert_gone(engine, server.pid, 1)


def test_eof_ends_with_status_0(engine):
    server = Server()
    assert server.close() == 0


def test_a_request_before_the_end_of_input_does_not_keep_the_server(engine, base_image):
    server = Server()
    server.start("while True: pass")
    assert end_by_eof(server) < 2
    assert_gone(engine, server.pid, 1)


# kill -9


def test_kill_9_during_runs_leaves_nothing(engine, base_image):
    server = Server()
    for _ in range(3):
        server.start(SLEEP)
    assert wait_until(lambda: len(engine.containers(server.pid, running=True)) >= 4, 15)
    server.kill()
    assert_gone(engine, server.pid)


def test_kill_9_of_the_whole_process_group_leaves_nothing(engine, base_image):
    """What clients do with a server that is slow to go."""
    for delay in (0.05, 0.15, 3):
        server = Server()
        server.start(SLEEP)
        time.sleep(delay)
        os.killpg(server.pid, signal.SIGKILL)
        server.kill()
        assert_gone(engine, server.pid)


@pytest.mark.timeout(150)
def test_kill_9_during_a_refill_leaves_nothing(engine, base_image):
    moments = random.Random(2)
    for _ in range(15):
        server = Server(initialize=False)
        time.sleep(moments.uniform(0, 0.3))
        server.kill()
        assert_gone(engine, server.pid)


def test_kill_9_during_a_refill_after_calls_leaves_nothing(engine, base_image):
    moments = random.Random(3)
    for _ in range(5):
        server = Server("--warm=3")
        server.run("print(1)")
        time.sleep(moments.uniform(0, 0.2))
        server.kill()
        assert_gone(engine, server.pid)


def test_kill_9_of_the_front_ends_the_server(engine, base_image):
    server = Server()
    server.start(SLEEP)
    assert wait_until(lambda: len(engine.containers(server.pid, running=True)) >= 2, 15)
    for pid, _, parent, session in processes():
        if parent == server.pid and session == server.pid:  # the front: others leave the session
            os.kill(pid, signal.SIGKILL)
    assert server.process.wait(5) == 1
    assert "the front was ended by signal 9" in server.stderr()
    server.close()
    assert_gone(engine, server.pid)


# Sweeping


def owner_labels(engine, server):
    """The labels by which a server tells its containers from those of others."""
    assert wait_until(lambda: engine.containers(server.pid), 15)
    labels = engine.containers(server.pid)[0]["Labels"]
    return {k: v for k, v in labels.items() if k.startswith("python-sandbox")}


def leave_created(engine, image, labels, *command):
    return engine.create({"Image": image, "Cmd": command or ["true"], "Labels": labels})


def exists(engine, ident):
    return engine.raw("GET", "/containers/%s/json" % ident)[0] == 200


def test_the_next_start_sweeps_what_a_dead_owner_left(engine, base_image):
    dead = Server()
    labels = owner_labels(engine, dead)
    dead.kill()
    assert_gone(engine, dead.pid)
    created = leave_created(engine, base_image, labels)
    exited = leave_created(engine, base_image, labels)
    running = leave_created(engine, base_image, labels, "sleep", "1000")
    try:
        for ident in (exited, running):
            status, text = engine.raw("POST", "/containers/%s/start" % ident)
            assert status == 204, text
        engine.json("POST", "/containers/%s/wait" % exited)
        with Server():
            left = (created, exited, running)
            assert wait_until(lambda: not any(exists(engine, i) for i in left), 10)
    finally:
        for ident in (created, exited, running):
            engine.remove(ident)


def test_a_living_siblings_containers_are_never_touched(engine, base_image):
    with Server("--warm=2") as elder:
        labels = owner_labels(engine, elder)
        call = elder.start("import time; time.sleep(6); print('untouched')")
        created = leave_created(engine, base_image, labels)
        try:
            assert wait_until(lambda: len(engine.containers(elder.pid, running=True)) == 3, 15)
            before = {c["Id"] for c in engine.containers(elder.pid)}
            with Server() as younger:
                assert younger.run("print('younger')").stdout == "younger\n"
                time.sleep(2)
                assert {c["Id"] for c in engine.containers(elder.pid)} == before
            assert call.result().stdout == "untouched\n"
            assert exists(engine, created)
        finally:
            engine.remove(created)


def test_the_labels_tell_a_reused_pid_from_its_owner(engine, base_image):
    """The pid of a living process with another start time belongs to a dead owner."""
    with Server() as elder:
        labels = owner_labels(engine, elder)
        with open("/proc/%d/stat" % elder.pid) as f:
            started = f.read().rpartition(")")[2].split()[19]
        assert " start=%s " % started in labels[LABEL]
        other = dict(labels)
        other[LABEL] = other[LABEL].replace(" start=%s " % started, " start=%d " % (int(started) - 1))
        left = leave_created(engine, base_image, other)
        try:
            with Server():
                assert wait_until(lambda: not exists(engine, left), 10)
        finally:
            engine.remove(left)


# Several at once


def test_two_servers_side_by_side(engine, base_image):
    with Server() as one, Server() as two:
        calls = [(s, n, s.start("print(%d)" % n)) for n in range(6) for s in (one, two)]
        for _, n, call in calls:
            assert call.result().stdout == "%d\n" % n
        long = two.start("import time; time.sleep(4); print('survived')")
        time.sleep(1)
        one.close()
        assert long.result().stdout == "survived\n"
    assert_gone(engine, one.pid, 1)
    assert_gone(engine, two.pid, 1)


def test_thirty_calls_at_once_each_get_their_own_answer(server):
    calls = []
    for n in range(30):
        code = "import sys; print(%d, input()); sys.exit(%d)" % (n, n % 3)
        calls.append((n, server.start(code, stdin="line %d" % n)))
    for n, call in calls:
        result = call.result()
        assert (result.stdout, result.exit_code) == ("%d line %d\n" % (n, n), n % 3), result


def test_pings_are_answered_while_scripts_run(server):
    calls = [server.start("while True: pass", timeout_seconds=4) for _ in range(4)]
    time.sleep(1)
    times = []
    for _ in range(20):
        start = time.monotonic()
        assert server.request("ping") == {}
        server.request("tools/list")
        times.append(time.monotonic() - start)
        time.sleep(0.05)
    assert not any(call.answered() for call in calls)
    assert statistics.median(times) < 0.1 and max(times) < 1, times
    assert all(call.result().status == "timed_out" for call in calls)


def test_progress_is_told_only_when_asked_for(server):
    code = "import time\nfor n in range(4): print('step', n); time.sleep(0.7)"
    silent = server.start(code)
    call = server.start(code, progress=True)
    assert call.result().status == "ok" and silent.result().status == "ok"
    time.sleep(0.5)
    values = [p["progress"] for p in call.progress]
    assert values and values == sorted(set(values)), call.progress
    strays = [server.strays.get() for _ in range(server.strays.qsize())]
    assert not any(m.get("method") == "notifications/progress" for m in strays), strays


def test_a_full_queue_is_said_at_once(engine, base_image):
    with Server("--max-running=1", "--queue=1") as server:
        first = server.start("import time; time.sleep(3); print('first')")
        time.sleep(0.3)
        second = server.start("print('second')")
        time.sleep(0.3)
        third = server.run("print('third')")
        assert third.status == "busy" and third.seconds < 1, third
        assert third.stdout == "" and third.exit_code == -1
        assert not first.answered() and not second.answered()
        assert first.result().stdout == "first\n"
        assert second.result().stdout == "second\n"
        assert server.run("print('fourth')").stdout == "fourth\n"


def test_the_queue_has_a_deadline(engine, base_image):
    with Server("--max-running=1", "--queue-timeout=1") as server:
        first = server.start("import time; time.sleep(4); print('first')")
        time.sleep(0.3)
        second = server.run("print('second')")
        assert second.status == "busy" and 0.8 < second.seconds < 2.5, second
        assert first.result().stdout == "first\n"


def test_a_queued_call_can_be_cancelled(engine, base_image):
    with Server("--max-running=1") as server:
        first = server.start("import time; time.sleep(2); print('first')")
        time.sleep(0.3)
        second = server.start("print('second')")
        third = server.start("print('third')")
        server.cancel(second)
        assert first.result().stdout == "first\n"
        assert third.result().stdout == "third\n"
        assert not second.answered()


def test_the_memory_budget_keeps_scripts_apart(engine, base_image):
    """A budget for one container at a time: scripts run one after the other."""
    code = "import time; a = time.time(); time.sleep(0.5); print(a, time.time())"
    with Server("--memory-budget=600m", "--warm=1") as server:
        calls = [server.start(code) for _ in range(3)]
        spans = sorted([float(t) for t in call.result().stdout.split()] for call in calls)
    for before, after in zip(spans, spans[1:]):
        assert before[1] <= after[0], spans


def test_settings_reach_the_container(engine, base_image):
    flags = ["--memory=128m", "--workspace=32m", "--tmp=8m", "--shm=4m", "--pids=40", "--cpus=0.5"]
    with Server(*flags, "--timeout=2", "--timeout-max=20") as server:
        got = server.facts(
            py(
                """
                import json, os
                def mib(path):
                    s = os.statvfs(path)
                    return s.f_blocks * s.f_frsize >> 20
                print(json.dumps([mib('/workspace'), mib('/tmp'), mib('/dev/shm'), os.cpu_count()]))
                """
            )
        )
        assert got == [32, 8, 4, 1]
        result = server.run("while True: pass")
        assert result.status == "timed_out" and 1.8 < result.seconds < 4, result
        code = "kept = []\nwhile True: kept.append(b'x' * (1 << 24))"
        result = server.run(code, timeout_seconds=20)
        assert result.status == "out_of_memory", result
        assert result.data["peak_memory_bytes"] <= 128 << 20
        arguments = {"code": "1", "timeout_seconds": 21}
        refused = server.request("tools/call", {"name": "run_python", "arguments": arguments})
        assert refused["isError"] is True and "20" in refused["content"][0]["text"]
        [facts, *_] = wait_until(lambda: engine.inspect_running(server.pid), 10)
        facts = facts["HostConfig"]
        assert facts["PidsLimit"] == 40 and facts["NanoCpus"] == 500_000_000
        assert facts["Memory"] == facts["MemorySwap"] == 128 << 20


def test_what_the_engine_says_of_a_container(server, engine):
    [facts, *_] = wait_until(lambda: engine.inspect_running(server.pid), 10)
    host = facts["HostConfig"]
    assert host["Privileged"] is False and host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"] and not host["CapAdd"]
    assert not host["Binds"] and not host["Devices"] and not facts["Mounts"]
    assert host["NetworkMode"] == "none" and not host["PortBindings"]
    assert host["PidMode"] == "" and host["IpcMode"] in ("private", "none")
    assert any(option.startswith("no-new-privileges") for option in host["SecurityOpt"])
    assert any(option.startswith("seccomp=") for option in host["SecurityOpt"])
    assert host["Memory"] == host["MemorySwap"] == 512 << 20
    assert host["PidsLimit"] == 128 and host["NanoCpus"] == 1_000_000_000
    assert host["AutoRemove"] is True and host["LogConfig"]["Type"] == "none"


# stdout


def test_stdout_carries_nothing_but_whole_json_rpc_lines(engine, base_image):
    """Garbage in, scripts that print, an end in between: every line out is checked by the client."""
    with Server("--log-level=debug") as server:
        for junk in (b"\n", b"\r\n", b"garbage\n", b"{\n", b"[]\n", b"\xff\xfe\n", b'{"id":"x"}\n', b"1\n"):
            server.write(junk)
            assert server.request("ping") == {}
        code = "import os\nfor fd in range(10):\n    try: os.write(fd, b'junk\\n')\n    except OSError: pass"
        assert server.run(code).status == "ok"
        server.start(SLEEP)
        time.sleep(0.5)
    assert server.violations == []
    answers = []
    while not server.strays.empty():
        answers.append(server.strays.get())
    assert all("error" in answer for answer in answers), answers
    assert any(answer["error"]["code"] == -32700 for answer in answers)


def test_a_client_that_closes_the_servers_stdout_ends_it(engine, base_image):
    process = spawn(["serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        process.stdout.close()
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n' * 2)
        process.stdin.flush()
        process.wait(5)
        assert_gone(engine, process.pid)
    finally:
        end(process)


def test_stderr_that_nobody_reads_does_not_stop_the_server(engine, base_image):
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    try:
        with Server("--log-level=debug", stderr=writer) as server:
            for n in range(25):
                assert server.run("print(%d)" % n).stdout == "%d\n" % n
    finally:
        os.close(reader)
        os.close(writer)
