"""`doctor`: green and exit 0 where all stands, red where something does not, with the mend."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest
from sabotage import Proxy
from sandbox import BINARY, engine_flags, environment

ROWS = ("engine socket host rootless cgroup storage security runtime flaw gpu image walls python "
        "packages latency").split()
WALLS = ("user groups CapEff CapPrm CapBnd CapInh CapAmb no_new_privs seccomp network devices "
         "environment mounts memory swap processes").split()
TOKEN = "t" * 43


def doctor(*arguments, env=None):
    done = subprocess.run([BINARY, "doctor", *arguments], capture_output=True, text=True, timeout=80,
                          env=environment(env), check=False)
    return done.returncode, done.stdout, done.stderr


def report(*arguments, env=None):
    """Exit status and the JSON."""
    status, out, err = doctor("--json", *engine_flags(), *arguments, env=env)
    assert err == "", err
    found = json.loads(out)
    assert found["good"] == (status == 0)
    verdicts = [row["verdict"] for row in found["rows"]]
    assert set(verdicts) <= {"ok", "note", "warn", "fail"}
    walls = all(wall["good"] for wall in found["walls"])
    assert found["good"] == ("fail" not in verdicts and walls)
    return status, found


def row(found, name):
    rows = [one for one in found["rows"] if one["name"] == name]
    assert rows, "no row %s in %s" % (name, found["rows"])
    return rows[0]


def wall(found, name):
    return next(one for one in found["walls"] if one["wall"] == name)


@pytest.fixture
def open_folder():
    """A folder that every user may pass through, unlike pytest's own."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="doctor-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def green(engine, base_image):
    return report()


def test_green(green):
    status, found = green
    assert status == 0, found
    assert set(ROWS) <= {one["name"] for one in found["rows"]}
    assert set(WALLS) <= {one["wall"] for one in found["walls"]}
    for one in found["walls"]:
        assert one["asked"] and one["found"] and one["good"] is True and "mend" not in one, one


def test_facts_are_the_engines(engine, base_image, green):
    version, info = engine.json("GET", "/version"), engine.json("GET", "/info")
    _, found = green
    text = row(found, "engine")["text"]
    assert version["Version"] in text and version["Arch"] in text and engine.path in text
    assert info["Driver"] in row(found, "storage")["text"]
    assert info["CgroupDriver"] in row(found, "cgroup")["text"]
    assert "version " + info["CgroupVersion"] in row(found, "cgroup")["text"]
    assert info["KernelVersion"] in row(found, "host")["text"]
    image = engine.json("GET", "/images/%s/json" % base_image)
    assert row(found, "image")["text"] == "%s, %s" % (base_image, image["Id"])
    assert re.fullmatch(r"3\.\d+\.\d+", row(found, "python")["text"])
    assert 0 <= found["latency_ms"] < 1000
    mode = os.stat(engine.path).st_mode & 0o7777
    assert "mode %04o" % mode in row(found, "socket")["text"]


def test_old_parts_are_a_warning_only(engine, green):
    """A distribution may have patched them under the old number."""
    _, found = green
    parts = {one["Name"]: one["Version"] for one in engine.json("GET", "/version")["Components"]}
    if not re.match(r"1\.1\.([0-9]|1[01])\b", parts.get("runc", "")):
        pytest.skip("runc here is no old one")
    flaws = [one for one in found["rows"] if one["name"] == "flaw"]
    assert any("CVE-2024-21626" in one["text"] and "1.1.12" in one["text"] for one in flaws)
    assert all(one["verdict"] == "warn" and "distribution" in one["mend"] for one in flaws)


@pytest.mark.timeout(90, func_only=True)
def test_packages_are_those_of_the_image(engine, datascience_image):
    status, found = report("--image=" + datascience_image)
    assert status == 0, found
    text = row(found, "packages")["text"]
    assert int(text.split(":")[0]) >= len(found["packages"]) > 0 and len(found["packages"]) <= 40
    assert any(re.match(r"(?i)numpy \d", one) for one in found["packages"]), found["packages"]
    assert found["packages"] == sorted(found["packages"], key=lambda one: one.split()[0].lower())


def test_the_table_is_for_people(engine, base_image):
    status, out, err = doctor(*engine_flags())
    assert (status, err) == (0, "") and "\033" not in out
    assert re.search(r"^engine +ok +", out, re.M)
    assert re.search(r"^wall +ok +network +asked: lo alone; found: lo$", out, re.M)
    assert "FAIL" not in out


def test_colors_on_a_terminal_only(engine, base_image):
    command = "%s doctor %s" % (BINARY, " ".join(engine_flags()))
    for env, colored in (({"TERM": "xterm"}, True), ({"TERM": "dumb"}, False),
                         ({"TERM": "xterm", "NO_COLOR": "1"}, False)):
        done = subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=80, env=environment(env), check=True)
        assert (b"\033[32mok" in done.stdout) == colored


def test_red_without_an_engine():
    status, out, _ = doctor("--json", "--docker-host=/nonexistent/docker.sock")
    found = json.loads(out)
    assert status == 1 and found["good"] is False and found["walls"] == []
    assert [one["name"] for one in found["rows"]] == ["engine"]
    assert "/nonexistent/docker.sock" in row(found, "engine")["text"]


