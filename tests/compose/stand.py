"""What the tests of the server's image and of the compose files share."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
SOCKET = "/var/run/docker.sock"
LABEL = "python-sandbox.owner"
COMPOSE = "docker-compose"
HARDENED = ["--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"]


def clean_environment(**extra):
    """Without the variables by which the tests and a developer's shell tell the product something."""
    env = {k: v for k, v in os.environ.items()
           if not re.match(r"PYTHON_SANDBOX_|SANDBOX_|COMPOSE_|DOCKER_", k)}
    return {**env, **extra}


def run(command, check=True, timeout=120, env=None, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout,
                          check=False, env=env or clean_environment(), **options)
    assert not check or done.returncode == 0, "%s: %d\n%s\n%s" % (
        command, done.returncode, done.stdout[-3000:], done.stderr[-3000:])
    return done


def docker(*arguments, host=None, **options):
    flags = ["--host=unix://" + host] if host else []
    return run(["docker", *flags, *arguments], **options)


def inspect(name, host=None):
    return json.loads(docker("inspect", name, host=host).stdout)[0]


def wait_until(condition, timeout, step=0.2):
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value or time.monotonic() >= end:
            return value
        time.sleep(step)


def build(context, name, base, dockerfile=None, text=None, **arguments):
    """The engine's host network, since a machine without a registry may have no other way to its
    packages."""
    tag = "python-sandbox-test:" + name
    files = ["--file=%s" % (pathlib.Path(context) / dockerfile), context] if dockerfile else ["-"]
    arguments = ["--build-arg=%s=%s" % item for item in {"BASE": base, **arguments}.items()]
    docker("build", "--network=host", *arguments, "--tag=" + tag, *files, input=text, timeout=900,
           env=clean_environment(DOCKER_BUILDKIT="0"))
    return tag


def stand_in(name, base, package, entrypoint="[]", folder="/data"):
    """The distribution's program in place of the published image, with a folder that belongs to nobody
    as there."""
    return build("", name, base, text="""
        ARG BASE
        FROM $BASE
        USER 0
        RUN apt-get update -q && apt-get install -q -y --no-install-recommends %s
        RUN mkdir -p %s && chown 65534:65534 %s
        ENTRYPOINT %s
        """ % (package, folder, folder, entrypoint))


def group_of_socket(path=SOCKET):
    return os.stat(path).st_gid


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def sandboxes(container_id, host=None):
    """The containers that the server in this container made, in any state."""
    listed = docker("ps", "--all", "--quiet", "--no-trunc", "--filter=label=" + LABEL, host=host).stdout.split()
    if not listed:
        return []
    found = docker("inspect", *listed, host=host, check=False).stdout
    return [c["Id"] for c in json.loads(found or "[]")
            if c["Config"]["Labels"][LABEL].endswith("container=" + container_id)]


def official(url, token=None, prefix=(), ca=None, **wish):
    """What the official client makes of a call through url: its answer, or {"error": ...}."""
    wish = {"url": url, "token": token, "code": "print(6 * 7)", **wish}
    env = clean_environment(**({"SSL_CERT_FILE": str(ca)} if ca else {}))
    done = run([*prefix, sys.executable, HERE / "official.py", json.dumps(wish)], env=env)
    return json.loads(done.stdout)


def answered(answer, stdout="42\n"):
    return "error" not in answer and answer["result"]["structuredContent"]["stdout"] == stdout


class Project:
    """The compose files, copied so that .env and secrets/ are the test's own."""

    def __init__(self, folder, server, image, *overrides, host=None, **settings):
        self.folder = pathlib.Path(folder) / "compose"
        shutil.copytree(ROOT / "compose", self.folder, ignore=shutil.ignore_patterns(".env", "secrets"))
        (self.folder.parent / "docker").symlink_to(ROOT / "docker")
        self.host = host
        self.started = False
        self.files = ["--file=docker-compose.yml", *("--file=%s.yml" % name for name in overrides)]
        self.port = free_port()
        self.env = clean_environment(
            COMPOSE_PROJECT_NAME="ps-test-%d-%d" % (os.getpid(), self.port), SANDBOX_SERVER_IMAGE=server,
            PYTHON_SANDBOX_IMAGE=image, SANDBOX_PORT=str(self.port), COMPOSE_PARALLEL_LIMIT="8", **settings)
        if host:
            self.env.update(DOCKER_HOST="unix://" + host, DOCKER_SOCKET=host)
        self.init()
        self.token = (self.folder / "secrets/token").read_text()
        self.url = "http://127.0.0.1:%d/mcp" % self.port

    def init(self):
        return run([self.folder / "init.sh"], env=self.env)

    def compose(self, *arguments, **options):
        options = {"timeout": 180, **options}
        self.started = self.started or arguments[0] == "up"
        return run([COMPOSE, *self.files, *arguments], cwd=self.folder, env=self.env, **options)

    def ident(self, service="server"):
        return self.compose("ps", "--quiet", service).stdout.strip()

    def state(self, service="server"):
        return inspect(self.ident(service), self.host)["State"]

    def is_healthy(self, service="server"):
        return self.state(service)["Health"]["Status"] == "healthy"

    def up(self, *services):
        self.compose("up", "--detach", *services)
        assert wait_until(self.is_healthy, 90, 0.5), self.compose("logs", "--no-color").stdout
        return self

    def down(self):
        """What is left of the project when it is over."""
        if not self.started:
            return []
        server = self.ident()
        self.compose("down", "--volumes", "--remove-orphans", "--timeout=20")
        wait_until(lambda: not sandboxes(server, self.host), 10)
        mine = "--filter=label=com.docker.compose.project=" + self.env["COMPOSE_PROJECT_NAME"]
        listed = [docker(*kind, "--quiet", mine, host=self.host).stdout.split()
                  for kind in (("ps", "--all"), ("network", "ls"), ("volume", "ls"))]
        return sum(listed, []) + (sandboxes(server, self.host) if server else [])

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind and self.started:
            print(self.compose("logs", "--no-color", check=False).stdout[-6000:])
        left = self.down()
        assert kind or not left, left
