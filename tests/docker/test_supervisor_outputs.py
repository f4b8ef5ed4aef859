"""Artifacts out, with the supervisor alone (supervisor_driver.py)."""

import hashlib
import signal
import struct
import time

import pytest
import supervisor_driver as driver
from sandbox import py
from supervisor_box import image, ok, run  # noqa: F401
from supervisor_driver import Container, chunk

FILE, FIGURE = 1, 2
COMES, TOO_LARGE, USED_UP, NOT_REGULAR, NOT_HASHED, UNREADABLE, BAD_NAME = range(7)


def names(result, reason=COMES):
    return [artifact.name for artifact in result.artifacts if artifact.reason == reason]


def told(result):
    return {artifact.name: artifact.reason for artifact in result.artifacts}


def test_what_lies_in_outputs_comes_back(run):
    code = """
        import os
        print(os.listdir('outputs'), os.access('outputs', os.W_OK))
        os.makedirs('outputs/b/c')
        for name in ('z.txt', 'b/c/deep.bin', 'a-b', 'a/b', 'empty', 'Générer – suite.csv',
                     '売上分析.xlsx', 'e\\u0301', '\\xe9', 'x' * 255, 'a%2Fb', '=?utf-8?', 'dot.', '.h',
                     '-rf', 'back\\\\slash', ' '):
            os.makedirs(os.path.dirname('outputs/' + name), exist_ok=True)
            with open('outputs/' + name, 'wb') as file:
                file.write(name.encode() * (name != 'empty'))
        with open('left.txt', 'w') as file:
            file.write('stays')
    """
    result = ok(run(code))
    assert result.stdout == b"[] True\n" and result.rest is None
    found = {artifact.name: bytes(artifact.data) for artifact in result.artifacts}
    assert found.pop("empty") == b"" and len(found) == 16
    assert all(data == name.encode() for name, data in found.items())
    assert {artifact.kind for artifact in result.artifacts} == {FILE}
    paths = [artifact.name.encode().split(b"/") for artifact in result.artifacts]
    assert paths == sorted(paths) and [b"b", b"c", b"deep.bin"] in paths


@pytest.mark.parametrize(
    "end, verdict",
    [
        ("1/0", (1, 0, 0)),
        ("import sys; sys.exit(4)", (4, 0, 0)),
        ("import os; os._exit(5)", (5, 0, 0)),
        ("import os; os.abort()", (-1, signal.SIGABRT, 0)),
        ("while True: pass", (-1, signal.SIGKILL, 1)),
    ],
)
def test_however_the_script_ends(run, end, verdict):
    code = "with open('outputs/f', 'w') as file: file.write('x')\n" + end
    result = run(code, timeout_ms=1500)
    assert result.exit[:3] == verdict
    assert [(a.name, bytes(a.data)) for a in result.artifacts] == [("f", b"x")]


def test_out_of_memory(base_image):
    code = "open('outputs/f', 'w').write('x')\nx = []\nwhile True: x.append(bytearray(1 << 20))"
    result = driver.run(base_image, code, container={"memory": 96 << 20})
    assert result.exit.oom_kills >= 1 and names(result) == ["f"]


def test_limits(run):
    code = """
        for name, size in ('a', 100), ('b', 1001), ('c', 1000), ('d', 901), ('e', 900), ('f', 1):
            with open('outputs/' + name, 'wb') as file:
                file.write(name.encode() * size)
    """
    result = ok(run(code, outputs={"file": 1000, "total": 2000}))
    assert names(result) == ["a", "c", "e"] and result.rest is None
    assert told(result) == {"a": 0, "b": TOO_LARGE, "c": 0, "d": USED_UP, "e": 0, "f": USED_UP}
    for artifact in result.artifacts[1:4:2]:
        data = artifact.name.encode() * artifact.size
        assert artifact.sha256 == hashlib.sha256(data).hexdigest() and not artifact.data
    result = ok(run(code, outputs={"files": 2}))
    assert names(result) == ["a", "b"] and result.rest == (4, 0)
    result = ok(run(code, outputs={"files": 0}))
    assert result.artifacts == [] and result.rest == (6, 0)


