"""What a script writes comes back whole, or cut honestly, always as valid UTF-8 in valid JSON."""

import re

import pytest
from sandbox import REPLY_MAX, Server, py

TEXT_MAX = 50_000
ERROR_TEXT_MAX = 10_000
MARK_MAX = 400  # generous room for the line that tells what was left out


def numbers(line):
    return [int(n) for n in re.findall(r"\d+", re.sub(r"(?<=\d)[,_. ](?=\d{3})", "", line))]


def assert_cut_honestly(text, filler, total):
    """One line tells how many characters there were in all and how many are missing here.

    filler is a character that the output consists of and that no word of that line can hold, total the
    number of characters that the script wrote."""
    marks = [line for line in text.splitlines() if "left out" in line]
    assert len(marks) == 1, [mark[:200] for mark in marks] or text[:300]
    mark = marks[0].strip(filler)
    kept = text.count(filler)
    assert {total, total - kept} <= set(numbers(mark)), (mark, total, total - kept)
    assert 0 < kept < total


def test_none(server):
    for code in ("pass", "x = 1", "# only a comment"):
        result = server.run(code)
        assert (result.status, result.stdout, result.stderr) == ("ok", "", ""), result
        assert result.text.strip()


def test_no_newline_at_the_end(server):
    result = server.run("import sys\nprint('out', end='')\nprint('err', end='', file=sys.stderr)")
    assert (result.stdout, result.stderr) == ("out", "err"), result
    assert "out" in result.text and "err" in result.text


def test_white_space_is_kept(server):
    result = server.run(r"print('\n\n  a\t\r\nb \n\n\n', end='')")
    assert result.stdout == "\n\n  a\t\r\nb \n\n\n"


def test_invalid_utf8(server):
    result = server.run(r"import os; os.write(1, b'a\xff\xfeb\xc3'); os.write(2, b'\x80c\n')")
    assert result.status == "ok"
    assert result.stdout == "a\ufffd\ufffdb\ufffd"
    assert result.stderr == "\ufffdc\n"


def test_bytes_that_only_look_like_utf8(server):
    result = server.run(
        r"import os; os.write(1, b'<\xed\xa0\x80><\xc0\x80><\xf5\x80\x80\x80><\xe2\x82><\xf0\x9f\x98>')"
    )
    assert re.fullmatch("<\ufffd+><\ufffd+><\ufffd+><\ufffd+><\ufffd+>", result.stdout), result


def test_a_character_in_two_writes(server):
    result = server.run(
        py(
            r"""
            import os, time
            for byte in '\u00e9\U0001f600\u4e2d'.encode():
                os.write(1, bytes([byte]))
                time.sleep(0.02)
            """
        )
    )
    assert result.stdout == "\u00e9\U0001f600\u4e2d"


def test_nul_and_other_control_characters(server):
    result = server.run("import os; os.write(1, bytes(range(128)))")
    assert result.stdout == "".join(map(chr, range(128)))


def test_emoji(server):
    text = "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467 \u00fc \u4e2d\u6587 \u0627 e\u0301"
    result = server.run("print(%r)\nprint(%s)" % (text, ascii(text)))
    assert result.stdout == text + "\n" + text + "\n"
    assert text in result.text


def test_lone_surrogates_written_on_purpose(server):
    result = server.run(r"import sys; sys.stdout.buffer.write('<\ud800>'.encode('utf-8', 'surrogatepass'))")
    assert re.fullmatch("<\ufffd+>", result.stdout)


def test_a_line_of_3_mb(server):
    total = 3 << 20
    result = server.run("print('#' * %d + 'the end')" % total)
    assert result.status == "ok" and result.data["truncated"] is True
    assert result.stdout.startswith("####") and result.stdout.endswith("####the end\n")
    assert len(result.stdout) <= TEXT_MAX + MARK_MAX
    assert len(result.text) <= TEXT_MAX + 2 * MARK_MAX
    mark = [line for line in result.stdout.splitlines() if "left out" in line]
    assert len(mark) == 1 and total + len("the end\n") in numbers(mark[0].strip("#")), mark


def test_100_mb_in_all(server):
    total = 100 << 20
    code = "import sys\nfor _ in range(100): sys.stdout.write('#' * (1 << 20))\n"
    result = server.run(code)
    assert result.status == "ok" and result.data["truncated"] is True, result
    assert_cut_honestly(result.stdout, "#", total)
    assert_cut_honestly(result.text, "#", total)
    assert len(result.text) <= TEXT_MAX + 2 * MARK_MAX
    assert result.seconds < 15


