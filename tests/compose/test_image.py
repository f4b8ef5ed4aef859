"""The server's image: what is in it, and how the server fares in a container that has nothing else."""

import contextlib
import json
import os
import pathlib
import re
import tarfile
import tempfile
import time

import pytest
import stand
from stand import HARDENED, LABEL, SOCKET, docker, inspect, run, sandboxes, wait_until

SIZE_MAX = 48_000_000
MOUNT = "--volume=%s:%s" % (SOCKET, SOCKET)


def group():
    return "--group-add=%d" % stand.group_of_socket()


def product(image, *arguments, flags=(), **options):
    return docker("run", "--rm", "--interactive", "--network=none", *HARDENED, MOUNT, *flags, image, *arguments,
                  **options)


@contextlib.contextmanager
def serving(image, *flags, command=()):
    """A server over HTTP in a container of its own; its id."""
    ident = docker("run", "--detach", "--network=none", *HARDENED, MOUNT, group(), *flags,
                   "--env=PYTHON_SANDBOX_HTTP=127.0.0.1:8000", image, *command).stdout.strip()
    try:
        assert wait_until(lambda: is_ready(ident), 30), docker("logs", ident).stderr
        yield ident
    finally:
        print(docker("logs", ident).stderr)
        docker("rm", "--force", ident)
        wait_until(lambda: not sandboxes(ident), 10)


def health(ident, *flags):
    return docker("exec", ident, "/usr/bin/python-sandbox", "health", *flags, check=False)


def is_ready(ident):
    return health(ident, "--ready").returncode == 0


@pytest.fixture(scope="module")
def content(server_image):
    """Every file of the image."""
    ident = docker("create", server_image).stdout.strip()
    try:
        with tempfile.TemporaryDirectory() as folder:
            archive = pathlib.Path(folder, "image.tar")
            docker("export", "--output=%s" % archive, ident)
            with tarfile.open(archive) as tar:
                return {"/" + m.name: m for m in tar.getmembers()}
    finally:
        docker("rm", ident)


def test_labels_user_and_check(server_image):
    config = inspect(server_image)["Config"]
    version = re.search(r"^VERSION *:= *(\S+)", (stand.ROOT / "Makefile").read_text(), re.M).group(1)
    assert config["Labels"]["org.opencontainers.image.version"] == version
    assert config["Labels"]["org.opencontainers.image.title"] == "python-sandbox"
    assert config["User"] == "60599:60599"
    assert config["Entrypoint"] == ["/usr/bin/python-sandbox"] and config["Cmd"] == ["serve"]
    assert config["Healthcheck"]["Test"] == ["CMD", "/usr/bin/python-sandbox", "health"]
    assert product(server_image, "version").stdout.startswith("python-sandbox " + version)


@pytest.mark.timeout(900)
def test_version_and_revision_are_arguments_of_the_build(server_image, base_image):
    tag = stand.build(stand.ROOT, "numbered", base_image, "docker/server.Dockerfile", VERSION="7.8.9",
                      REVISION="v7-1-gabc")
    try:
        labels = inspect(tag)["Config"]["Labels"]
        assert labels["org.opencontainers.image.version"] == "7.8.9"
        assert labels["org.opencontainers.image.revision"] == "v7-1-gabc"
        text = product(tag, "version").stdout
        assert text.startswith("python-sandbox 7.8.9\nrevision       v7-1-gabc\n")
    finally:
        docker("rmi", tag)


def test_nothing_but_the_program_and_its_libraries(server_image, content):
    assert inspect(server_image)["Size"] < SIZE_MAX
    files = {name for name, member in content.items() if member.isfile() and member.size}
    libraries = {name for name in files if re.fullmatch(r"(/usr)?/lib(64|/[\w-]+-linux-gnu)?/[\w.+-]+\.so[.\d]*", name)}
    others = {"/usr/bin/python-sandbox", "/etc/passwd", "/etc/group", "/etc/ssl/certs/ca-certificates.crt"}
    assert files - libraries == others
    assert any("libcurl.so.4" in name for name in libraries)
    assert not [name for name, member in content.items() if member.mode & 0o6000]
    for shell in ("/bin/sh", "/bin/bash", "/usr/bin/env"):
        done = docker("run", "--rm", "--entrypoint=" + shell, server_image, check=False)
        assert done.returncode == 127 and "no such file" in done.stderr, done