def test_large_artifacts_come_whole_past_a_slow_reader(base_image):
    code = """
        import os
        for n in range(4):
            with open('outputs/%d' % n, 'wb') as file:
                for _ in range(10):
                    file.write(os.urandom(1 << 20))
    """
    limits = {"file": 16 << 20, "total": 64 << 20}
    with Container(base_image, memory=96 << 20) as box:
        box.hello()
        box.start(py(code), outputs=limits)
        time.sleep(7)  # the time that a reader takes is not the collection's
        result = ok(box.result())
    assert [artifact.size for artifact in result.artifacts] == [10 << 20] * 4
    assert result.exit.peak_memory_bytes < 70 << 20


def test_the_end_of_stdin_ends_the_collection(base_image):
    code = "open('outputs/f', 'wb').write(bytes(40 << 20))"
    with Container(base_image) as box:
        box.hello()
        box.start(code, outputs={"file": 64 << 20, "total": 64 << 20})
        while box.frame()[0] != "a":
            pass
        box.sock.shutdown(1)
        box.rest()
        assert box.wait_gone()


# --- What is meant to harm ------------------------------------------------------------------------


def test_ten_thousand_files(run):
    code = """
        for n in range(10000):
            open('outputs/f%05d' % n, 'w').close()
    """
    began = time.monotonic()
    result = ok(run(code, outputs={"files": 20}))
    assert names(result) == ["f%05d" % n for n in range(20)]
    assert result.rest == (9980, 0)
    assert time.monotonic() - began < 25


def test_more_files_than_are_looked_at(run):
    code = """
        import os
        for n in range(12000):
            open('outputs/f%05d' % n, 'w').close()
        os.mkdir('outputs/a')
        open('outputs/z', 'w').close()
    """
    result = ok(run(code, outputs={"files": 5}))
    assert len(names(result)) == 5
    count, at_least = result.rest
    assert at_least == 1 and 9980 <= count <= 9996


def test_sparse_giants(run):
    code = """
        import os
        for name, size in ('a', 5 << 30), ('b', 8 << 40), ('hole', 300 << 10), ('part', 6 << 20):
            with open('outputs/' + name, 'wb') as file:
                os.truncate(file.fileno(), size)
        with open('outputs/part', 'r+b') as file:
            file.write(bytes(1 << 20))
    """
    began = time.monotonic()
    result = ok(run(code))
    assert told(result) == {"a": NOT_HASHED, "b": NOT_HASHED, "hole": COMES, "part": NOT_HASHED}
    sizes = {artifact.name: artifact.size for artifact in result.artifacts}
    assert sizes == {"a": 5 << 30, "b": 8 << 40, "hole": 300 << 10, "part": 6 << 20}
    assert {a.sha256 for a in result.artifacts if a.reason} == {"0" * 64}
    assert bytes(result.artifacts[2].data) == bytes(300 << 10)
    assert time.monotonic() - began < 20


def test_hashing_is_bounded(base_image):
    """A dense file beyond what is hashed at all, and links to one that together are."""
    code = """
        import os
        with open('outputs/big', 'wb') as file:
            for _ in range(260):
                file.write(bytes(1 << 20))
        with open('outputs/l0', 'wb') as file:
            for _ in range(20):
                file.write(bytes(1 << 20))
        for n in range(1, 30):
            os.link('outputs/l0', 'outputs/l%d' % n)
    """
    tmpfs = "rw,size=300m,mode=0700,uid=%d,gid=%d" % (driver.UID, driver.UID)
    began = time.monotonic()
    result = ok(
        driver.run(base_image, py(code), container={"memory": 512 << 20, "tmpfs": tmpfs})
    )
    assert time.monotonic() - began < 40
    reasons = told(result)
    assert reasons.pop("big") == NOT_HASHED and len(reasons) + (result.rest or [0])[0] == 30
    assert 1 <= list(reasons.values()).count(TOO_LARGE) <= 12
    assert set(reasons.values()) <= {TOO_LARGE, NOT_HASHED}


