"""Folders of the host that a profile grants: read in the container, and nothing else."""

import hashlib
import json
import os
import pathlib
import re
import socket
import subprocess

import hostmount
import pytest
from sandbox import BINARY, Server, environment, py, wait_until


@pytest.fixture
def sales(tmp_path_factory):
    """A folder that a granted path may have: temporary ones are not below a home."""
    folder = tmp_path_factory.mktemp("sales")
    folder.chmod(0o755)
    for parent in folder.parents[:2]:
        parent.chmod(0o755)
    (folder / "2024.csv").write_text("month,total\njan,3\nfeb,4\n")
    (folder / "tool").write_bytes(pathlib.Path("/bin/true").read_bytes())
    (folder / "tool").chmod(0o755)
    return folder


def configuration(folder, **profiles):
    path = folder / "config.json"
    path.write_text(json.dumps({"profiles": profiles}))
    return path


def run_verb(*arguments):
    return subprocess.run([BINARY, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, env=environment())


def volumes(engine):
    return {volume["Name"] for volume in engine.json("GET", "/volumes")["Volumes"] or []}


def test_a_granted_folder_is_there_to_read_only(engine, sales, tmp_path):
    before = volumes(engine)
    config = configuration(tmp_path, plain={},
                           sales={"description": "Sales", "data": {"/data/sales": str(sales)}})
    with Server("--config=%s" % config) as server:
        listed = json.dumps(server.request("tools/list"))
        assert "Sales. Data to read: /data/sales. (" in listed and str(sales) not in listed
        result = server.run(py("""
            import csv, os, subprocess
            print(sum(int(row["total"]) for row in csv.DictReader(open("/data/sales/2024.csv"))))
            for attempt in (lambda: open("/data/sales/new", "w"),
                            lambda: os.unlink("/data/sales/2024.csv"),
                            lambda: os.chmod("/data/sales/2024.csv", 0o777),
                            lambda: subprocess.run(["/data/sales/tool"])):
                try:
                    attempt()
                    print("worked")
                except OSError as error:
                    print(type(error).__name__, error.errno)
            line, = (line for line in open("/proc/self/mountinfo") if " /data/sales " in line)
            print(sorted(set(line.split()[5].split(",")) & {"ro", "nosuid", "nodev", "noexec"}))
            """), profile="sales")
        assert result.status == "ok", result
        assert result.stdout.splitlines() == [
            "7", "OSError 30", "OSError 30", "OSError 30", "PermissionError 13",
            "['nodev', 'noexec', 'nosuid', 'ro']"], result
        result = server.run("import os; print(os.path.exists('/data'))", profile="plain")
        assert (result.status, result.stdout) == ("ok", "False\n"), result
    assert sorted(path.name for path in sales.iterdir()) == ["2024.csv", "tool"]
    assert wait_until(lambda: volumes(engine) <= before, 10), volumes(engine) - before


def test_what_the_host_mounts_later_stays_outside(sales, tmp_path):
    """Neither does it come up in a container that waits, nor does the end of that one take it from the host."""
    inside = sales / "inside"
    inside.mkdir()
    config = configuration(tmp_path, a={"data": {"/data": str(sales)}})
    with hostmount.shared(sales), Server("--config=%s" % config, "--warm=1") as server:
        assert server.run("print(1)").status == "ok"
        with hostmount.mounted("-t", "tmpfs", "none", inside):
            (inside / "secret").write_text("of the host")
            result = server.run(py("""
                import os
                print(os.listdir("/data/inside"), [l for l in open("/proc/self/mountinfo") if "/data/inside" in l])
                """))
            assert (result.status, result.stdout) == ("ok", "[] []\n"), result
            server.close()
            assert os.path.ismount(inside) and (inside / "secret").read_text() == "of the host"


def test_a_folder_that_the_engine_lacks_closes_its_profile_alone(engine, tmp_path):
    config = configuration(tmp_path, plain={}, lost={"data": {"/data": "/srv/no/such/folder"}})
    with Server("--config=%s" % config) as server:
        result = server.run("print(1)", profile="lost")
        assert result.status == "sandbox_error", result
        assert "/srv/no/such/folder" in result.text and "grants as data" in result.text, result
        assert server.run("print(1)", profile="plain").status == "ok"


def test_what_a_link_leads_to_is_what_counts(sales, tmp_path):
    link = tmp_path / "link"
    link.symlink_to("/etc")
    done = run_verb("policy", "--config=%s" % configuration(tmp_path, a={"data": {"/data": str(link)}}))
    assert done.returncode == 2 and "/etc runs the host" in done.stderr, done
    link.unlink()
    link.symlink_to(sales)
    done = run_verb("policy", "--config=%s" % configuration(tmp_path, a={"data": {"/data": str(link)}}))
    assert done.returncode == 0 and "/data is %s of the host: read-only" % sales in done.stdout, done


def test_a_file_is_no_folder(tmp_path):
    file = tmp_path / "file"
    file.write_text("x")
    done = run_verb("policy", "--config=%s" % configuration(tmp_path, a={"data": {"/data": str(file)}}))
    assert done.returncode == 2 and "is no folder" in done.stderr, done


def docker_context(folder, host):
    """Settings of the Docker CLI whose context names that engine."""
    meta = folder / "contexts" / "meta" / hashlib.sha256(b"near").hexdigest()
    meta.mkdir(parents=True)
    (meta / "meta.json").write_text(json.dumps({"Name": "near", "Endpoints": {"docker": {"Host": host}}}))
    return {"DOCKER_CONFIG": str(folder), "DOCKER_CONTEXT": "near"}


@pytest.mark.parametrize("named", ["flag", "variable", "context"])
def test_no_folder_with_the_engines_socket(tmp_path, named):
    folder = tmp_path / "engine"
    folder.mkdir()
    path = "%s/docker.sock" % folder
    config = configuration(tmp_path, a={"data": {"/data": str(folder)}})
    settings = {
        "flag": {},
        "variable": {"DOCKER_HOST": "unix://" + path},
        "context": docker_context(tmp_path / "docker", "unix://" + path),
    }[named]
    flags = ["--docker-host=" + path] if named == "flag" else []
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        done = subprocess.run([BINARY, "policy", "--config=%s" % config, *flags], env=environment(settings),
                              capture_output=True, text=True)
    assert done.returncode == 2 and "has the engine's socket in it, %s" % path in done.stderr, done


def data_row(config):
    done = run_verb("doctor", "--config=%s" % config)
    [row] = re.findall(r"^data +(.*)$", done.stdout, re.M)
    return done.returncode, row


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o754, 0o751])
def test_doctor_names_a_folder_that_scripts_cannot_open(engine, sales, tmp_path, mode):
    config = configuration(tmp_path, a={"data": {"/data": str(sales)}})
    sales.chmod(mode)
    assert data_row(config) == (1, "FAIL  %s: mode %04o: scripts, which have a user id of their own, "
                                   "cannot open it" % (sales, mode))
    assert "chmod o+rx %s\n" % sales in run_verb("doctor", "--config=%s" % config).stdout
    sales.chmod(mode | 0o005)
    assert data_row(config)[0] == 0


