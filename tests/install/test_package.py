"""The Debian package: what it holds, and that it comes and goes without residue on a clean root."""

import gzip
import hashlib
import json
import os
import re
import shutil
import stat

import pytest
import sandbox
from places import ROOTS_TIMEOUT_S, inside, make, run

SCRIPT = b"import os, sys\nprint(sys.version_info[0], os.getcwd())\nsys.exit(7)\n"

# What apt, dpkg and the C library keep for themselves.
THEIR_OWN = re.compile(
    r"/var/lib/(dpkg|apt)(/|$)|/var/cache/(apt|debconf|ldconfig)(/|$)"
    r"|/var/log/(apt(/|$)|dpkg\.log|alternatives\.log)|/etc/ld\.so\.cache$")

pytestmark = pytest.mark.timeout(ROOTS_TIMEOUT_S)


def test_the_same_sources_make_the_same_package(build, package):
    before = package.read_bytes()
    make(build, "deb")
    assert package.read_bytes() == before


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """The sources in another folder, where git has nothing to say."""
    folder = tmp_path_factory.mktemp("elsewhere")
    for name in ("Makefile", "LICENSE", "README.md", "cmd", "docker", "src"):
        run("cp", "-a", str(sandbox.ROOT / name), str(folder))
    return folder


def deb_of(folder, *arguments):
    make("build", "-C", str(folder), *arguments, "deb")
    return max((folder / "build").glob("*.deb"), key=lambda path: path.stat().st_mtime_ns)


def revision_of(build):
    return re.search(r"^revision +(.*)$", run(str(build / "python-sandbox"), "version").stdout, re.M).group(1)


def test_another_folder_makes_the_same_package(build, package, elsewhere):
    revision = revision_of(build)
    assert deb_of(elsewhere, "REVISION=" + revision).read_bytes() == package.read_bytes()


def test_another_version_is_everywhere(elsewhere, tmp_path):
    deb_of(elsewhere)
    numbered = deb_of(elsewhere, "VERSION=7.8.9")
    assert numbered.name.startswith("python-sandbox_7.8.9_")
    run("dpkg-deb", "--extract", str(numbered), str(tmp_path))
    binary = str(tmp_path / "usr/bin/python-sandbox")
    assert "python-sandbox 7.8.9\n" in run(binary, "version").stdout
    assert "python-sandbox 7.8.9:" in run(binary, "--help").stdout
    page = gzip.decompress((tmp_path / "usr/share/man/man1/python-sandbox.1.gz").read_bytes())
    assert b"7.8.9" in page.splitlines()[0]
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}})
    answer = run(binary, "serve", input=hello + "\n", env=sandbox.environment()).stdout
    assert json.loads(answer)["result"]["serverInfo"]["version"] == "7.8.9"


def test_what_it_needs(package):
    def field(name):
        return run("dpkg-deb", "--field", str(package), name).stdout.strip()

    needed = {entry.split()[0] for entry in field("Depends").split(", ")}
    loaded = run("dpkg-query", "-S", os.path.realpath(run(
        "gcc", "-print-file-name=libcurl.so.4").stdout.strip())).stdout.split(":")[0]
    assert loaded in needed
    for library in run("readelf", "-d", sandbox.BINARY).stdout.split("Shared library: [")[1:]:
        name = library.split("]")[0]
        path = os.path.realpath(run("gcc", "-print-file-name=" + name).stdout.strip())
        assert run("dpkg-query", "-S", "*/" + os.path.basename(path)).stdout.split(":")[0] in needed, name
    assert re.match(r"docker\.io\b", field("Recommends"))
    version = run(sandbox.BINARY, "version").stdout.split()[1]
    assert field("Version") == version
    config = run("dpkg-deb", "--info", str(package), "conffiles").stdout.split()
    assert config == ["/etc/python-sandbox/config.json", "/etc/python-sandbox/server.env"]


def test_lintian_has_nothing_to_say(package, roots):
    done = inside(roots.tools, "lintian", "--allow-root", "--display-info", "/mnt/" + package.name,
                  binds=[(package.parent, "/mnt")], check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def contents(root):
    """Every file with its kind, owner and bytes."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            inner = path[len(str(root)):]
            if THEIR_OWN.match(inner):
                continue
            what = b""
            if stat.S_ISLNK(status.st_mode):
                what = os.readlink(path).encode()
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    what = hashlib.sha256(file.read()).digest()
            found[inner] = (status.st_mode, status.st_uid, status.st_gid, what)
    return found


@pytest.fixture
def clean(roots, tmp_path):
    root = tmp_path / "root"
    run("cp", "-a", str(roots.clean), str(root))
    shutil.copy("/etc/resolv.conf", root / "etc")
    (root / "run/docker.sock").touch()
    yield root
    shutil.rmtree(root)


def apt(root, roots, *arguments, binds=()):
    """apt-get with the packages of earlier runs; lists that have become old are fetched anew, once."""
    binds = [(roots.archives, "/var/cache/apt/archives"), *binds]
    command = ["apt-get", "-y", "-o", "APT::Sandbox::User=root", *arguments]
    if inside(root, *command, binds=binds, check=False, timeout=300).returncode != 0:
        inside(root, "apt-get", "update", timeout=300)
        inside(root, *command, binds=binds, timeout=300)


def test_it_comes_and_goes_without_residue(package, roots, clean, engine, base_image):
    here = [(package.parent, "/mnt"), (engine.path, "/run/docker.sock")]
    packages = inside(clean, "dpkg-query", "-W").stdout
    before = contents(clean)
    apt(clean, roots, "install", "--no-install-recommends", "/mnt/" + package.name, binds=here)

    version = inside(clean, "python-sandbox", "version").stdout
    assert version.startswith("python-sandbox ") and "flavour        plain" in version
    assert "Verbs:" in inside(clean, "python-sandbox", "--help").stdout
    assert (clean / "usr/share/man/man1/python-sandbox.1.gz").is_file()
    token = clean / "etc/python-sandbox/token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600 and len(token.read_text()) == 44
    assert not list((clean / "etc/systemd/system").rglob("python-sandbox*"))
    (clean / "root/script.py").write_bytes(SCRIPT)
    done = inside(clean, "python-sandbox", "run", "--docker-host=/run/docker.sock", "/root/script.py",
                  binds=here, check=False)
    assert (done.returncode, done.stdout) == (7, "3 /workspace\n"), done.stderr
    (clean / "root/script.py").unlink()

    # What the administrator changed stays until it is purged.
    config = clean / "etc/python-sandbox/config.json"
    config.write_text('{"memory": "256m"}')
    apt(clean, roots, "remove", "python-sandbox")
    assert config.read_text() == '{"memory": "256m"}' and token.exists()
    assert not (clean / "usr/bin/python-sandbox").exists()
    apt(clean, roots, "purge", "python-sandbox")
    apt(clean, roots, "autoremove", "--purge")
    assert inside(clean, "dpkg-query", "-W").stdout == packages
    after = contents(clean)
    assert {path: after.get(path) for path in before.keys() | after.keys()
            if before.get(path) != after.get(path)} == {}
