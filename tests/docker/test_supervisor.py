"""The supervisor in a real container, spoken to without the server (supervisor_driver.py)."""

import signal
import time

import pytest
import supervisor_driver as driver
from sandbox import py
from supervisor_box import box, image, lines, ok, run  # noqa: F401
from supervisor_driver import Container, chunk


# --- Frames and verdicts --------------------------------------------------------------------------


def test_hello_states_the_facts(image):
    with Container(image, cpus=1.5) as box:
        facts = box.hello()
    assert facts["uid"] == facts["gid"] == driver.UID
    assert {facts[cap] for cap in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (facts["no_new_privs"], facts["seccomp"]) == (1, 2)
    assert facts["interfaces"] == ["lo"] and facts["resolver"] is True
    assert " / / ro," in facts["mountinfo"] and "/workspace" in facts["mountinfo"]
    assert facts["environ"]["HOME"] == "/workspace/home" and "USER" not in facts["environ"]
    assert facts["hostname"] == facts["environ"]["HOSTNAME"]
    assert len(facts["rlimits"]["RLIMIT_NOFILE"]) == 2
    cgroup = facts["cgroup"]
    assert "268435456" in (cgroup.get("memory.limit_in_bytes"), cgroup.get("memory.max"))
    assert cgroup["pids.max"] == "128"
    assert cgroup.get("cpu.max", cgroup.get("cpu.cfs_quota_us")) in ("150000 100000", "150000")


def test_frames_come_in_order_and_nothing_follows(box):
    box.hello()
    box.start("import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7")
    result = box.result()
    assert [kind for kind, _ in result.frames if kind not in "OE"] == ["S", "C", "V", "X"]
    assert (result.stdout, result.stderr, result.value) == (b"out\n", b"err\n", "42")
    assert result.exit[:4] == (0, 0, 0, 0)
    assert 0 < result.exit.cpu_us < 10e6 and 0 < result.exit.duration_us < 10e6
    assert result.exit.peak_memory_bytes > 1 << 20
    with pytest.raises(TimeoutError):
        box.frame(0.5)
    assert box.running()
    box.sock.close()
    assert box.wait_gone()


@pytest.mark.parametrize(
    "code, number",
    [
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", signal.SIGKILL),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)", signal.SIGTERM),
        ("import ctypes\nctypes.string_at(0)", signal.SIGSEGV),
        ("import os\nos.abort()", signal.SIGABRT),
    ],
)
def test_a_signal_is_told(run, code, number):
    result = run("print('before', end='')\n" + code)
    assert result.stdout == b"before"
    assert result.exit[:3] == (-1, number, 0)


def test_deadline_keeps_what_was_never_flushed(run):
    began = time.monotonic()
    result = run(
        "import sys\nsys.stdout.write('partial')\nsys.stderr.write('e')\nwhile True: pass",
        timeout_ms=700,
    )
    assert time.monotonic() - began < 8
    assert (result.stdout, result.stderr) == (b"partial", b"e")
    assert result.exit[:3] == (-1, signal.SIGKILL, 1)
    assert 700e3 <= result.exit.duration_us < 3e6


def test_out_of_memory_is_counted(image):
    hog = "x = []\nwhile True: x.append(bytearray(1 << 20))"
    result = driver.run(image, hog, container={"memory": 96 << 20})
    assert result.exit[:3] == (-1, signal.SIGKILL, 0) and result.exit.oom_kills >= 1
    assert 80 << 20 < result.exit.peak_memory_bytes <= 96 << 20
    child = "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', %r]).returncode)"
    result = driver.run(image, child % hog, container={"memory": 96 << 20})
    assert lines(result) == ["-9"] and result.exit.oom_kills >= 1


def test_memory_spread_over_many_processes_leaves_pid_1(image):
    code = """
        import os, time
        for _ in range(90):
            if os.fork() == 0:
                x = []
                while True:
                    x.append(os.urandom(1 << 18))
                    time.sleep(0.01)
        time.sleep(60)
    """
    result = driver.run(image, py(code), timeout_ms=6000, container={"memory": 128 << 20})
    assert result.exit.oom_kills >= 1 and result.exit.exit_code == -1


def test_cpu_time_is_the_scripts_own(run):
    result = ok(
        run("import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass")
    )
    assert 0.3e6 <= result.exit.cpu_us < 0.5e6
    assert ok(run("import time\ntime.sleep(0.3)")).exit.cpu_us < 0.1e6


# --- The end of stdin -----------------------------------------------------------------------------


