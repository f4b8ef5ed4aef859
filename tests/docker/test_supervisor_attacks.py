"""What a script cannot do to the supervisor, which is PID 1 of its container."""

import struct
import time

import supervisor_driver as driver
from sandbox import py
from supervisor_box import image, lines, ok, run  # noqa: F401


ATTACKS = """
    import ctypes, os, signal, socket, struct
    frame = b'X' + struct.pack('>I', 88) + struct.pack('>11q', *[0] * 11)
    def attempt(name, call):
        try:
            print(name, 'DONE', call())
        except Exception as error:
            print(name, type(error).__name__)
    for name in ('fd', 'fd/0', 'fd/1', 'fd/2', 'fdinfo'):
        attempt(name, lambda: os.listdir('/proc/1/' + name) if 'fd/' not in name
                else os.open('/proc/1/' + name, os.O_RDWR))
    for name in ('mem', 'environ', 'maps', 'auxv', 'root/etc', 'cwd/x', 'io', 'stack'):
        attempt(name, lambda: open('/proc/1/' + name, 'rb').read(1))
    for name in ('mem', 'oom_score_adj', 'comm', 'clear_refs', 'timerslack_ns'):
        attempt(name + ' w', lambda: os.write(os.open('/proc/1/' + name, os.O_WRONLY), b'0'))
    libc = ctypes.CDLL(None, use_errno=True)
    def ptrace():
        if libc.ptrace(16, 1, 0, 0) != 0:
            raise OSError
    attempt('ptrace', ptrace)
    for number in signal.valid_signals():
        try:
            os.kill(1, number)
        except OSError:
            pass
    for fd in range(1024):
        try:
            os.write(fd, frame)
        except OSError:
            pass
"""


def test_pid_1_cannot_be_reached_and_frames_cannot_be_forged(run):
    result = ok(run(ATTACKS))
    assert b"DONE" not in result.stdout and result.stdout.count(b"Error") == 19, result.stdout
    forged = b"X" + struct.pack(">I", 88) + bytes(88)
    assert result.stdout.endswith(forged) and result.stderr == forged
    assert result.exit.stdout_bytes == len(result.stdout)
    assert [kind for kind, _ in result.frames].count("X") == 1


def test_a_flood_of_signals_does_not_hold_up_the_deadline(image):
    code = """
        import os, signal
        for _ in range(8):
            os.fork()
            if _ > 3: break
        print('x', flush=True)
        while True:
            os.kill(1, signal.SIGCHLD)
    """
    began = time.monotonic()
    result = driver.run(image, py(code), timeout_ms=1000, container={"cpus": 2.0})
    assert result.exit.timed_out == 1 and result.exit.duration_us < 4e6
    assert time.monotonic() - began < 10
    assert result.stdout.count(b"x") == 32


def test_two_thousand_orphans_do_no_harm(run):
    code = """
        import os, time
        for n in range(2000):
            pid = os.fork()
            if pid == 0:
                if os.fork() == 0:
                    os._exit(0)
                os._exit(0)
            os.waitpid(pid, 0)
        print(len([p for p in os.listdir('/proc') if p.isdigit()]) < 60)
    """
    assert lines(run(code, timeout_ms=60000, timeout=70)) == ["True"]


def test_the_end_of_the_script_is_the_end_of_all(run):
    code = """
        import os, sys
        if os.fork() == 0:
            os.setsid()
            while True:
                os.write(1, b'.')
        print('parent', flush=True)
    """
    result = ok(run(code, timeout_ms=10000))
    assert b"parent" in result.stdout and result.exit.duration_us < 5e6


def test_kill_minus_one_spares_the_relay(run):
    code = """
        import os, subprocess
        child = subprocess.Popen(['sleep', '60'])
        print('a', flush=True)
        os.kill(-1, 9)
        print(child.wait())
    """
    assert lines(run(code)) == ["a", "-9"]


def test_a_fork_bomb_ends_at_the_deadline(run):
    code = """
        import os
        while True:
            try:
                os.fork()
            except OSError:
                pass
    """
    result = run(code, timeout_ms=1500)
    assert result.exit.timed_out == 1 and result.exit.duration_us < 6e6
