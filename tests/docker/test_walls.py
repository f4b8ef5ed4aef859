"""What a script cannot do, seen from inside."""

import subprocess

import pytest
from attacks import (
    PLACES,
    SLOW_DOWN,
    SPINNERS,
    SYSCALLS,
    WRITABLE,
    assert_only_memory_is_writable,
    forged_frames,
)
from sandbox import Server, assert_gone, assert_serves, members, py, wait_for_processes, wait_until

REFUSED = {"EPERM", "EACCES", "ENOSYS"}


# Network


def host_addresses():
    found = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False)
    return found.stdout.split()


def test_the_only_interface_is_loopback(server):
    got = server.facts(
        py(
            """
            import json, socket
            with open('/proc/net/dev') as f:
                devices = [line.split(':')[0].strip() for line in f if ':' in line]
            with open('/proc/net/route') as f:
                routes = f.read().splitlines()[1:]
            try:
                names = [name for _, name in socket.if_nameindex()]
            except PermissionError:  # the kernel's own socket may be closed as well
                names = ['lo']
            print(json.dumps([names, devices, routes]))
            """
        )
    )
    assert got == [["lo"], ["lo"], []]


def test_connecting_anywhere_fails_at_once(server):
    addresses = host_addresses() + (
        "1.1.1.1 8.8.8.8 10.0.0.1 172.17.0.1 172.17.0.2 192.168.0.1 169.254.169.254 100.100.100.200 "
        "224.0.0.1 255.255.255.255 2606:4700:4700::1111 fe80::1 fd00::1 ff02::1"
    ).split()
    got = server.facts(
        py(
            """
            import json, socket, time
            got = {}
            for address in %r:
                family = socket.AF_INET6 if ':' in address else socket.AF_INET
                for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
                    for port in 53, 80, 2375:
                        start = time.monotonic()
                        try:
                            with socket.socket(family, kind) as s:
                                s.settimeout(3)
                                s.connect((address, port))
                                if kind == socket.SOCK_DGRAM:
                                    s.send(b'x')
                            answer = 'connected'
                        except OSError as e:
                            answer = 'failed'
                        if answer == 'connected' or time.monotonic() - start > 0.5:
                            got['%%s %%s %%d' %% (address, kind, port)] = [answer, time.monotonic() - start]
            print(json.dumps(got))
            """
        )
        % addresses
    )
    assert got == {}


def test_other_socket_families_reach_nothing(server):
    got = server.facts(
        SYSCALLS
        + py(
            """
            import json, socket, time

            def connect(family, kind, address):
                with socket.socket(family, kind) as s:
                    s.settimeout(3)
                    s.connect(address)

            got = {}
            for cid in 0, 1, 2, 3:
                for port in 22, 1024, 2375:
                    start = time.monotonic()
                    answer = attempt(connect, socket.AF_VSOCK, socket.SOCK_STREAM, (cid, port))
                    if answer == 0 or time.monotonic() - start > 0.5:
                        got['vsock %d %d' % (cid, port)] = answer
            for name in 'docker.sock', 'run/docker.sock', 'run/containerd/containerd.sock':
                if attempt(connect, socket.AF_UNIX, socket.SOCK_STREAM, '/' + name) == 0:
                    got[name] = 0
            for family, kind, protocol in (
                (socket.AF_PACKET, socket.SOCK_RAW, 3), (socket.AF_INET, socket.SOCK_RAW, 1),
                (socket.AF_INET6, socket.SOCK_RAW, 58),
            ):
                if attempt(lambda: socket.socket(family, kind, protocol).close()) == 0:
                    got['raw %d' % family] = 0
            print(json.dumps(got))
            """
        )
    )
    assert got == {}


def test_resolving_any_name_fails_at_once(server):
    got = server.facts(
        py(
            """
            import json, socket, time
            got = {}
            for name in ('example.com', 'python.org', 'host.docker.internal', 'gateway.docker.internal',
                         'metadata.google.internal', 'hub.docker.com', 'a', 'a.b.c.d.e.f.',
                         'localhost.example.com', 'x' * 63 + '.com', 'b\\u00fccher.example'):
                start = time.monotonic()
                try:
                    answer = repr(socket.getaddrinfo(name, 80))
                except OSError:
                    answer = 'failed'
                seconds = time.monotonic() - start
                if answer != 'failed' or seconds > 0.5:
                    got[name] = [answer, seconds]
            print(json.dumps(got))
            """
        )
    )
    assert got == {}


