"""The system service, under a systemd that runs a machine of its own (machine.sh)."""

import json
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import docker_engine
import pytest
import sandbox
from names import NameServer, own_address
from remote import Authority, TlsFront
from fixtures import lacking
from places import HERE, ROOTS_TIMEOUT_S, run

UNIT = "python-sandbox.service"
BOOT_S = 60
EXPOSURE_MAX = 15  # tenths, of 100
DROP_IN = "/etc/systemd/system/%s.d/override.conf" % UNIT
REMOTE = "engine.example.com"  # as the manual has it
REMOTE_PORT = 2376

pytestmark = pytest.mark.timeout(ROOTS_TIMEOUT_S)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def only_child(pid):
    children = pathlib.Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split()
    return int(children[0]) if children else None


class Machine:
    def __init__(self, roots, folder, engine):
        self.process = subprocess.Popen(
            [str(HERE / "machine.sh"), str(roots.tools), str(folder), engine.path],
            stdin=subprocess.DEVNULL, start_new_session=True)
        self.engine = engine
        self.init = sandbox.wait_until(self.find_init, 10)
        self.port = free_port()
        assert sandbox.wait_until(self.is_up, BOOT_S, 0.2), self.run("systemctl", "--failed").stdout

    def install(self, package):
        self.run("sh", "-c", "cat >/root/package.deb", stdin=package.open("rb"), check=True)
        apt = "apt-get install -y --no-install-recommends /root/package.deb"
        self.run("sh", "-c", "%s || { apt-get update && %s; }" % (apt, apt), timeout=300, check=True)

    def find_init(self):
        """systemd: two forks below the script."""
        child = only_child(self.process.pid)
        return child and only_child(child)

    def run(self, *command, check=False, **options):
        inside = ["nsenter", "--target", str(self.init), "--all", "env", "DEBIAN_FRONTEND=noninteractive"]
        return run(*inside, *command, check=check, **options)

    def is_up(self):
        return self.run("systemctl", "is-system-running").stdout.strip() == "running"

    def shows(self, name):
        return self.run("systemctl", "show", "-P", name, UNIT, check=True).stdout.strip()

    def journal(self):
        return self.run("journalctl", "-u", UNIT, "-o", "cat", "--no-pager").stdout

    def read(self, path):
        return self.run("cat", path, check=True).stdout

    def write(self, path, text):
        self.run("sh", "-c", 'cat >>"$1"', "sh", path, input=text, check=True)

    def get(self, path, token=None, body=None):
        """Status and text."""
        request = urllib.request.Request("http://127.0.0.1:%d%s" % (self.port, path), body, {
            "Content-Type": "application/json", "Accept": "application/json, text/event-stream"})
        if token:
            request.add_header("Authorization", "Bearer " + token)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def call(self, code):
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "run_python", "arguments": {"code": code}}}
        token = self.read("/etc/python-sandbox/token").strip()
        status, text = self.get("/mcp", token, json.dumps(body).encode())
        assert status == 200, text
        return json.loads(text)["result"]["structuredContent"]

    def runs(self, count):
        token = self.read("/etc/python-sandbox/token").strip()
        return re.search(r"^python_sandbox_calls_running %d$" % count, self.get("/metrics", token)[1], re.M)

    def is_ready(self):
        return self.get("/readyz")[0] == 200

    def containers(self):
        """Those of the server that runs or ran as the unit, by process id and process namespace."""
        space = "pidns=%d" % pathlib.Path("/proc/%d/ns/pid" % self.init).stat().st_ino
        return [c["Id"] for c in self.engine.containers() if space in c["Labels"][docker_engine.LABEL]]

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


