import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "docker"))

import stand  # noqa: E402
from fixtures import *  # noqa: E402,F401,F403


def pytest_collection_modifyitems(items):
    for item in items:
        if not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(240, func_only=True))  # not the images


@pytest.fixture(scope="session")
def server_image(engine, base_image):
    """The image of the server, built from this tree; its layers stay for the next time."""
    return stand.build(stand.ROOT, "server", base_image, "docker/server.Dockerfile")


@pytest.fixture(scope="session")
def nginx_image(engine, base_image):
    return stand.stand_in("nginx", base_image, "nginx-light")


@pytest.fixture(scope="session")
def prometheus_image(engine, base_image):
    return stand.stand_in("prometheus", base_image, "prometheus", '["/usr/bin/prometheus"]', "/prometheus")
