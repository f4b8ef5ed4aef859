"""Fixtures of all end-to-end suites."""

import os
import subprocess

import datascience
import modules
import pytest
import pytorch
import docker_engine
import sandbox

TEST_TIMEOUT_S = 90


def pytest_collection_modifyitems(items):
    for item in items:
        if not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TEST_TIMEOUT_S))


@pytest.fixture(scope="session")
def engine():
    found = docker_engine.Engine()
    if not found.answers():
        pytest.exit("no Docker Engine answers at %s; run docker/engine.sh" % found.path, 1)
    if not os.access(sandbox.BINARY, os.X_OK):
        pytest.exit("no %s; run make" % sandbox.BINARY, 1)
    return found


@pytest.fixture(scope="session")
def base_image(engine):
    """The image that the server picks by itself."""
    for name in sandbox.IMAGES:
        if engine.has_image(name):
            return name
    pytest.exit("the engine has none of %s; run make setup" % ", ".join(sandbox.IMAGES), 1)


def lacking(what):
    """Skips: this machine has no way to the packages of a test. Where everything is to be tested, it fails."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def datascience_image(engine, base_image):
    """Made on first use, which takes minutes: tests with it limit their own time only."""
    try:
        return datascience.ensure(engine, base_image)
    except (OSError, subprocess.SubprocessError, docker_engine.EngineError) as error:
        lacking("no image with data-science packages: %s" % error)


@pytest.fixture(scope="session")
def modules_image(engine, base_image):
    """The stock image with modules that a preload can meet."""
    return modules.ensure(engine, base_image)


@pytest.fixture(scope="session")
def torch_image(engine, base_image):
    """Made on first use, as the one above."""
    try:
        return pytorch.ensure(engine)
    except (OSError, subprocess.SubprocessError, docker_engine.EngineError) as error:
        lacking("no image with torch: %s" % error)


@pytest.fixture(scope="module", params=["stock", "datascience"])
def any_image(request, base_image):
    """The stock image, then one with data-science packages."""
    if request.param == "stock":
        return base_image
    return request.getfixturevalue("datascience_image")


@pytest.fixture(scope="session", autouse=True)
def leak_check(engine, base_image):
    """After the whole suite: no container, no process, no descriptor more than before."""
    volumes = engine.volumes()
    children = set(sandbox.children())
    others = sandbox.product_processes()
    descriptors = sandbox.descriptors()
    yield

    def containers():
        return [c for pid in set(sandbox.STARTED) for c in engine.containers(pid)]

    def processes():
        return sandbox.product_processes() - others

    sandbox.wait_until(lambda: not containers() and not processes(), 5)
    assert not containers()
    assert not processes()
    assert set(sandbox.children()) <= children
    assert engine.volumes() <= volumes
    assert sandbox.descriptors() <= descriptors


@pytest.fixture(scope="module")
def server(engine, base_image):
    with sandbox.Server() as running:
        yield running


@pytest.fixture
def cold(engine, base_image):
    """A server without warm containers: the only container is that of the running script."""
    with sandbox.Server("--warm=0") as running:
        yield running
