"""What the supervisor is given: input for the script, and jobs that are none."""

import json
import time

import pytest
from sandbox import py
from supervisor_box import box, image, lines, run  # noqa: F401
from supervisor_driver import Container, chunk, job


# --- Input ----------------------------------------------------------------------------------------


def test_given_stdin_is_a_file(run):
    code = """
        import os, stat, sys
        print(input('name? '), stat.S_ISREG(os.fstat(0).st_mode), sorted(os.listdir('.')))
        print(sys.stdin.read(), sys.stdin.read() == '')
        os.write(0, b'x')
    """
    result = run(code, stdin="Zoé\nand\r\nmore".encode())
    assert result.exit.exit_code == 1 and b"Bad file descriptor" in result.stderr
    first, rest = result.stdout.decode().split("\n", 1)
    assert first == "name? Zoé True ['home', 'outputs', 'script.py']" and rest == "and\r\nmore True\n"


def test_no_stdin_is_empty(run):
    result = run("import os\nprint(os.fstat(0).st_rdev == os.stat('/dev/null').st_rdev)\ninput()")
    assert result.stdout == b"True\n" and b"EOFError" in result.stderr


def test_sixteen_megabytes_of_script_and_stdin(run):
    code = b"import sys\nprint(len(sys.stdin.buffer.read()))\n#"
    code += b"x" * ((16 << 20) - len(code))
    assert lines(run(code, stdin=bytes(16 << 20), timeout_ms=60000, timeout=60)) == [str(16 << 20)]


def test_streamed_stdin(box):
    box.hello()
    box.start(
        "import sys\nfor line in sys.stdin: print(line.upper(), end='')\nprint('end')", stdin=None
    )
    assert box.frame()[0] == "S"
    box.send(chunk(b"one\n"))
    assert box.frame() == ("O", b"ONE\n")
    for byte in chunk(b"two\n"):
        box.send(bytes([byte]))
    assert box.frame() == ("O", b"TWO\n")
    box.send(chunk(b""))
    assert box.frame() == ("O", b"end\n")
    assert [box.frame()[0], box.frame()[0]] == ["C", "X"]


def test_streamed_stdin_has_back_pressure(box):
    code = """
        import sys, time
        time.sleep(1)
        print(len(sys.stdin.buffer.read()))
    """
    box.hello()
    box.start(py(code), stdin=None)
    block = chunk(bytes(65536))
    began = time.monotonic()
    for _ in range(640):
        box.send(block)
    assert time.monotonic() - began > 0.5
    box.send(chunk(b""))
    result = box.result()
    assert lines(result) == [str(640 * 65536)]
    assert result.exit.peak_memory_bytes < 180 << 20


def test_streamed_stdin_that_nobody_reads(box):
    box.hello()
    box.start("print('done')", stdin=None)
    for _ in range(10):
        box.send(chunk(bytes(65536)))
    assert lines(box.result()) == ["done"]
    box.send(chunk(bytes(65536)))
    box.sock.shutdown(1)
    assert box.wait_gone()


# --- Malformed jobs -------------------------------------------------------------------------------

GOOD = json.loads(job("print(1)"[:0]).split(b"\n")[0])
BAD = {
    "not JSON": b"{\n",
    "not UTF-8": b"\xff\n",
    "not an object": b"[1]\n",
    "deep": b"[" * 100000 + b"\n",
    "endless": b" " * ((1 << 20) + 1),
    "missing": {"tail": ...},
    "unknown": {"colour": 1},
    "float": {"timeout_ms": 1.0},
    "bool": {"timeout_ms": True},
    "no time": {"timeout_ms": 0},
    "too long": {"timeout_ms": 86400001},
    "code": {"code": (16 << 20) + 1},
    "negative code": {"code": -1},
    "stdin": {"stdin": -2},
    "large stdin": {"stdin": (16 << 20) + 1},
    "head": {"head": -2},
    "tail": {"tail": -1},
    "slash": {"name": "../x.py"},
    "dots": {"name": ".."},
    "empty": {"name": ""},
    "NUL": {"name": "a\0b"},
    "surrogate": {"name": "\ud800"},
    "long name": {"name": "x" * 241},
    "number as name": {"name": 1},
    "argv": {"argv": "x"},
    "argv of numbers": {"argv": [1]},
    "argv with NUL": {"argv": ["\0"]},
    "no files": {"files": ...},
    "files": {"files": {}},
    "too many files": {"files": [{"path": "f%d" % n, "size": 0} for n in range(257)]},
    "file without size": {"files": [{"path": "f"}]},
    "size of a file": {"files": [{"path": "f", "size": (64 << 20) + 1}]},
    "file up": {"files": [{"path": "a/../b", "size": 0}]},
    "file at the top": {"files": [{"path": "/tmp/f", "size": 0}]},
    "file named nothing": {"files": [{"path": "", "size": 0}]},
    "file with an empty part": {"files": [{"path": "a//b", "size": 0}]},
    "file in itself": {"files": [{"path": "a/.", "size": 0}]},
    "file with a long path": {"files": [{"path": "a/" * 256 + "b", "size": 0}]},
    "file with NUL": {"files": [{"path": "a\0", "size": 0}]},
    "outputs": {"outputs": []},
    "outputs in part": {"outputs": {"files": 1, "file": 1}},
    "many outputs": {"outputs": {"files": 1001, "file": 1, "total": 1}},
    "large outputs": {"outputs": {"files": 1, "file": 1, "total": (64 << 20) + 1}},
    "negative outputs": {"outputs": {"files": 1, "file": -1, "total": 1}},
    "surplus": job("import time; time.sleep(9)") + b"!",
    "surplus after the stream": job("import time; time.sleep(9)", stdin=None) + chunk(b"") + b"!",
}


@pytest.mark.parametrize("case", BAD)
def test_a_malformed_job_ends_the_container(box, case):
    bad = BAD[case]
    if isinstance(bad, dict):
        header = {key: value for key, value in {**GOOD, **bad}.items() if value is not ...}
        bad = json.dumps(header).encode() + b"\n"
    box.hello()
    try:
        box.send(bad)
    except BrokenPipeError:
        pass  # it did not wait for the end
    said = box.rest()
    assert said.startswith("supervisor: ") and "Traceback" not in said
    assert b"X" not in box.buffer[:1]
    assert box.wait_gone()


def test_a_child_that_fails_before_the_script_is_told(image):
    with Container(image, tmpfs="rw,mode=0500") as box:
        said = box.rest()
    assert "before it got a script" in said and "Traceback" in said and not box.buffer


def test_it_runs_as_the_first_process_only(run):
    code = """
        import subprocess, sys
        source = open('/proc/1/cmdline').read().split('\\0')[3]
        done = subprocess.run([sys.executable, '-I', '-c', source], capture_output=True, text=True)
        print(done.returncode, done.stderr.strip())
    """
    assert lines(run(code)) == ["1 supervisor: this must be the first process of a container"]