@pytest.fixture(scope="module")
def machine(roots, package, engine, base_image, tmp_path_factory):
    folder = tmp_path_factory.mktemp("machine")
    running = Machine(roots, folder, engine)
    try:
        running.install(package)
        yield running
    finally:
        running.end()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def started(machine, package):
    """The service, serving on a port of this test's own, with an audit log."""
    settings = "/etc/python-sandbox/server.env"
    if machine.run("test", "-e", settings).returncode != 0:
        machine.install(package)
    if str(machine.port) not in machine.read(settings):
        machine.write(settings, "PYTHON_SANDBOX_HTTP=localhost:%d\n"
                                "PYTHON_SANDBOX_AUDIT_LOG=/var/log/python-sandbox/audit.log\n" % machine.port)
    machine.run("systemctl", "start", UNIT, check=True)
    assert sandbox.wait_until(machine.is_ready, 30, 0.2), machine.journal()
    return machine


def test_it_is_there_but_for_the_administrator_to_start(machine):
    assert machine.run("systemctl", "is-enabled", UNIT).stdout.strip() == "disabled"
    assert machine.run("systemctl", "is-active", UNIT).stdout.strip() == "inactive"
    assert machine.run("systemctl", "enable", UNIT).returncode == 0
    assert machine.run("systemctl", "is-enabled", UNIT).stdout.strip() == "enabled"


