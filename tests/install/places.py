"""Fixtures of what is installed: the root folders, a build folder to make things in, the package."""

import pathlib
import shutil
import subprocess

import pytest
import sandbox

HERE = pathlib.Path(__file__).resolve().parent
EPOCH = "1790000000"  # of the package that is tested
ROOTS_TIMEOUT_S = 900


def run(*command, check=True, timeout=120, **options):
    """A command to its end, with its output as text."""
    if "input" not in options:
        options.setdefault("stdin", subprocess.DEVNULL)
    done = subprocess.run(command, timeout=timeout, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, **options)
    assert not check or done.returncode == 0, (command, done.returncode, done.stdout, done.stderr)
    return done


def make(build, *arguments, **variables):
    """make in the tree, into a build folder."""
    env = sandbox.environment({"SOURCE_DATE_EPOCH": EPOCH, **variables})
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        env.pop(name, None)  # of the make that runs the tests
    return run("make", "-s", "-C", str(sandbox.ROOT), "BUILD=%s" % build, *arguments, env=env)


def inside(root, *command, binds=(), **options):
    """A command in a root folder that has its own /proc, and files of this machine where binds say so."""
    script = 'mount -t proc proc "$1/proc"\n'
    for source, target in binds:
        script += 'mount --bind "%s" "$1%s"\n' % (source, target)
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
           "DEBIAN_FRONTEND": "noninteractive", "MANWIDTH": "2000"}
    return run(
        "unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh", "-ec",
        script + 'exec chroot "$@"', "sh", str(root), *command, env=env, **options)


class Roots:
    def __init__(self, lines):
        paths = dict(line.split("=", 1) for line in lines.splitlines())
        self.clean, self.tools, self.archives = (
            pathlib.Path(paths[name]) for name in ("CLEAN", "TOOLS", "ARCHIVES"))


@pytest.fixture(scope="session")
def roots():
    """Made on first use, which takes minutes: tests that come first may limit their own time only."""
    return Roots(run(str(HERE / "roots.sh"), timeout=ROOTS_TIMEOUT_S).stdout)


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """A build folder with the objects of the tested binary, in which only what depends on more than them
    is made anew."""
    source = pathlib.Path(sandbox.BINARY).parent
    folder = tmp_path_factory.mktemp("build")
    for name in ("obj", "gen", "libpython-sandbox.a", "python-sandbox"):
        # make compares the times.
        run("cp", "-a", str(source / name), str(folder))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def package(build):
    make(build, "deb")
    (found,) = build.glob("*.deb")
    return found