def test_it_exits_when_stdin_ends(image):
    for start in (None, "import time\ntime.sleep(60)", "while True: print('x' * 1000)"):
        with Container(image) as box:
            box.hello()
            if start is not None:
                box.start(start, head=100)
                assert box.frame()[0] == "S"
            box.sock.shutdown(1)
            assert box.rest() == ""
            assert box.wait_gone()


def test_it_exits_when_stdin_ends_behind_unread_data(box):
    box.hello()
    box.start("import time\ntime.sleep(60)", stdin=None)
    assert box.frame()[0] == "S"
    box.send(chunk(bytes(4 << 20)))
    box.sock.shutdown(1)
    assert box.rest(timeout=5) == ""
    assert box.wait_gone()


# --- Output ---------------------------------------------------------------------------------------


def test_head_and_tail(run):
    code = """
        import os
        for n in range(1000):
            os.write(1, b'%06d\\n' % n)
        os.write(2, b'e' * 25)
    """
    whole = b"".join(b"%06d\n" % n for n in range(1000))
    result = ok(run(code, head=20, tail=50))
    assert (result.stdout, result.stdout_tail) == (whole[:20], whole[-50:])
    assert (result.stderr, result.stderr_tail) == (b"e" * 20, b"e" * 5)
    assert result.exit.stdout_bytes == result.exit.stdout_chars == 7000
    result = ok(run(code, head=0, tail=0))
    assert result.stdout == result.stdout_tail == b"" and result.exit.stdout_bytes == 7000
    result = ok(run(code, head=6990, tail=100))
    assert (result.stdout, result.stdout_tail) == (whole[:6990], whole[6990:])


def test_a_flood_stays_inside(run):
    code = """
        import os
        block = b'0123456789' * 100000
        for _ in range(100):
            os.write(1, block)
        os.write(1, b'the end')
    """
    result = ok(run(code, head=1000, tail=1000))
    assert result.exit.stdout_bytes == result.exit.stdout_chars == 100000007
    assert len(result.stdout) == len(result.stdout_tail) == 1000
    assert result.stdout_tail.endswith(b"789the end")


def test_large_tail_comes_whole(run):
    code = (
        "import os\ndata = bytes(range(256)) * 4096 * 12\nwhile data: data = data[os.write(1,"
        " data):]"
    )
    result = ok(run(code, head=0, tail=8 << 20))
    assert result.stdout_tail == bytes(range(256)) * 4096 * 8
    assert max(len(payload) for _, payload in result.frames) <= 262144


def test_characters_are_counted_as_a_decoder_does(run):
    data = (
        b"a\xff\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xe2\x82z\xf0\x9f\x98\xed\xa0\x80\x00" * 7
        + b"\xf0\x9f"
    )
    code = """
        import os, time
        data = %r
        for n in range(len(data)):
            os.write(1, data[n:n + 1])
            if n %% 3 == 0:
                time.sleep(0.001)
        os.write(2, data * 20000)
    """
    result = ok(run(code % data, head=1 << 20, tail=0))
    assert result.stdout == data
    assert result.exit.stdout_chars == len(data.decode("utf-8", "replace"))
    assert result.exit.stderr_bytes == len(data) * 20000
    assert result.exit.stderr_chars == len((data * 20000).decode("utf-8", "replace"))


def test_without_a_limit_everything_comes(run):
    code = "import sys\nfor n in range(200000): sys.stdout.write('%07d\\n' % n)"
    result = ok(run(code, head=-1, tail=0, timeout_ms=60000, timeout=70))
    assert result.stdout == b"".join(b"%07d\n" % n for n in range(200000))
    assert result.stdout_tail == b""


def test_a_stalled_reader_stops_the_script_but_not_the_deadline(box):
    code = """
        import os, sys
        sys.stderr.write('go')
        n = 0
        while True:
            n += os.write(1, bytes(65536))
    """
    box.hello()
    box.start(py(code), head=-1, tail=0, timeout_ms=2000)
    time.sleep(3)
    result = box.result()
    assert result.exit.timed_out == 1 and result.exit.duration_us < 2.5e6
    assert len(result.stdout) == result.exit.stdout_bytes == result.exit.stdout_chars
    assert result.exit.stdout_bytes < 200 << 20


def test_stdin_can_end_while_the_reader_is_stalled(box):
    box.hello()
    box.start("while True: print('x' * 100000)", head=-1, tail=0, timeout_ms=60000)
    time.sleep(1)
    box.sock.shutdown(1)
    time.sleep(0.5)
    box.rest()
    assert box.wait_gone()


# --- The surroundings -----------------------------------------------------------------------------