def test_the_unit_is_well_formed_and_leaves_little_open(machine):
    done = machine.run("systemd-analyze", "verify", UNIT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = machine.run("systemd-analyze", "security", "--offline=true", "--no-pager",
                       "--threshold=%d" % EXPOSURE_MAX, UNIT)
    assert done.returncode == 0, done.stdout


def test_it_runs_scripts_for_those_who_have_the_token(started):
    result = started.call("print(6 * 7)")
    assert (result["status"], result["stdout"]) == ("ok", "42\n")
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'
    assert started.get("/mcp", None, body)[0] == 401
    assert started.get("/mcp", "x" * 43, body)[0] == 401
    started.run("python-sandbox", "audit", "verify", "/var/log/python-sandbox/audit.log", check=True)
    assert result["image"] or '"status":"ok"' in started.read("/var/log/python-sandbox/audit.log")
    assert "error" not in started.journal()


def test_its_processes_have_nothing_they_do_not_need(started):
    group = started.shows("ControlGroup")
    pids = started.read("/sys/fs/cgroup%s/cgroup.procs" % group).split()
    assert len(pids) == 3  # executor, front, and the one that removes what a dead server left
    docker = started.run("getent", "group", "docker").stdout.split(":")[2]
    for pid in pids:
        status = dict(re.findall(r"^(\w+):\s*(.*)$", started.read("/proc/%s/status" % pid), re.M))
        assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
        assert {status[name] for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb")} == {"0" * 16}
        own = status["Uid"].split()[0]
        assert 61184 <= int(own) <= 65519  # a user that exists while the service runs
        assert set(status["Groups"].split()) == {docker, own}
    leader = started.shows("MainPID")
    # Written to by nobody but the log of its own folder.
    mounts = started.read("/proc/%s/mountinfo" % leader)
    writable = {line.split()[4] for line in mounts.splitlines() if re.match(r"rw\b", line.split()[5])}
    assert not writable & {"/", "/etc", "/usr", "/home", "/root", "/sys"}
    assert "/var/log/private/python-sandbox" in writable or "/var/log/python-sandbox" in writable


def test_a_server_that_dies_leaves_nothing_and_comes_back(started):
    assert sandbox.wait_until(lambda: len(started.containers()) >= 2, 20)
    before, old = started.shows("MainPID"), set(started.containers())
    started.run("kill", "-9", before, check=True)
    assert sandbox.wait_until(lambda: started.shows("MainPID") not in ("0", before), 30, 0.2)
    assert sandbox.wait_until(started.is_ready, 30, 0.2), started.journal()
    assert not old & set(started.containers())
    assert started.call("print('again')")["stdout"] == "again\n"


def test_a_stop_lets_calls_end(started):
    answers = []
    call = threading.Thread(
        target=lambda: answers.append(started.call("import time; time.sleep(3); print('done')")))
    call.start()
    try:
        assert sandbox.wait_until(lambda: started.runs(1), 10, 0.1)
        start = time.monotonic()
        started.run("systemctl", "stop", UNIT, check=True)
        assert 1 < time.monotonic() - start < 15
    finally:
        call.join(30)
    assert answers[0]["stdout"] == "done\n"
    assert started.shows("Result") == "success"
    assert sandbox.wait_until(lambda: not started.containers(), 5)


def test_settings_that_make_no_sense_are_not_tried_again(started):
    settings = "/etc/python-sandbox/server.env"
    started.write(settings, "PYTHON_SANDBOX_PIDS=none\n")
    try:
        started.run("systemctl", "restart", UNIT)
        assert sandbox.wait_until(lambda: started.shows("ActiveState") == "failed", 30, 0.2)
        assert (started.shows("ExecMainStatus"), started.shows("NRestarts")) == ("2", "0")
        assert "PYTHON_SANDBOX_PIDS" in started.journal()
    finally:
        started.run("sed", "-i", "/PIDS/d", settings, check=True)
        started.run("systemctl", "reset-failed", UNIT)


def drop_ins(machine):
    """Those of the manual."""
    page = machine.run("zcat", "/usr/share/man/man1/python-sandbox.1.gz", check=True).stdout
    blocks = re.findall(r"^\.nf\n(.*?)^\.fi$", page, re.M | re.S)
    return [block.replace("\\-", "-") for block in blocks if "[Service]" in block]


@pytest.fixture
def far(machine, engine, tmp_path):
    """The engine at the name that the manual has, which a name server knows, on a machine without the group."""
    address = own_address()
    if not address:
        lacking("no address but loopback")
    authority = Authority(tmp_path / "ca")
    front = TlsFront(engine.path, authority.server(names="DNS:" + REMOTE), authority.cert, REMOTE_PORT)
    client = authority.client()
    machine.run("mkdir", "-p", "/etc/python-sandbox/engine", check=True)
    for name in ("ca.pem", "cert.pem", "key.pem"):
        machine.write("/etc/python-sandbox/engine/" + name, (client / name).read_text())
    machine.run("cp", "/etc/resolv.conf", "/etc/group", "/root", check=True)
    machine.run("sh", "-c", "sed -i /^docker:/d /etc/group; echo nameserver %s >/etc/resolv.conf" % address,
                check=True)
    names = NameServer(address, "127.0.0.1")
    yield address
    machine.run("systemctl", "stop", UNIT, check=True)
    names.close()
    front.close()
    machine.run("sh", "-c", "cat /root/group >/etc/group; cat /root/resolv.conf >/etc/resolv.conf", check=True)
    machine.run("rm", "-rf", DROP_IN, "/etc/python-sandbox/engine", check=True)
    machine.run("systemctl", "daemon-reload", check=True)


def restart_with(machine, drop_in):
    machine.run("mkdir", "-p", DROP_IN.rpartition("/")[0], check=True)
    machine.run("rm", "-f", DROP_IN, check=True)
    machine.write(DROP_IN, drop_in)
    machine.run("systemctl", "daemon-reload", check=True)
    machine.run("systemctl", "restart", UNIT, check=True)


def test_the_drop_in_of_the_manual_reaches_an_engine_by_its_name(started, far):
    (drop_in,) = (text for text in drop_ins(started) if REMOTE in text)
    restart_with(started, re.sub(r".*=10\.0\.0\.1\n", "", drop_in))
    assert sandbox.wait_until(lambda: "its IPAddressAllow= must have" in started.journal(), 30, 0.2)
    restart_with(started, drop_in.replace("10.0.0.1", far))
    assert sandbox.wait_until(started.is_ready, 30, 0.2), started.journal()
    assert started.call("print(6 * 7)")["stdout"] == "42\n"


def test_purge_stops_it_and_leaves_nothing(started):
    assert started.shows("ActiveState") == "active"
    started.run("apt-get", "purge", "-y", "python-sandbox", check=True)
    assert started.get("/healthz")[0] == 0
    assert sandbox.wait_until(lambda: not started.containers(), 5)
    found = started.run("find", "/etc", "/lib", "/usr", "/var", "-name", "*python-sandbox*").stdout.split()
    left = [path for path in found if not path.startswith(("/var/lib/dpkg", "/var/cache/man"))]
    assert left == []
