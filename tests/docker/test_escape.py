"""Attempts to get out of the sandbox, each with its exact refusal, on every kind of image."""

import contextlib
import os
import re
import secrets
import socket
import subprocess
import tempfile
import time

import pytest
from escapes import PRELUDE, REPORT, bombs, files, kernel, network, privileges, processes
from sandbox import MARK, Server, processes as host_processes, py, wait_until

GROUPS = {
    "network": network.ATTEMPTS,
    "files": files.ATTEMPTS,
    "kernel": kernel.ATTEMPTS,
    "privileges": privileges.ATTEMPTS,
    "processes": processes.ATTEMPTS,
}
ATTEMPTS = [(group, row) for group, rows in GROUPS.items() for row in rows]

# Small ones, so that a bomb needs little of this machine.
LIMITS = ["--memory=192m", "--workspace=48m", "--tmp=16m", "--shm=16m", "--warm=1"]

# The image is made before the first test that needs it.
pytestmark = pytest.mark.timeout(90, func_only=True)


@pytest.fixture(scope="module")
def boxed(engine, any_image):
    with Server("--image=" + any_image, *LIMITS) as server:
        yield server


def outcome(server, script, **arguments):
    return server.facts(PRELUDE + py(script) + REPORT, **arguments)


def wait_for_output(call, text):
    """Until a notification of progress shows it."""
    assert wait_until(lambda: any(text in p["message"] for p in call.progress), 15), call.progress


def assert_serves(server):
    result = server.run("print('served')")
    assert (result.status, result.stdout) == ("ok", "served\n"), result


@pytest.mark.parametrize("row", [pytest.param(r, id="%s: %s" % (g, r.name)) for g, r in ATTEMPTS])
def test_attempt(boxed, row):
    got = boxed.facts(PRELUDE + row.script + REPORT)
    shown = str(got)
    assert row.is_refused(got), shown


@pytest.mark.parametrize("bomb", [pytest.param(b, id=b.name) for b in bombs.BOMBS])
def test_bomb(boxed, bomb):
    result = boxed.run(PRELUDE + bomb.script, timeout_seconds=bomb.seconds)
    assert re.fullmatch(bomb.status, result.status), result
    assert re.search(bomb.output, result.stdout + result.stderr), result
    assert result.seconds < bomb.seconds + 8, result
    assert_serves(boxed)


# What the host has


@contextlib.contextmanager
def listening(*addresses, family=socket.AF_INET):
    """Sockets that listen on this host; counts who comes."""
    with contextlib.ExitStack() as stack:
        found, came = [], []
        for address in addresses:
            s = stack.enter_context(socket.socket(family))
            s.bind(address)
            s.listen()
            s.setblocking(False)
            found.append(s)
        yield [s.getsockname() for s in found], came
        for s in found:
            with contextlib.suppress(BlockingIOError):
                s.accept()[0].close()
                came.append(s)


def test_services_of_the_host_on_its_loopback(boxed):
    with listening(("127.0.0.1", 0), ("127.0.0.1", 0)) as (names, came):
        ports = [name[1] for name in names]
        got = outcome(
            boxed,
            """
            tables = [read('/proc/net/' + n) for n in ('tcp', 'tcp6')]
            got = [[connected(socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', p)) for p in %r],
                   [p for p in %r if any(':%%04X ' %% p in table for table in tables)]]
            """
            % (ports, ports),
        )
    assert got == [["ECONNREFUSED"] * 2, []] and came == []


def test_services_of_the_host_on_all_its_addresses(boxed):
    addresses = subprocess.run(["hostname", "-I"], capture_output=True, text=True).stdout.split()
    with listening(("0.0.0.0", 0)) as (names, came):
        got = outcome(
            boxed,
            """
            got = {a: connected(socket.AF_INET6 if ':' in a else socket.AF_INET,
                                socket.SOCK_STREAM, (a, %d)) for a in %r}
            """
            % (names[0][1], addresses + ["172.17.0.1"]),
        )
    assert set(got.values()) == {"ENETUNREACH"} and came == []


def test_abstract_sockets_of_the_host(boxed):
    name = "escape-" + secrets.token_hex(8)
    with listening("\0" + name, family=socket.AF_UNIX) as (_, came):
        got = outcome(
            boxed,
            """
            got = [connected(socket.AF_UNIX, socket.SOCK_STREAM, '\\0' + %r),
                   %r in read('/proc/net/unix')]
            """
            % (name, name),
        )
    assert got == ["ECONNREFUSED", False] and came == []


