"""What tests of the supervisor have in common: a container of their own, and runs in one each."""

import pytest
import supervisor_driver as driver
from sandbox import py
from supervisor_driver import Container


@pytest.fixture(scope="session")
def image(base_image):
    return base_image


@pytest.fixture
def box(image):
    with Container(image) as container:
        yield container


@pytest.fixture
def run(image):
    def run_one(code, **options):
        return driver.run(image, py(code) if isinstance(code, str) else code, **options)

    return run_one


def ok(result):
    assert (result.exit.exit_code, result.exit.signal) == (0, 0), result.stderr.decode()
    return result


def lines(result):
    return ok(result).stdout.decode().splitlines()
