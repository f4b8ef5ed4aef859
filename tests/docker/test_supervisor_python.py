"""A script under the supervisor and the same one by `python FILE`."""

import concurrent.futures
import json
import re

import pytest
import supervisor_driver as driver
from sandbox import py
from supervisor_box import image, lines, ok, run  # noqa: F401


# Each runs under the supervisor and, in another container, by the interpreter itself.
SCRIPTS = {
    "names": (
        "print(sorted(dir())); print(__name__, __doc__, __file__, __spec__, __package__,"
        " __builtins__)"
    ),
    "argv": (
        "import sys; print(sys.argv, sys.path[0], sys.orig_argv[1:] if hasattr(sys, 'orig_argv')"
        " else '')"
    ),
    "loader": "print(type(__loader__).__name__, __loader__.path, __loader__.name)",
    "docstring": "'''words'''\nprint(__doc__)",
    "only docstring": "'''words'''",
    "empty": "",
    "comment": "# nothing\n",
    "no newline": "if True:\n    print(1)",
    "crlf": b"x = '''a\r\nb'''\r\nprint(repr(x))\r\n",
    "latin-1": b"# -*- coding: latin-1 -*-\nprint('\xe9')\n1/0 # \xe9",
    "bom": b"\xef\xbb\xbfprint('bom')\n",
    "annotations": "from __future__ import annotations\nx: no_such = 1\nprint(__annotations__)\nx",
    "future in the last": "from __future__ import barry_as_FLUFL\n1 <> 2",
    "syntax error": "print(1)\nx = = 1\n",
    "syntax error in the last": "print(1)\nf(a b)\n",
    "indentation": "if True:\nprint(1)\n",
    "top-level await": "import asyncio\nawait asyncio.sleep(0)\n",
    "return": "print(1)\nreturn\n",
    "yield in the last": "print(1)\nyield 1\n",
    "walrus": "[y := n for n in range(3)]\nprint(y)\n(z := 3)\n",
    "exception": "def f(n):\n    return 1 / n\n\nprint('a')\nf(0)\nprint('b')\n",
    "exception in the last": "def f(n):\n    return 1 / n\n\nf(\n    0\n)\n",
    "chained": "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('x') from e\n",
    "context": "try:\n    {}['a']\nexcept KeyError:\n    int('x')\n",
    "in repr of nothing": "class A:\n    def __repr__(self): return None\nprint(A())",
    "recursion": (
        "import sys\nsys.setrecursionlimit(120)\ndef f(): f()\ntry:\n    f()\nexcept RecursionError"
        " as e: print(e)"
    ),
    "keyboard interrupt": "import atexit; atexit.register(print, 'bye')\nraise KeyboardInterrupt",
    "sigint": "import os, signal; os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(9)",
    "base exception": "raise BaseException('x')",
    "generator exit": "raise GeneratorExit",
    "exit none": "import sys; sys.exit()",
    "exit 3": "import sys; sys.exit(3)",
    "exit text": "import sys; sys.exit('text')",
    "exit large": "raise SystemExit(256 + 7)",
    "exit negative": "raise SystemExit(-1)",
    "exit true": "raise SystemExit(True)",
    "exit tuple": "raise SystemExit((1, 2))",
    "exit builtin": "exit(4)",
    "os._exit": "import os, atexit; atexit.register(print, 'no'); print('a'); os._exit(7)",
    "exit in thread": (
        "import threading, sys\nt = threading.Thread(target=sys.exit, args=(3,)); t.start()"
    ),
    "atexit": "import atexit, sys\nfor n in range(3): atexit.register(print, n)\nsys.exit(5)",
    "atexit fails": (
        "import atexit\ndef f(): 1/0\natexit.register(print, 'after')\natexit.register(f)\n"
    ),
    "atexit exits": (
        "import atexit, sys\ndef f(): sys.exit(9)\natexit.register(f)\natexit.register(print, 1)\n"
    ),
    "atexit cleared": "import atexit\natexit.register(print, 1)\natexit._clear()\nprint(2)",
    "threads joined": (
        "import threading, time, atexit\natexit.register(print, 'last')\n"
        "threading.Timer(0.2, print, ['late']).start()\nprint('main')"
    ),
    "threads joined after an error": (
        "import threading\nthreading.Timer(0.2, print, ['late']).start()\n1/0"
    ),
    "daemon thread": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(9,),"
        " daemon=True).start()"
    ),
    "thread fails": (
        "import threading\nt = threading.Thread(target=int, args=('x',), name='T'); t.start();"
        " t.join()"
    ),
    "excepthook": (
        "import sys\nsys.excepthook = lambda k, v, t: print(k, v, t.tb_lineno, t.tb_next)\n\n1/0"
    ),
    "excepthook exits": "import sys\nsys.excepthook = lambda *_: sys.exit(6)\n1/0",
    "excepthook deleted": "import sys\ndel sys.excepthook\nsys.exit(3)",
    "last traceback": (
        "import sys, atexit, traceback\n"
        "atexit.register(lambda: traceback.print_tb(sys.last_traceback))\nint('x')"
    ),
    "finalizers": (
        "import os\nclass A:\n    def __del__(self): print('del', os.getcwd())\na = A()\nb ="
        " A()\nb.b = b"
    ),
    "finalizers after exit": (
        "import sys\nclass A:\n    def __del__(self): print('del')\na = A()\nsys.exit(2)"
    ),
    "finalizers after an error": "class A:\n    def __del__(self): print('del')\na = A()\n1/0",
    "unflushed file": "f = open(1, 'w', closefd=False); f.write('kept')",
    "unflushed file in a cycle": (
        "f = open(1, 'w', closefd=False); f.write('kept')\nf.f = [f]\ng = lambda: f"
    ),
    "file of an exit handler": (
        "import atexit, os\nf = os.fdopen(os.dup(1), 'w')\nf.write('start ')\ndef bye():\n"
        "    f.write('bye')\natexit.register(bye)\nprint('end')"
    ),
    "file of an exit handler after an exit": (
        "import atexit, os, sys\nf = os.fdopen(os.dup(1), 'w')\natexit.register(lambda:"
        " f.write('bye'))\nsys.exit(4)"
    ),
    "file of an exit handler after an error": (
        "import atexit, os\nf = os.fdopen(os.dup(1), 'w')\natexit.register(lambda:"
        " f.write('bye'))\n1/0"
    ),
    "file of a tee": (
        "import io, os, sys\nclass Tee(io.TextIOBase):\n    def __init__(self): self.f ="
        " os.fdopen(os.dup(2), 'w')\n    def write(self, s): self.f.write(s);"
        " sys.__stdout__.write(s)\nsys.stdout = Tee()\nprint('abc')"
    ),
    "file of a log": (
        "import logging, os\nclass To(logging.Handler):\n    def __init__(self):"
        " super().__init__(); self.f = os.fdopen(os.dup(1), 'w')\n    def emit(self, r):"
        " self.f.write(r.getMessage())\nlogging.getLogger().addHandler(To())\n"
        "logging.error('kept')"
    ),
    "file of another module": (
        "import json, os\njson.f = os.fdopen(os.dup(1), 'w')\njson.f.write('kept')"
    ),
    "file of another module in place of stdin": (
        "import json, os\nn = os.dup(1)\nos.dup2(n, 0)\nos.close(n)\njson.f = open(0, 'w',"
        " closefd=False)\njson.f.write('kept')"
    ),
    "file of a hook": (
        "import os, sys\nf = os.fdopen(os.dup(1), 'w')\nsys.setprofile(lambda *a:"
        " None)\nsys.displayhook = f.write\nsys.displayhook('kept')"
    ),
    "never awaited": "import asyncio\nasync def f(): pass\nasyncio.run(f())\nt = f()",
    "file behind a function of another module": (
        "import json, os\nf = os.fdopen(os.dup(1), 'w')\nf.write('kept')\n"
        "json.JSONEncoder.default = lambda self, o: str(o)"
    ),
    "finalizer behind a signal": (
        "import signal\nclass A:\n    def __del__(self): print('del')\na = A()\n"
        "signal.signal(signal.SIGALRM, lambda *a: None)"
    ),
    "finalizer behind an exit handler": (
        "import atexit, sys\nclass A:\n    def __del__(self): print('del')\na = A()\n"
        "atexit.register(lambda: print('bye'))\nsys.exit(3)"
    ),
    "finalizer behind another module": (
        "import decimal\nclass A:\n    def __del__(self): print('del')\ndecimal.a = A()"
    ),
    "c stdio": "import ctypes; ctypes.CDLL(None).puts(b'from C')",
    "stdout replaced": (
        "import sys\nclass Out:\n    closed = False\n    def write(self, s):"
        " sys.__stdout__.write(s.upper())\n    def flush(self): pass\nsys.stdout ="
        " Out()\nprint('abc')"
    ),
    "flush fails": (
        "import sys\nclass Out:\n    closed = False\n    def write(self, s): pass\n    def"
        " flush(self): raise OSError('full')\n    def __repr__(self): return '<out>'\nsys.stdout ="
        " Out()"
    ),
    "stdout closed": "import sys\nsys.stdout.close()",
    "stdout none": "import sys\nsys.stdout = None\nprint('x')",
    "streams": (
        "import sys\nfor s in (sys.stdout, sys.stderr, sys.__stdout__):\n    print(s.name, s.mode,"
        " s.encoding, s.errors, s.fileno(), s.line_buffering, s.write_through,\n         "
        " type(s.buffer).__name__, s.buffer.name, s.newlines)"
    ),
    "surrogates": (
        "print('\\udcff\\udc80'); import sys; print('\\ud800', file=sys.stderr); print('\\ud800')"
    ),
    "signals": (
        "import signal\nprint([(s, signal.getsignal(s)) for s in sorted(signal.valid_signals())"
        " if signal.getsignal(s)], signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    ),
    "descriptors": (
        "import os; print(sorted(os.listdir('/proc/self/fd'), key=int)[:4],"
        " os.open('/dev/null', 0))"
    ),
    "warning": (
        "import warnings\ndef f():\n    warnings.warn('w')\nf()\nwarnings.warn('d',"
        " DeprecationWarning)"
    ),
    "syntax warning": "x = 1\nif x is 1: print('\\d')\nassert (x, 'y')\n'\\s'",
    "finally warning": "def f():\n    try: pass\n    finally: return 1\n\nf()",
    "pickle": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)",
    "inspect": "import inspect\ndef f():\n    return 1\nprint(inspect.getsource(f))",
    "own file": "print(open(__file__).read(), __import__('sys').modules['__main__'].__file__)",
    "eval traceback": "x = 0\neval('1/x')",
    "exec traceback": "exec('def f():\\n  1/0')\nf()",
    "deep expression": "x = " + "+".join(["1"] * 2000) + "\nprint(x)",
    "import": (
        "import sys\nopen('/workspace/foo.py', 'w').write('x = 5\\nclass A:\\n  def __del__(s):"
        " print(x)\\na = A()')\nsys.dont_write_bytecode = True\nimport foo\nprint(foo.x,"
        " foo.__file__)"
    ),
    "import fails": "open('/workspace/bad.py', 'w').write('1/0')\nimport bad",
    "no such module": "import no_such_module",
    "unraisable": "class A:\n    def __del__(self): 1/0\na = A()\ndel a\nprint('on')",
    "asyncio": (
        "import asyncio\nasync def f():\n    await asyncio.sleep(0.01)\n    return"
        " 3\nprint(asyncio.run(f()))"
    ),
    "subprocess": (
        "import subprocess, sys\nprint(subprocess.check_output([sys.executable, '-c', 'print(1)']))"
    ),
    "environment": (
        "import os\nprint(os.getcwd(), os.umask(0), os.nice(0), os.getpgid(0) == os.getsid(0) or 1)"
    ),
    "assert": "assert 1 == 2, 'no'",
    "exception group": (
        "import sys\nif sys.version_info >= (3, 11):\n    raise ExceptionGroup('g',"
        " [ValueError(1)])"
    ),
    "notes": "e = ValueError('x')\nif hasattr(e, 'add_note'): e.add_note('note')\nraise e",
    "suggestion": "import math\nmath.sqroot",
}