def test_files_of_the_host(boxed):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        path = folder + "/secret"
        with open(path, "w") as f:
            f.write("of the host")
        os.chmod(folder, 0o755)
        os.chmod(path, 0o666)
        got = outcome(
            boxed,
            """
            path = %r
            prefixes = ('', '/proc/self/root', '/proc/self/cwd/../..', '/workspace/../../..', '/host',
                        '/mnt', '/proc/1/root', '/proc/1/cwd/..', '/proc/1/fd/0/..')
            got = {p: [opened(p + path, os.O_RDONLY), written(p + path)] for p in prefixes}
            """
            % path,
        )
        with open(path) as f:
            assert f.read() == "of the host"
    closed = {place: got.pop(place) for place in list(got) if place.startswith("/proc/1/")}
    assert set(map(tuple, got.values())) == {("ENOENT", "ENOENT")}
    assert set(map(tuple, closed.values())) == {("EACCES", "EACCES")}


def test_settings_of_the_host_are_as_before(boxed):
    """All that a script could have changed of the host's, by name and by number."""
    paths = [
        "/proc/sys/kernel/" + name
        for name in ("core_pattern", "modprobe", "hostname", "domainname", "panic", "hotplug")
    ]

    def look():
        found = {}
        for path in paths:
            with contextlib.suppress(OSError), open(path) as f:
                found[path] = f.read()
        return found, os.path.exists("/sys/fs/cgroup/new")

    before, clock = look(), time.time() - time.monotonic()
    got = outcome(
        boxed,
        """
        got = {p: [written(p, b'evil'), written('/proc/self/root' + p, b'evil')] for p in %r}
        got['name'] = [call(161 if ARM else 170, text(b'evil'), 4)] * 2
        got['time'] = [call(112 if ARM else 227, 0, text(struct.pack('2q', 1, 0)))] * 2
        """
        % [path for path in paths if os.path.exists(path)],
    )
    assert got.pop("name") == got.pop("time") == ["EPERM", "EPERM"]
    assert set(map(tuple, got.values())) == {("EACCES", "EACCES")}
    assert look() == before
    assert abs(time.time() - time.monotonic() - clock) < 1


def test_the_environment_of_the_server_stays_outside(boxed):
    result = boxed.run("import os; print(dict(os.environ), open('/proc/self/environ').read())")
    assert result.status == "ok" and MARK not in result.stdout, result


# Other runs

LEAVE = """
key = %d
SHMGET, SEMGET, MSGGET, MQ_OPEN = (194, 190, 186, 180) if ARM else (29, 64, 68, 240)
left = [call(SHMGET, key, 4096, 0o1666), call(SEMGET, key, 1, 0o1666), call(MSGGET, key, 0o1666),
        call(MQ_OPEN, text(b'escape'), os.O_CREAT | os.O_RDWR, 0o666, 0)]
for place in ('/workspace', '/tmp', '/dev/shm', '/workspace/outputs'):
    if os.path.isdir(place):
        with open(place + '/left', 'w') as f:
            f.write('secret of the first')
        os.chmod(place + '/left', 0o666)
os.chmod('/workspace', 0o777)
abstract = socket.socket(socket.AF_UNIX)
abstract.bind('\\0escape-%%d' %% key)
abstract.listen()
web = socket.socket()
web.bind(('127.0.0.1', 4711))
web.listen()
got = left
"""

LOOK = """
key = %d
SHMGET, SEMGET, MSGGET, MQ_OPEN = (194, 190, 186, 180) if ARM else (29, 64, 68, 240)
got = {
    'shm': call(SHMGET, key, 0, 0), 'sem': call(SEMGET, key, 0, 0), 'msg': call(MSGGET, key, 0),
    'mqueue': call(MQ_OPEN, text(b'escape'), os.O_RDWR, 0, 0),
    'abstract': connected(socket.AF_UNIX, socket.SOCK_STREAM, '\\0escape-%%d' %% key),
    'tcp': connected(socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', 4711)),
}
for place in ('/workspace', '/tmp', '/dev/shm', '/dev/mqueue', '/workspace/outputs'):
    got[place] = opened(place + '/left', os.O_RDONLY)
got['processes'] = [p for p in os.listdir('/proc') if p.isdigit() and int(p) not in (1, os.getpid())]
got['sysvipc'] = [read('/proc/sysvipc/' + n).count('\\n') for n in ('shm', 'sem', 'msg')]
"""

NOTHING = {
    "shm": "ENOENT",
    "sem": "ENOENT",
    "msg": "ENOENT",
    "mqueue": "ENOENT",
    "abstract": "ECONNREFUSED",
    "tcp": "ECONNREFUSED",
    "/workspace": "ENOENT",
    "/tmp": "ENOENT",
    "/dev/shm": "ENOENT",
    "/dev/mqueue": "ENOENT",
    "/workspace/outputs": "ENOENT",
    "processes": [],
    "sysvipc": [1, 1, 1],
}


