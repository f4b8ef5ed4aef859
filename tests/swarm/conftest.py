import os
import pathlib
import shutil
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "docker"))

import cluster as swarm  # noqa: E402
from fixtures import *  # noqa: E402,F401,F403
from fixtures import lacking  # noqa: E402

TOOLS = ("dockerd", "docker", "haproxy", "ip", "nsenter", "unshare", "setpriv")
BUILD_TIMEOUT_S = 900


@pytest.fixture(scope="session")
def server_image(engine, base_image):
    """The image of the server, built from this tree; its layers stay for the next time. The engine's host network,
    since a machine without a registry may have no other way to its packages."""
    tag = "python-sandbox-test:swarm-server"
    swarm.run("docker", "build", "--network=host", "--build-arg=BASE=" + base_image, "--tag=" + tag,
              "--file", swarm.ROOT / "docker/server.Dockerfile", swarm.ROOT, timeout=BUILD_TIMEOUT_S,
              env={**os.environ, "DOCKER_BUILDKIT": "0"})
    return tag


@pytest.fixture(scope="session")
def machines():
    """Skips where no machines can be made."""
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if os.geteuid() != 0:
        lacking("machines with namespaces of their own need root")
    if missing:
        lacking("no %s here" % ", ".join(missing))


@pytest.fixture(scope="session")
def cluster(machines, server_image, base_image):
    found = swarm.Cluster(server_image, base_image)
    networks = set()
    try:
        found.start()
        networks = found.networks()
        yield found
    finally:
        found.clean()
        assert swarm.left_of(os.getpid(), networks) == []
