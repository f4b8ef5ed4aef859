"""The command line: run, doctor, help, settings."""

import re
import signal
import subprocess
import time

import pytest
from sandbox import BINARY, assert_gone, end, py, spawn


def command(*arguments, stdin=b"", env=None, timeout=60):
    """Runs the product to its end: status, stdout, stderr."""
    process = spawn(
        arguments, env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        out, err = process.communicate(stdin, timeout)
        return process.returncode, out.decode(), err.decode()
    finally:
        end(process)


@pytest.fixture
def script(tmp_path):
    def write(code, name="script.py"):
        path = tmp_path / name
        path.write_text(py(code))
        return str(path)

    return write


@pytest.fixture
def started(engine, base_image):
    """Starts `run`; whatever happens in the test, it is ended."""
    processes = []

    def start(*arguments, **options):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = spawn(["run", *arguments], **{**pipes, **options})
        processes.append(process)
        return process

    yield start
    for process in processes:
        end(process)
        assert_gone(engine, process.pid)


pytestmark = pytest.mark.usefixtures("base_image")


# run


def test_run_a_file_with_arguments(script):
    path = script(
        """
        import os, sys
        print(os.path.basename(sys.argv[0]), sys.argv[1:])
        print(__name__, os.path.basename(__file__), os.getcwd())
        print('to stderr', file=sys.stderr)
        """,
        "my_script.py",
    )
    arguments = ["a", "b c", "-x", "--timeout=5", "--", "\u00fc", ""]
    status, out, err = command("run", path, *arguments)
    assert status == 0, err
    assert out == "my_script.py %r\n__main__ my_script.py /workspace\n" % arguments
    assert err == "to stderr\n"


def test_run_prints_what_the_script_printed_and_nothing_else(script):
    path = script(r"import os; os.write(1, b'\xff\0raw, no newline'); os.write(2, b'\xfe'); 1 + 1")
    process = spawn(["run", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.communicate(timeout=60) == (b"\xff\0raw, no newline", b"\xfe")
        assert process.returncode == 0
    finally:
        end(process)


def test_run_from_stdin():
    status, out, err = command("run", "-", "a", "b", stdin=b"import sys\nprint(sys.argv[1:])\n")
    assert (status, out, err) == (0, "['a', 'b']\n", "")


@pytest.mark.parametrize(
    "code,expected",
    [
        ("pass", 0),
        ("exit(3)", 3),
        ("1 / 0", 1),
        ("exit('text')", 1),
        ("exit(255)", 255),
        ("import ctypes; ctypes.string_at(0)", 139),
        ("import os; os.abort()", 134),
    ],
)
def test_run_passes_the_exit_status_on(script, code, expected):
    status, _, err = command("run", script(code))
    assert status == expected, err
    if code == "1 / 0":
        assert err.rstrip().endswith("ZeroDivisionError: division by zero") and "1 / 0" in err


def test_run_out_of_memory(script):
    path = script("kept = []\nwhile True: kept.append(b'x' * (1 << 24))")
    status, _, err = command("run", path)
    assert status == 137 and "memory" in err


def test_run_streams_its_output(script, started):
    path = script(
        """
        import sys, time
        print('first')
        time.sleep(3)
        print('last')
        """
    )
    process = started(path)
    assert process.stdout.readline() == b"first\n"
    first = time.monotonic()
    assert process.stdout.readline() == b"last\n"
    assert time.monotonic() - first > 2
    assert process.wait(10) == 0


def test_run_passes_stdin_through_as_it_comes(script, started):
    path = script(
        """
        print('ready')
        name = input()
        print('hello', name)
        import sys
        print(len(sys.stdin.read()))
        """
    )
    process = started(path)
    assert process.stdout.readline() == b"ready\n"
    process.stdin.write(b"Ann\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"hello Ann\n"
    process.stdin.write(b"x" * 300_000)
    process.stdin.close()
    assert process.stdout.readline() == b"300000\n"
    assert process.wait(10) == 0


def test_run_with_more_input_and_output_than_any_pipe_holds(script):
    path = script("import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)")
    data = b"0123456789abcdef" * (1 << 18)
    process = spawn(["run", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, err = process.communicate(data, 60)
        assert process.returncode == 0 and out == data, err
    finally:
        end(process)


def test_run_gives_all_of_a_long_output(script):
    path = script("for n in range(300000): print(n)")
    status, out, err = command("run", path)
    assert (status, err) == (0, "")
    assert out == "".join("%d\n" % n for n in range(300000))


def test_run_without_input(script):
    path = script("try: input()\nexcept EOFError: print('end of input')")
    process = spawn(["run", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.communicate(timeout=60) == (b"end of input\n", b"")
    finally:
        end(process)


def test_run_does_not_wait_for_input_that_nobody_reads(script, started):
    process = started(script("print('done')"))
    assert process.wait(15) == 0


def test_run_has_the_same_walls(script):
    path = script(
        """
        import os
        with open('/proc/net/dev') as f:
            print(os.getuid() != 0, [line.split(':')[0].strip() for line in f if ':' in line])
        for path in ('/etc/x', '/x', '/proc/1/environ'):
            try:
                open(path, 'a' if path.endswith('x') else 'r')
                print('open', path)
            except OSError:
                pass
        """
    )
    assert command("run", path)[:2] == (0, "True ['lo']\n")


def test_run_ends_at_its_deadline_with_status_124(script):
    path = script("print('partial')\nwhile True: pass")
    start = time.monotonic()
    status, out, err = command("run", "--timeout=1", path)
    assert (status, out) == (124, "partial\n")
    assert len(err.strip().splitlines()) == 1 and re.search("time", err), err
    assert time.monotonic() - start < 10


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_ended_by_a_signal(script, started, engine, number):
    process = started(script("import time; print('started'); time.sleep(60)"))
    assert process.stdout.readline() == b"started\n"
    process.send_signal(number)
    assert process.wait(3) in (-number, 128 + number)
    assert_gone(engine, process.pid, 2)


def test_run_killed_leaves_nothing(script, started, engine):
    process = started(script("import time; print('started'); time.sleep(60)"))
    assert process.stdout.readline() == b"started\n"
    process.kill()
    process.wait()
    assert_gone(engine, process.pid)


def test_run_ends_when_nobody_reads_its_output(script, started, engine):
    process = started(script("while True: print('x' * 100)"))
    assert process.stdout.readline() == b"x" * 100 + b"\n"
    process.stdout.close()
    process.wait(5)
    assert process.returncode != 0
    assert_gone(engine, process.pid, 2)


def test_run_waits_for_a_slow_reader_and_loses_nothing(script, started):
    path = script("for _ in range(200): print('x' * (1 << 20))\nprint('end')")
    process = started(path)
    seen = len(process.stdout.read(1))
    time.sleep(3)
    with open("/proc/%d/status" % process.pid) as f:
        resident = next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))
    last = b""
    while True:
        piece = process.stdout.read(1 << 20)
        if not piece:
            break
        seen += len(piece)
        last = (last + piece)[-6:]
    assert process.wait(10) == 0
    assert (seen, last) == (200 * ((1 << 20) + 1) + 4, b"x\nend\n")
    assert resident < 48 * 1024, "%d KB kept for a reader that does not read" % resident


def test_run_with_a_full_stdout(script):
    with open("/dev/full", "wb") as full:
        process = spawn(["run", script("print(1)")], stdout=full, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (125, b"python-sandbox: cannot write to stdout: No space left on device\n")


@pytest.mark.parametrize("closed, status", [("<&-", 0), (">&-", 125), ("2>&-", 0), ("<&- >&- 2>&-", 125)])
def test_run_with_closed_streams(script, closed, status):
    """What the program opens for itself must not take their places."""
    line = "exec \"$@\" " + closed
    process = spawn(["run", script("print(1)")], command=("sh", "-c", line, "sh", BINARY),
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (status, b"" if status else b"1\n")


def test_serve_with_closed_streams(base_image):
    process = spawn(["serve"], command=("sh", "-c", "exec \"$@\" <&- >&-", "sh", BINARY), stderr=subprocess.PIPE)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0 and b"by hand" not in err, err


def test_run_a_file_of_the_name_of_a_folder_that_is_there(script):
    assert command("run", script("print(1)", "outputs"))[:2] == (0, "1\n")


def test_run_a_file_that_is_not_there(tmp_path):
    missing = str(tmp_path / "missing.py")
    status, out, err = command("run", missing)
    assert (status, out) == (2, "")
    assert missing in err and "No such file" in err and len(err.strip().splitlines()) == 1


def test_run_a_folder(tmp_path):
    status, out, err = command("run", str(tmp_path))
    assert (status, out) == (2, "") and str(tmp_path) in err


def test_run_without_an_engine(script):
    status, out, err = command("run", "--docker-host=/nonexistent/docker.sock", script("print(1)"))
    assert status not in (0, 1) and out == "" and "/nonexistent/docker.sock" in err


# doctor


def test_doctor_is_green(base_image):
    status, out, err = command("doctor")
    assert status == 0, out + err
    assert base_image in out and re.search(r"\b\d+\.\d+", out)


def test_doctor_is_red_and_says_why():
    status, out, err = command("doctor", "--docker-host=/nonexistent/docker.sock")
    assert status == 1
    assert "/nonexistent/docker.sock" in out + err


def test_doctor_is_red_for_an_image_that_is_not_there():
    status, out, err = command("doctor", "--image=does-not-exist:1", "--pull=never")
    assert status == 1 and "does-not-exist:1" in out + err


# Help and settings


def test_help():
    status, out, err = command("--help")
    assert (status, err) == (0, "")
    for word in ("run", "doctor", "serve", "--help"):
        assert word in out, word
    assert max(len(line) for line in out.splitlines()) <= 100


@pytest.mark.parametrize("verb", ["serve", "run", "doctor"])
def test_help_of_a_verb(verb):
    status, out, err = command(verb, "--help")
    assert (status, err) == (0, "")
    for word in ("--image", "--memory", "--timeout", "--docker-host", "512m"):
        assert word in out, word
    assert max(len(line) for line in out.splitlines()) <= 100


def test_help_of_a_flag_leans_on_no_other():
    """They are sorted by name, so that no line comes before or after another that it is about."""
    text = " ".join(command("serve", "--help")[1].split())
    assert not re.findall(r"(?i)\b(?:these|the same|such an?|\w+est (?:one|other))\b.{20}", text)


@pytest.mark.parametrize("arguments", [["token"], ["version"], ["audit"], ["audit", "verify"]])
def test_help_of_a_verb_without_flags(arguments):
    for flag in "--help", "-h":
        status, out, err = command(*arguments, flag)
        assert (status, err) == (0, "") and out.startswith("Usage: python-sandbox %s" % arguments[0])


def test_version():
    status, out, _ = command("version")
    assert status == 0 and re.search(r"\d+\.\d+\.\d+", out)


def stops(*arguments, env=None, words=()):
    status, out, err = command(*arguments, env=env)
    assert status != 0 and out == "", (status, out, err)
    for word in words:
        assert word in err, (word, err)


def test_unknown_things_stop_the_start(tmp_path):
    stops("fly", words=["fly"])
    stops("serve", "--fly", words=["fly"])
    stops("serve", env={"PYTHON_SANDBOX_FLY": "1"}, words=["PYTHON_SANDBOX_FLY"])
    config = tmp_path / "config.json"
    config.write_text('{"fly": 1}')
    stops("serve", "--config=%s" % config, words=["fly", str(config)])
    stops("serve", "--config=%s/none.json" % tmp_path, words=["none.json"])


@pytest.mark.parametrize("value", ["many", "-1", "65", "1.5", "0x10", "99999999999999999999"])
def test_a_bad_value_stops_the_start_and_names_its_source_and_range(tmp_path, value):
    stops("serve", "--warm=" + value, words=["--warm", "64"])
    stops("serve", env={"PYTHON_SANDBOX_WARM": value}, words=["PYTHON_SANDBOX_WARM", "64"])
    config = tmp_path / "config.json"
    config.write_text('{"warm": "%s"}' % value)
    stops("serve", "--config=%s" % config, words=["warm", str(config), "64"])


def test_a_broken_file_stops_the_start_and_is_named(tmp_path):
    config = tmp_path / "config.json"
    for text in ("", "{", "[]", '{"warm": 1} x', '{"warm": 1, "warm": 2}', '{"warm": null}', "\xff"):
        config.write_bytes(text.encode("latin-1"))
        stops("serve", "--config=%s" % config, words=[str(config)])


def test_flag_beats_variable_beats_file(tmp_path, script):
    path = script("import time; time.sleep(3)")
    config = tmp_path / "config.json"
    config.write_text('// comment\n{"timeout": 1}')
    assert command("run", "--config=%s" % config, path)[0] == 124
    env = {"PYTHON_SANDBOX_TIMEOUT": "20", "PYTHON_SANDBOX_CONFIG": str(config)}
    assert command("run", path, env=env)[0] == 0
    env = {"PYTHON_SANDBOX_TIMEOUT": "1"}
    assert command("run", "--timeout=20", path, env=env)[0] == 0
    assert command("run", path, env={"PYTHON_SANDBOX_TIMEOUT": "1"})[0] == 124
