"""What a script leaves behind, made by a script that means harm: each thing gets its honest line, and
the server goes on."""

import base64
import hashlib
import json
import struct

import pytest
from sandbox import Server, py

REPLY_MAX = 900000

CHUNKS = py(
    """
    import os, struct, zlib
    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    def png(width, height, data=None):
        rows = b'\\0' * ((3 * width + 1) * height) if data is None else data
        return (b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0))
                + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
    def leave(name, data):
        open(os.path.join(b'/workspace/outputs', os.fsencode(name)), 'wb').write(data)
    """
)


def left(server, code, **arguments):
    return server.run(CHUNKS + py(code), **arguments)


def block_of(result, name):
    """The block of an artifact that came along: they are in the order of the entries."""
    names = [a["name"] for a in result.artifacts.values() if a["included"]]
    return result.content[1 + names.index(name)]


def bytes_of(block):
    if block["type"] == "image":
        return base64.b64decode(block["data"], validate=True)
    resource = block["resource"]
    return resource["text"].encode() if "text" in resource else base64.b64decode(resource["blob"], validate=True)


def check_sound(result):
    """Every block is what its entry says."""
    for name, entry in result.artifacts.items():
        if not entry["included"]:
            assert entry["reason"], entry
            continue
        block = block_of(result, name)
        data = bytes_of(block)
        assert len(data) == entry["size"] and hashlib.sha256(data).hexdigest() == entry["sha256"], entry
        kind = block["mimeType"] if block["type"] == "image" else block["resource"]["mimeType"]
        assert kind == entry["mime_type"] and (block["type"] == "image") == kind.startswith("image/"), entry
    assert len(json.dumps(result.content)) < REPLY_MAX


def test_pictures_and_files(server):
    result = left(
        server,
        """
        leave('a.png', png(30, 20))
        leave('b.csv', b'x,y\\n1,2\\n')
        leave('c.bin', bytes(range(256)))
        os.makedirs('outputs/d/e')
        leave('d/e/f.json', b'{"a": 1}')
        print('done')
        """,
    )
    check_sound(result)
    kinds = {name: (a["mime_type"], a["included"]) for name, a in result.artifacts.items()}
    assert kinds == {
        "a.png": ("image/png", True),
        "b.csv": ("text/csv", True),
        "c.bin": ("application/octet-stream", True),
        "d/e/f.json": ("application/json", True),
    }
    assert block_of(result, "d/e/f.json")["resource"]["uri"] == "sandbox:///outputs/d/e/f.json"


def test_names(server):
    names = ["Générer – suite.csv", "売上分析.xlsx", "e\u0301", "\u00e9", "a%2Fb", "=?utf-8?", "dot.", "x" * 255, "'\"\\"]
    result = left(server, "for name in %r: leave(name, b'text')" % names)
    check_sound(result)
    assert set(result.artifacts) == set(names)
    uris = [block["resource"]["uri"] for block in result.content[1:]]
    assert len(set(uris)) == len(names) and all(uri.isascii() and " " not in uri for uri in uris), uris
    assert "sandbox:///outputs/a%252Fb" in uris


