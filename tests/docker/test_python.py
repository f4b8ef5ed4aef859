"""The script finds the Python that it would find as a file of its own."""

import hashlib

import pytest
from sandbox import py


def prints(server, code, expected, **arguments):
    result = server.run(code, **arguments)
    assert (result.status, result.stdout, result.stderr) == ("ok", expected, ""), result
    return result


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(server, method):
    prints(
        server,
        py(
            """
            import multiprocessing

            class Square:
                def __init__(self, n):
                    self.n = n

            def square(n):
                return Square(n * n)

            def put(queue, event):
                queue.put('through the queue')
                event.set()

            if __name__ == '__main__':
                context = multiprocessing.get_context('%s')
                with context.Pool(2) as pool:
                    print([s.n for s in pool.map(square, range(5))])
                queue, event = context.Queue(), context.Event()
                child = context.Process(target=put, args=(queue, event))
                child.start()
                print(queue.get(timeout=20), event.wait(20))
                child.join()
                shared = context.Array('i', [1, 2, 3])
                print(list(shared), child.exitcode)
            """
        )
        % method,
        "[0, 1, 4, 9, 16]\nthrough the queue True\n[1, 2, 3] 0\n",
    )


def test_multiprocessing_shared_memory(server):
    prints(
        server,
        py(
            """
            from multiprocessing import shared_memory
            block = shared_memory.SharedMemory(create=True, size=1 << 20)
            block.buf[:5] = b'hello'
            again = shared_memory.SharedMemory(block.name)
            print(bytes(again.buf[:5]))
            again.close()
            block.close()
            block.unlink()
            """
        ),
        "b'hello'\n",
    )


def test_process_pool_executor(server):
    prints(
        server,
        py(
            """
            from concurrent.futures import ProcessPoolExecutor

            def double(n):
                return 2 * n

            if __name__ == '__main__':
                with ProcessPoolExecutor(2) as pool:
                    print(list(pool.map(double, range(4))))
            """
        ),
        "[0, 2, 4, 6]\n",
    )


def test_threads(server):
    prints(
        server,
        py(
            """
            import threading
            from concurrent.futures import ThreadPoolExecutor
            with ThreadPoolExecutor(8) as pool:
                print(sum(pool.map(lambda n: n * n, range(100))))
            print(threading.current_thread() is threading.main_thread())
            """
        ),
        "328350\nTrue\n",
    )


def test_a_thread_is_waited_for_at_the_end(server):
    prints(
        server,
        py(
            """
            import atexit, threading, time
            atexit.register(print, 'at exit')
            threading.Thread(target=lambda: (time.sleep(0.3), print('thread'))).start()
            print('main')
            """
        ),
        "main\nthread\nat exit\n",
    )


def test_input_with_stdin(server):
    prints(
        server,
        "import sys; print(input('name? ') + '!', input(), sys.stdin.read())",
        "name? Ann! 42 rest\nof it\n\n",
        stdin="Ann\n42\nrest\nof it\n",
    )


def test_input_without_stdin(server):
    result = server.run("print('before')\ninput()")
    assert (result.status, result.exit_code, result.stdout) == ("error", 1, "before\n"), result
    assert "EOFError" in result.stderr
    assert result.seconds < 5


def test_stdin_is_bytes_for_bytes_what_was_given(server):
    text = "\u00fc\U0001f600\r\n\ttab\x01\x7f" + "x" * 200_000 + "\nno newline at the end"
    got = server.facts(
        py(
            """
            import hashlib, json, sys
            data = sys.stdin.buffer.read()
            print(json.dumps([len(data), hashlib.sha256(data).hexdigest()]))
            """
        ),
        stdin=text,
    )
    assert got == [len(text.encode()), hashlib.sha256(text.encode()).hexdigest()]


def test_stdin_is_not_shared_with_a_later_call(server):
    server.run("pass", stdin="secret\n")
    prints(server, "import sys; print(repr(sys.stdin.read()))", "''\n")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n", "\n\n  \n"])
