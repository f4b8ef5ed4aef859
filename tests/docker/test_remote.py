"""An engine at tcp://: TLS with certificates on both sides, and every way in which that can fail."""

import http.server
import json
import os
import pathlib
import ssl
import shutil
import socket
import statistics
import subprocess
import tempfile
import threading
import time

import pytest
from remote import LATE_S, Authority, TlsFront, fresh_folder, start_sleeper
from sandbox import BINARY, Server, assert_gone, assert_serves, end, environment, py, wait_until

pytestmark = [
    pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl to make certificates with"),
    pytest.mark.timeout(280),
]

OUTPUT_MB = 100
SOON_S = 10  # below the time that a front waits for a goodbye before it closes
PATIENT = "--queue-timeout=90"


class Far:
    """An engine that is reached over TLS, and the way in for a client."""

    def __init__(self, folder, socket_path):
        self.folder = pathlib.Path(folder)
        self.socket = socket_path
        self.authority = Authority(self.folder / "ca")
        self.other = Authority(self.folder / "other", "another CA")
        self.certs = self.authority.server()
        self.client = self.authority.client()
        self.front = TlsFront(socket_path, self.certs, self.authority.cert)

    def client_copy(self, name):
        return pathlib.Path(shutil.copytree(self.client, fresh_folder(self.folder, name), dirs_exist_ok=True))

    def url(self, host="localhost"):
        return "tcp://%s:%d" % (host, self.front.port)

    def flags(self, host="localhost", certs=None):
        return ["--docker-host=" + self.url(host), "--docker-cert-path=%s" % (certs or self.client), PATIENT]