def test_localhost_resolves(server):
    got = server.facts(
        py(
            """
            import json, shutil, socket, subprocess
            addresses = sorted({a[4][0] for a in socket.getaddrinfo('localhost', 80)})
            own = socket.gethostbyname(socket.gethostname())
            with socket.socket() as s:
                s.bind(('localhost', 0))
                bound = s.getsockname()[0]
            getent = '127.0.0.1'
            if shutil.which('getent'):
                out = subprocess.run(['getent', 'ahostsv4', 'localhost'], capture_output=True, text=True)
                getent = out.stdout.split()[0]
            print(json.dumps([addresses, own, bound, getent]))
            """
        )
    )
    assert set(got[0]) <= {"127.0.0.1", "::1"} and "127.0.0.1" in got[0]
    assert got[1].startswith("127.") and got[2:] == ["127.0.0.1", "127.0.0.1"]


def test_a_server_and_a_client_inside_the_script_talk_over_localhost(server):
    result = server.run(
        py(
            """
            import http.server, threading, urllib.request

            class Hello(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    self.send_response(200)
                    self.end_headers()
                    self.wfile.write(b'hello over localhost')
                def log_message(self, *args):
                    pass

            with http.server.ThreadingHTTPServer(('localhost', 0), Hello) as web:
                threading.Thread(target=web.serve_forever, daemon=True).start()
                url = 'http://localhost:%d/' % web.server_address[1]
                print(urllib.request.urlopen(url, timeout=5).read().decode())
                web.shutdown()

            """
        )
    )
    assert (result.status, result.stdout) == ("ok", "hello over localhost\n"), result


# Files


def test_nothing_can_be_written_outside_the_four_places(server):
    assert server.facts(WRITABLE) == PLACES


def test_only_memory_is_mounted_writable(server):
    lines = server.facts("import json; print(json.dumps(open('/proc/self/mountinfo').readlines()))")
    assert_only_memory_is_writable(lines)


def test_the_writable_places_have_the_sizes_of_the_settings(server):
    got = server.facts(
        py(
            """
            import json, os
            def size(path):
                s = os.statvfs(path)
                return [s.f_blocks * s.f_frsize >> 20, s.f_files]
            print(json.dumps({p: size(p) for p in ('/workspace', '/tmp', '/dev/shm')}))
            """
        )
    )
    assert {p: mib for p, (mib, _) in got.items()} == {"/workspace": 256, "/tmp": 64, "/dev/shm": 64}
    assert 0 < got["/workspace"][1] < 1_000_000 and 0 < got["/tmp"][1] < 1_000_000


def test_a_call_sees_nothing_of_the_call_before(server):
    server.run(
        "import os\n"
        "for d in ('/workspace', '/tmp', '/dev/shm', '/dev/mqueue'):\n"
        "    open(d + '/left', 'w').write('x')\n"
    )
    got = server.facts(
        py(
            """
            import json, os
            dirs = ('/workspace', '/tmp', '/dev/shm', '/dev/mqueue')
            print(json.dumps([d for d in dirs if os.path.exists(d + '/left')]))
            """
        )
    )
    assert got == []


# User and privileges


def test_the_script_is_not_root_and_cannot_become_it(server):
    got = server.facts(
        SYSCALLS
        + py(
            """
            import json
            ids = [os.getresuid(), os.getresgid(), os.getgroups()]
            tries = {
                'setuid': attempt(os.setuid, 0),
                'setgid': attempt(os.setgid, 0),
                'setgroups': attempt(os.setgroups, [0]),
                'chroot': attempt(os.chroot, '/workspace'),
                'user namespace': call(UNSHARE, 0x10000000),
                'network namespace': call(UNSHARE, 0x40000000),
                'mount namespace': call(UNSHARE, 0x00020000),
            }
            print(json.dumps([ids, tries]))
            """
        )
    )
    (uids, gids, groups), tries = got
    assert len(set(uids)) == 1 and 60600 <= uids[0] <= 65499
    assert len(set(gids)) == 1 and gids[0] != 0 and 0 not in groups
    assert set(tries.values()) <= REFUSED, tries


UID = "import os, time; print(os.getuid()); time.sleep(1.5)"


def test_two_calls_at_once_have_uids_of_their_own(server):
    calls = [server.start(UID) for _ in range(2)]
    uids = [call.result().stdout for call in calls]
    assert len(set(uids)) == 2, uids