def test_a_script_reads_its_own_file(server, newline, end):
    code = newline.join(
        [
            "# -*- coding: utf-8 -*-  \u00fc \U0001f600 \t",
            "import hashlib",
            "with open(__file__, 'rb') as f: data = f.read()",
            "print(len(data), hashlib.sha256(data).hexdigest())",
        ]
    )
    code += end.replace("\n", newline)
    data = code.encode()
    prints(server, code, "%d %s\n" % (len(data), hashlib.sha256(data).hexdigest()))


def test_a_long_script(server):
    code = "total = 0\n" + "total += 1\n" * 90_000 + "print(total)\n"
    assert 900_000 < len(code) < 1 << 20
    prints(server, code, "90000\n")


def test_the_script_is_main_like_any_file(server):
    got = server.facts(
        py(
            """
            import json, os, pickle, sys
            class Thing: pass
            main = sys.modules['__main__']
            print(json.dumps([
                __name__,
                os.path.dirname(os.path.abspath(__file__)),
                os.getcwd(),
                os.path.realpath(sys.path[0]),
                main.__dict__ is globals(),
                type(pickle.loads(pickle.dumps(Thing()))) is Thing,
                len(sys.argv),
                os.path.samefile(sys.argv[0], __file__),
                sorted(k for k in globals() if not k.startswith('__')),
            ]))
            """
        )
    )
    assert got == [
        "__main__",
        "/workspace",
        "/workspace",
        "/workspace",
        True,
        True,
        1,
        True,
        ["Thing", "json", "main", "os", "pickle", "sys"],
    ]


def test_a_traceback_shows_the_source_line(server):
    result = server.run(
        py(
            """
            def inner(n):
                return 10 / n  # the line to show

            def outer():
                return inner(0)

            outer()
            """
        )
    )
    assert result.status == "error"
    lines = result.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == "ZeroDivisionError: division by zero"
    assert any("return 10 / n  # the line to show" in line for line in lines)
    frames = [line for line in lines if line.startswith("  File ")]
    # Nothing of the supervisor shows: the first frame is the script's own.
    assert len(frames) == 3 and all('"/workspace/' in frame for frame in frames), result.stderr
    assert frames[0].endswith("line 7, in <module>")


def test_a_traceback_in_a_thread_and_in_a_child_shows_the_source_line(server):
    result = server.run(
        py(
            """
            import multiprocessing, threading

            def fail():
                raise ValueError('from afar')  # the line to show

            if __name__ == '__main__':
                thread = threading.Thread(target=fail)
                thread.start()
                thread.join()
                child = multiprocessing.get_context('spawn').Process(target=fail)
                child.start()
                child.join()
            """
        )
    )
    assert result.status == "ok", result
    assert result.stderr.count("raise ValueError('from afar')  # the line to show") == 2


@pytest.mark.parametrize(
    "code,value",
    [
        ("1 + 1", "2"),
        ("x = [1, 2]\nx", "[1, 2]"),
        ("'text'", "'text'"),
        ("print('out')\n{'a': 1}", "{'a': 1}"),
        ("'\U0001f600\u00fc'", "'\U0001f600\u00fc'"),
        ("import math\nmath.pi\n# a comment at the end\n", "3.141592653589793"),
        ("(lambda: 7)()", "7"),
        ("0", "0"),
        ("False", "False"),
        ("1; 2; 3", "3"),
    ],
)
def test_the_value_of_the_last_expression(server, code, value):
    result = server.run(code)
    assert result.status == "ok" and result.data.get("value") == value, result
    assert value in result.text


@pytest.mark.parametrize(
    "code",
    ["None", "print('x')", "x = 5", "5\nx = 6", "if True:\n    5", "def f(): return 5", "5\npass"],
)
def test_no_value_without_a_last_expression(server, code):
    assert "value" not in server.run(code).data


def test_a_value_whose_repr_fails(server):
    result = server.run("class Bad:\n    def __repr__(self): raise ValueError('no repr')\n\nBad()")
    assert (result.status, result.stdout) == ("ok", ""), result
    assert "ValueError" in result.data.get("value", "ValueError")
    assert server.run("1 + 1").data["value"] == "2"


def test_a_huge_value_is_cut(server):
    result = server.run("'v' * 10_000_000")
    assert result.status == "ok", result
    assert 0 < len(result.data["value"]) <= 65_536 + 400