@pytest.fixture(scope="module")
def folder():
    """Not pytest's own, which only this user may pass through."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="ps-remote-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def far(engine, base_image, folder):
    found = Far(folder / "far", engine.path)
    yield found
    found.front.close()


@pytest.fixture(scope="module")
def remote(far):
    with Server(*far.flags()) as running:
        yield running


def run(*flags, env=None, code="print(1)"):
    """One script by `run`: exit status, stdout, stderr."""
    env = {**environment(env), "HOME": "/nonexistent", **(env or {})}
    done = subprocess.run([BINARY, "run", *flags, "-"], input=code, capture_output=True, text=True, timeout=LATE_S + 20,
                          env=env, check=False)
    return done.returncode, done.stdout, done.stderr


# What a call gives


@pytest.mark.parametrize(
    "code,status,exit_code,stdout",
    [
        ("print('hello')", "ok", 0, "hello\n"),
        ("import sys; print(sys.stdin.read())", "ok", 0, "given\n"),
        ("print('before'); exit(3)", "error", 3, "before\n"),
        ("print('before'); raise ValueError('reason')", "error", 1, "before\n"),
        ("print('before', flush=True)\nwhile True: pass", "timed_out", 137, "before\n"),
        ("print('before', flush=True); x = b'x' * (1 << 30)", "out_of_memory", None, "before\n"),
        ("import os; print('before', flush=True); os.kill(os.getpid(), 9)", "killed", 137, "before\n"),
    ],
    ids=["ok", "stdin", "exit", "exception", "timeout", "memory", "signal"],
)
def test_verdicts(remote, code, status, exit_code, stdout):
    result = remote.run(code, LATE_S, timeout_seconds=30 if status != "timed_out" else 1, stdin="given")
    assert (result.status, result.stdout) == (status, stdout), result
    assert exit_code is None or result.exit_code == exit_code, result


def test_a_flood_of_output(remote):
    start = time.monotonic()
    result = remote.run(
        py(
            """
            import os, sys
            block = b'y' * 99 + b'\\n'
            print('first')
            sys.stdout.flush()
            for _ in range(%d):
                os.write(1, block * 10000)
            print('last')
            """
            % OUTPUT_MB
        ),
        LATE_S,
        timeout_seconds=60,
    )
    print("%d MB of output: %.2f s" % (OUTPUT_MB, time.monotonic() - start))
    assert result.status == "ok" and result.data["truncated"], result
    assert result.stdout.startswith("first\n") and result.stdout.endswith("last\n"), result


def test_the_longest_script_and_input(remote):
    filler = "# " + "x" * (1 << 20)
    code = "import sys; print(len(sys.stdin.read()))\n" + filler
    result = remote.run(code[: 1 << 20], wait=LATE_S, stdin="i" * (1 << 20))
    assert (result.status, result.stdout) == ("ok", "%d\n" % (1 << 20)), result


def test_ten_at_once(remote):
    calls = [remote.start("print(%d ** 2)" % n) for n in range(10)]
    assert [call.result(LATE_S).stdout for call in calls] == ["%d\n" % n ** 2 for n in range(10)]


def test_a_cancelled_call_ends_its_container(engine, far):
    with Server(*far.flags(), "--warm=0") as server:
        call = start_sleeper(server)
        server.cancel(call)
        start = time.monotonic()
        assert wait_until(lambda: not engine.containers(server.pid), LATE_S)
        print("gone %.2f s after the cancellation" % (time.monotonic() - start))
        assert_serves(server)
        pid = server.pid
    assert_gone(engine, pid, LATE_S)


@pytest.mark.parametrize("warm", [0, 2])
def test_kill_9_leaves_nothing(engine, far, warm):
    with Server(*far.flags(), "--warm=%d" % warm) as server:
        start_sleeper(server)
        assert wait_until(lambda: len(engine.containers(server.pid, running=True)) == warm + 1, LATE_S)
        server.kill()
        assert_gone(engine, server.pid, 20)


def test_a_living_siblings_containers_are_never_touched(engine, far):
    """One server reaches the engine over TLS, one over its socket."""
    with Server("--warm=1") as local:
        before = {c["Id"] for c in wait_until(lambda: engine.containers(local.pid, running=True), LATE_S)}
        assert before
        with Server(*far.flags(), "--warm=0") as server:
            assert_serves(server)
            assert before == {c["Id"] for c in engine.containers(local.pid)}
        assert before == {c["Id"] for c in engine.containers(local.pid)}


# Ways to say it


def test_by_the_docker_clis_variables(far):
    env = {"DOCKER_HOST": far.url(), "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": str(far.client)}
    assert run(env=env) == (0, "1\n", "")


def test_by_the_docker_clis_folder(far):
    assert run(env={"DOCKER_HOST": far.url(), "DOCKER_TLS_VERIFY": "1", "DOCKER_CONFIG": str(far.client)}) == (
        0, "1\n", "")


@pytest.mark.skipif(not shutil.which("docker"), reason="no docker to make a context with")
def test_by_a_docker_context(far, folder):
    home = fresh_folder(folder, "home")
    options = "host=%s,ca=%s/ca.pem,cert=%s/cert.pem,key=%s/key.pem" % ((far.url(),) + (far.client,) * 3)
    docker = {"HOME": str(home), "PATH": os.environ["PATH"]}
    subprocess.run(["docker", "context", "create", "far", "--docker", options], env=docker, check=True, timeout=30)
    subprocess.run(["docker", "context", "create", "loose", "--docker", options + ",skip-tls-verify=true"],
                   env=docker, check=True, timeout=30)
    assert run(env={"HOME": str(home), "DOCKER_CONTEXT": "far"}) == (0, "1\n", "")
    subprocess.run(["docker", "context", "use", "far"], env=docker, check=True, timeout=30)
    assert run(env={"HOME": str(home)}) == (0, "1\n", "")
    status, out, err = run(env={"HOME": str(home), "DOCKER_CONTEXT": "loose"})
    assert (status, out) == (125, "") and "skips the verification of TLS" in err, err


def test_the_entry_for_a_client_names_the_certificates(far):
    env = {"DOCKER_HOST": far.url(), "DOCKER_CERT_PATH": str(far.client)}
    done = subprocess.run([BINARY, "client-config", "generic"], capture_output=True, text=True, timeout=30,
                          env=environment(env), check=True)
    assert json.loads(done.stdout)["mcpServers"]["python"]["args"] == ["serve", *far.flags()[:2]]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_name_and_address_are_in_the_certificate(far, host):
    assert run(*far.flags(host)) == (0, "1\n", "")


# Ways to fail


def refused(words, *flags, env=None):
    start = time.monotonic()
    status, out, err = run(*flags, env=env)
    assert (status, out) == (125, ""), err
    for word in words:
        assert word in err, err
    assert time.monotonic() - start < LATE_S


def test_without_tls_is_refused(far):
    refused(["without TLS is refused", "--tlsverify", "--docker-cert-path"], "--docker-host=tcp://localhost:2375")
    refused(["without TLS is refused"], env={"DOCKER_HOST": "tcp://localhost:2375"})
    refused(["ssh -nNT -L"], env={"DOCKER_HOST": "ssh://me@there"})


def test_an_engine_that_another_ca_vouches_for(far):
    mixed = far.client_copy("mixed")
    shutil.copy(far.other.cert, mixed / "ca.pem")
    refused(["ca.pem is not of the CA that signed"], *far.flags(certs=mixed))


def test_the_systems_cas_do_not_vouch_for_an_engine(far):
    mixed = far.client_copy("system")
    shutil.copy(far.other.cert, mixed / "ca.pem")
    hashed = fresh_folder(far.folder, "hashed")
    shutil.copy(far.authority.cert, hashed / "ca.pem")
    subprocess.run(["openssl", "rehash", str(hashed)], check=True, timeout=30)
    refused(["ca.pem is not of the CA that signed"], *far.flags(certs=mixed),
            env={"SSL_CERT_FILE": str(far.authority.cert), "SSL_CERT_DIR": str(hashed)})


def test_a_client_that_another_ca_vouches_for(far):
    foreign = far.other.client("foreign")
    shutil.copy(far.authority.cert, foreign / "ca.pem")
    refused(["signed cert.pem"], *far.flags(certs=foreign))


def test_a_key_of_another_certificate(far):
    mixed = far.client_copy("key")
    shutil.copy(far.authority.client("stranger") / "key.pem", mixed / "key.pem")
    refused(["key.pem is no key, or not that of cert.pem"], *far.flags(certs=mixed))


def test_a_client_that_has_expired(far):
    ended = far.authority.client("ended", days=-1)
    refused(["/cert.pem has expired, on 20"], *far.flags(certs=ended))


@pytest.fixture
def front(far):
    """Makes fronts with other certificates or habits; returns the flags for the last."""
    made = []

    def make(certs, **options):
        made.append(TlsFront(far.socket, certs, far.authority.cert, **options))
        return ["--docker-host=tcp://localhost:%d" % made[-1].port, "--docker-cert-path=%s" % far.client]

    yield make
    for one in made:
        one.close()


def test_an_engine_that_has_expired(far, front):
    refused(["certificate has expired", "renew"], *front(far.authority.server("old", days=-1)))


@pytest.mark.parametrize("names", ["DNS:engine.example.com", "IP:127.0.0.1"])
def test_an_engine_of_another_name(far, front, names):
    certs = far.authority.server("named-" + names.replace(":", "-"), names)
    refused(["subject name", "'localhost'", "use a name that is in"], *front(certs))


@pytest.mark.parametrize("version,words", [("-tls1_1", "TLS 1.2 or later"), ("-tls1_2", "did not answer")])
def test_an_engine_with_tls_1_1_only(far, version, words):
    """s_server holds its connections open and answers nothing, where it is spoken to at all."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    command = ["openssl", "s_server", "-accept", "127.0.0.1:%d" % port, "-quiet", version, "-cipher", "ALL:@SECLEVEL=0"]
    command += ["-cert", str(far.certs / "cert.pem"), "-key", str(far.certs / "key.pem")]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert wait_until(lambda: subprocess.run(["ss", "-Hltn", "sport = :%d" % port], capture_output=True).stdout, 5)
        refused([words], "--docker-host=tcp://127.0.0.1:%d" % port, "--docker-cert-path=%s" % far.client)
    finally:
        end(server)


