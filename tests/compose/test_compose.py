"""The compose file, as docker-compose brings it up: what it serves to whom, how the server's container
is walled in, and what is left of it."""

import json
import os
import shutil
import socket
import stat

import pytest
import stand
from stand import answered, docker, inspect, official, run, sandboxes, wait_until

pytestmark = pytest.mark.skipif(not shutil.which("docker-compose"), reason="no docker-compose")

OVERRIDES = ("datascience", "gpu", "tls", "monitoring")
NAME = "sandbox.example.com"


@pytest.fixture(scope="module")
def project(server_image, base_image, tmp_path_factory):
    with stand.Project(tmp_path_factory.mktemp("up"), server_image, base_image) as project:
        yield project.up()


def test_a_client_with_the_token_is_served(project):
    answer = official(project.url, project.token, progress=True)
    assert answered(answer), answer
    assert answer["tools"] == ["run_python"]


def test_a_client_without_the_token_is_refused(project):
    for token in (None, "wrong" * 10, project.token[:-1]):
        answer = official(project.url, token)
        assert "error" in answer and answer["statuses"] == [401], answer


def test_it_listens_on_loopback_alone(project):
    ports = inspect(project.ident())["NetworkSettings"]["Ports"]
    assert ports == {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": str(project.port)}]}


def test_the_server_is_walled_in(project):
    found = inspect(project.ident())
    host, config = found["HostConfig"], found["Config"]
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"] and not host["CapAdd"]
    assert host["SecurityOpt"] == ["no-new-privileges:true"]
    assert host["Privileged"] is False and not host["Devices"]
    assert host["Memory"] == 512 << 20 and host["PidsLimit"] == 32
    assert host["RestartPolicy"]["Name"] == "always"
    assert host["GroupAdd"] == [str(stand.group_of_socket())]
    assert (host["PidMode"], host["UsernsMode"], host["IpcMode"] in ("private", "shareable")) == ("", "", True)
    assert host["NetworkMode"] == project.env["COMPOSE_PROJECT_NAME"] + "_default"
    assert config["User"] == "60599:60599"
    mounts = {m["Destination"]: m for m in found["Mounts"]}
    assert set(mounts) == {"/var/run/docker.sock", "/run/secrets/token"}
    assert mounts["/run/secrets/token"]["RW"] is False
    assert config["Healthcheck"]["Test"] == ["CMD", "/usr/bin/python-sandbox", "health", "--ready"]
    assert project.token not in json.dumps(found)


def test_the_image_for_scripts_came_with_it(project, base_image):
    state = inspect(project.compose("ps", "--all", "--quiet", "image").stdout.strip())
    assert (state["State"]["Status"], state["State"]["ExitCode"]) == ("exited", 0)
    assert state["Config"]["Image"] == base_image


@pytest.mark.skipif(os.geteuid() != 0, reason="only root ends a container's process from outside")
def test_a_server_that_was_killed_comes_back(project):
    ident, before = project.ident(), project.state()
    os.kill(before["Pid"], 9)
    assert wait_until(lambda: project.state()["Pid"] not in (0, before["Pid"]), 20)
    assert wait_until(lambda: answered(official(project.url, project.token)), 30)
    assert project.ident() == ident
    own = {c: inspect(c)["State"]["Status"] for c in sandboxes(ident)}
    assert set(own.values()) <= {"running"}, own


def test_settings_reach_the_server(server_image, base_image, tmp_path):
    with stand.Project(tmp_path, server_image, base_image, PYTHON_SANDBOX_MEMORY="300m",
                       PYTHON_SANDBOX_WARM="1", PYTHON_SANDBOX_ALLOWED_HOST=NAME) as project:
        project.up()
        code = "print(open('/sys/fs/cgroup/memory/memory.limit_in_bytes').read().strip())" \
            if os.path.exists("/sys/fs/cgroup/memory") else "print(open('/sys/fs/cgroup/memory.max').read().strip())"
        answer = official(project.url, project.token, code=code)
        assert answered(answer, "%d\n" % (300 << 20)), answer


def test_a_wrong_group_says_what_to_do(server_image, base_image, tmp_path):
    with stand.Project(tmp_path, server_image, base_image, DOCKER_GID="12345") as project:
        project.compose("up", "--detach")
        assert wait_until(lambda: "group_add" in project.compose("logs", "--no-color", "server").stdout, 20)
        wish = 'group_add: ["%d"]' % stand.group_of_socket()
        assert wish in project.compose("logs", "--no-color", "server").stdout
        answer = official(project.url, project.token)
        assert answer["result"]["structuredContent"]["status"] == "sandbox_error"
        assert wish in answer["result"]["content"][0]["text"]
        done = docker("exec", project.ident(), "/usr/bin/python-sandbox", "health", "--ready", check=False)
        assert done.returncode == 1 and "no Docker Engine answers" in done.stderr


def test_a_socket_that_is_not_there_fails_the_start(server_image, base_image, tmp_path):
    path = tmp_path / "nowhere/docker.sock"
    with stand.Project(tmp_path, server_image, base_image) as project:
        project.env["DOCKER_SOCKET"] = str(path)
        done = project.compose("up", "--detach", check=False)
        assert done.returncode != 0 and str(path) in done.stderr, done
        assert not path.parent.exists()


def test_a_directory_in_the_socket_s_place_says_what_to_do(server_image, base_image, tmp_path):
    path = tmp_path / "docker.sock"
    path.mkdir(0o700)
    with stand.Project(tmp_path, server_image, base_image) as project:
        project.env["DOCKER_SOCKET"] = str(path)
        project.compose("up", "--detach")
        for text in ("/var/run/docker.sock: is a directory, not a socket", "path on the host is wrong"):
            assert wait_until(lambda t=text: t in project.compose("logs", "--no-color", "server").stdout, 20), text
        text = official(project.url, project.token)["result"]["content"][0]["text"]
        assert "is a directory, not a socket" in text and "group" not in text and "label" not in text, text


def test_an_image_that_is_not_there_fails_the_start(server_image, tmp_path):
    with stand.Project(tmp_path, server_image, "localhost:1/no/such-image:1") as project:
        done = project.compose("up", "--detach", check=False)
        assert done.returncode != 0 and "such-image" in done.stderr, done


def test_compose_builds_the_image(base_image, tmp_path):
    """The legacy builder, from the compose file's own build entry."""
    tag = "python-sandbox-test:built-by-compose"
    with stand.Project(tmp_path, tag, base_image, SANDBOX_BASE=base_image, SANDBOX_REVISION="r7") as project:
        network = project.folder / "network.yml"
        network.write_text("services:\n  server:\n    build:\n      context: %s\n      network: host\n" % stand.ROOT)
        project.files.append("--file=network.yml")
        try:
            project.compose("build", "server", timeout=900)
            config = inspect(tag)["Config"]
            assert config["User"] == "60599:60599"
            assert config["Labels"]["org.opencontainers.image.revision"] == "r7"
        finally:
            docker("rmi", tag, check=False)


def test_compose_builds_an_image_for_scripts(server_image, base_image, tmp_path):
    """By the entry of datascience.yml, with the shortest of the lists."""
    tag = "python-sandbox-test:scripts-by-compose"
    text = """
        services:
          image:
            image: %s
            build:
              context: %s
              network: host
              args: {REQUIREMENTS: slim.txt}
        """ % (tag, stand.ROOT / "docker/images")
    with stand.Project(tmp_path, server_image, base_image, "datascience") as project:
        (project.folder / "slim.yml").write_text(text)
        project.files.append("--file=slim.yml")
        try:
            project.compose("build", "image", timeout=900)
            done = docker("run", "--rm", "--network=none", tag, "python3", "-c", "print(6 * 7)")
            assert done.stdout == "42\n"
            resolved = project.compose("config").stdout
            assert "PYTHON_SANDBOX_IMAGE: python-sandbox:datascience" in resolved and "BASE: " + base_image in resolved
        finally:
            docker("rmi", tag, check=False)


def test_what_is_missing_is_asked_for(server_image, base_image, tmp_path):
    with stand.Project(tmp_path, server_image, base_image) as project:
        (project.folder / ".env").unlink()
        done = project.compose("config", check=False)
        assert done.returncode != 0 and "compose/init.sh" in done.stderr
        project.init()
        project.files += ["--file=tls.yml"]
        done = project.compose("config", check=False)
        assert done.returncode != 0 and "SANDBOX_NAME" in done.stderr
        project.files.pop()


def test_init_changes_nothing_that_is_there(server_image, base_image, tmp_path):
    with stand.Project(tmp_path, server_image, base_image) as project:
        folder, token = project.folder / "secrets", project.folder / "secrets/token"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert len(project.token) == 43 and project.token.strip() == project.token
        assert token.read_text() != (folder / "grafana-password").read_text()
        assert token.read_text() == (folder / "metrics-token").read_text()
        assert all(stat.S_IMODE(file.stat().st_mode) == 0o444 for file in folder.iterdir())
        assert "DOCKER_GID=%d\n" % stand.group_of_socket() in (project.folder / ".env").read_text()
        before = {p: p.read_text() for p in (project.folder / ".env", token)}
        done = project.init()
        assert done.stdout == "" and {p: p.read_text() for p in before} == before
        assert (folder / "metrics-token").read_text() == project.token
        token.chmod(0o644)
        token.write_text("first-of-the-new\n%s\n" % project.token)
        assert project.init().stdout == ""
        token.write_text("first-of-the-new\nsecond\n")
        assert project.init().stdout == "made compose/secrets/metrics-token\n"
        assert (folder / "metrics-token").read_text() == "first-of-the-new"
        token.write_text("\n  \nlast-of-all\n")
        assert project.init().stdout == "made compose/secrets/metrics-token\n"
        assert (folder / "metrics-token").read_text() == "last-of-all"
        token.unlink()
        token.symlink_to(tmp_path / "nowhere")
        done = run([project.folder / "init.sh"], env=project.env, check=False)
        assert done.returncode == 1 and "secrets/token leads to no file" in done.stderr
        assert done.stderr.count("\n") == 1 and not (tmp_path / "nowhere").exists()
        token.unlink()
        token.write_text("last-of-all\n")
        (project.folder / ".env").unlink()
        project.env["DOCKER_SOCKET"] = "/nowhere/docker.sock"
        assert "/nowhere/docker.sock" in refusal(project) and not (project.folder / ".env").exists()
        del project.env["DOCKER_SOCKET"]
        project.init()


def refusal(project):
    done = run([project.folder / "init.sh"], env=project.env, check=False)
    assert done.returncode == 1 and done.stdout == "", done
    return done.stderr


def test_init_makes_secrets_readable(server_image, base_image, tmp_path):
    told = "compose/secrets/%s: made readable, mode 0444; the folder keeps others out\n"
    with stand.Project(tmp_path, server_image, base_image) as project:
        token, key = project.folder / "secrets/token", project.folder / "secrets/tls.key"
        token.chmod(0o600)
        key.write_text("key")
        key.chmod(0o640)
        assert project.init().stdout == told % "token" + told % "tls.key"
        assert {stat.S_IMODE(file.stat().st_mode) for file in (token, key)} == {0o444}
        assert project.init().stdout == ""
        elsewhere = tmp_path / "privkey.pem"
        key.rename(elsewhere)
        elsewhere.chmod(0o600)
        key.symlink_to(elsewhere)
        assert "compose/secrets/tls.key leads to a file" in refusal(project)
        assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o600


def test_init_tells_what_env_lacks(server_image, base_image, tmp_path):
    group = stand.group_of_socket()
    with stand.Project(tmp_path, server_image, base_image) as project, \
            socket.socket(socket.AF_UNIX) as listener:
        env, other = project.folder / ".env", tmp_path / "docker.sock"
        listener.bind(str(other))
        other_group = other.stat().st_gid if os.geteuid() == 0 else 0
        before = env.read_text()
        for text in before.replace("DOCKER_GID=%d" % group, "DOCKER_GID="), "", "DOCKER_GID=%d\n" % (group + 1):
            env.write_text(text)
            assert "set DOCKER_GID=%d, for /var/run/docker.sock, in it" % group in refusal(project)
            assert env.read_text() == text
        env.write_text(before)
        project.env["DOCKER_SOCKET"] = str(other)
        wish = "names another socket, /var/run/docker.sock: set DOCKER_SOCKET=%s and DOCKER_GID=%d in" % (other, other_group)
        assert wish in refusal(project) and env.read_text() == before
        env.write_text('DOCKER_SOCKET="%s"\nDOCKER_GID=%d\n' % (other, other_group))
        assert project.init().stdout == ""
        listener.close()
        other.unlink()
        assert project.init().stdout == ""
        env.write_text(before)
        assert "no engine at %s" % other in refusal(project)


def resolved(project, *overrides):
    files = ["--file=docker-compose.yml", *("--file=%s.yml" % name for name in overrides)]
    return run([stand.COMPOSE, *files, "config"], cwd=project.folder, env={**project.env, "SANDBOX_NAME": NAME}).stdout


@pytest.mark.parametrize("overrides", [(), *((name,) for name in OVERRIDES), OVERRIDES])
def test_the_files_follow_the_compose_specification(server_image, base_image, tmp_path, overrides):
    """Compose v2 implements it; docker-compose 1.29 has merged and filled them in here."""
    specification = pytest.importorskip("compose_spec")
    with stand.Project(tmp_path, server_image, base_image) as project:
        text = resolved(project, *overrides)
        compose = specification.PyCompose.from_yaml(text)
        compose.validate()
        assert {"server", "image"} <= set(compose.service_names())
        with pytest.raises(ValueError):
            specification.PyCompose.from_yaml(text.replace("read_only: true", "read_only: perhaps"))


@pytest.mark.parametrize("overrides", [(name,) for name in OVERRIDES])
def test_every_service_is_walled_in(server_image, base_image, tmp_path, overrides):
    yaml = pytest.importorskip("yaml")
    with stand.Project(tmp_path, server_image, base_image) as project:
        for name, service in yaml.safe_load(resolved(project, *overrides))["services"].items():
            assert service["read_only"] is True and service["cap_drop"] == ["ALL"], name
            assert service["security_opt"] == ["no-new-privileges:true"], name
            assert "mem_limit" in service and service["pids_limit"] <= 128, name
            assert service["restart"] in ("always", "unless-stopped", "no"), name
            assert "privileged" not in service and "cap_add" not in service, name
            assert name == "server" or not [v for v in service.get("volumes", []) if "docker.sock" in str(v)], name


def test_the_profile_for_gpus_makes_sense(server_image):
    done = docker("run", "--rm", "--volume=%s:/gpu.json:ro" % (stand.ROOT / "compose/gpu.json"), server_image,
                  "policy", "--config=/gpu.json", "--json")
    profiles = {p["profile"]: p["create"]["HostConfig"] for p in json.loads(done.stdout)["profiles"]}
    assert set(profiles) == {"default", "gpu"}
    assert profiles["gpu"]["DeviceRequests"][0]["Count"] == -1 and not profiles["default"].get("DeviceRequests")
