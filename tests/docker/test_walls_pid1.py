"""The supervisor of a script, and what the script can do to it."""

from attacks import SLOW_DOWN, SPINNERS, SYSCALLS, forged_frames
from sandbox import Server, assert_gone, assert_serves, py, wait_for_processes, wait_until

REFUSED = {"EPERM", "EACCES", "ENOSYS"}


# PID 1


def test_files_of_pid_1_cannot_be_read(server):
    got = server.facts(
        py(
            """
            import json, os
            read = {}
            names = ('mem', 'environ', 'maps', 'smaps', 'pagemap', 'auxv', 'io', 'syscall', 'stack',
                     'task/1/mem', 'task/1/environ', 'task/1/maps')
            for name in names:
                try:
                    with open('/proc/1/' + name, 'rb', 0) as f:
                        read[name] = len(f.read(1))
                except OSError:
                    pass
            for name in ('fd', 'fdinfo', 'map_files', 'root/', 'cwd/', 'task/1/fd', 'task/1/cwd/'):
                try:
                    read[name] = os.listdir('/proc/1/' + name)
                except OSError:
                    pass
            for name in ('fd/0', 'fd/1', 'fd/2', 'exe', 'root', 'cwd', 'ns/net', 'ns/mnt'):
                try:
                    read['link ' + name] = os.readlink('/proc/1/' + name)
                except OSError:
                    pass
            print(json.dumps(read))
            """
        )
    )
    assert got == {}


def test_files_of_pid_1_cannot_be_written(server):
    got = server.facts(
        py(
            """
            import json, os, stat
            written = []
            for top in ('/proc/1', '/proc/1/task/1', '/proc/1/attr', '/proc/1/fd', '/proc/1/net'):
                try:
                    names = os.listdir(top)
                except OSError:
                    continue
                for name in names:
                    path = os.path.join(top, name)
                    try:
                        fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
                    except OSError:
                        continue
                    try:
                        os.write(fd, b'1\\n')
                        written.append(path)
                    except OSError:
                        pass
                    os.close(fd)
            print(json.dumps(written))
            """
        )
    )
    assert got == []


def test_pid_1_cannot_be_traced_or_looked_into(server):
    got = server.facts(
        SYSCALLS
        + py(
            """
            import json, resource
            buffer = ctypes.create_string_buffer(64)

            class Part(ctypes.Structure):
                _fields_ = [('base', ctypes.c_void_p), ('size', ctypes.c_size_t)]

            own = (Part * 1)(Part(ctypes.addressof(buffer), 8))
            other = (Part * 1)(Part(0x400000, 8))
            limit = (ctypes.c_uint64 * 2)(64, 64)
            got = {
                'attach': call(PTRACE, 16, 1, 0, 0),
                'seize': call(PTRACE, 0x4206, 1, 0, 0),
                'readv': call(PROCESS_VM_READV, 1, own, 1, other, 1, 0),
                'writev': call(PROCESS_VM_WRITEV, 1, own, 1, other, 1, 0),
                'kcmp': call(KCMP, os.getpid(), 1, 0, 1, 1),
                'prlimit get': attempt(resource.prlimit, 1, resource.RLIMIT_NOFILE),
                'prlimit nofile': attempt(resource.prlimit, 1, resource.RLIMIT_NOFILE, (8, 8)),
                'prlimit as': attempt(resource.prlimit, 1, resource.RLIMIT_AS, (1 << 20, 1 << 20)),
                'prlimit64': call(PRLIMIT64, 1, 7, limit, 0),
            }
            libc.syscall.restype = ctypes.c_long
            pidfd = libc.syscall(ctypes.c_long(PIDFD_OPEN), ctypes.c_long(1), ctypes.c_long(0))
            if pidfd >= 0:
                for fd in range(8):
                    got['pidfd_getfd %d' % fd] = call(PIDFD_GETFD, pidfd, fd, 0)
            print(json.dumps(got))
            """
        )
    )
    assert set(got.values()) <= REFUSED, got


def test_a_limit_for_oneself_still_works(server):
    got = server.facts(
        SYSCALLS
        + py(
            """
            import json, resource
            print(json.dumps({
                'limit': attempt(resource.setrlimit, resource.RLIMIT_NOFILE, (64, 64)),
                'nice': attempt(os.nice, 1),
                'priority': attempt(os.setpriority, os.PRIO_PROCESS, 0, 5),
                'affinity': attempt(os.sched_setaffinity, 0, os.sched_getaffinity(0)),
                'scheduler': attempt(os.sched_setscheduler, 0, os.SCHED_BATCH, os.sched_param(0)),
            }))
            """
        )
    )
    assert set(got.values()) == {0}, got


