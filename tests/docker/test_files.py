"""Files that come with a script: they are there before it starts, byte for byte, and only where they
may be."""

import base64
import hashlib
import os

import pytest
from sandbox import Server, py

ALL_BYTES = bytes(range(256)) * 1000


def text(path, content="text"):
    return {"path": path, "text": content}


def binary(path, content):
    return {"path": path, "base64": base64.b64encode(content).decode()}


def refused(server, files):
    result = server.start("print(1)", files=files).response()["result"]
    assert result["isError"] and "structuredContent" not in result, result
    return result["content"][0]["text"]


def test_files_are_there(server):
    result = server.run(
        py(
            """
            import hashlib, os
            for folder, _, names in sorted(os.walk('.')):
                for name in sorted(names):
                    path = os.path.join(folder, name)
                    data = open(path, 'rb').read()
                    print(path, len(data), hashlib.sha256(data).hexdigest()[:8])
            """
        ),
        files=[text("data/ä b.csv", "x,y\n"), binary("all.bin", ALL_BYTES), text("empty", ""), text("d/e/f/g", "z")],
        stdin="input",
    )
    assert result.status == "ok", result

    def line(path, data):
        return "%s %d %s" % (path, len(data), hashlib.sha256(data).hexdigest()[:8])

    found = result.stdout.splitlines()
    assert line("./all.bin", ALL_BYTES) in found and line("./empty", b"") in found
    assert line("./data/ä b.csv", b"x,y\n") in found and line("./d/e/f/g", b"z") in found
    assert len(found) == 5, found  # and the script


def test_files_beside_input_and_code(server):
    code = "import mine; print(mine.double(int(input())), open('n').read())"
    result = server.run(code, stdin="21\n", files=[text("mine.py", "def double(n): return 2 * n"), text("n", "seven")])
    assert result.stdout == "42 seven\n", result


def test_files_can_be_written_and_removed(server):
    code = "import os; open('a', 'a').write('more'); print(open('a').read()); os.remove('d/b'); os.rmdir('d')"
    result = server.run(code, files=[text("a", "text, "), text("d/b")])
    assert (result.status, result.stdout) == ("ok", "text, more\n"), result


def test_nothing_of_one_call_is_in_the_next(server):
    assert server.run("1", files=[text("secret")]).status == "ok"
    assert "secret" not in server.run("import os; print(os.listdir('.'))").stdout


@pytest.mark.parametrize(
    "name", ["a\nb", "\u202e", "'\"\\$(x)", "-rf", "\U0001f600" * 60, "x" * 255, "CON", " ", "e\u0301", "\u00e9"]
)
def test_odd_names(server, name):
    code = "import os; print(ascii(sorted(set(os.listdir('.')) - {'script.py', 'outputs'})))"
    result = server.run(code, files=[text(name)])
    assert result.stdout == ascii([name]) + "\n", result


def test_many_files(server):
    files = [binary("d%d/f" % n, os.urandom(1000)) for n in range(64)]
    code = "import glob; print(sum(len(open(n, 'rb').read()) for n in glob.glob('d*/f')))"
    result = server.run(code, files=files)
    assert result.stdout == "64000\n", result


def test_sixteen_megabytes(server):
    """As much as may come, in one file."""
    data = os.urandom(1 << 20) * 16
    code = "import hashlib; print(hashlib.sha256(open('a', 'rb').read()).hexdigest())"
    result = server.run(code, files=[binary("a", data)])
    assert result.stdout.strip() == hashlib.sha256(data).hexdigest(), result
    assert "16,777,217 bytes" in refused(server, [binary("a", data + b"x")])


@pytest.mark.parametrize(
    "path, words",
    [
        ("/etc/passwd", "relative"),
        ("../escape", '".."'),
        ("a/../../b", '".."'),
        ("", "is empty"),
        ("script.py", "the script itself"),
        ("outputs", "the script leaves behind"),
    ],
)
def test_no_other_place(server, path, words):
    assert words in refused(server, [text(path)])


def test_no_room():
    """More than /workspace holds is told before anything runs."""
    with Server("--workspace=1m") as server:
        assert "/workspace, which has 1 MB" in refused(server, [text("a", "x" * (1 << 20))])
        assert server.run("print(len(open('a').read()))", files=[text("a", "x" * 900000)]).stdout == "900000\n"


def test_files_in_outputs_come_back(server):
    result = server.run("open('outputs/a.txt', 'a').write(' and more')", files=[text("outputs/a.txt", "some")])
    assert result.content[1]["resource"]["text"] == "some and more", result