def test_the_processor_count_is_the_limit(server):
    prints(
        server,
        "import multiprocessing, os; print(os.cpu_count(), multiprocessing.cpu_count())",
        "1 1\n",
    )


def test_import_of_a_module_that_the_script_wrote(server):
    prints(
        server,
        py(
            """
            import os
            with open('/workspace/helper_module.py', 'w') as f:
                f.write('def answer():\\n    return 42\\n')
            os.mkdir('package')
            with open('package/__init__.py', 'w') as f:
                f.write('from helper_module import answer\\n')
            import helper_module
            import package
            print(helper_module.answer(), package.answer())
            """
        ),
        "42 42\n",
    )


def test_subprocess(server):
    prints(
        server,
        py(
            """
            import subprocess, sys
            out = subprocess.run(['cat'], input=b'through cat', capture_output=True, check=True)
            print(out.stdout.decode())
            code = 'import os, sys; print(os.getcwd(), sys.argv[1:])'
            print(subprocess.check_output([sys.executable, '-c', code, 'a b'], text=True), end='')
            print(subprocess.run('exit 5', shell=True).returncode)
            """
        ),
        "through cat\n/workspace ['a b']\n5\n",
    )


def test_output_of_a_subprocess_keeps_its_place(server):
    prints(
        server,
        "import subprocess\nprint('one')\nsubprocess.run(['echo', 'two'])\nprint('three')",
        "one\ntwo\nthree\n",
    )


def test_sqlite(server):
    prints(
        server,
        py(
            """
            import sqlite3
            with sqlite3.connect('data.db') as db:
                db.execute('create table t (n integer)')
                db.executemany('insert into t values (?)', [(n,) for n in range(1000)])
            print(sqlite3.connect('data.db').execute('select sum(n) from t').fetchone())
            """
        ),
        "(499500,)\n",
    )


def test_asyncio_server_on_localhost(server):
    prints(
        server,
        py(
            """
            import asyncio

            async def echo(reader, writer):
                writer.write((await reader.readline()).upper())
                await writer.drain()
                writer.close()

            async def main():
                listener = await asyncio.start_server(echo, 'localhost', 0)
                port = listener.sockets[0].getsockname()[1]
                host = listener.sockets[0].getsockname()[0]
                reader, writer = await asyncio.open_connection(host, port)
                writer.write(b'hello\\n')
                print((await reader.readline()).decode(), end='')
                writer.close()
                process = await asyncio.create_subprocess_exec('true')
                print(await process.wait())

            asyncio.run(main())
            """
        ),
        "HELLO\n0\n",
    )


def test_signals_have_their_usual_meaning(server):
    prints(
        server,
        py(
            """
            import os, signal
            try:
                os.kill(os.getpid(), signal.SIGINT)
                signal.pause()
            except KeyboardInterrupt:
                print('interrupted')
            signal.signal(signal.SIGALRM, lambda *a: print('alarm'))
            signal.alarm(1)
            signal.pause()
            reader, writer = os.pipe()
            os.close(reader)
            try:
                os.write(writer, b'x')
            except BrokenPipeError:
                print('broken pipe')
            print(signal.pthread_sigmask(signal.SIG_BLOCK, []))
            """
        ),
        "interrupted\nalarm\nbroken pipe\nset()\n",
    )


def test_temporary_files_and_home_are_writable(server):
    prints(
        server,
        py(
            """
            import os, tempfile
            with tempfile.NamedTemporaryFile() as f:
                print(os.path.dirname(f.name) in ('/tmp', '/workspace/tmp', '/workspace'))
            path = os.path.expanduser('~/.cache/probe')
            os.makedirs(path)
            print(os.path.isdir(path))
            """
        ),
        "True\nTrue\n",
    )


def test_random_numbers_differ_between_calls(server):
    code = "import os, random, uuid; print(random.random(), uuid.uuid4(), os.urandom(8).hex(), hash('a'))"
    lines = [server.run(code).stdout.split() for _ in range(3)]
    for column in zip(*lines):
        assert len(set(column)) == 3, column


def test_text_streams_are_utf8(server):
    prints(
        server,
        "import sys, locale; print(sys.stdout.encoding.lower(), open(__file__).encoding.lower(), '\u00fc')",
        "utf-8 utf-8 \u00fc\n",
    )
