"""An engine that silently drops or weakens one wall: every single one is caught before a script
runs, and is named."""

import dataclasses
import json
import pathlib
import re
import socket
import struct
import typing

import pytest
from sabotage import Proxy
from docker_engine import Engine
from sandbox import Server, wait_until

CREATES_MAX = 6
MARKER = "the-script-ran"
SECRET = "s3cret-of-the-host"

CAPABILITIES = (
    "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE "
    "NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO "
    "SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME "
    "SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG "
    "WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE"
).split()

# Calls that the profile refuses, some of them depending on their arguments.
CALLS = (
    "bpf io_uring_setup kcmp keyctl mount perf_event_open pidfd_getfd process_vm_readv setns unshare "
    "prlimit64 sched_setscheduler setpriority socket"
).split()


@dataclasses.dataclass(frozen=True)
class Sabotage:
    name: str
    change: typing.Callable  # of the body of the create call, in place
    wall: str  # a pattern of what the answer must name
    needs: str = ""  # the capability without which the engine cannot do it
    version_1: bool = False  # only to be seen on cgroup version 1


def host(**values):
    return lambda body: body["HostConfig"].update(values)


def top(**values):
    return lambda body: body.update(values)


def user(uid, gid):
    """Another user, and the folders on tmpfs go with it; None leaves it as it is."""

    def change(body):
        own = body["User"].split(":")[0]
        found = [own if wanted is None else str(wanted) for wanted in (uid, gid)]
        body["User"] = ":".join(found)
        tmpfs = body["HostConfig"]["Tmpfs"]
        for path, options in tmpfs.items():
            tmpfs[path] = options.replace("uid=" + own, "uid=" + found[0])
            tmpfs[path] = tmpfs[path].replace("gid=" + own, "gid=" + found[1])

    return change


def tmpfs(path, pattern, replacement):
    def change(body):
        mounts = body["HostConfig"]["Tmpfs"]
        mounts[path], count = re.subn(pattern, replacement, mounts[path])
        assert count == 1, mounts

    return change


def without_tmpfs(path):
    return lambda body: body["HostConfig"]["Tmpfs"].pop(path)


def security(option, *others):
    """Drops the security option that starts like this, and adds others."""

    def change(body):
        options = body["HostConfig"]["SecurityOpt"]
        kept = [o for o in options if not o.startswith(option)]
        assert len(kept) == len(options) - 1, "nothing to drop"
        body["HostConfig"]["SecurityOpt"] = kept + list(others)

    return change


def allow(call):
    """Our own seccomp profile with one call more."""

    def change(body):
        options = body["HostConfig"]["SecurityOpt"]
        at = next(i for i, o in enumerate(options) if o.startswith("seccomp="))
        profile = json.loads(options[at][len("seccomp=") :])
        for entry in profile["syscalls"]:
            entry["names"] = [name for name in entry["names"] if name != call]
        entries = [entry for entry in profile["syscalls"] if entry["names"]]
        profile["syscalls"] = entries + [{"names": [call], "action": "SCMP_ACT_ALLOW"}]
        options[at] = "seccomp=" + json.dumps(profile)

    return change


def ulimit(name, value):
    def change(body):
        limits = [u for u in body["HostConfig"]["Ulimits"] if u["Name"] != name]
        limits.append({"Name": name, "Soft": value, "Hard": value})
        body["HostConfig"]["Ulimits"] = limits

    return change


def without(*names):
    def change(body):
        for name in names:
            del body["HostConfig"][name]

    return change


def environment(*lines):
    return lambda body: body["Env"].extend(lines)


def connected(mode):
    def change(body):
        body["NetworkDisabled"] = False
        body["HostConfig"]["NetworkMode"] = mode
        if mode == "host":
            del body["HostConfig"]["Sysctls"]

    return change


def device(path, inside):
    return host(
        Devices=[{"PathOnHost": path, "PathInContainer": inside, "CgroupPermissions": "rwm"}]
    )


def own_uts(body):
    del body["Hostname"]
    body["HostConfig"]["UTSMode"] = "host"


def wrapped(body):
    """The supervisor runs all the same, behind a program of the engine's choice."""
    body["Entrypoint"] = ["/usr/bin/env", "WRAPPED=1"]


BIND = "/usr/share:/mnt"
GIB = 1 << 30
MOUNTS = "mounts"

