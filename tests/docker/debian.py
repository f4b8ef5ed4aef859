"""Packages of the distribution that this machine's apt-get knows, fetched and unpacked, but never installed
here. Needs neither root nor the machine's own package lists."""

import pathlib
import subprocess

UPDATE_TIMEOUT_S = 300
FETCH_TIMEOUT_S = 900


class Apt:
    """apt-get with lists and a cache of its own below a folder. status: the text of the dpkg status file of the
    system that packages are fetched for; without it, of one that has none installed."""

    def __init__(self, folder, status=""):
        self.folder = pathlib.Path(folder)
        self.archives = self.folder / "archives"
        for place in (self.folder / "lists/partial", self.archives / "partial"):
            place.mkdir(parents=True)
        (self.folder / "status").write_text(status)
        self.run(UPDATE_TIMEOUT_S, "update")

    def run(self, timeout, *arguments):
        options = {
            "APT::Sandbox::User": "root",  # another user may not write below the folder
            "Debug::NoLocking": "1",
            "Dir::Cache": self.folder,
            "Dir::Cache::archives": self.archives,
            "Dir::State": self.folder,
            "Dir::State::lists": self.folder / "lists",
            "Dir::State::status": self.folder / "status",
        }
        command = ["apt-get", "-q", "-y", *("-o%s=%s" % pair for pair in options.items()), *arguments]
        done = subprocess.run(
            command, cwd=self.archives, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=timeout,
        )
        if done.returncode != 0:
            raise OSError("apt-get %s: %s" % (arguments[0], done.stderr.strip()[-500:]))

    def fetch(self, package):
        """The files of the package and of all that it needs and the system has not got."""
        self.run(FETCH_TIMEOUT_S, "install", "--download-only", "--no-install-recommends", package)
        return sorted(self.archives.glob("*.deb"))

    def fetch_alone(self, package):
        """The file of the package."""
        self.run(FETCH_TIMEOUT_S, "download", package)
        return next(self.archives.glob(package + "_*.deb"))


def unpack(package, folder, *options):
    """Files of a package, as far as the options of tar let them; its scripts do not run."""
    command = ["tar", "-x", "-C", folder, "--no-same-owner", "--keep-directory-symlink", *options]
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as files:
        subprocess.run(command, stdin=files.stdout, check=True, timeout=FETCH_TIMEOUT_S)
        files.stdout.close()
    if files.returncode != 0:
        raise OSError("dpkg-deb cannot read %s" % package)
