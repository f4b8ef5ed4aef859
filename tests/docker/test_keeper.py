"""The process that holds the memory of a script with a preload (start_keeper() of the supervisor): what a script
can notice of it, and what it can do to it."""

import platform
import textwrap

import pytest
from supervisor_driver import SUPERVISOR, Container

FIND = """
import os, json, signal, sys, time
def status(pid, key):
    with open("/proc/%s/status" % pid) as file:
        return next(line.split()[1:] for line in file if line.startswith(key + ":"))
def others():
    return [int(n) for n in os.listdir("/proc") if n.isdecimal() and int(n) not in (1, os.getpid())]
def keepers():
    return [n for n in others() if status(n, "PPid") == ["1"]]
"""


@pytest.fixture
def run(modules_image):
    """Runs a script after a preload."""
    def run(code, memory=256 << 20, **options):
        with Container(modules_image, modules=["quiet_one"], memory=memory) as box:
            box.hello()
            box.start(FIND + textwrap.dedent(code), **options)
            return box.result()

    return run


def test_there_is_one_and_it_shares_the_memory(run):
    result = run("""
        [keeper] = keepers()
        size = lambda pid: status(pid, "VmSize")
        block = bytearray(50 << 20)
        print(size(keeper) == size(os.getpid()), status(keeper, "State")[0], status(keeper, "Threads"))
        """)
    assert (result.stdout, result.stderr) == (b"True S ['1']\n", b"")


def test_without_a_preload_there_is_none(modules_image):
    with Container(modules_image) as box:
        box.hello()
        box.start(FIND + "print(others())")
        assert box.result().stdout == b"[]\n"


def test_it_is_no_child_of_the_script(run):
    result = run("""
        for options in 0, 0x40000000, -0x80000000:  # __WALL, __WCLONE
            try:
                print(os.waitpid(-1, options))
            except ChildProcessError:
                print("none")
        """)
    assert result.stdout == b"none\n" * 3


@pytest.mark.parametrize("attack", [
    "os.kill(keepers()[0], 9)",
    "os.kill(-1, 9)",
    "os.kill(keepers()[0], signal.SIGSTOP)",
    "signal.signal(signal.SIGINT, lambda *_: print('mine')); os.killpg(0, signal.SIGINT)",
    # Wakes it up: the lock that it waits for is in the memory that it shares.
    """
    import ctypes, struct
    lock = struct.pack("<IIIII", 2, 0, 0, 0, 128)  # a mutex between processes that somebody waits for
    spans = [[int(n, 16) for n in l.split()[0].split("-")] for l in open("/proc/self/maps") if "[heap]" in l]
    found = [(start, ctypes.string_at(start, end - start).find(lock)) for start, end in spans]
    [futex] = [start + at for start, at in found if at >= 0]
    ctypes.c_int.from_address(futex).value = 0
    ctypes.CDLL(None).syscall(202, ctypes.c_void_p(futex), 1, 1, 0, 0, 0)
    time.sleep(0.1)
    assert not keepers()
    """,
])
def test_nothing_that_befalls_it_touches_the_verdict(run, attack):
    result = run(textwrap.dedent(attack) + "\nopen('outputs/a', 'w').write('kept')\nprint('end'); sys.exit(3)")
    assert (result.exit.exit_code, result.exit.signal, result.exit.timed_out) == (3, 0, 0), result.stderr
    assert result.stdout.endswith(b"end\n") and [a.data for a in result.artifacts] == [b"kept"]


FORK = {"x86_64": 56, "aarch64": 220}


@pytest.mark.skipif(platform.machine() not in FORK, reason="its clone() has no number here")
@pytest.mark.parametrize("body", ["while True: pass", "time.sleep(0.5); [os.getppid() for _ in range(10**6)]"])
def test_it_is_waited_for_where_it_does_anything(modules_image, body):
    """Whoever shares a process's memory can be made to run what that wants."""
    start = "return libc.clone(wait, top, CLONE_VM | CLONE_PARENT | signal.SIGCHLD, lock)"
    busy = SUPERVISOR.replace(start, textwrap.indent(textwrap.dedent("""
        pid = libc.syscall(%d, CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
        if pid == 0:
            %s
            os._exit(0)
        return pid
        """ % (FORK[platform.machine()], body)), " " * 8).strip())
    assert busy != SUPERVISOR
    with Container(modules_image, modules=["quiet_one"], supervisor=busy) as box:
        box.hello()
        box.start(FIND + "print(len(keepers())); time.sleep(1)")
        result = box.result()
    assert (result.exit.exit_code, result.stdout) == (0, b"1\n"), result.stderr
    assert result.exit.cpu_us > 100000


def test_all_others_are_gone_before_the_verdict(run):
    """Orphans that write for ever: nothing comes after what was collected."""
    result = run("""
        for n in range(20):
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    while True:
                        os.write(1, b"x" * 100)
                os._exit(0)
        time.sleep(0.3)
        print("end", flush=True)
        """, head=1000)
    assert result.exit.exit_code == 0 and result.exit.stdout_bytes > 1000


def test_a_script_that_becomes_another_program(run):
    result = run("os.execv(sys.executable, [sys.executable, '-c', 'print(input()); raise SystemExit(4)'])",
                 stdin=b"given\n")
    assert (result.exit.exit_code, result.stdout, result.stderr) == (4, b"given\n", b"")


def test_what_another_program_needs_is_free(run):
    """The memory from before an exec() is gone: both together are beyond the limit."""
    result = run("""
        block = b"x" * (70 << 20)
        os.execv(sys.executable, [sys.executable, "-c", "print(len(b'x' * (70 << 20)))"])
        """, memory=128 << 20)
    assert (result.exit.exit_code, result.exit.oom_kills) == (0, 0), result.exit
    assert result.stdout == b"73400320\n"


def test_its_end_by_a_signal_and_by_the_deadline(run):
    assert run("os.abort()").exit.signal == 6
    last = run("print('begun', flush=True)\nwhile True: pass", timeout_ms=500).exit
    assert (last.signal, last.timed_out) == (9, 1)


def test_out_of_memory_is_told(run):
    last = run("block = bytearray(1 << 30)").exit
    assert last.signal == 9 and last.oom_kills >= 1