def test_no_live_container_shares_its_uid_even_between_two_servers(server, engine):
    with Server() as other:
        calls = [s.start(UID) for s in (server, other) for _ in range(3)]
        uids = [call.result().stdout for call in calls]
        assert len(set(uids)) == 6, uids

        def users():
            found = engine.inspect_running(server.pid) + engine.inspect_running(other.pid)
            return [facts["Config"]["User"].split(":")[0] for facts in found]

        assert wait_until(lambda: len(engine.containers(other.pid, running=True)) >= 2, 10)
        users = users()
        assert len(set(users)) == len(users) and "" not in users and "0" not in users


def test_no_capabilities_no_new_privileges_seccomp_on(server):
    got = server.facts(
        py(
            """
            import json, subprocess, sys
            READ = "import json; print(json.dumps(dict(l.split(':', 1) for l in open('/proc/self/status'))))"
            own = dict(line.split(':', 1) for line in open('/proc/self/status'))
            child = json.loads(subprocess.check_output([sys.executable, '-c', READ]))
            print(json.dumps([own, child]))
            """
        )
    )
    for status in got:
        status = {k: v.strip() for k, v in status.items()}
        for name in ("CapEff", "CapBnd", "CapPrm", "CapInh", "CapAmb"):
            assert int(status[name], 16) == 0, name
        assert status["NoNewPrivs"] == "1"
        assert status["Seccomp"] == "2"


# Bombs


def test_fork_bomb(server):
    result = server.run(
        py(
            """
            import os
            print('bomb', flush=True)
            while True:
                try:
                    os.fork()
                except OSError:
                    pass
            """
        ),
        timeout_seconds=2,
    )
    assert result.status == "timed_out", result
    assert result.stdout.startswith("bomb\n")
    assert result.seconds < 6
    assert_serves(server)


def test_the_number_of_processes_is_limited(server):
    got = server.facts(
        py(
            """
            import json, os, signal, time
            pids = []
            try:
                while len(pids) < 1000:
                    pid = os.fork()
                    if pid == 0:
                        time.sleep(60)
                        os._exit(0)
                    pids.append(pid)
            except OSError as e:
                print(json.dumps([len(pids), e.errno]))
            """
        )
    )
    assert 50 <= got[0] <= 128 and got[1] == 11
    assert_serves(server)


def test_memory_bomb(server):
    result = server.run(
        py(
            """
            print('bomb')
            kept = []
            while True:
                kept.append(b'x' * (1 << 24))
            """
        )
    )
    assert result.status == "out_of_memory", result
    assert result.stdout == "bomb\n" and result.data["oom_kills"] >= 1
    assert_serves(server)


@pytest.mark.parametrize("place,mib", [("/workspace", 256), ("/tmp", 64), ("/dev/shm", 64)])
def test_disk_bomb(server, place, mib):
    result = server.run(
        py(
            """
            import os
            written = 0
            with open('%s/bomb', 'wb', 0) as f:
                try:
                    while True:
                        written += f.write(b'x' * (1 << 20))
                finally:
                    print(written >> 20)
            """
        )
        % place
    )
    assert (result.status, result.exit_code) == ("error", 1), result
    assert "No space left on device" in result.stderr
    assert mib - 2 <= int(result.stdout) <= mib
    assert_serves(server)


@pytest.mark.parametrize("place", ["/workspace", "/tmp"])
def test_bomb_of_empty_files(server, place):
    result = server.run(
        py(
            """
            n = 0
            try:
                while True:
                    open('%s/%%d' %% n, 'w').close()
                    n += 1
            finally:
                print(n)
            """
        )
        % place
    )
    assert (result.status, result.exit_code) == ("error", 1), result
    assert "No space left on device" in result.stderr
    assert_serves(server)


def test_output_flood(server):
    result = server.run("while True: print('flood ' * 1000)", timeout_seconds=2)
    assert result.status == "timed_out", result
    assert result.stdout.startswith("flood ") and result.data["truncated"] is True
    assert result.seconds < 6
    assert_serves(server)


def test_the_output_flood_stays_out_of_the_servers_memory(server):
    def resident():
        total = 0
        for pid in members(server.pid):
            with open("/proc/%d/status" % pid) as f:
                total += sum(int(line.split()[1]) for line in f if line.startswith("VmRSS"))
        return total

    before = resident()
    server.run("import os\nwhile True: os.write(1, b'x' * 65536)", timeout_seconds=2)
    assert resident() - before < 32 * 1024


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
