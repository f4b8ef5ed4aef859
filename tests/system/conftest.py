"""What the tests of this folder run against: the fake engine, or a front that serves HTTP."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fake"))


@pytest.fixture
def engine():
    from engine import Engine

    with Engine() as engine:
        yield engine


@pytest.fixture(scope="module")
def http_front():
    from web import WebFront

    with WebFront() as process:
        yield process
        assert process.lives()


@pytest.fixture(scope="module")
def guarded():
    """One that wants a token."""
    from web import OTHER, TOKEN, WebFront

    with WebFront(tokens=[TOKEN, OTHER]) as process:
        yield process