REFERENCE = """
    import json, os, subprocess, sys
    for name, code in json.load(sys.stdin).items():
        path = '/workspace/case.py'
        for entry in os.listdir('/workspace'):
            if os.path.isfile(entry):
                os.unlink(entry)
        with open(path, 'wb') as file:
            file.write(code.encode('latin-1'))
        done = subprocess.run([sys.executable, '-u', path, 'a', 'b c'], stdin=subprocess.DEVNULL,
                              capture_output=True)
        print(json.dumps([name, done.returncode, done.stdout.decode('latin-1'),
                          done.stderr.decode('latin-1')]))
"""


def without_addresses(text):
    return re.sub(r"0x[0-9a-f]{6,}", "0x", text)


def script_bytes(name):
    code = SCRIPTS[name]
    return code.encode() if isinstance(code, str) else code


@pytest.fixture(scope="module")
def reference(image):
    """What `python FILE` does with each script."""
    cases = json.dumps({name: script_bytes(name).decode("latin-1") for name in SCRIPTS}).encode()
    result = driver.run(image, py(REFERENCE), stdin=cases, head=-1, timeout_ms=80000, timeout=85)
    return {row[0]: row[1:] for row in map(json.loads, lines(result))}


@pytest.fixture(scope="module")
def supervised(image):
    """What the supervisor does with each script."""

    def run_one(name):
        return driver.run(image, script_bytes(name), name="case.py", argv=["a", "b c"])

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return dict(zip(SCRIPTS, pool.map(run_one, SCRIPTS)))


