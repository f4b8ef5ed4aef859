"""`run --file` and `run --outputs`: local files in, what the script leaves behind onto the disk."""

import os
import subprocess

import pytest
from sandbox import end, py, spawn

pytestmark = pytest.mark.usefixtures("engine", "base_image")

EXIT_USAGE, EXIT_SANDBOX = 2, 125


class Folder:
    """A folder of the user's, with a script in it."""

    def __init__(self, path):
        self.path = path

    def write(self, name, data):
        path = self.path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return str(path)

    def run(self, code, *flags, name="script.py", arguments=(), stdin=b""):
        """Status, stdout, stderr."""
        script = self.write(name, py(code))
        process = spawn(["run", *flags, script, *arguments], cwd=self.path, stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = process.communicate(stdin, 60)
            return process.returncode, out.decode(), err.decode()
        finally:
            end(process)

    def tree(self, name):
        top = self.path / name
        return {str(p.relative_to(top)): p.read_bytes() for p in top.rglob("*") if p.is_file()}


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def test_files(folder):
    data = bytes(range(256)) * 4000
    a, b = folder.write("a.csv", "x,y\n"), folder.write("b=c.bin", data)
    code = "import sys; print(open('a.csv').read(), open('d/e').read() == open('a.csv').read()); " \
           "print(len(open('b', 'rb').read()), sys.argv[1:], input())"
    status, out, err = folder.run(code, "--file", a, "--file=d/e=" + a, "--file=b=" + b,
                                  arguments=["--file=x"], stdin=b"line\n")
    assert (status, err) == (0, "")
    assert out == "x,y\n True\n%d ['--file=x'] line\n" % len(data)


@pytest.mark.parametrize("flag, words", [
    ("--file=../x=a", '".."'),
    ("--file=/x=a", "must be relative"),
    ("--file==a", "is empty"),
    ("--file=script.py=a", "the script itself"),
    ("--file=mine.py=a", "is there twice"),
    ("--file=missing", "cannot read missing: No such file"),
    ("--file=folder=.", "cannot read ."),
    ("--file=outputs=a", "leaves behind"),
])
def test_bad_files(folder, flag, words):
    folder.write("a", "text")
    status, out, err = folder.run("print(1)", "--file=mine.py=a", flag)
    assert (status, out) == (EXIT_USAGE, "") and words in err, err


def test_too_many_and_too_large(folder):
    folder.write("a", "x" * 3000)
    flags = ["--file=%d=a" % n for n in range(3)]
    status, _, err = folder.run("1", "--files-max=2", *flags)
    assert status == EXIT_USAGE and "--files-max" in err
    status, _, err = folder.run("1", "--files-bytes-max=8k", *flags)
    assert status == EXIT_USAGE and "--files-bytes-max" in err
    assert folder.run("1", "--files-bytes-max=9000", *flags)[0] == 0


def test_the_script_keeps_its_own_name(folder):
    folder.write("a", "text")
    status, _, err = folder.run("1", "--file=mine.py=a", name="mine.py")
    assert status == EXIT_USAGE and "the script itself" in err
    assert folder.run("print(open('script.py').read())", "--file=script.py=a", name="mine.py")[1] == "text\n"


def test_outputs(folder):
    """Large ones too, which no answer would hold."""
    code = """
        import os
        os.makedirs('outputs/d/e')
        open('outputs/a.txt', 'w').write('text')
        open('outputs/d/e/large', 'wb').write(bytes(range(256)) * (80 << 12))
        open('outputs/empty', 'w')
        print('done')
        """
    status, out, err = folder.run(code, "--outputs=new", "--memory=512m")
    assert (status, out, err) == (0, "done\n", "")
    found = folder.tree("new")
    assert found == {"a.txt": b"text", "d/e/large": bytes(range(256)) * (80 << 12), "empty": b""}


def test_outputs_need_a_name(folder):
    status, out, err = folder.run("print(1)", "--outputs=")
    assert (status, out) == (2, "") and "--outputs must name a folder" in err


def test_outputs_stay_behind(folder):
    status, out, err = folder.run("open('outputs/a', 'w'); open('outputs/b', 'w'); exit(3)")
    assert (status, out) == (3, "")
    assert err == "python-sandbox: 2 figures or files stayed behind; --outputs=DIR fetches them\n"
    assert folder.run("open('outputs/a', 'w')")[2].startswith("python-sandbox: 1 figure or file stayed ")
    assert folder.run("print(1)")[2] == ""


def test_nothing_is_overwritten(folder):
    """Neither files nor what links point to; the others are written all the same."""
    (folder.path / "out").mkdir()
    folder.write("out/a", "mine")
    folder.write("elsewhere", "mine, too")
    (folder.path / "out/b").symlink_to(folder.path / "elsewhere")
    (folder.path / "out/c").symlink_to(folder.path / "nowhere")
    (folder.path / "target").mkdir()
    (folder.path / "out/d").symlink_to(folder.path / "target")
    folder.write("out/f", "a file")
    code = """
        import os
        os.mkdir('outputs/d')
        os.mkdir('outputs/f')
        for name in 'a', 'b', 'c', 'd/x', 'e', 'f/x':
            open('outputs/' + name, 'w').write('of the script')
        """
    status, _, err = folder.run(code, "--outputs", "out")
    assert status == EXIT_SANDBOX
    for name in "a", "b", "c":
        assert "%s is not in out: there is one already, which stays" % name in err, err
    for name in "d/x", "f/x":
        assert "%s is not in out: a file or a symbolic link has the name of a folder" % name in err, err
    assert (folder.path / "out/a").read_text() == "mine"
    assert (folder.path / "elsewhere").read_text() == "mine, too"
    assert not (folder.path / "nowhere").exists() and not list((folder.path / "target").iterdir())
    assert (folder.path / "out/e").read_text() == "of the script"


def test_hostile_outputs(folder):
    code = """
        import os
        os.symlink('/etc/passwd', 'outputs/link')
        os.mkfifo('outputs/fifo')
        os.truncate(os.open('outputs/giant', os.O_CREAT | os.O_WRONLY), 5 << 30)
        open(b'outputs/\\xff', 'w').write('x')
        open('outputs/a\\n..;b', 'w').write('x')
        open('outputs/good', 'w').write('x')
        """
    status, _, err = folder.run(code, "--outputs=out")
    assert status == EXIT_SANDBOX, err
    assert folder.tree("out") == {"good": b"x"}
    lines = err.splitlines()
    assert len(lines) == 5 and all(line.startswith("python-sandbox: ") for line in lines), lines
    assert sum("not a regular file" in line for line in lines) == 2
    assert "giant is not in out: sparse" in err and "\\xff is not in out: its name" in err


@pytest.mark.parametrize("code, words", [
    ("open(b'outputs/\\xff', 'w').write('x')", "its name is not text"),
    ("open('outputs/giant', 'wb').truncate(3 << 30)", "sparse, or too large"),
    ("os.makedirs('outputs' + '/d' * 45)", "it could not be read"),
    ("for n in range(10100): open('outputs/%d' % n, 'w').write('x')",
     "at least 1 more figure or file did not come along"),
])
def test_a_file_that_is_lost_is_told_and_shows_in_the_status(folder, code, words):
    status, _, err = folder.run("import os\n" + code, "--outputs=out")
    assert status == EXIT_SANDBOX and words in err, err
    assert folder.run("import os\n" + code + "\nexit(3)", "--outputs=again")[0] == 3


def test_links_and_devices_are_no_loss(folder):
    status, _, err = folder.run("import os; os.symlink('a', 'outputs/b'); os.mkfifo('outputs/f')", "--outputs=out")
    assert status == 0 and err.count("not a regular file") == 2, err


def test_many_outputs(folder):
    code = "for n in range(2000): open('outputs/%04d' % n, 'w').write(str(n))"
    status, _, err = folder.run(code, "--outputs=out")
    assert (status, err) == (0, "")
    assert folder.tree("out") == {"%04d" % n: str(n).encode() for n in range(2000)}


def test_outputs_of_what_failed(folder):
    """A script that is stopped leaves what it had written; its status stays its own."""
    code = "open('outputs/a', 'w').write('kept')\nwhile True: pass"
    status, _, err = folder.run(code, "--outputs=out", "--timeout=1")
    assert status == 124 and folder.tree("out") == {"a": b"kept"}, err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_full_disk(folder):
    """What does not fit is told and taken away again, and the exit status says so."""
    disk = folder.path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(disk)], check=True)
    try:
        code = """
            open('outputs/a', 'wb').write(bytes(3 << 20))
            open('outputs/b', 'w').write('small')
            """
        status, _, err = folder.run(code, "--outputs=disk")
        assert status == EXIT_SANDBOX and "a is not in disk: No space left on device" in err
        assert folder.tree("disk") == {"b": b"small"}
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("where, words", [("a/b/c", "cannot make the folder"), ("file", "cannot open the folder")])
def test_bad_folder(folder, where, words):
    folder.write("file", "")
    status, out, err = folder.run("print(1)", "--outputs=" + where)
    assert (status, out) == (EXIT_USAGE, "") and words in err