def test_time_is_bounded(base_image):
    """With a twentieth of a processor, so many files take seconds at least."""
    code = """
        import os
        with open('outputs/l0', 'wb') as file:
            file.write(bytes(50000))
        for n in range(1, 5000):
            os.link('outputs/l0', 'outputs/l%04d' % n)
        print('made', flush=True)
        line = input()
    """
    hasty = driver.SUPERVISOR.replace("COLLECT_S = 5\n", "COLLECT_S = 0.5\n")
    assert hasty != driver.SUPERVISOR
    with Container(base_image, supervisor=hasty) as box:
        box.hello()
        box.start(py(code), timeout_ms=60000, outputs={"files": 6000}, stdin=None)
        while box.frame()[0] != "O":
            pass
        box.give_cpus(0.05)
        box.send(chunk(b"\n") + chunk(b""))
        while box.frame()[0] != "A":
            pass
        began = time.monotonic()
        kinds = [box.frame()]
        while kinds[-1][0] != "X":
            kinds.append(box.frame())
        assert time.monotonic() - began < 20
        assert kinds[-2][0] == "R" and struct.unpack(">QB", kinds[-2][1])[1] == 1


LINKS = """
    import os, socket
    os.chdir('outputs')
    os.symlink('/etc/passwd', 'passwd')
    os.symlink('/proc/1/environ', 'environ')
    os.symlink('/', 'root')
    os.symlink('loop', 'loop')
    os.symlink('nothing', 'dangling')
    os.mkfifo('fifo')
    socket.socket(socket.AF_UNIX).bind('socket')
    open('true', 'w').write('x')
    os.link('true', 'hard')
    os.mkdir('folder')
    os.symlink('../../script.py', 'folder/script')
"""


def test_what_is_no_file(run):
    result = ok(run(LINKS))
    links = ["dangling", "environ", "fifo", "folder/script", "loop", "passwd", "root", "socket"]
    assert names(result, NOT_REGULAR) == links and names(result) == ["hard", "true"]
    assert {artifact.size for artifact in result.artifacts if artifact.reason} == {0}


@pytest.mark.parametrize(
    "code, expected",
    [
        ("os.rmdir('outputs'); os.symlink('/etc', 'outputs')", {"outputs": NOT_REGULAR}),
        ("os.rmdir('outputs'); os.symlink('/proc', 'outputs')", {"outputs": NOT_REGULAR}),
        ("os.rmdir('outputs'); os.symlink('/proc/self/fd', 'outputs')", {"outputs": NOT_REGULAR}),
        ("os.rmdir('outputs'); os.mkfifo('outputs')", {"outputs": NOT_REGULAR}),
        ("os.rmdir('outputs'); open('outputs', 'w').write('x')", {"outputs": COMES}),
        ("os.rmdir('outputs')", {}),
        ("f('a'); os.chmod('outputs', 0)", {"a": COMES}),
        ("f('a'); os.chmod('outputs', 0o400)", {"a": COMES}),
        ("f('a'); os.chmod('outputs/a', 0)", {"a": COMES}),
        ("os.mkdir('outputs/d'); f('d/a'); os.chmod('outputs/d', 0)", {"d/a": COMES}),
        ("f('a'); os.chmod('/workspace', 0)", {"a": COMES}),
        ("f('a'); os.chmod('/workspace', 0o100)", {"a": COMES}),
        ("f('a'); os.rename('outputs', 'x'); os.mkdir('outputs')", {}),
    ],
)
def test_outputs_that_is_not_what_it_was(run, code, expected):
    code = "import os\ndef f(name): open('outputs/' + name, 'w').close()\n" + code
    assert told(ok(run(code))) == expected


def test_names(run):
    code = r"""
        import os
        for name in (b'new\nline', b'../up'[3:] + b'\\..', b'tab\t', b'esc\x1b[31m', b'\xff\xfe', b'del\x7f',
                     b'\xc2\x85', '\u202efdp.exe'.encode(), '\u2028'.encode(), b'\xed\xa0\x80',
                     b'a\nb/..c', b'c\xffd/\n'):
            os.makedirs(os.path.dirname(b'outputs/' + name), exist_ok=True)
            open(b'outputs/' + name, 'w').close()
    """
    result = ok(run(code))
    assert names(result) == ["up\\.."]
    assert sorted(names(result, BAD_NAME)) == sorted(
        [
            "new\\nline",
            "tab\\t",
            "esc\\x1b[31m",
            "\\xff\\xfe",
            "del\\x7f",
            "\\x85",
            "\\u202efdp.exe",
            "\\u2028",
            "\\xed\\xa0\\x80",
            "a\\nb/..c",
            "c\\xffd/\\n",
        ]
    )