def test_100_mb_on_both_streams(server):
    half = 50 << 20
    result = server.run(
        py(
            """
            import os, threading

            def flood(fd, byte):
                for _ in range(800):
                    os.write(fd, byte * 65536)

            threads = [threading.Thread(target=flood, args=a) for a in ((1, b'#'), (2, b'@'))]
            for t in threads: t.start()
            for t in threads: t.join()
            """
        )
    )
    assert result.status == "ok" and result.data["truncated"] is True, result
    assert_cut_honestly(result.stdout, "#", half)
    assert_cut_honestly(result.stderr, "@", half)
    assert len(result.stdout) + len(result.stderr) <= TEXT_MAX + 2 * MARK_MAX
    assert "@" not in result.stdout and "#" not in result.stderr


def test_characters_are_counted_not_bytes(server):
    result = server.run("print('\U0001f600' * 200000, end='')")
    assert result.data["truncated"] is True
    assert "\ufffd" not in result.stdout and "\ufffd" not in result.text
    assert_cut_honestly(result.stdout, "\U0001f600", 200_000)


def test_a_cut_traceback_keeps_its_end(server):
    result = server.run("print('#' * 100000)\nimport sys\nsys.stderr.write('@' * 100000 + '\\n')\n1 / 0")
    assert (result.status, result.exit_code) == ("error", 1)
    assert result.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert "ZeroDivisionError: division by zero" in result.text
    assert len(result.text) <= ERROR_TEXT_MAX + 2 * MARK_MAX
    assert result.data["truncated"] is True


def test_what_fits_is_not_cut(server):
    result = server.run("print('#' * 30000)\nimport sys\nsys.stderr.write('@' * 19000)")
    assert result.stdout == "#" * 30000 + "\n" and result.stderr == "@" * 19000
    assert result.data["truncated"] is False


def test_both_streams_at_once(server):
    result = server.run(
        py(
            """
            import os, threading

            def write(fd, word):
                for n in range(500):
                    os.write(fd, b'%s %d\\n' % (word, n))

            threads = [threading.Thread(target=write, args=a) for a in ((1, b'out'), (2, b'err'))]
            for t in threads: t.start()
            for t in threads: t.join()
            """
        )
    )
    assert result.stdout == "".join("out %d\n" % n for n in range(500))
    assert result.stderr == "".join("err %d\n" % n for n in range(500))


def test_a_background_child_that_keeps_stdout_open(server):
    result = server.run(
        "import subprocess\nprint('started')\nsubprocess.Popen(['sleep', '100'])\n", timeout_seconds=20
    )
    assert (result.status, result.stdout) == ("ok", "started\n"), result
    assert result.seconds < 5


def test_a_background_daemon_that_goes_on_writing(server):
    result = server.run(
        py(
            """
            import os, signal, time
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    while True:
                        os.write(1, b'daemon\\n')
                        time.sleep(0.01)
                os._exit(0)
            os.wait()
            time.sleep(0.2)
            print('parent ends')
            """
        ),
        timeout_seconds=20,
    )
    assert result.status == "ok", result
    assert "parent ends\n" in result.stdout and "daemon\n" in result.stdout
    assert result.seconds < 5


def test_a_script_that_closes_its_streams(server):
    result = server.run("import os\nprint('before', flush=True)\nos.close(1)\nos.close(2)\nos._exit(4)")
    assert (result.status, result.exit_code, result.stdout) == ("error", 4, "before\n"), result


def test_output_that_looks_like_the_protocol(server):
    line = '{"jsonrpc":"2.0","id":%d,"result":{}}' % (server.next_id)
    result = server.run("print(%r)" % line)
    assert result.stdout == line + "\n"


@pytest.mark.parametrize("byte", [0, 1, 34, 92, 255, 10])
def test_the_longest_reply_is_one_valid_line(engine, base_image, byte):
    """With the caps of the text wide open the cap of the reply line still holds."""
    total = 4 << 20
    with Server("--text-max=1000000", "--error-text-max=1000000") as server:
        for end in ("", "\nos._exit(1)"):
            code = "import os\nfor _ in range(64): os.write(1, bytes([%d]) * 65536)%s" % (byte, end)
            result = server.run(code)
            assert result.data["truncated"] is True, result
            marks = [line for line in result.stdout.splitlines() if "left out" in line]
            assert len(marks) == 1 and total in numbers(marks[0]), marks
        assert 16_384 < server.longest_line < REPLY_MAX


def test_a_small_cap_of_the_reply(engine, base_image):
    with Server("--reply-max=16384") as server:
        result = server.run("import os\nos.write(1, b'#' * 60000)\nos.write(2, b'@' * 60000)\nos._exit(0)")
        assert result.data["truncated"] is True
        assert_cut_honestly(result.stdout, "#", 60_000)
        assert_cut_honestly(result.stderr, "@", 60_000)
        server.run("import sys\nprint('\\0' * 100000)\nsys.stderr.write('\\1' * 100000)")
        assert 4_096 < server.longest_line <= 16_384 + 1