ROWS = [
    Sabotage("root", user(0, 0), "user"),
    Sabotage("another user", user(61999, 61999), "user"),
    Sabotage("group root", user(None, 0), "user|group"),
    Sabotage("another group beside", host(GroupAdd=["0"]), "groups"),
    *(
        Sabotage("capability " + name, host(CapAdd=[name]), r"Cap[A-Z]\w\w\b", name)
        for name in CAPABILITIES
    ),
    Sabotage("all capabilities", host(CapAdd=["ALL"]), r"Cap[A-Z]\w\w\b"),
    Sabotage("no CapDrop", without("CapDrop"), "CapBnd|CapEff"),
    # Under our seccomp profile the runtime cannot start a program without it.
    Sabotage("no no-new-privileges", security("no-new-privileges"), "no_new_privs|does not start"),
    Sabotage("no security options", without("SecurityOpt"), "no_new_privs"),
    Sabotage("seccomp of the engine", security("seccomp="), "seccomp"),
    Sabotage("no seccomp", security("seccomp=", "seccomp=unconfined"), "seccomp"),
    *(Sabotage("seccomp with " + call, allow(call), "seccomp") for call in CALLS),
    Sabotage("network bridge", connected("bridge"), "network.*eth0"),
    Sabotage("network of the host", connected("host"), "network"),
    Sabotage("root writable", host(ReadonlyRootfs=False), MOUNTS + ".* / "),
    Sabotage("bind, read-only", host(Binds=[BIND + ":ro"]), MOUNTS + ".*/mnt"),
    Sabotage("bind, writable", host(Binds=[BIND]), MOUNTS + ".*/mnt"),
    Sabotage("bind over a folder of the image", host(Binds=["/usr/share:/usr/share:ro"]), MOUNTS),
    Sabotage("bind inside the workspace", host(Binds=["/usr/share:/workspace/data:ro"]), MOUNTS),
    Sabotage("bind over /dev/shm", host(Binds=["/usr/share:/dev/shm"]), MOUNTS + ".*/dev/shm"),
    Sabotage("socket of the engine", host(Binds=["%(engine)s:/run/engine.sock"]), MOUNTS),
    Sabotage("volume", top(Volumes={"/data": {}}), MOUNTS + ".*/data"),
    Sabotage(
        "another tmpfs", host(Mounts=[{"Type": "tmpfs", "Target": "/opt"}]), MOUNTS + ".*/opt"
    ),
    *(
        Sabotage("%s of %s" % (what, path), tmpfs(path, pattern, new), wall + ".*" + path)
        for path in ("/workspace", "/tmp")
        for what, pattern, new, wall in (
            ("size", r"size=\d+", "size=1073741824", MOUNTS),
            ("no size", r"size=\d+,", "", MOUNTS),
            ("inodes", r"nr_inodes=\d+", "nr_inodes=99999", MOUNTS),
            ("no inodes", r"nr_inodes=\d+,", "", MOUNTS),
            ("exec", r"\bnoexec\b", "exec", MOUNTS),
            ("suid", r"\bnosuid\b", "suid", MOUNTS),
            ("dev", r"\bnodev\b", "dev", MOUNTS),
            ("mode", r"mode=0?700", "mode=1777", MOUNTS),
        )
    ),
    Sabotage("no tmpfs for /tmp", without_tmpfs("/tmp"), "/tmp"),
    Sabotage("no tmpfs for /workspace", without_tmpfs("/workspace"), "/workspace"),
    Sabotage("size of /dev/shm", host(ShmSize=GIB), "/dev/shm"),
    Sabotage("more memory", host(Memory=2 * GIB, MemorySwap=2 * GIB), "memory"),
    Sabotage("no memory limit", host(Memory=0, MemorySwap=0), "memory"),
    Sabotage("swap", host(MemorySwap=-1), "swap"),
    Sabotage("more processes", host(PidsLimit=4000), "processes"),
    Sabotage("no process limit", host(PidsLimit=0), "processes"),
    Sabotage("more processors", host(NanoCpus=2 * 10**9), "cpu"),
    Sabotage("no processor limit", host(NanoCpus=0), "cpu"),
    Sabotage("open files", ulimit("nofile", 16384), "RLIMIT_NOFILE"),
    Sabotage("core dumps", ulimit("core", 1 << 20), "RLIMIT_CORE"),
    Sabotage("no limits for a process", without("Ulimits"), "RLIMIT"),
    Sabotage("real-time priority", ulimit("rtprio", 50), "RLIMIT_RTPRIO", "SYS_RESOURCE"),
    Sabotage("nice", ulimit("nice", 40), "RLIMIT_NICE", "SYS_RESOURCE"),
    Sabotage("locked memory", ulimit("memlock", 1 << 40), "RLIMIT_MEMLOCK", "SYS_RESOURCE"),
    Sabotage("cgroups of the host", host(CgroupnsMode="host"), "cgroup namespace"),
    Sabotage("processes of the host", host(PidMode="host"), "process"),
    Sabotage("another first process", host(Init=True), "process"),
    Sabotage("ipc of the host", host(IpcMode="host"), "ipc|/dev/shm"),
    Sabotage("no /dev/shm", host(IpcMode="none"), "/dev/shm"),
    Sabotage("host name of the host", own_uts, "host name"),
    Sabotage("privileged", host(Privileged=True), "CapBnd|seccomp|no_new_privs|devices"),
    Sabotage("no masked paths", host(MaskedPaths=[]), "masked paths"),
    Sabotage("no read-only paths", host(ReadonlyPaths=[]), "masked paths|mounts.*/proc/"),
    Sabotage("device fuse", device("/dev/fuse", "/dev/fuse"), "devices.*fuse"),
    Sabotage("device null elsewhere", device("/dev/null", "/dev/kmsg"), "devices.*kmsg"),
    Sabotage(
        "device under the name of another",
        device("/dev/net/tun", "/dev/full"),
        r"device nodes.*/dev/full \(c 10:200\)",
    ),
    Sabotage(
        "device outside /dev", device("/dev/net/tun", "/opt/tun"), r"device nodes.*/opt/tun \(c 10:200\)"
    ),
    Sabotage(
        "device deep in a folder",
        device("/dev/fuse", "/usr/lib/python3/fuse"),
        "device rules.*c 10:229 rwm",
        version_1=True,
    ),
    *(
        Sabotage("device rule " + rule, host(DeviceCgroupRules=[rule]), "device rules.*" + re.escape(rule),
                 version_1=True)
        for rule in ("c 10:229 r", "b 254:0 r", "c 1:* rw", "a *:* rwm")
    ),
    Sabotage(
        "proxy in the environment",
        environment("HTTP_PROXY=http://user:%s@proxy.example" % SECRET),
        "environment.*HTTP_PROXY",
    ),
    Sabotage("preload in the environment", environment("LD_PRELOAD="), "environment.*LD_PRELOAD"),
    Sabotage("another value in the environment", environment("LANG=tlh"), "environment.*LANG"),
    Sabotage(
        "another path in the environment",
        environment("PATH=/tmp:/bin:/usr/bin:/usr/local/bin"),
        "environment.*PATH",
    ),
    Sabotage("entrypoint around", wrapped, "environment.*WRAPPED"),
    Sabotage("entrypoint that ends", top(Entrypoint=["/bin/true"]), "supervisor"),
    Sabotage(
        "entrypoint that waits", top(Entrypoint=["/bin/sleep"], Cmd=["300"]), "supervisor"
    ),
    Sabotage("entrypoint that talks", top(Entrypoint=["/bin/echo"]), "supervisor|frame"),
    Sabotage("command", top(Cmd=["python3", "-c", "print('mine')"]), "supervisor|frame"),
    Sabotage(
        "ports for root only",
        host(Sysctls={"net.ipv4.ip_unprivileged_port_start": "1024"}),
        "localhost|resolver",
    ),
]