def test_localhost_resolves_and_nothing_else(run):
    code = """
        import asyncio, socket, subprocess, time
        print(socket.gethostbyname(socket.gethostname()), socket.gethostbyname('localhost'))
        print(sorted({a[4][0] for a in socket.getaddrinfo('localhost', 80)}))
        print(subprocess.run(['getent', 'hosts', 'localhost']).returncode)
        print(subprocess.run(['getent', 'ahosts', 'a.localhost'], capture_output=True).returncode)
        print(socket.gethostbyaddr('127.0.0.1')[0], socket.getfqdn() != '')
        s = socket.socket(); s.bind(('localhost', 0)); s.close()
        async def serve():
            server = await asyncio.start_server(lambda r, w: w.close(), 'localhost', 0)
            port = server.sockets[0].getsockname()[1]
            reader, _ = await asyncio.open_connection('localhost', port)
            return await reader.read()
        print(asyncio.run(serve()))
        for name in ('example.com', 'a.b.c.', 'x' * 63, 'notlocalhost'):
            began = time.monotonic()
            try:
                print(socket.gethostbyname(name))
            except socket.gaierror as error:
                print(error.errno, time.monotonic() - began < 0.05)
        began = time.monotonic()
        try:
            socket.create_connection(('8.8.8.8', 53), 5)
        except OSError:
            print('no route', time.monotonic() - began < 0.05)
    """
    got = lines(run(code))
    assert got[0] == "127.0.0.1 127.0.0.1" and "127.0.0.1" in got[1]
    assert got[2].endswith("localhost") and got[3:7] == ["0", "0", "localhost True", "b''"]
    assert got[7:] == ["-2 True"] * 4 + ["no route True"]


def test_malformed_queries_are_ignored(run):
    code = """
        import os, socket, struct
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.connect(('127.0.0.1', 53))
        head = struct.pack('>6H', 7, 0x0100, 1, 0, 0, 0)
        for bad in (b'', b'x', head, head[:11], head + b'\\x3f', head + b'\\xc0\\x0c\\0\\1\\0\\1',
                    head + b'\\1\\xff\\0\\0\\1\\0\\1', head + b'\\1a\\0\\0',
                    head[:2] + b'\\x80' + head[3:],
                    head + b'\\1a' * 200, os.urandom(500), bytes(512)):
            s.send(bad)
        for kind, name in ((1, b'\\x09LOCALHOST\\0'), (16, b'\\x09localhost\\0'), (1, b'\\1x\\0')):
            s.send(head + name + struct.pack('>2H', kind, 1))
            print(struct.unpack_from('>4H', s.recv(512)))
    """
    assert lines(run(code)) == ["(7, 34176, 1, 1)", "(7, 34176, 1, 0)", "(7, 34179, 1, 0)"]


@pytest.mark.parametrize("cpus, count", [(0.5, 1), (1.0, 1), (1.5, 2)])
def test_the_count_of_processors_is_the_limit(image, cpus, count):
    code = """
        import os, multiprocessing, subprocess, sys
        print(os.cpu_count(), len(os.sched_getaffinity(0)), multiprocessing.cpu_count(),
              getattr(os, 'process_cpu_count', os.cpu_count)())
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        print(len(os.sched_getaffinity(0)))
    """
    result = driver.run(image, py(code), container={"cpus": cpus})
    assert lines(result) == [" ".join([str(count)] * 4), "1"]


def test_who_and_where_the_script_is(run):
    code = """
        import getpass, os, random, tempfile
        print(getpass.getuser(), os.path.expanduser('~'), os.path.isdir('/tmp/mpl'))
        print(os.getcwd(), os.getpid() != 1, os.getsid(0) == os.getpid(), os.getuid())
        print(open('/proc/self/oom_score_adj').read().strip(), random.random())
        print(tempfile.TemporaryFile().write(b'x'))
    """
    first, second = lines(run(code)), lines(run(code))
    assert first[0] == "sandbox /workspace/home True"
    assert first[1] == "/workspace True True %d" % driver.UID
    assert first[2].startswith("1000 ") and first[2] != second[2] and first[3] == "1"


def test_the_script_lies_byte_for_byte_in_its_file(run):
    code = b"import sys\r\nsys.stdout.buffer.write(open(__file__, 'rb').read()) # \xc3\xa9\n\n"
    result = ok(run(code, name="Générer – 1.py"))
    assert result.stdout == code and result.value == str(len(code))


def test_a_warm_run_is_quick(image):
    times = []
    for _ in range(7):
        with Container(image) as box:
            box.hello()
            began = time.monotonic()
            box.start("print(1)")
            ok(box.result())
            times.append((time.monotonic() - began) * 1000)
    print("job to X: %s ms" % ", ".join("%.1f" % t for t in sorted(times)))
    assert min(times) < 50
