"""The audit log of a server and of `run`: what is in it, and that it is one chain."""

import hashlib
import json
import os
import stat
import subprocess

import pytest
from sandbox import BINARY, Server, engine_flags, environment, wait_until

ZEROES = "0" * 64
CODES = ("print('s3cret one')", "raise SystemExit(3)", "print('s3cret three: é')")


def verify(path):
    done = subprocess.run([BINARY, "audit", "verify", str(path)], capture_output=True, text=True,
                          timeout=20, env=environment(), check=False)
    return done.returncode, done.stdout + done.stderr


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def served(path):
    """Exit status and stderr of a server that does not start."""
    done = subprocess.run([BINARY, "serve", *engine_flags(), "--audit-log=%s" % path],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20,
                          env=environment(), check=False)
    return done.returncode, done.stderr


def run(path, script, *flags):
    return subprocess.run([BINARY, "run", *engine_flags(), "--audit-log=%s" % path, *flags, str(script)],
                          capture_output=True, text=True, timeout=60, env=environment(), check=False)


@pytest.fixture
def log(tmp_path):
    return tmp_path / "audit.log"


def test_a_line_for_each_call(engine, base_image, log):
    with Server("--audit-log=%s" % log, "--memory=128m", "--pids=64") as server:
        results = [server.run(code, stdin="x" * 10, timeout_seconds=9) for code in CODES]
    assert [r.status for r in results] == ["ok", "error", "ok"]
    assert stat.S_IMODE(os.stat(log).st_mode) == 0o600
    lines = lines_of(log)
    assert len(lines) == 3
    image = engine.json("GET", "/images/%s/json" % base_image)["Id"]
    previous = ZEROES
    for number, (line, code, text) in enumerate(zip(lines, CODES, log.read_text().splitlines())):
        assert line["code_sha256"] == sha256(code) and line["code_bytes"] == len(code.encode())
        assert line["image"] == image and line["client"] == "end-to-end"
        assert (line["memory_bytes"], line["pids"], line["timeout_ms"]) == (128 << 20, 64, 9000)
        assert line["stdin_bytes"] == 10 and line["profile"] == "default"
        assert line["status"] == results[number].status
        assert line["exit_code"] == results[number].exit_code
        assert 0 <= line["duration_ms"] <= line["total_ms"] < 30000
        assert "code" not in line and line["previous"] == previous
        previous = sha256(text)
    assert "s3cret" not in log.read_text()
    assert verify(log) == (0, "3 lines, each follows from the one before it\n"
                              "SHA-256 of the last: %s\n" % previous)


