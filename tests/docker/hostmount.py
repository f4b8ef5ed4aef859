"""Mounts of this host that a test makes, and takes away again."""

import contextlib
import subprocess

import pytest


@contextlib.contextmanager
def mounted(*arguments):
    """Mounts as the command of that name does; the last argument is the place."""
    done = subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip("this user may mount nothing: %s" % done.stderr.strip())
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(arguments[-1])], capture_output=True)


@contextlib.contextmanager
def shared(folder):
    """As every mount of a host with systemd is: what is mounted below comes up in each copy of it."""
    with mounted("--bind", folder, folder):
        subprocess.run(["mount", "--make-shared", str(folder)], check=True)
        yield