def test_what_the_run_before_left(boxed):
    key = 0x5EC0 + os.getpid()
    assert outcome(boxed, LEAVE % key) == [0, 0, 0, 0]
    assert outcome(boxed, LOOK % key) == NOTHING


def test_what_a_run_beside_has(boxed):
    key = 0x5EC1 + os.getpid()
    hold = PRELUDE + py(LEAVE % key) + "print(json.dumps(got), flush=True)\ntime.sleep(8)\n"
    first = boxed.start(hold, progress=True)
    wait_for_output(first, "[0, 0, 0, 0]")
    assert outcome(boxed, LOOK % key) == NOTHING
    assert not first.answered()
    assert first.result().stdout == "[0, 0, 0, 0]\n"


def test_processes_of_a_run_beside(boxed):
    """They are not even there to be signalled, traced or read."""
    first = boxed.start("import time\nprint('here', flush=True)\ntime.sleep(8)", progress=True)
    wait_for_output(first, "here")
    got = outcome(
        boxed,
        """
        own = {1, os.getpid()}
        answers = {attempt(os.kill, pid, 0) for pid in range(2, 5000) if pid not in own}
        pidfds = {attempt(os.pidfd_open, pid) for pid in range(2, 2000) if pid not in own}
        got = [sorted(answers), sorted(pidfds), opened('/proc/2/mem', os.O_RDONLY)
               if os.getpid() != 2 else 'ENOENT']
        """,
    )
    assert got == [["ESRCH"], ["ESRCH"], "ENOENT"]
    assert first.result().status == "ok"


def test_a_process_that_outlives_its_run(boxed):
    marker = "outlives-" + secrets.token_hex(8)
    got = outcome(
        boxed,
        """
        import subprocess
        code = 'import os, signal, time\\nos.setsid()\\nif os.fork(): os._exit(0)\\n' \\
               'signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\\nwhile True: time.sleep(1)'
        subprocess.Popen([sys.executable, '-c', code, %r], start_new_session=False)
        time.sleep(0.5)
        got = len([p for p in os.listdir('/proc') if p.isdigit()]) > 2
        """
        % marker,
    )
    assert got is True

    def alive():
        found = []
        for pid, *_ in host_processes():
            with contextlib.suppress(OSError), open("/proc/%d/cmdline" % pid, "rb") as f:
                if marker.encode() in f.read():
                    found.append(pid)
        return found

    assert wait_until(lambda: not alive(), 5), alive()


def test_quotas_of_a_run_beside(boxed):
    """What the kernel counts by user is not shared, since each container has a user of its own."""
    take = py(
        """
        libc.inotify_init.restype = ctypes.c_int
        n = 0
        while n < 5000 and libc.inotify_init() >= 0:
            n += 1
        print(n > 0, flush=True)
        time.sleep(8)
        """
    )
    first = boxed.start(PRELUDE + take, progress=True)
    wait_for_output(first, "True")
    got = outcome(
        boxed,
        """
        import fcntl
        got = [libc.inotify_init() >= 0, attempt(fcntl.fcntl, os.pipe()[1], 1031, 1 << 20)]
        """,
    )
    assert got == [True, 0]
    assert first.result().stdout == "True\n"


def test_the_group_of_all_attempts_is_large():
    names = [row.name for _, row in ATTEMPTS] + [bomb.name for bomb in bombs.BOMBS]
    assert len(names) == len(set(names)) and len(names) >= 120, len(names)


def test_an_attempt_that_works_is_seen(boxed):
    """The tables can fail: calls that are allowed answer 0."""
    got = outcome(
        boxed,
        """
        got = [call(172 if ARM else 39), opened('/dev/null'), written('/tmp/x'),
               connected(socket.AF_INET, socket.SOCK_DGRAM, ('127.0.0.1', 53)),
               fate(lambda: 0), fate(lambda: os.kill(os.getpid(), 9))]
        """,
    )
    assert got == [0, 0, "ENOENT", 0, 0, "SIGKILL"]


def test_many_escapes_at_once_leave_the_server_in_order(boxed):
    """Attempts beside one another, as a hostile client would send them."""
    rows = [row for _, row in ATTEMPTS][:: len(ATTEMPTS) // 6]
    calls = [boxed.start(PRELUDE + row.script + REPORT) for row in rows]
    results = [call.result() for call in calls]
    assert {result.status for result in results} == {"ok"}, results
    assert_serves(boxed)
