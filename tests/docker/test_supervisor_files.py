"""Files in, with the supervisor alone (supervisor_driver.py)."""

import hashlib

import pytest
import supervisor_driver as driver
from supervisor_box import image, ok, run  # noqa: F401
from supervisor_driver import Container, chunk


FILES = [
    ("a.csv", b"x,y\n1,2\n"),
    ("data/deep/er/b.bin", bytes(range(256)) * 1000),
    ("data/empty", b""),
    ("naïve/日本 .txt", "é".encode()),
    (".hidden", b"h"),
    ("x" * 255 + "/" + "y" * 255, b"long"),
    ("outputs/given.txt", b"given"),
]


def test_files_are_there_before_the_script(run):
    code = """
        import hashlib, os, sys
        for folder, folders, names in os.walk('.'):
            for name in sorted(names):
                path = os.path.join(folder, name)
                with open(path, 'rb') as file:
                    digest = hashlib.sha256(file.read()).hexdigest()
                status = os.stat(path)
                print(path[2:], digest, oct(status.st_mode), status.st_uid == os.getuid())
        print(sorted(name for name in os.listdir('.')), oct(os.stat('data').st_mode))
        open('a.csv', 'a').close()
        print(repr(sys.stdin.read()))
    """
    result = ok(run(code, files=FILES, stdin=b"typed"))
    *found, listing, stdin = result.stdout.decode().splitlines()
    expected = ["%s %s 0o100644 True" % (p, hashlib.sha256(d).hexdigest()) for p, d in FILES]
    assert sorted(line for line in found if not line.startswith("script.py ")) == sorted(expected)
    top = ["home", "script.py", "outputs"] + [path.split("/")[0] for path, _ in FILES]
    assert listing == "%s 0o40755" % sorted(set(top)) and stdin == "'typed'"
    assert [(a.name, bytes(a.data)) for a in result.artifacts] == [("given.txt", b"given")]


def test_modules_beside_the_script_come_first(run):
    """Before those that are there for the supervisor, too; folders and files that are no modules do not."""
    files = [("json.py", b"x = 'own'"), ("struct/__init__.py", b"from .part import x"),
             ("struct/part.py", b"x = 'own'"), ("traceback.pyc.txt", b"no"), ("socket/data", b"no"),
             ("socket.csv", b"no"), ("warnings.py.txt", b"no")]
    code = """
        import json, struct, socket, warnings, traceback
        print(json.x, struct.x, socket.socket.__name__, warnings.warn.__name__, traceback.print_exc.__name__)
        1 + 1
    """
    result = ok(run(code, files=files))
    assert result.stdout == b"own own socket warn print_exc\n" and result.value == "2"


def test_many_and_large_files(run):
    files = [("f%03d" % n, bytes([n]) * (64 << 10)) for n in range(256)]
    code = """
        import os
        print(all(open('f%03d' % n, 'rb').read() == bytes([n]) * 65536 for n in range(256)))
    """
    result = ok(run(code, files=files, stdin=bytes(1 << 20)))
    assert result.stdout == b"True\n"
    # What PID 1 took, it did not keep in its own memory.
    assert result.exit.peak_memory_bytes < 110 << 20


def test_files_before_streamed_input(base_image):
    with Container(base_image) as box:
        box.hello()
        code = "import sys\nprint(open('f').read(), sys.stdin.read())"
        job = driver.job(code, stdin=None, files=[("f", b"file")])
        for at in range(0, len(job), 50):
            box.send(job[at : at + 50])
        box.send(chunk(b"typed") + chunk(b""))
        assert ok(box.result()).stdout == b"file typed\n"


def test_files_do_not_meet_the_input(run):
    files = [(".stdin", b"1"), ("..stdin/f", b"2")]
    code = "import sys\nprint(open('.stdin').read(), open('..stdin/f').read(), sys.stdin.read())"
    assert ok(run(code, files=files, stdin=b"3")).stdout == b"1 2 3\n"


@pytest.mark.parametrize(
    "files, name, said",
    [
        ([("big", bytes(9 << 20)), ("b", b"")], "big", "No space left on device"),
        ([("%d" % n + "/d" * 150, b"x") for n in range(40)], None, "No space left on device"),
        ([("x" * 256, b"x")], "x" * 256, "File name too long"),
        ([("script.py", b"print('other')")], "script.py", "File exists"),
        ([("f", b"1"), ("f", b"2")], "f", "File exists"),
        ([("f", b"1"), ("f/g", b"2")], "f/g", "File exists"),
        ([("outputs", b"1")], "outputs", "File exists"),
    ],
)
def test_files_that_cannot_be_written_are_told(base_image, files, name, said):
    tmpfs = "rw,size=8m,nr_inodes=4000,mode=0700,uid=%d,gid=%d" % (driver.UID, driver.UID)
    options = {"files": files, "stdin": b"typed", "container": {"tmpfs": tmpfs}}
    result = driver.run(base_image, "print('runs')", **options)
    assert (result.exit.exit_code, result.stdout) == (1, b"")
    error = result.stderr.decode()
    assert error.startswith("python-sandbox: cannot write %s" % (name or "")), error
    assert error.endswith(": %s\n" % said) and error.count("\n") == 1
