"""A real engine with --tlsverify on another machine: its network namespace and the server's are joined by one
cable."""

import os
import shutil
import signal
import subprocess
import tempfile
import time

import pytest
from own_engine import NEEDS_OWN_ENGINE, OwnEngine
from remote import LATE_S, Authority, start_sleeper
from sandbox import BINARY, Server, assert_gone, assert_serves, wait_until

pytestmark = [
    *NEEDS_OWN_ENGINE,
    pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl to make certificates with"),
    pytest.mark.timeout(240),
]

FAR, NEAR = "10.99.7.1", "10.99.7.2"
NAME = "engine.example"

SOON_S = 10

# Of the engine's kernel here, so that the test is short; 9 is the default, and gives 150 s.
PROBES = 2
KEEPALIVE_S = 15


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, timeout=10)


class Cable:
    """Two namespaces: the engine's has FAR, the server's NEAR."""

    def __init__(self):
        self.far = "ps-far-%d" % os.getpid()
        self.near = "ps-near-%d" % os.getpid()
        for name in (self.far, self.near):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", self.far, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", self.near)
        ip("-n", self.far, "address", "add", FAR + "/24", "dev", "cable")
        ip("-n", self.near, "address", "add", NEAR + "/24", "dev", "cable")
        self.plug()
        keep = "net.ipv4.tcp_keepalive_probes=%d" % PROBES
        subprocess.run(["ip", "netns", "exec", self.far, "sysctl", "-qw", keep], check=True, timeout=10)

    def plug(self):
        for name in (self.far, self.near):
            ip("-n", name, "link", "set", "cable", "up")

    def pull(self):
        ip("-n", self.near, "link", "set", "cable", "down")

    def remove(self):
        for name in (self.far, self.near):
            subprocess.run(["ip", "netns", "del", name], check=False, timeout=10)


@pytest.fixture(scope="module")
def cable():
    found = Cable()
    yield found
    found.remove()


@pytest.fixture(scope="module")
def authority():
    folder = tempfile.mkdtemp(prefix="ps-remote-")
    os.chmod(folder, 0o755)
    yield Authority(folder + "/ca")
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def own(engine, base_image, cable, authority):
    certs = authority.server("engine", "IP:%s,DNS:%s" % (FAR, NAME))
    flags = ["--tlsverify", "--tlscacert=%s/ca.pem" % certs, "--tlscert=%s/cert.pem" % certs]
    flags += ["--tlskey=%s/key.pem" % certs, "--host=tcp://%s:2376" % FAR]
    with OwnEngine(*flags, network=cable.far) as found:
        found.take_image(engine, base_image)
        yield found


@pytest.fixture(scope="module")
def client(authority):
    return authority.client()


@pytest.fixture
def serve(own, cable, client):
    """A server in its own namespace."""

    def start(*flags, host=FAR, certs=client, command=()):
        enter = ("nsenter", "--net=/run/netns/" + cable.near, *command, BINARY)
        return Server("--docker-host=tcp://" + host, "--docker-cert-path=%s" % certs, "--queue-timeout=90", *flags,
                      command=enter)

    return start


def test_it_serves(own, serve):
    with serve() as server:
        result = server.run("print(1)", LATE_S)
        assert (result.status, result.stdout) == ("ok", "1\n"), result
        calls = [server.start("print(%d)" % n) for n in range(8)]
        assert [call.result(LATE_S).stdout for call in calls] == ["%d\n" % n for n in range(8)]
        pid = server.pid
    assert_gone(own.client, pid, LATE_S)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_end_of_the_server_leaves_nothing(own, serve, how):
    with serve("--warm=1") as server:
        start_sleeper(server)
        assert wait_until(lambda: len(own.client.containers(server.pid, running=True)) == 2, LATE_S)
        if how == signal.SIGKILL:
            server.kill()
        else:
            server.signal(how)
        assert_gone(own.client, server.pid, 20)


def test_a_container_that_is_killed_is_told_at_once(own, serve):
    with serve("--warm=0") as server:
        for _ in range(5):
            call = start_sleeper(server)
            start = time.monotonic()
            own.client.raw("POST", "/containers/%s/kill" % own.client.containers(server.pid)[0]["Id"])
            assert call.result(LATE_S).status in ("killed", "sandbox_error")
            assert time.monotonic() - start < SOON_S
            assert wait_until(lambda: not own.client.containers(server.pid), LATE_S)


def test_it_outlives_its_engine(own, serve):
    with serve() as server:
        assert_serves(server)
        call = start_sleeper(server)
        own.stop()
        try:
            assert call.result(LATE_S).status == "sandbox_error"
            assert wait_until(lambda: "Connection refused" in server.run("print(1)", wait=LATE_S).text, 10, 0.2)
        finally:
            own.start()
        start = time.monotonic()
        assert wait_until(lambda: server.run("print(2)", wait=LATE_S).status == "ok", LATE_S, 0.2)
        print("served again %.2f s after the engine came back" % (time.monotonic() - start))
        pid = server.pid
    assert_gone(own.client, pid, LATE_S)


def test_a_name_is_resolved_before_the_filter(own, serve, tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 localhost\n%s %s\n" % (FAR, NAME))
    command = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(hosts))
    with serve(host=NAME, command=command) as server:
        assert_serves(server)
        own.stop()
        own.start()
        hosts.write_text("127.0.0.1 localhost\n")
        assert wait_until(lambda: server.run("print(2)", wait=LATE_S).status == "ok", LATE_S, 0.2)
    with serve(host=NAME) as server:
        result = server.run("print(1)", wait=LATE_S)
        assert result.status == "sandbox_error" and "'%s' cannot be resolved" % NAME in result.text, result
        assert "start the server again" in result.text, result


def test_what_the_engine_says_of_clients(own, serve, authority, tmp_path):
    other = Authority(tmp_path / "other", "another CA")
    foreign = other.client()
    shutil.copy(authority.cert, foreign / "ca.pem")
    for certs in (foreign, authority.server("not-a-client")):
        with serve(certs=certs) as server:
            result = server.run("print(1)", wait=LATE_S)
            assert result.status == "sandbox_error" and "signed cert.pem" in result.text, result


def test_a_machine_that_vanishes(own, serve, cable):
    """No FIN, no RST: each side notices by itself, and the engine then ends what ran."""
    with serve("--warm=1") as server:
        call = start_sleeper(server)
        assert wait_until(lambda: len(own.client.containers(server.pid, running=True)) == 2, LATE_S)
        time.sleep(1)
        cable.pull()
        try:
            start = time.monotonic()
            assert call.result(LATE_S).status == "sandbox_error"
            print("the server noticed after %.1f s" % (time.monotonic() - start))
            assert time.monotonic() - start < 30
            server.kill()
            gone = KEEPALIVE_S * (1 + PROBES)
            assert wait_until(lambda: not own.client.containers(server.pid), gone + 15, 0.5)
            print("the engine had ended all after %.1f s, %d probes" % (time.monotonic() - start, PROBES))
        finally:
            cable.plug()