def test_an_engine_with_tls_1_2(far, front):
    assert run(*front(far.certs, newest=ssl.TLSVersion.TLSv1_2)) == (0, "1\n", "")


def test_a_port_without_tls(far):
    quiet = type("Quiet", (http.server.BaseHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        refused(["no TLS is spoken there"], "--docker-host=tcp://127.0.0.1:%d" % server.server_address[1],
                "--docker-cert-path=%s" % far.client)
    finally:
        server.shutdown()
        server.server_close()


def test_a_port_where_nobody_listens(far):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    flags = ["--docker-host=tcp://127.0.0.1:%d" % port, "--docker-cert-path=%s" % far.client]
    refused(["tcp://127.0.0.1:%d" % port, "Connection refused"], *flags)
    refused(["engine.invalid' cannot be resolved"], "--docker-host=tcp://engine.invalid", flags[1])


def test_a_key_that_wants_a_passphrase_is_refused_without_asking(far):
    locked = far.client_copy("locked")
    subprocess.run(["openssl", "pkey", "-in", str(far.client / "key.pem"), "-aes256", "-passout", "pass:x", "-out",
                    str(locked / "key.pem")], check=True, timeout=30)
    refused(["key.pem wants a passphrase"], *far.flags(certs=locked))


# Connections that break


@pytest.fixture
def fragile(far):
    """The same engine behind a front that a test may stop."""
    front = TlsFront(far.socket, far.certs, far.authority.cert)
    yield front
    front.close()


def test_it_comes_back_under_its_filter_and_needs_no_file_for_it(engine, far, fragile):
    """The name was resolved and the certificates were read before the filter."""
    copy = far.client_copy("copy")
    url = "tcp://localhost:%d" % fragile.port
    with Server("--docker-host=" + url, "--docker-cert-path=%s" % copy, PATIENT, "--warm=1") as server:
        assert_serves(server)
        shutil.rmtree(copy)
        fragile.stop()
        result = server.run("print(1)", wait=LATE_S)
        assert result.status == "sandbox_error", result
        assert wait_until(lambda: "Connection refused" in server.run("print(1)", wait=LATE_S).text, 10, 0.2)
        assert url in server.run("print(1)", wait=LATE_S).text
        assert server.request("ping") == {}
        fragile.start()
        start = time.monotonic()
        assert wait_until(lambda: server.run("print(2)", wait=LATE_S).status == "ok", LATE_S, 0.2)
        print("served again %.2f s after the engine came back" % (time.monotonic() - start))
        assert "cert.pem ends on 20" in server.stderr()
        pid = server.pid
        status = pathlib.Path("/proc/%d/status" % pid).read_text()
        assert "Seccomp:\t2" in status, status
        if os.geteuid() == 0:
            assert "Uid:\t60599\t60599\t60599\t60599" in status, status
    assert_gone(engine, pid, LATE_S)


def test_a_connection_that_breaks_ends_its_script(engine, far, fragile):
    flags = ["--docker-host=tcp://localhost:%d" % fragile.port, "--docker-cert-path=%s" % far.client]
    with Server(*flags, PATIENT, "--warm=0") as server:
        call = start_sleeper(server)
        fragile.stop()
        try:
            result = call.result(LATE_S)
            assert result.status == "sandbox_error", result
            # Nobody is there to remove it: it ends as its stream does.
            assert wait_until(lambda: not engine.containers(server.pid), LATE_S)
        finally:
            fragile.start()
        assert wait_until(lambda: server.run("print(2)", wait=LATE_S).status == "ok", LATE_S, 0.2)


def test_a_container_that_is_killed_is_told_at_once(engine, far):
    """The end of the stream alone tells: TLS says goodbye first, then the connection ends."""
    with Server(*far.flags(), "--warm=0") as server:
        for _ in range(5):
            call = start_sleeper(server)
            start = time.monotonic()
            engine.raw("POST", "/containers/%s/kill" % engine.containers(server.pid)[0]["Id"])
            assert call.result(LATE_S).status in ("killed", "sandbox_error")
            assert time.monotonic() - start < SOON_S
            assert wait_until(lambda: not engine.containers(server.pid), LATE_S)


# What is told of it


def test_doctor_tells_of_the_certificates(far):
    command = [BINARY, "doctor", "--json", *far.flags()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=80, env=environment(), check=False)
    rows = json.loads(done.stdout)["rows"]
    assert done.returncode == 0, rows
    told = {(row["name"], row["verdict"]): row["text"] for row in rows}
    assert "at " + far.url() in told["engine", "ok"]
    certificates = [row for row in rows if row["name"] == "certificate"]
    assert [row["verdict"] for row in certificates] == ["warn", "warn"], rows
    assert "/cert.pem ends on 20" in certificates[0]["text"] and "in 9 days" in certificates[0]["text"]
    assert "the engine's own ends on 20" in certificates[1]["text"]
    assert "/key.pem: mode 0600" in told["key", "ok"]
    assert "socket" not in [row["name"] for row in rows]


def test_doctor_finds_a_key_that_others_can_read(far):
    loose = far.client_copy("loose")
    (loose / "key.pem").chmod(0o644)
    command = [BINARY, "doctor", "--json", *far.flags(certs=loose)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=80, env=environment(), check=False)
    row = next(row for row in json.loads(done.stdout)["rows"] if row["name"] == "key")
    assert done.returncode == 1 and row["verdict"] == "fail" and "others can read it" in row["text"], row
    assert row["mend"] == "chmod 600 %s/key.pem" % loose


def test_a_warm_call_costs_little_more_than_over_the_socket(far):
    """Interleaved; the front is Python, and slower than an engine's own TLS."""

    def call(server):
        time.sleep(0.4)  # for the next warm container
        result = server.run("print(1)")
        assert result.status == "ok", result
        return result.seconds * 1e3

    with Server("--warm=2", PATIENT) as local, Server(*far.flags(), "--warm=2") as remote:
        for server in (local, remote):
            assert_serves(server)
        pairs = [(call(local), call(remote)) for _ in range(15)]
    medians = [statistics.median(times) for times in zip(*pairs)]
    best = [min(times) for times in zip(*pairs)]
    print("warm call: %.1f ms over the socket, %.1f ms over TLS (median), %.1f and %.1f (best)" % (*medians, *best))
    assert best[1] < best[0] + 50, pairs