def test_files_and_artifacts_are_counted(engine, base_image, log, tmp_path):
    """Their numbers and bytes, and never what is in them."""
    code = "for n in range(70): open('outputs/%d' % n, 'w').write('s3cret')"
    files = [{"path": "a", "text": "s3cret"}, {"path": "b", "base64": "AAEC"}]
    script = tmp_path / "script.py"
    script.write_text(code)
    (tmp_path / "a").write_text("s3cret")
    with Server("--audit-log=%s" % log) as server:
        assert server.run(code, files=files).status == "ok"
        assert server.run("1").status == "ok"
    done = run(log, script, "--file=%s" % (tmp_path / "a"), "--outputs=%s" % (tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    counts = ("files", "file_bytes", "artifacts", "artifact_bytes")
    assert [[line[name] for name in counts] for line in lines_of(log)] == [
        [2, 9, 70, 64 * 6], [0, 0, 0, 0], [1, 6, 70, 70 * 6]]
    assert "s3cret" not in log.read_text()


def test_tampering_shows(engine, base_image, log):
    with Server("--audit-log=%s" % log) as server:
        for code in CODES:
            server.run(code)
    text = log.read_text()
    lines = text.splitlines(keepends=True)
    for bad in (text.replace('"exit_code":3', '"exit_code":0'), lines[0] + lines[2],
                "".join(reversed(lines)), text[:-1], text[5:], lines[0] * 2):
        log.write_text(bad)
        status, said = verify(log)
        assert status == 1 and "line " in said, said
    log.write_text(text.replace('"exit_code":3', '"exit_code":0'))
    status, said = served(log)
    assert status == 1 and str(log) in said and "move it away" in said


def test_the_last_line_shows_in_its_hash_alone(engine, base_image, log):
    with Server("--audit-log=%s" % log) as server:
        for code in CODES[:2]:
            server.run(code)
    before = verify(log)
    log.write_text(log.read_text().replace('"exit_code":3', '"exit_code":0'))
    after = verify(log)
    assert before[0] == after[0] == 0 and before[1] != after[1], (before, after)


def test_a_call_with_wrong_arguments_leaves_no_line(engine, base_image, log):
    with Server("--audit-log=%s" % log) as server:
        for arguments in ({"code": ""}, {"code": "1", "timeout_seconds": 10**6},
                          {"code": "1", "files": [{"path": "../a", "text": ""}]}):
            answer = server.request("tools/call", {"name": "run_python", "arguments": arguments})
            assert "nothing was run" in json.dumps(answer), answer
        server.run(CODES[0])
    assert [line["status"] for line in lines_of(log)] == ["ok"]


def test_the_code_when_asked_for(engine, base_image, log):
    with Server("--audit-log=%s" % log, "--audit-code") as server:
        server.run(CODES[2])
    (line,) = lines_of(log)
    assert line["code"] == CODES[2] and line["code_sha256"] == sha256(CODES[2])


def test_the_chain_goes_on(engine, base_image, log, tmp_path):
    """Over a restart, beside another server, and with `run`."""
    script = tmp_path / "script.py"
    script.write_text(CODES[1])
    with Server("--audit-log=%s" % log) as server:
        server.run(CODES[0])
    with Server("--audit-log=%s" % log) as server, Server("--audit-log=%s" % log) as other:
        assert server.run(CODES[0]).status == other.run(CODES[0]).status == "ok"
        assert server.run(CODES[0]).status == "ok"
        assert run(log, script).returncode == 3
        assert server.run(CODES[0]).status == other.run(CODES[0]).status == "ok"
    assert verify(log)[0] == 0
    lines = lines_of(log)
    assert len(lines) == 7
    assert [line["client"] for line in lines].count("python-sandbox run") == 1
    assert lines[4]["exit_code"] == 3 and lines[4]["code_sha256"] == sha256(CODES[1])


def test_every_outcome_is_written(engine, base_image, log):
    with Server("--audit-log=%s" % log, "--warm=0") as server:
        assert server.run("while True: pass", timeout_seconds=1).status == "timed_out"
        call = server.start("import time; time.sleep(60)")
        wait_until(lambda: engine.containers(server.pid, running=True), 10)
        server.cancel(call)
        assert wait_until(lambda: len(lines_of(log)) == 2, 15)
    assert [line["status"] for line in lines_of(log)] == ["timed_out", "cancelled"]


def test_nothing_ran(log):
    with Server("--audit-log=%s" % log, "--docker-host=/nonexistent/docker.sock") as server:
        assert server.run(CODES[0]).status == "sandbox_error"
    (line,) = lines_of(log)
    assert (line["status"], line["image"]) == ("sandbox_error", "")


def test_a_log_that_takes_no_more(engine, base_image, log):
    """The answer comes all the same, and each failure is told."""
    with Server("--audit-log=%s" % log) as server:
        assert server.run(CODES[0]).status == "ok"
        os.truncate(log, 0)
        for count in (1, 2):
            assert server.run(CODES[0]).status == "ok"
            assert wait_until(lambda n=count: server.stderr().count("audit log: ") == n, 5)
    assert log.read_text() == ""


@pytest.mark.parametrize("name", ["no/such/folder", ""])
def test_a_log_that_cannot_be_written(log, name):
    """The server does not start without what it was asked to keep."""
    status, said = served(log.parent / name)
    assert status == 1 and "audit log" in said
    script = log.parent / "script.py"
    script.write_text("print(1)")
    done = run(log.parent / name, script)
    assert done.returncode == 2 and done.stdout == "" and "audit log" in done.stderr
