"""Test images without a build and without a registry: files from the host are put into a container of another
image, which is then committed. An image stays with the engine until its recipe changes."""

import hashlib
import json
import pathlib
import subprocess
import tarfile
import tempfile

import docker_engine

RECIPE_LABEL = "python-sandbox-test.recipe"
STEP_TIMEOUT_S = 600


def recipe(engine, base, *files):
    """Changes with the text of the files and with the base image."""
    parts = [pathlib.Path(file).read_text() for file in (__file__, *files)]
    parts.append(engine.json("GET", "/images/%s/json" % base)["Id"])
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def present(engine, tag, key):
    status, body = engine.raw("GET", "/images/%s/json" % tag)
    labels = json.loads(body)["Config"]["Labels"] if status == 200 else None
    return (labels or {}).get(RECIPE_LABEL) == key


def add_folder(engine, ident, folder, where):
    def of_root(member):
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        return member

    with tempfile.TemporaryFile(dir="/var/tmp") as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            tar.add(folder, where.lstrip("/"), filter=of_root)
        file.seek(0)
        status, text = engine.raw("PUT", "/containers/%s/archive?path=/" % ident, file, STEP_TIMEOUT_S)
    if status != 200:
        raise docker_engine.EngineError("cannot fill the test image: %d %s" % (status, text[:500]))


def ensure(engine, tag, key, base, fill, command):
    """The tag of the image, which is made where it is missing or its key is another. fill(folder) puts files into
    a folder and returns pairs of a folder and where it belongs; the command then runs among them, as root."""
    if present(engine, tag, key):
        return tag
    ident = engine.create({"Image": base, "Cmd": command, "NetworkDisabled": True})
    try:
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            for source, where in fill(pathlib.Path(folder)):
                add_folder(engine, ident, source, where)
        engine.json("POST", "/containers/%s/start" % ident)
        ended = engine.json("POST", "/containers/%s/wait" % ident, None, STEP_TIMEOUT_S)
        if ended["StatusCode"] != 0:
            log = engine.raw("GET", "/containers/%s/logs?stdout=1&stderr=1" % ident)[1]
            raise subprocess.SubprocessError("the last step of %s: %s" % (tag, log[-500:]))
        repo, _, version = tag.partition(":")
        query = {"container": ident, "repo": repo, "tag": version}
        query["changes"] = 'LABEL %s=%s\nCMD ["python3"]' % (RECIPE_LABEL, key)
        engine.json("POST", "/commit", None, STEP_TIMEOUT_S, **query)
    finally:
        engine.remove(ident)
    return tag