def test_no_folder_can_be_written_by_the_user(content):
    loose = [name for name, member in content.items() if member.mode & 0o022 and not member.issym()]
    assert [name for name in loose if not name.startswith(("/dev", "/proc", "/sys"))] == []
    assert {member.uid for name, member in content.items() if not name.startswith("/dev")} == {0}


def test_doctor_is_content_inside(server_image):
    done = product(server_image, "doctor", "--json", flags=[group()], check=False)
    bad = [row for row in json.loads(done.stdout)["rows"] if row["verdict"] == "fail"]
    assert done.returncode == 0 and not bad, bad


def test_a_script_runs(server_image):
    done = product(server_image, "run", "-", input="print(6 * 7)", flags=[group()])
    assert done.stdout == "42\n"


def test_an_official_client_over_stdio(server_image):
    command = ["docker", "run", "--rm", "--interactive", "--network=none", *HARDENED, MOUNT, group(), server_image]
    answer = stand.official(None, command=command)
    assert stand.answered(answer), answer
    assert answer["tools"] == ["run_python"]


def test_a_wrong_group_says_what_to_do(server_image):
    wish = 'group_add: ["%d"]' % stand.group_of_socket()
    done = product(server_image, "run", "-", input="print(1)", check=False)
    assert done.returncode == 125
    assert "Permission denied" in done.stderr and wish in done.stderr and "usermod" not in done.stderr
    command = ["docker", "run", "--rm", "--interactive", "--network=none", *HARDENED, MOUNT, server_image]
    answer = stand.official(None, command=command)
    assert answer["result"]["structuredContent"]["status"] == "sandbox_error"
    assert wish in answer["result"]["content"][0]["text"]


def status_of(pid):
    with open("/proc/%s/status" % pid, encoding="ascii") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def processes_of(ident):
    top = docker("top", ident, "-o", "pid,stat,args").stdout.splitlines()[1:]
    return [line.split(None, 2) for line in top]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees into a container from outside")
def test_both_halves_confine_themselves_inside(server_image):
    with serving(server_image) as ident:
        serving_pid = str(inspect(ident)["State"]["Pid"])
        found = {args.split()[1]: status_of(pid) for pid, _, args in processes_of(ident)
                 if pid != serving_pid and " front" in args}
        found["serve"] = status_of(serving_pid)
        assert set(found) == {"front", "serve"}
        for name, status in found.items():
            assert status["Uid"].split() == ["60599"] * 4, name
            assert status["NoNewPrivs"] == "1", name
            # One filter is the engine's, the other its own.
            assert status["Seccomp"] == "2" and int(status["Seccomp_filters"]) == 2, name
            assert {status["Cap" + kind] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}, name


def test_process_1_ends_when_it_is_asked_to(server_image):
    with serving(server_image) as ident:
        start = time.monotonic()
        docker("stop", "--time=15", ident)
        assert time.monotonic() - start < 4
        assert inspect(ident)["State"]["ExitCode"] == 0
        assert wait_until(lambda: not sandboxes(ident), 3)


def test_process_1_keeps_no_zombies(server_image):
    with serving(server_image) as ident:
        for _ in range(5):
            assert health(ident).stdout == "ok\n"
            docker("exec", "--interactive", ident, "/usr/bin/python-sandbox", "run", "-", input="print(1)")
        assert not [line for line in processes_of(ident) if line[1].startswith("Z")]