HOSTILE = {
    "links and devices": (
        """
        import socket
        os.symlink('/etc/passwd', 'outputs/passwd')
        os.symlink('/proc/1/environ', 'outputs/environ')
        os.symlink('/workspace/outputs', 'outputs/loop')
        os.mkfifo('outputs/fifo')
        socket.socket(socket.AF_UNIX).bind('outputs/sock')
        """,
        dict.fromkeys(["passwd", "environ", "loop", "fifo", "sock"], "not a regular file"),
    ),
    "sparse giant": ("os.truncate(os.open('outputs/giant', os.O_CREAT | os.O_WRONLY), 5 << 30)", {"giant": "sparse"}),
    "no png": ("leave('a.png', b'\\x89PNG\\r\\n\\x1a\\n' + os.urandom(500))", {"a.png": "damaged"}),
    "half a png": ("leave('a.png', png(300, 200)[:-40])", {"a.png": "damaged"}),
    "another picture": ("leave('a.jpg', b'\\xff\\xd8\\xff' + os.urandom(500))", {"a.jpg": "damaged"}),
    "bomb": ("leave('a.png', png(50000, 50000, b''))", {"a.png": "50,000 × 50,000 pixels"}),
    "names": (
        """
        leave('a\\n..;b', b'x')
        leave(b'\\xff\\xfe', b'x')
        leave('\\x1b[31mred', b'x')
        """,
        {"a\\n..;b": "rename", "\\xff\\xfe": "rename", "\\x1b[31mred": "rename"},
    ),
    "folders": ("os.makedirs('outputs/' + 'd/' * 40); leave('d/' * 40 + 'f', b'x')", {}),
    "no right to read": (
        """
        leave('a', b'text')
        os.mkdir('outputs/d')
        leave('d/b', b'x')
        os.chmod('outputs/a', 0)
        os.chmod('outputs/d', 0)
        """,
        {},
    ),
    "no outputs": ("os.rmdir('outputs')", {}),
    "outputs elsewhere": ("os.rmdir('outputs'); os.symlink('/etc', 'outputs')", {"outputs": "not a regular file"}),
    "outputs a file": ("os.rmdir('outputs'); open('outputs', 'w').write('x' * 10)", None),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(server, name):
    code, reasons = HOSTILE[name]
    result = left(server, code)
    assert result.status == "ok", result
    check_sound(result)
    for artifact, reason in (reasons or {}).items():
        assert reason in result.artifacts[artifact]["reason"], result
        assert reason in result.text
    assert not [b for b in result.content[1:] if b["type"] == "image"]
    assert "root:" not in json.dumps(result.content)
    assert server.run("print('still here')").stdout == "still here\n"


def test_ten_thousand_files(server):
    result = left(server, "for n in range(10000): leave('%05d' % n, b'x')", timeout_seconds=60)
    assert result.status == "ok", result
    check_sound(result)
    assert list(result.artifacts) == ["%05d" % n for n in range(64)]
    assert 9900 < result.data["artifacts_left_out"] <= 10000
    assert " more, which are not named here" in result.text and result.seconds < 60


def test_a_file_that_never_stops_changing(server):
    """What comes along is one state of it, whole."""
    result = left(
        server,
        """
        import time
        if os.fork() == 0:
            os.setsid()
            n = 0
            while True:
                n = (n + 1) % 10
                leave('a.txt', b'%d' % n * 20000)
                os.truncate('outputs/a.txt', 100)
        time.sleep(1)
        """,
    )
    check_sound(result)
    assert set(result.artifacts) == {"a.txt"}


def test_large_files_are_named(server):
    result = left(
        server,
        """
        import hashlib
        data = os.urandom(3 << 20)
        leave('a.bin', data)
        print(hashlib.sha256(data).hexdigest())
        """,
    )
    entry = result.artifacts["a.bin"]
    assert (entry["size"], entry["included"]) == (3 << 20, False)
    assert entry["sha256"] == result.stdout.strip() and entry["sha256"] in result.text
    assert "larger than" in entry["reason"]


@pytest.mark.parametrize(
    "code, status",
    [("raise SystemExit(3)", "error"), ("os.kill(os.getpid(), 9)", "killed"), ("while True: pass", "timed_out")],
)
def test_after_every_end(server, code, status):
    result = left(server, "leave('a.txt', b'kept')\n" + code, timeout_seconds=3)
    assert result.status == status and result.content[1]["resource"]["text"] == "kept", result


def test_out_of_memory_keeps_what_was_written(server):
    code = "leave('a.txt', b'kept')\nkept = []\nwhile True: kept.append(bytearray(1 << 24))"
    result = left(server, code, timeout_seconds=60)
    assert result.status == "out_of_memory", result
    check_sound(result)


@pytest.mark.timeout(300, func_only=True)
def test_twenty_large_figures(datascience_image):
    """All of them come, in the order of drawing, smaller than they were drawn; with a long text beside them."""
    code = """
        import matplotlib.pyplot as plt
        import numpy as np
        x, y, size = np.random.default_rng(1).random((3, 300))
        for n in range(20):
            plt.figure(figsize=(14, 10), dpi=200)
            plt.scatter(x, y, 200 * size, size + n, alpha=0.6)
            plt.title('figure %d' % n)
        print('0123456789' * 5000)
        """
    with Server("--image=%s" % datascience_image, "--memory=2g", "--timeout-max=300") as server:
        result = server.start(py(code), timeout_seconds=240).result(270)
        assert result.status == "ok" and not result.stderr, result
        assert server.longest_line < REPLY_MAX
    check_sound(result)
    assert list(result.artifacts) == ["figure-%d.png" % n for n in range(1, 21)]
    assert [block["type"] for block in result.content[1:]] == 20 * ["image"]
    for block in result.content[1:]:
        width, height = struct.unpack(">II", bytes_of(block)[16:24])
        assert 300 <= width <= 2000 and 200 <= height <= 2000


def test_limits_are_settings():
    with Server("--artifacts-max=2", "--resource-max=100", "--image-max=0", "--reply-max=16k") as server:
        result = left(server, "leave('a.png', png(3, 2)); leave('b', b'x' * 101); leave('c', b'x')")
        check_sound(result)
        assert "switched off" in result.artifacts["a.png"]["reason"]
        assert "larger than" in result.artifacts["b"]["reason"]
        assert result.data["artifacts_left_out"] == 1