def has_swap():
    lines = pathlib.Path("/proc/swaps").read_text().splitlines()
    return len(lines) > 1


def engine_has(engine, capability):
    """Whether the engine's own process may have that capability: it can give no other away."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(engine.path)
        peer = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid = struct.unpack("3i", peer)[0]
    try:
        lines = pathlib.Path("/proc/%d/status" % pid).read_text().splitlines()
    except OSError:
        return True
    bounding = next(line.split()[1] for line in lines if line.startswith("CapBnd"))
    return bool(int(bounding, 16) >> CAPABILITIES.index(capability) & 1)


@pytest.fixture
def proxy(request, engine, tmp_path):
    """An engine that is changed by the test's row."""
    row = request.param

    def change(body):
        row.change(body)
        for key in ("Binds",):  # where the real socket is, is known only now
            binds = body["HostConfig"].get(key)
            if binds:
                body["HostConfig"][key] = [bind % {"engine": engine.path} for bind in binds]

    with Proxy(str(tmp_path / "engine.sock"), engine.path, change) as running:
        running.row = row
        yield running


def by_name(rows):
    return [pytest.param(row, id=row.name) for row in rows]


@pytest.mark.parametrize("proxy", by_name(ROWS), indirect=True)
def test_sabotage(engine, base_image, proxy):
    if proxy.row.name == "swap" and not has_swap():
        pytest.skip("this host has no swap, so there is nothing to limit")
    if proxy.row.version_1 and not pathlib.Path("/sys/fs/cgroup/devices").is_dir():
        pytest.skip("on cgroup version 2 nothing inside tells the rules")
    if proxy.row.needs and not engine_has(engine, proxy.row.needs):
        pytest.skip("the engine of this host has not got %s itself" % proxy.row.needs)
    assert_caught(engine, proxy, "--image=" + base_image)


