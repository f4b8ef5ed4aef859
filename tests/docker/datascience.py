"""The data-science image of the project, as its own verb builds it: minutes at first, later the engine has it."""

import subprocess

import docker_engine
import sandbox

TAG = "python-sandbox-test:science"
BUILD_TIMEOUT_S = 1500


def build(*flags, env=None):
    """image build to its end, with what it wrote."""
    command = [sandbox.BINARY, "image", "build", *sandbox.engine_flags(), *flags]
    return subprocess.run(
        command,
        env=sandbox.environment(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=BUILD_TIMEOUT_S,
        check=False,
    )


def ensure(engine, base):
    """The tag of the image."""
    # An engine that the set-up started may have no network for containers but the host's.
    done = build("--profile=datascience", "--base=" + base, "--tag=" + TAG, "--network=host")
    if done.returncode:
        raise docker_engine.EngineError(done.stderr[-1500:])
    return TAG