SIGNALS = SYSCALLS + py(
    """
    import time
    KILL, TKILL, TGKILL = (129, 130, 131) if ARM else (62, 200, 234)
    for number in range(1, 65):
        call(KILL, 1, number)
        call(TKILL, 1, number)
        call(TGKILL, 1, 1, number)
    time.sleep(0.3)
    print('alive', flush=True)
    """
)


def test_signals_to_pid_1_do_nothing(server):
    result = server.run(SIGNALS + "raise SystemExit(3)\n")
    assert (result.status, result.exit_code, result.stdout) == ("error", 3, "alive\n"), result
    assert_serves(server)


def test_signals_to_pid_1_do_not_lift_the_deadline(server):
    result = server.run(SIGNALS + "while True: pass\n", timeout_seconds=2)
    assert (result.status, result.stdout) == ("timed_out", "alive\n"), result
    assert result.seconds < 5


def test_killing_everything_else_does_nothing(server):
    result = server.run(
        py(
            """
            import os, signal
            if os.fork() == 0:
                signal.pause()
            os.kill(-1, signal.SIGKILL)
            print(os.waitstatus_to_exitcode(os.wait()[1]))
            try:
                os.kill(-1, signal.SIGKILL)
            except ProcessLookupError:
                print('nothing else')
            """
        )
    )
    assert (result.status, result.stdout) == ("ok", "-9\nnothing else\n"), result


OPEN_DESCRIPTORS = py(
    """
    import json, os
    def is_open(fd):
        try:
            os.fstat(fd)
        except OSError:
            return False
        return True
    print(json.dumps([fd for fd in range(4096) if is_open(fd)]))
    """
)


def test_a_programme_that_the_script_starts_has_no_descriptor_but_the_three(server):
    code = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', %r], close_fds=False)"
    assert server.facts(code % OPEN_DESCRIPTORS) == [0, 1, 2]


def test_the_script_has_at_most_the_channel_of_its_value_besides_the_three(server):
    got = server.facts(OPEN_DESCRIPTORS)
    assert got[:3] == [0, 1, 2] and len(got) <= 4


def test_a_forged_exit_frame_is_just_output(server):
    result = server.run(forged_frames())
    assert (result.status, result.exit_code) == ("error", 7), result
    assert "X\0\0\0X" in result.stdout and "FORGED OUTPUT" in result.stdout
    assert result.data["duration_ms"] >= 1 and result.data["cpu_ms"] >= 1
    assert_serves(server)


def test_a_flood_into_every_descriptor_does_no_harm(server):
    result = server.run(
        py(
            """
            import os, time
            end = time.monotonic() + 1
            while time.monotonic() < end:
                for fd in range(3, 1024):
                    try:
                        os.set_blocking(fd, False)
                        os.write(fd, b'v' * 65536)
                    except OSError:
                        pass
            print('done')
            os._exit(5)
            """
        )
    )
    assert (result.status, result.exit_code, result.stdout) == ("error", 5, "done\n"), result
    assert len(result.data.get("value", "")) <= 65_536 + 400
    assert_serves(server)


# Scheduling


def test_pid_1_cannot_be_slowed(server):
    got = server.facts(SLOW_DOWN + "import json; print(json.dumps(slowed))\n")
    assert set(got.values()) <= REFUSED, got


def test_the_deadline_holds_among_120_spinners(server):
    result = server.run(SPINNERS, timeout_seconds=2)
    assert result.status == "timed_out", result
    assert result.stdout.startswith("spinning\n")
    assert result.seconds < 5
    assert_serves(server)


def test_cancellation_works_among_120_spinners(cold, engine):
    call = cold.start(SPINNERS)
    wait_for_processes(engine, cold.pid, 100)
    cold.cancel(call)
    assert wait_until(lambda: not engine.containers(cold.pid), 5), "the container is still there"
    assert not call.answered()
    assert_serves(cold)


def test_kill_9_leaves_nothing_among_120_spinners(engine, base_image):
    server = Server("--warm=0")
    server.start(SPINNERS)
    wait_for_processes(engine, server.pid, 100)
    server.kill()
    assert_gone(engine, server.pid)


def test_two_thousand_orphans_do_no_harm(server):
    result = server.run(
        py(
            """
            import os, time
            made = 0
            end = time.monotonic() + 20
            while made < 2000 and time.monotonic() < end:
                try:
                    pid = os.fork()
                except OSError:
                    time.sleep(0.001)
                    continue
                if pid == 0:
                    try:
                        os._exit(0 if os.fork() == 0 else 1)
                    except OSError:
                        os._exit(2)
                made += os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
            time.sleep(0.5)
            left = [p for p in os.listdir('/proc') if p.isdigit()]
            print(made, len(left) < 10)
            """
        )
    )
    assert (result.status, result.stdout) == ("ok", "2000 True\n"), result
    assert_serves(server)
