"""A test image with torch for the CPU: the image that docker/image.sh builds, with the distribution's python3-torch
and the libraries that it needs on top. They are fetched on the host and unpacked; the steps that their scripts would
take, as far as torch needs them, are one command in the image."""

import io
import pathlib
import platform
import subprocess
import tarfile

import debian
import images

TAG = "python-sandbox-test:torch"
BASE = "python-sandbox:slim"
PACKAGE = "python3-torch"
IMAGE_SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "docker/image.sh"
STATUS = "/var/lib/dpkg/status"

# Programs, data and drivers of libraries of libraries, which torch never loads: half a gigabyte.
LEFT_OUT = (
    "./usr/share/*", "./usr/bin/*", "./usr/sbin/*", "./usr/libexec/*", "*/libtorch-test/*", "*/dri/*", "*/libLLVM*",
    "*/libz3*",
)

# Where the packages' scripts let the system choose a linear algebra; then, as root, an import of each part that is
# tested, which leaves the compiled modules in the image: its root is read-only later.
FINISH = """
set -e
printf '/usr/lib/%s/blas\\n/usr/lib/%s/lapack\\n' >/etc/ld.so.conf.d/linear-algebra.conf
ldconfig
python3 -c 'import numpy, torch, torch.nn, torch.utils.data, torch.multiprocessing'
"""


def status_of(engine, image):
    """What dpkg knows of an image's packages."""
    ident = engine.create({"Image": image, "Cmd": ["true"]})
    try:
        code, data = engine.raw("GET", "/containers/%s/archive?path=%s" % (ident, STATUS))
    finally:
        engine.remove(ident)
    if code != 200:
        raise OSError("%s has no %s" % (image, STATUS))
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return tar.extractfile("status").read().decode()


def ensure(engine):
    """The tag of the image, which is made where it is missing or old."""
    if not engine.has_image(BASE):
        subprocess.run([IMAGE_SCRIPT, "local"], check=True, timeout=900)
    key = images.recipe(engine, BASE, __file__, debian.__file__)

    def fill(folder):
        system = folder / "system"
        (system / "usr/lib").mkdir(parents=True)
        (system / "lib").symlink_to("usr/lib")
        apt = debian.Apt(folder / "apt", status_of(engine, BASE))
        options = ["--wildcards", *("--exclude=" + pattern for pattern in LEFT_OUT)]
        for package in apt.fetch(PACKAGE):
            debian.unpack(package, system, *options)
        return [(system / "usr/lib", "/usr/lib")]

    triplet = platform.machine() + "-linux-gnu"
    return images.ensure(engine, TAG, key, BASE, fill, ["sh", "-c", FINISH % (triplet, triplet)])