def test_deep_folders_and_long_names(run):
    code = """
        import os
        os.makedirs('outputs/' + '/'.join('%d' % n for n in range(1, 17)))
        open('outputs/' + '/'.join('%d' % n for n in range(1, 17)) + '/f', 'w').close()
        os.chdir('outputs')
        for n in range(500):
            os.mkdir('d')
            os.chdir('d')
        open('f', 'w').close()
        os.chdir('/workspace/outputs')
        for n in range(6):
            os.mkdir('n' * 200)
            os.chdir('n' * 200)
        open('f', 'w').close()
    """
    result = ok(run(code))
    assert names(result) == ["/".join("%d" % n for n in range(1, 17)) + "/f"]
    assert names(result, UNREADABLE) == ["d/" * 17]
    (long,) = names(result, BAD_NAME)
    assert len(long) == 1024 and long.startswith("n" * 200 + "/n") and long.endswith("...")


def test_nothing_changes_while_it_is_read(run):
    """Processes that rewrite, cut and replace what lies there are dead before it is looked at."""
    code = """
        import os, time
        for n in range(6):
            if os.fork() == 0:
                os.setsid()
                while True:
                    with open('outputs/f%d' % n, 'wb') as file:
                        file.write(os.urandom(200000))
                    os.rename('outputs/f%d' % n, 'outputs/g%d' % n)
                    if os.path.lexists('outputs/h'): os.unlink('outputs/h')
                    os.symlink('/etc/passwd', 'outputs/h')
        time.sleep(0.5)
        os._exit(0)
    """
    result = ok(run(code))
    assert len(names(result)) >= 6 and set(told(result).values()) <= {COMES, NOT_REGULAR}


def test_a_png_that_is_none_and_other_bytes_are_not_looked_into(run):
    code = r"""
        open('outputs/fake.png', 'wb').write(b'\x89PNG\r\n\x1a\n' + b'garbage' * 100)
    """
    (artifact,) = ok(run(code)).artifacts
    assert artifact.kind == FILE and bytes(artifact.data).endswith(b"garbage")


def test_forged_figures_are_bounded(run):
    code = """
        import os
        os.mkdir('.figures')
        for n in range(40):
            open('.figures/%d.png' % n, 'w').write('x')
        os.symlink('/etc/passwd', '.figures/00.png')
        os.truncate(os.open('.figures/more', os.O_CREAT | os.O_WRONLY), 1 << 40)
        open('.figures/other', 'w').close()
        open('outputs/f', 'w').close()
    """
    result = ok(run(code))
    figures = [artifact for artifact in result.artifacts if artifact.kind == FIGURE]
    assert [a.name for a in figures] == ["figure-%d.png" % n for n in range(1, 25)]
    assert [a.reason for a in figures].count(NOT_REGULAR) == 1
    assert names(result)[-1] == "f" and result.rest == (1000017, 0)
    for code in ("os.symlink('/etc', '.figures')", "open('.figures', 'w')", "os.mkfifo('.figures')"):
        assert ok(run("import os\n" + code)).artifacts == []


def test_a_full_workspace(run):
    code = """
        import os
        try:
            with open('outputs/full', 'wb') as file:
                while True:
                    file.write(bytes(1 << 20))
        except OSError as error:
            print(error.strerror)
    """
    result = ok(run(code))
    assert result.stdout == b"No space left on device\n"
    assert told(result) == {"full": TOO_LARGE}


def test_what_it_costs_when_there_is_nothing(base_image):
    """From the last output to X; the limit is generous, since the machine may be busy."""
    gaps = []
    for _ in range(5):
        with Container(base_image) as box:
            box.hello()
            box.start("import os\nos.write(1, b'x')\nos._exit(0)")
            while box.frame()[0] != "O":
                pass
            began = time.monotonic()
            while box.frame()[0] != "X":
                pass
            gaps.append(time.monotonic() - began)
    assert min(gaps) < 0.05, gaps