def test_doctor_names_what_a_mount_does_not_close(sales, tmp_path):
    config = configuration(tmp_path, a={"data": {"/data": str(sales)}})
    closed = sales / "closed"
    closed.mkdir(0o700)
    os.mkfifo(closed / "pipe")
    os.chmod(closed / "pipe", 0o666)
    os.mkfifo(sales / "own")
    os.chmod(sales / "own", 0o600)
    assert data_row(config) == (0, "ok    %s: no socket or pipe that scripts can write to" % sales)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(sales / "program.sock"))
        os.chmod(sales / "program.sock", 0o777)
        assert data_row(config) == (0, "warn  %s: scripts reach the program behind it" % (sales / "program.sock"))
    os.chmod(sales / "own", 0o622)
    assert "and others like it" in data_row(config)[1]


def test_gpus_are_refused_by_name_where_the_engine_has_none(engine, tmp_path):
    """This engine is one without GPUs."""
    if "nvidia" in engine.json("GET", "/info")["Runtimes"]:
        pytest.skip("this engine has a runtime for GPUs")
    config = configuration(tmp_path, plain={}, gpu={"gpus": "all"})
    with Server("--config=%s" % config) as server:
        result = server.run("print(1)", profile="gpu")
        assert result.status == "sandbox_error", result
        assert "no runtime for GPUs" in result.text and "nvidia-ctk" in result.text, result
        assert server.run("print(1)", profile="plain").status == "ok"
    done = run_verb("run", "--config=%s" % config, "--profile=gpu", "/dev/null")
    assert done.returncode != 0 and "NVIDIA Container Toolkit" in done.stderr, done
    done = run_verb("doctor", "--config=%s" % config)
    assert done.returncode == 1 and "profile gpu: the engine has no runtime for GPUs" in done.stdout, done