def test_red_without_the_image(engine):
    status, found = report("--image=does-not-exist:1", "--pull=never")
    assert status == 1 and row(found, "engine")["verdict"] == "ok"
    assert row(found, "image")["verdict"] == "fail"
    assert "docker pull does-not-exist:1" in row(found, "image")["text"]


@pytest.mark.parametrize("mode, folder_mode, verdict", [
    (0o666, 0o755, "fail"), (0o660, 0o755, "ok"), (0o666, 0o700, "ok")])
def test_socket_for_everybody(engine, base_image, open_folder, mode, folder_mode, verdict):
    path = open_folder / "engine.sock"
    with Proxy(str(path), engine.path):
        path.chmod(mode)
        open_folder.chmod(folder_mode)
        status, out, _ = doctor("--json", "--docker-host=%s" % path)
    found = json.loads(out)
    assert row(found, "socket")["verdict"] == verdict, row(found, "socket")
    assert status == (1 if verdict == "fail" else 0)
    assert "%04o" % mode in row(found, "socket")["text"]
    if verdict == "fail":
        assert row(found, "socket")["mend"].startswith("chmod o-rw %s" % path)


@pytest.mark.parametrize("mode, verdict", [(0o600, "ok"), (0o640, "ok"), (0o644, "fail"),
                                           (0o620, "fail")])
def test_token_file(engine, base_image, tmp_path, mode, verdict):
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    path.chmod(mode)
    status, found = report("--token-file=%s" % path)
    assert row(found, "token-file")["verdict"] == verdict
    assert status == (1 if verdict == "fail" else 0)
    assert "%04o" % mode in row(found, "token-file")["text"] and TOKEN not in json.dumps(found)
    if verdict == "fail":
        assert row(found, "token-file")["mend"] == "chmod 600 %s" % path


def test_token_file_that_is_none(engine, base_image, tmp_path):
    (tmp_path / "short").write_text("short\n")
    for name in ("absent", "short"):
        status, found = report("--token-file=%s" % (tmp_path / name))
        assert status == 1 and row(found, "token-file")["verdict"] == "fail"


def test_address(engine, base_image, tmp_path):
    status, found = report("--http=0.0.0.0:8000")
    assert status == 1 and "--token-file" in row(found, "http")["mend"]
    assert report("--http=0.0.0.0:8000", env={"PYTHON_SANDBOX_TOKEN": TOKEN})[0] == 0
    assert row(report("--http=localhost:8000")[1], "http")["verdict"] == "ok"
    status, found = report("--http=::1:8000")
    assert status == 1 and "is no address to listen at" in row(found, "http")["text"]


def test_audit_log(engine, base_image, tmp_path):
    path = tmp_path / "audit.log"
    status, found = report("--audit-log=%s" % path)
    assert status == 0 and "will be made" in row(found, "audit-log")["text"]
    assert not path.exists(), "doctor made it"
    path.write_text("no line of ours\n")
    status, found = report("--audit-log=%s" % path)
    assert status == 1 and "line 1" in row(found, "audit-log")["text"]
    link = tmp_path / "link"
    link.symlink_to(path)
    status, found = report("--audit-log=%s" % link)
    assert status == 1 and "symbolic link" in row(found, "audit-log")["text"]
    status, found = report("--audit-log=%s" % (tmp_path / "no" / "folder"))
    assert status == 1 and row(found, "audit-log")["verdict"] == "fail"


SABOTAGES = [
    ("mounts", lambda body: body["HostConfig"].update(ReadonlyRootfs=False), None, "/"),
    ("processes", lambda body: body["HostConfig"].pop("PidsLimit"), "128", "max"),
    ("environment", lambda body: body["Env"].append("EXTRA=1"), "the variables of profile and image",
     "EXTRA"),
    ("RLIMIT_CORE", lambda body: body["HostConfig"].update(
        Ulimits=[u for u in body["HostConfig"]["Ulimits"] if u["Name"] != "core"]), "0",
     "another limit"),
]


@pytest.mark.parametrize("name, change, asked, found", SABOTAGES, ids=[s[0] for s in SABOTAGES])
def test_a_wall_that_does_not_stand(engine, base_image, tmp_path, name, change, asked, found):
    path = str(tmp_path / "engine.sock")
    with Proxy(path, engine.path, change):
        status, out, err = doctor("--json", "--docker-host=" + path)
        table = doctor("--docker-host=" + path)
    whole = json.loads(out)
    assert (status, err) == (1, "")
    one = wall(whole, name)
    assert one["good"] is False and one["mend"] and found in one["found"]
    assert asked is None or one["asked"] == asked
    assert [w["wall"] for w in whole["walls"] if not w["good"]] == [name]
    assert row(whole, "run")["verdict"] == "fail" and "'%s'" % name in row(whole, "run")["text"]
    assert table[0] == 1 and re.search(r"^wall +FAIL  %s " % name, table[1], re.M)
    assert "mend: " + one["mend"] in table[1]


def test_nothing_is_left(engine, base_image):
    """Not of a good doctor, and not of one that is stopped."""
    before = {c["Id"] for c in engine.containers()}
    process = subprocess.Popen([BINARY, "doctor", *engine_flags()], stdout=subprocess.PIPE, text=True,
                               env=environment())
    process.stdout.readline()
    process.terminate()
    process.stdout.read()
    process.stdout.close()
    assert process.wait(10) == 1
    assert not [c for c in engine.containers(process.pid) if c["Id"] not in before]