def assert_caught(engine, proxy, *flags):
    volumes = engine.volumes()
    with Server("--docker-host=" + proxy.path, "--warm=1", *flags) as server:
        result = server.run("print('%s')" % MARKER)
        assert result.status == "sandbox_error", result
        if "unknown capability" in result.text:
            pytest.skip("this engine does not know it")
        assert re.search(proxy.row.wall, result.text, re.S), result.text
        assert MARKER not in result.text + result.stdout and SECRET not in result.text, result
        assert SECRET not in server.stderr()
        again = server.run("print('%s')" % MARKER)
        assert again.status == "sandbox_error" and re.search(proxy.row.wall, again.text, re.S), again
        assert MARKER.encode() not in proxy.down, "the script went to a container"
        assert 1 <= proxy.creates <= CREATES_MAX, proxy.creates
        assert wait_until(lambda: not engine.containers(server.pid, running=True), 10)
    assert wait_until(lambda: engine.volumes() <= volumes, 5), "a volume is left"


@pytest.mark.parametrize("proxy", by_name([Sabotage("nothing", lambda body: None, "")]), indirect=True)
def test_the_proxy_itself_changes_nothing(engine, base_image, proxy):
    with Server("--docker-host=" + proxy.path, "--image=" + base_image) as server:
        for number in range(3):
            result = server.run("print(%d, '%s')" % (number, MARKER))
            assert (result.status, result.stdout) == ("ok", "%d %s\n" % (number, MARKER)), result
    assert MARKER.encode() in proxy.down and proxy.creates >= 3


def test_a_mended_engine_is_found_again(engine, base_image, tmp_path):
    """A closed profile is tried again, with more and more time between."""
    broken = [True]

    def change(body):
        if broken[0]:
            body["HostConfig"]["ReadonlyRootfs"] = False

    with Proxy(str(tmp_path / "engine.sock"), engine.path, change) as proxy, Server(
        "--docker-host=" + proxy.path, "--image=" + base_image, "--warm=1"
    ) as server:
        assert server.run("print(1)").status == "sandbox_error"
        broken[0] = False
        result = wait_until(lambda: (r := server.run("print(2)")).status == "ok" and r, 60, 1)
        assert result and result.stdout == "2\n"


def test_the_proxy_reads_chunks_and_several_requests_on_one_connection(engine, tmp_path):
    changed = []
    with Proxy(str(tmp_path / "engine.sock"), engine.path, changed.append) as proxy:
        client = Engine(proxy.path)
        assert client.answers() and client.json("GET", "/version")["ApiVersion"]
        pieces = [b'{"Image": "no-such-', b'image:x", "HostConfig": {}}']
        status, _ = client.raw("POST", "/containers/create", Pieces(pieces))
        assert status in (400, 404, 415)
        assert changed == [{"Image": "no-such-image:x", "HostConfig": {}}]


class Pieces:
    """A body of unknown length, which goes in chunks."""

    def __init__(self, pieces):
        self.pieces = list(pieces)

    def read(self, size=-1):
        return self.pieces.pop(0) if self.pieces else b""
