"""An engine for one test file, in a network namespace of its own, so that the one that all others use stays
as it is."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import pytest
from docker_engine import Engine
from sandbox import members, wait_until

WANTED = os.environ.get("PYTHON_SANDBOX_TEST_ENGINE_RESTART") == "1"

NEEDS_OWN_ENGINE = [
    pytest.mark.skipif(not WANTED, reason="PYTHON_SANDBOX_TEST_ENGINE_RESTART is not 1"),
    pytest.mark.skipif(os.geteuid() != 0, reason="starting an engine needs root"),
    pytest.mark.skipif(not shutil.which("dockerd"), reason="no dockerd to start"),
]


class OwnEngine:
    """On a unix socket; network: the name of a namespace (ip netns), else one that goes with the engine."""

    def __init__(self, *flags, network=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ps-engine-"))
        self.socket = str(self.folder / "docker.sock")
        self.client = Engine(self.socket)
        self.flags = flags
        self.enter = ["nsenter", "--net=/run/netns/" + network] if network else ["unshare", "--net"]
        self.process = None

    def start(self):
        command = [*self.enter, "dockerd", "--host=unix://" + self.socket]
        command += ["--data-root=%s/data" % self.folder, "--exec-root=%s/exec" % self.folder]
        command += ["--pidfile=%s/pid" % self.folder, "--iptables=false", "--bridge=none"]
        command += ["--shutdown-timeout=5", *self.flags]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        assert wait_until(self.client.answers, 60, 0.2), self.log()

    def take_image(self, engine, name):
        """A copy of another engine's."""
        with tempfile.TemporaryFile(dir=self.folder) as archive:
            archive.write(engine.raw("GET", "/images/%s/get" % name, timeout=120)[1])
            archive.seek(0)
            status, text = self.client.raw("POST", "/images/load", archive, timeout=120, quiet=1)
        assert status == 200 and self.client.has_image(name), text

    def log(self):
        return (self.folder / "log").read_text(errors="replace")[-3000:]

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)

    def clean(self):
        self.stop()
        if self.process:
            for pid in members(self.process.pid):
                os.kill(pid, signal.SIGKILL)
        for line in reversed(pathlib.Path("/proc/mounts").read_text().splitlines()):
            point = line.split()[1]
            if point.startswith(str(self.folder) + "/"):
                subprocess.run(["umount", "-l", point], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.clean()
            raise
        return self

    def __exit__(self, *_):
        self.clean()