def test_the_check_goes_by_the_flags_of_process_1(server_image):
    with serving(server_image, command=["serve", "--http=127.0.0.1:9000"]) as ident:
        assert "127.0.0.1:9000" in docker("logs", ident).stderr
        assert (health(ident).returncode, health(ident).stdout) == (0, "ok\n")
        assert health(ident, "--http=127.0.0.1:8000").returncode == 1
    command = ["docker", "run", "--detach", "--interactive", "--network=none", MOUNT, group(), server_image]
    ident = run(command).stdout.strip()
    try:
        assert health(ident).returncode == 0 and "stdin and stdout" in health(ident).stdout
    finally:
        docker("rm", "--force", ident)


def leave_behind(image, owner, state="created"):
    ident = docker("create", "--label=%s=%s" % (LABEL, owner), "--network=none", image,
                   "sleep", "1000").stdout.strip()
    if state == "running":
        docker("start", ident)
    return ident


def mark_of(ident):
    """The owner label of a server's own containers."""
    return inspect(sandboxes(ident)[0])["Config"]["Labels"][LABEL]


def exists(ident):
    return docker("inspect", ident, check=False).returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root ends a container's process from outside")
def test_a_server_that_was_killed_leaves_nothing_and_harms_no_sibling(server_image, base_image):
    with serving(server_image, "--restart=always") as ident, serving(server_image) as sibling:
        assert wait_until(lambda: sandboxes(ident) and sandboxes(sibling), 10)
        first, other = mark_of(ident), mark_of(sibling)
        started = inspect(ident)["State"]["StartedAt"]
        left = [leave_behind(base_image, first), leave_behind(base_image, first, "running")]
        kept = [leave_behind(base_image, other), leave_behind(base_image, other, "running")]
        try:
            os.kill(inspect(ident)["State"]["Pid"], 9)
            assert wait_until(lambda: inspect(ident)["State"]["StartedAt"] != started and is_ready(ident), 30)
            assert wait_until(lambda: not any(exists(c) for c in left), 10)
            assert all(exists(c) for c in kept)
            marks = {inspect(c)["Config"]["Labels"][LABEL] for c in sandboxes(ident)}
            assert marks and first not in marks, marks
            assert is_ready(sibling) and mark_of(sibling) == other
        finally:
            for container in left + kept:
                docker("rm", "--force", container, check=False)


def test_no_entry_names_a_command_that_only_a_container_has(server_image):
    done = docker("run", "--rm", server_image, "client-config", "vscode", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "run -i --rm -v %s:%s --group-add GROUP IMAGE" % (SOCKET, SOCKET) in done.stderr
    assert "stat -c %g" in done.stderr and "--http=URL" in done.stderr
    done = docker("run", "--rm", server_image, "client-config", "vscode", "--http=localhost:8000")
    assert '"url": "http://localhost:8000/mcp"' in done.stdout


def test_a_container_without_the_socket_is_told_to_mount_it(server_image):
    done = docker("run", "--rm", "--env=HOME=/", server_image, "doctor", check=False)
    assert done.returncode == 1 and "-v %s:%s" % (SOCKET, SOCKET) in done.stdout, done
    assert "systemctl" not in done.stdout and "//.docker" not in done.stdout


def test_buildkit_builds_it_too(engine, base_image):
    """With the distribution's client, which has it built in; others ask for a plugin."""
    client, tag = "/usr/bin/docker", "python-sandbox-test:buildkit"
    if not os.access(client, os.X_OK):
        pytest.skip("there is no %s" % client)
    try:
        done = run([client, "build", "--network=host", "--build-arg=BASE=" + base_image, "--tag=" + tag,
                    "--file=%s" % (stand.ROOT / "docker/server.Dockerfile"), stand.ROOT],
                   env=stand.clean_environment(DOCKER_BUILDKIT="1"), check=False, timeout=280)
        if "buildx component is missing" in done.stderr:
            pytest.skip("%s has no BuildKit" % client)
        assert done.returncode == 0 and "[internal] load build definition" in done.stderr, done.stderr[-3000:]
        assert product(tag, "version", flags=[group()]).stdout.startswith("python-sandbox ")
        assert inspect(tag)["Config"]["User"] == "60599:60599"
    finally:
        docker("rmi", tag, check=False)