@pytest.mark.parametrize("name", SCRIPTS)
def test_as_python_file(reference, supervised, name):
    result = supervised[name]
    status, stdout, stderr = reference[name]
    if name == "argv":  # -u is what the outputs do here without it
        stdout = stdout.replace("'-u', ", "")
    got = -result.exit.signal if result.exit.signal else result.exit.exit_code
    assert without_addresses(result.stderr.decode("latin-1")) == without_addresses(stderr)
    assert without_addresses(result.stdout.decode("latin-1")) == without_addresses(stdout)
    assert got == status


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(run, method):
    code = """
        import multiprocessing, os
        class Item:
            def __init__(self, n): self.n = n
        def square(item):
            return Item(item.n ** 2)
        if __name__ == '__main__':
            multiprocessing.set_start_method(%r)
            with multiprocessing.Pool(2) as pool:
                print([item.n for item in pool.map(square, map(Item, range(5)))])
            queue = multiprocessing.Queue()
            process = multiprocessing.Process(target=queue.put, args=('from ' + __name__,))
            process.start()
            print(queue.get())
            process.join()
            print(process.exitcode)
    """
    result = run(code % method, timeout_ms=60000, timeout=60)
    assert lines(result) == ["[0, 1, 4, 9, 16]", "from __main__", "0"]
    assert result.stderr == b""


