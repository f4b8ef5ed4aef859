"""The engine under the compose file goes away and comes back. Uses an engine of its own, in a network
namespace of its own, so that the one that all others use stays as it is."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest
import stand
from stand import answered, docker, inspect, official, sandboxes, wait_until

WANTED = os.environ.get("PYTHON_SANDBOX_TEST_ENGINE_RESTART") == "1"

pytestmark = [
    pytest.mark.skipif(not WANTED, reason="PYTHON_SANDBOX_TEST_ENGINE_RESTART is not 1"),
    pytest.mark.skipif(os.geteuid() != 0, reason="starting an engine needs root"),
    pytest.mark.skipif(not shutil.which("dockerd"), reason="no dockerd to start"),
    pytest.mark.skipif(not shutil.which("docker-compose"), reason="no docker-compose"),
    pytest.mark.timeout(600),
]

LOOPBACK_UP = """
import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sH14x", b"lo", 0x41))
"""


KEEPERS = ("dockerd", "containerd", "/usr/bin/containerd-shim", "/usr/sbin/dockerd", "/usr/bin/dockerd")


class OwnEngine:
    """With a bridge and published ports, as on a machine of its own; the namespace outlives it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.socket = str(self.folder / "docker.sock")
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        assert wait_until(lambda: self.namespace() != os.readlink("/proc/self/ns/net"), 5)
        self.inside = ["nsenter", "--net=/proc/%d/ns/net" % self.holder.pid]
        stand.run([*self.inside, sys.executable, "-c", LOOPBACK_UP])
        self.process = None

    def namespace(self):
        return os.readlink("/proc/%d/ns/net" % self.holder.pid)

    def start(self, *flags):
        # An engine that was killed leaves them, and the next one asks only whether the numbers are in use.
        for stale in ("pid", "exec/containerd/containerd.pid"):
            (self.folder / stale).unlink(missing_ok=True)
        command = ["dockerd", "--host=unix://" + self.socket, "--shutdown-timeout=10", *flags]
        command += ["--data-root=%s/data" % self.folder, "--exec-root=%s/exec" % self.folder]
        command += ["--pidfile=%s/pid" % self.folder]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([*self.inside, *command], stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, start_new_session=True)
        assert wait_until(self.answers, 90), (self.folder / "log").read_text(errors="replace")[-3000:]

    def answers(self):
        return docker("version", host=self.socket, check=False).returncode == 0

    def stop(self, number=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(60)

    def processes(self):
        """What is left of the engine: the first process of each container, then what has its folder among
        its arguments. Not by mounts, which every process of this machine sees."""
        found = {}
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = int(path.read_text(errors="replace").rpartition(")")[2].split()[1])
                found[int(path.parent.name)] = parent, (path.parent / "cmdline").read_text(errors="replace")
            except OSError:
                continue
        keepers = [pid for pid, (_, words) in found.items()
                   if str(self.folder) + "/" in words and words.startswith(KEEPERS)]
        return [pid for pid, (parent, _) in found.items() if parent in keepers] + keepers

    def clean(self):
        self.stop()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.holder.kill()
        self.holder.wait()
        for line in reversed(pathlib.Path("/proc/mounts").read_text().splitlines()):
            if line.split()[1].startswith(str(self.folder) + "/"):
                subprocess.run(["umount", "-l", line.split()[1]], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def own(server_image, base_image):
    found = OwnEngine(tempfile.mkdtemp(prefix="ps-engine-", dir="/var/tmp"))
    archive = found.folder / "images.tar"
    try:
        found.start()
        docker("save", "--output=%s" % archive, base_image, server_image, timeout=300)
        docker("load", "--input=%s" % archive, host=found.socket, timeout=300)
        archive.unlink()
        docker("tag", base_image, "python-sandbox:gpu", host=found.socket)
        yield found
    finally:
        found.clean()


@pytest.fixture(scope="module")
def project(own, server_image, base_image, tmp_path_factory):
    folder = tmp_path_factory.mktemp("restart")
    with stand.Project(folder, server_image, base_image, "gpu", host=own.socket) as project:
        yield project.up()


def serves(own, project):
    return answered(official(project.url, project.token, prefix=own.inside))


def test_it_comes_up_with_a_profile_for_gpus(own, project):
    assert serves(own, project)
    assert "error" in official(project.url, project.token)  # the namespace is another one
    code = {"arguments": {"profile": "gpu"}}
    answer = official(project.url, project.token, prefix=own.inside, **code)["result"]["structuredContent"]
    assert answer["status"] == "sandbox_error", answer  # no machine of the tests has a GPU


def came_back(own, project, ident):
    assert wait_until(lambda: serves(own, project), 90, 1), project.compose("logs", "--no-color").stdout
    assert project.ident() == ident
    assert wait_until(project.is_healthy, 60, 1)
    states = {inspect(c, own.socket)["State"]["Status"] for c in sandboxes(ident, own.socket)}
    assert states <= {"running"}, states


def test_it_survives_a_restart_of_the_engine(own, project):
    ident = project.ident()
    own.stop()
    own.start()
    came_back(own, project, ident)


def test_it_survives_an_engine_that_was_killed(own, project):
    ident = project.ident()
    own.stop(signal.SIGKILL)
    own.start()
    came_back(own, project, ident)


def test_an_engine_that_leaves_containers_running(own, project):
    """With live-restore the server goes on, behind a socket that is gone when the engine makes a new
    one: it says so, and is well after a restart of its container."""
    ident = project.ident()
    own.stop()
    own.start("--live-restore")
    came_back(own, project, ident)
    pid = project.state()["Pid"]
    own.stop()
    own.start("--live-restore")
    assert project.state()["Pid"] == pid
    answer = official(project.url, project.token, prefix=own.inside)["result"]
    assert answer["structuredContent"]["status"] == "sandbox_error"
    assert "start the container again" in answer["content"][0]["text"], answer
    project.compose("restart", "server")
    came_back(own, project, ident)