@pytest.mark.parametrize(
    "code, value",
    [
        ("1 + 1", "2"),
        ("x = 'é€😀'\nx", "'é€😀'"),
        ("x = 1; x", "1"),
        ("None", None),
        ("x = 1", None),
        ("print(1)", None),
        ("'alone'", "'alone'"),
        ("'doc'\n'value'", "'value'"),
        ("if True:\n    3", None),
        ("class A:\n    def __repr__(self): raise ValueError\nA()", "<repr failed: ValueError>"),
        ("class A:\n    def __repr__(self): return 1\nA()", "<repr failed: TypeError: __repr__ returned non-string (type int)>"),
        ("10 ** 5000", "<repr failed: ValueError: Exceeds the limit (4300 digits) for integer string "
         "conversion; use sys.set_int_max_str_digits() to increase the limit>"),
        ("import os\nchild = os.fork()\nif child: os.wait()\n'parent' if child else 'child'", "'parent'"),
        ("x = 1\n'\\ud800'", "'\\ud800'"),
        ("class A:\n    def __repr__(self): return '\\ud800'\nA()", "\\ud800"),
        ("'é' * 32767", "'" + "é" * 32767 + "'"),
        ("'é' * 40000", "'" + "é" * 32727 + "\n[7274 of 40002 characters left out]"),
        (
            (
                "import os; os.closerange(3, 1000)\nf = [open('/dev/null') for n in"
                " range(600)]\nlen(f)"
            ),
            None,
        ),
        ("lambda: 1\n__import__('sys').exit(0)", None),
        ("1\n" + "#" * 300000, None),
    ],
)
def test_value(run, code, value):
    assert ok(run(code.encode())).value == value


def test_value_is_bounded_and_valid_whatever_the_script_writes(run):
    code = """
        import os, stat
        for fd in map(int, os.listdir('/proc/self/fd')):
            if fd > 2:
                try:
                    os.set_blocking(fd, False)
                    while os.write(fd, b'\\xff' + b'v' * 40000):
                        pass
                except OSError:
                    pass
        2
    """
    result = run(code)
    assert result.exit.exit_code == 0 and len(result.value.encode()) <= 65536
