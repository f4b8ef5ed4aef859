"""`serve --http`: addresses, tokens, readiness, hang-ups and the end, in front of the fake engine."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

import pytest

from served import BINARY, processes_of, wait_until
from engine import well
from web import JSON, Client, ask, call_message, head, message, post

TOKEN = "A" * 20 + "b" * 23


def environment(**extra):
    env = {k: v for k, v in os.environ.items() if not k.startswith("PY")}
    return {**env, **{"PYTHON_SANDBOX_" + k: v for k, v in extra.items()}}


class Serve:
    def __init__(self, engine, *flags, address="127.0.0.1:0", env=None):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [BINARY, "serve", "--http=" + address, "--docker-host=" + engine.path, "--warm=0",
             *flags], env=environment(**(env or {})), start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log)
        self.addresses = wait_until(self._addresses, 10) or []

    def _addresses(self):
        found = re.findall(r"http://\[?([0-9.:a-f]+?)\]?:(\d+)/mcp", self.stderr())
        if (found and "engine " in self.stderr()) or self.process.poll() is not None:
            return [(host, int(port)) for host, port in found]
        return None

    def stderr(self):
        size = os.fstat(self.log.fileno()).st_size
        return os.pread(self.log.fileno(), size, 0).decode("utf-8", "replace")

    def ask(self, request, method="POST"):
        return ask(self.addresses[0], request, method)

    def client(self):
        return Client(self.addresses[0])

    def is_ready(self):
        return self.ask(head("GET", "/readyz")).status == 200

    def stop(self, number=signal.SIGTERM):
        """The exit status, and the seconds until then."""
        start = time.monotonic()
        self.process.send_signal(number)
        status = self.process.wait(15)
        return status, time.monotonic() - start


@contextlib.contextmanager
def serve(engine, *flags, **options):
    server = Serve(engine, *flags, **options)
    try:
        assert server.addresses, server.stderr()
        yield server
        if server.process.poll() is None:
            status, seconds = server.stop()
            assert status == 0 and seconds < 2
        assert server.process.stdout.read() == b""
        assert wait_until(lambda: not engine.containers, 5)
        assert not processes_of(server.process.pid)
    finally:
        print(server.stderr())
        server.process.kill()
        server.process.wait()
        server.process.stdout.close()
        server.log.close()


def refusal(*flags, env=None, prefix=(), status=2):
    """Start-up that must fail: what it says. 2 is that of settings with which no start can succeed."""
    done = subprocess.run([*prefix, BINARY, "serve", "--docker-host=/nowhere/docker.sock", *flags],
                          env=environment(**(env or {})), stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=10, check=False)
    assert done.returncode == status and done.stdout == b"", done
    lines = done.stderr.decode().splitlines()
    assert len([line for line in lines if " error " in line]) == 1, lines
    return lines[-1]


# --- addresses


def test_a_call(engine):
    with serve(engine) as server:
        answer = server.ask(post(call_message())).json()
        assert answer["result"]["structuredContent"]["stdout"] == "hello\n"
        assert wait_until(server.is_ready, 5)


def connects(address):
    try:
        socket.create_connection(address, 2).close()
        return True
    except OSError:
        return False


@pytest.mark.parametrize("address, hosts", [
    ("localhost:0", ["127.0.0.1", "::1"]), (":0", ["127.0.0.1", "::1"]),
    ("LOCALHOST:0", ["127.0.0.1", "::1"]), ("127.0.0.1:0", ["127.0.0.1"]), ("[::1]:0", ["::1"])])
def test_addresses(engine, address, hosts):
    with serve(engine, address=address) as server:
        assert [host for host, _ in server.addresses] == hosts
        port = server.addresses[0][1]
        assert {port} == {p for _, p in server.addresses}
        for host in "127.0.0.1", "::1":
            assert connects((host, port)) == (host in hosts)
        for pair in server.addresses:
            assert ask(pair, post()).status == 200


@pytest.mark.parametrize("address, words", [
    ("192.0.2.1:80", ["192.0.2.1", "token"]), ("example.com:80", ["example.com", "no address to listen at"]),
    ("127.0.0.1", ["--http"]), ("127.0.0.1:", ["--http"]), ("127.0.0.1:99999", ["--http"]),
    ("::1:8000", ["::1:8000", "no address to listen at"]), ("[::1:8000", ["[::1:8000", "no address to listen at"]), ("8000", ["--http"])])
def test_bad_addresses(address, words):
    line = refusal("--http=" + address)
    assert all(word in line for word in words), line


def test_address_of_another_machine():
    line = refusal("--http=192.0.2.1:8000", "--http-without-token-is-unsafe", status=1)
    assert "192.0.2.1 is no address of this machine" in line


@pytest.mark.parametrize("family, host", [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_port_that_is_taken(family, host):
    with socket.create_server((host, 0), family=family) as other:
        port = other.getsockname()[1]
        line = refusal(f"--http=localhost:{port}", status=1)
        assert f"port {port} of {host} is taken" in line


def test_port_is_free_again_at_once(engine):
    with serve(engine) as first:
        port = first.addresses[0][1]
        assert first.ask(post()).status == 200
    with serve(engine, address=f"127.0.0.1:{port}") as second:
        assert second.ask(post()).status == 200


def test_open_address_needs_a_token(engine):
    for address in "0.0.0.0:0", "[::]:0":
        line = refusal("--http=" + address)
        assert "--token-file" in line and "token" in line
        with serve(engine, "--http-without-token-is-unsafe", address=address) as server:
            assert ask(("127.0.0.1", server.addresses[0][1]), post()).status == 200
        with serve(engine, address=address, env={"TOKEN": TOKEN}) as server:
            assert ask(("127.0.0.1", server.addresses[0][1]), post()).status == 401


# --- tokens


def with_token(token):
    return post(Authorization="Bearer " + token)


@pytest.mark.parametrize("text, tokens", [
    (TOKEN, [TOKEN]), (TOKEN + "\n", [TOKEN]), (TOKEN + "\r\n", [TOKEN]),
    ("  " + TOKEN + "\t \n", [TOKEN]), ("\ufeff" + TOKEN + "\n", [TOKEN]),
    ("\n\n" + TOKEN + "\n\n" + TOKEN[::-1] + "\n", [TOKEN, TOKEN[::-1]])])
def test_token_files(engine, tmp_path, text, tokens):
    path = tmp_path / "tokens"
    path.write_text(text, newline="")
    path.chmod(0o600)
    with serve(engine, f"--token-file={path}") as server:
        for token in tokens:
            assert server.ask(with_token(token)).status == 200
        for wrong in "", " ", TOKEN + "\\n", "x" * 43:
            assert server.ask(with_token(wrong)).status == 401
        assert "chmod" not in server.stderr()
        for pid in processes_of(server.process.pid):
            for part in "cmdline", "environ":
                with open(f"/proc/{pid}/{part}", "rb") as file:
                    assert TOKEN.encode() not in file.read()


def test_token_file_that_all_can_read(engine, tmp_path):
    path = tmp_path / "tokens"
    path.write_text(TOKEN)
    path.chmod(0o644)
    with serve(engine, f"--token-file={path}") as server:
        assert f"{path} can be read by every user" in server.stderr()


@pytest.mark.parametrize("data, words", [
    (b"", "holds no token"), (b"\n \r\n\t", "holds no token"), (b"short\n", "too short: 5"),
    (b"x" * 31, "too short: 31"), (b"a" * 20 + b" " + b"b" * 20, "a blank"),
    (b"\xc3\xa9" * 20, "cannot be sent"), (b"x" * 40 + b"\0" + b"x" * 40, "NUL"),
    (b"x" * 70000, "too large"), (b"\n".join([b"x" * 40] * 65), "more than 64")])
def test_bad_token_files(tmp_path, data, words):
    path = tmp_path / "tokens"
    path.write_bytes(data)
    path.chmod(0o600)
    line = refusal("--http=:0", f"--token-file={path}")
    assert str(path) in line and words.lower() in line.lower().replace("file too large", "too large")
    assert "x" * 20 not in line


def test_token_file_that_is_not_there(tmp_path):
    line = refusal("--http=:0", f"--token-file={tmp_path}/none")
    assert "none: cannot be read: No such file or directory; python-sandbox token makes one" in line
    line = refusal("--http=:0", f"--token-file={tmp_path}")
    assert "Is a directory; it must be a file; python-sandbox token makes one" in line


def test_token_file_that_the_user_may_not_read(tmp_path):
    path = tmp_path / "tokens"
    path.write_text(TOKEN)
    path.chmod(0)
    without_capabilities = ["setpriv", "--bounding-set=-all"] if os.geteuid() == 0 else []
    line = refusal("--http=:0", f"--token-file={path}", prefix=without_capabilities)
    assert f"Permission denied; user {os.geteuid()}, who runs this, must be able to read it" in line


def test_tokens_of_the_environment(engine, tmp_path):
    path = tmp_path / "tokens"
    path.write_text("f" * 40)
    with serve(engine, f"--token-file={path}",
               env={"TOKEN": f"{TOKEN},{'c' * 40}\n {'d' * 40}"}) as server:
        for token in TOKEN, "c" * 40, "d" * 40, "f" * 40:
            assert server.ask(with_token(token)).status == 200
        assert server.ask(with_token("e" * 40)).status == 401
    with serve(engine, env={"TOKEN": "", "TOKEN_FILE": ""}) as server:
        assert server.ask(post()).status == 200
    assert "PYTHON_SANDBOX_TOKEN: a token is too short" in refusal("--http=:0", env={"TOKEN": "x"})


def test_token_verb(engine):
    tokens = {subprocess.run([BINARY, "token"], capture_output=True, text=True, check=True,
                             env=environment()).stdout for _ in range(20)}
    assert len(tokens) == 20
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{43}\n", token) for token in tokens)
    token = tokens.pop()
    with serve(engine, env={"TOKEN": token}) as server:
        assert server.ask(with_token(token.strip())).status == 200


# --- readiness


def test_ready_once_the_engine_is_there(engine):
    engine.stop()
    server = Serve(engine)
    try:
        assert wait_until(lambda: "http://" in server.stderr(), 5)
        server.addresses = [(h, int(p)) for h, p in
                            re.findall(r"http://([0-9.]+):(\d+)/mcp", server.stderr())]
        assert not server.is_ready()
        assert server.ask(head("GET", "/healthz")).status == 200
        assert server.ask(post(message("tools/list"))).status == 200
        engine.start()
        server.ask(post(call_message()))
        assert wait_until(server.is_ready, 10)
        engine.stop()
        assert wait_until(lambda: not server.is_ready(), 10)
    finally:
        server.process.kill()
        server.process.wait()
        server.process.stdout.close()
        server.log.close()


def test_settings_that_do_nothing_are_told(tmp_path):
    flags = ["--token-file=/nope", "--drain=3", "--audit-code", "--warm=0"]
    done = subprocess.run([BINARY, "serve", *flags], env=environment(), stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=10, check=False)
    lines = [line for line in done.stderr.decode().splitlines() if "has no effect" in line]
    assert done.returncode == 0 and len(lines) == 3, done
    for line, words in zip(lines, [("token-file", "http"), ("drain", "http"), ("audit-code", "audit-log")]):
        assert all(word in line for word in words), line


def test_the_next_engine_has_its_walls_to_prove(engine):
    with serve(engine, "--warm=1") as server:
        assert wait_until(server.is_ready, 5)
        engine.stop()
        assert wait_until(lambda: not server.is_ready(), 5)
        engine.play = lambda s: s.hold()
        engine.start()
        assert wait_until(lambda: engine.count("attach") == 2, 5)
        assert wait_until(lambda: "no container has proven its walls"
                          in server.ask(head("GET", "/readyz")).body.decode(), 5)


# --- hang-ups and the end


def forever(started):
    """A script that runs until its container is taken away."""
    def play(supervisor):
        supervisor.hello()
        supervisor.job()
        supervisor.started()
        started.append(supervisor)
        supervisor.hold()
    return play


def for_seconds(seconds):
    def play(supervisor):
        supervisor.hello()
        supervisor.job()
        supervisor.started()
        time.sleep(seconds)
        supervisor.out(b"hello\n")
        supervisor.exit(out=6)
        supervisor.hold()
    return play


def test_hang_up_takes_the_container_down(engine):
    started = []
    engine.play = forever(started)
    with serve(engine) as server:
        clients = [server.client() for _ in range(4)]
        for client in clients:
            client.send(post(call_message(token=1)))
        assert wait_until(lambda: len(started) == 4, 10)
        for client in clients:
            client.sock.close()
        assert wait_until(lambda: not engine.containers, 5)
        engine.play = well
        assert server.ask(post(call_message())).json()["result"]


def test_stop_when_idle(engine):
    for number in signal.SIGTERM, signal.SIGINT:
        with serve(engine) as server:
            with server.client() as client:
                client.send(post())
                assert client.receive().status == 200
                status, seconds = server.stop(number)
                assert status == 0 and seconds < 1.5


def test_stop_kills_calls(engine):
    started = []
    engine.play = forever(started)
    with serve(engine) as server, server.client() as client:
        client.send(post(call_message()))
        assert wait_until(lambda: started, 10)
        status, seconds = server.stop()
        assert status == 0 and seconds < 2
        structured = client.receive().json()["result"]["structuredContent"]
        assert structured["status"] == "cancelled"


def test_drain(engine):
    """Running calls end, new ones are refused, and the probes tell the two apart."""
    engine.play = for_seconds(3)
    with serve(engine, "--drain=10", "--warm=1") as server, server.client() as client:
        assert wait_until(server.is_ready, 5)
        client.send(post(call_message()))
        assert wait_until(lambda: engine.containers, 5)
        time.sleep(0.5)
        start = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert wait_until(lambda: not server.is_ready(), 1)
        assert server.ask(head("GET", "/healthz")).status == 200
        refused = server.ask(post(call_message())).json()["result"]
        assert refused["isError"] and refused["structuredContent"]["status"] == "busy"
        assert "being stopped" in refused["content"][0]["text"]
        structured = client.receive().json()["result"]["structuredContent"]
        assert structured["status"] == "ok" and structured["stdout"] == "hello\n"
        assert server.process.wait(5) == 0
        assert 1.5 < time.monotonic() - start < 5


@pytest.mark.parametrize("flags, status", [((), 200), (("--retry-elsewhere",), 503)])
def test_a_full_server_says_so_to_balancers(engine, flags, status):
    """With the setting, a call that finds no place has a status that load balancers act on; the body
    is the same result."""
    engine.play = for_seconds(2)
    with serve(engine, "--max-running=1", "--queue=0", "--warm=1", *flags) as server, \
            server.client() as client:
        assert wait_until(server.is_ready, 5)
        client.send(post(call_message()))
        assert wait_until(lambda: not server.is_ready(), 5)
        reply = server.ask(post(call_message()))
        assert reply.status == status
        assert reply.headers.get("retry-after") == ("1" if status == 503 else None)
        assert reply.json()["result"]["structuredContent"]["status"] == "busy"
        assert client.receive().json()["result"]["structuredContent"]["status"] == "ok"
        engine.stop()
        assert wait_until(lambda: not server.is_ready(), 5)
        reply = server.ask(post(call_message()))
        assert reply.status == status
        assert reply.json()["result"]["structuredContent"]["status"] == "sandbox_error"


@pytest.mark.parametrize("places", [("--max-running=2",), ("--max-running=8", "--memory-budget=1g")])
def test_a_call_that_waits_for_its_container_has_a_place(engine, places):
    started = []
    engine.play = forever(started)
    with serve(engine, *places, "--memory=512m", "--queue=0", "--warm=1") as server, \
            server.client() as first, server.client() as second:
        assert wait_until(server.is_ready, 5)
        engine.play = lambda supervisor: supervisor.hold()
        first.send(post(call_message()))
        assert wait_until(lambda: started, 5)
        second.send(post(call_message()))
        assert wait_until(lambda: not server.is_ready(), 5)
        assert "as much runs" in server.ask(head("GET", "/readyz")).body.decode()
        assert server.ask(post(call_message())).json()["result"]["structuredContent"]["status"] == "busy"
        server.process.send_signal(signal.SIGTERM)
        for client in first, second:
            assert client.receive().json()["result"]["structuredContent"]["status"] == "cancelled"
        assert server.process.wait(5) == 0


@pytest.mark.parametrize("twice", [False, True])
def test_drain_has_an_end(engine, twice):
    started = []
    engine.play = forever(started)
    with serve(engine, "--drain=2" if not twice else "--drain=60") as server, \
            server.client() as client:
        client.send(post(call_message()))
        assert wait_until(lambda: started, 10)
        start = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        if twice:
            time.sleep(0.5)
            server.process.send_signal(signal.SIGTERM)
        structured = client.receive().json()["result"]["structuredContent"]
        assert structured["status"] == "cancelled"
        assert server.process.wait(5) == 0
        seconds = time.monotonic() - start
        assert (seconds < 2.5) if twice else (2 <= seconds < 4)


def test_drain_of_an_idle_server_is_quick(engine):
    with serve(engine, "--drain=60", "--warm=1") as server:
        assert wait_until(lambda: engine.containers, 5)
        status, seconds = server.stop()
        assert status == 0 and seconds < 2


def test_front_that_is_killed(engine):
    with serve(engine) as server:
        front = next(pid for pid in processes_of(server.process.pid)
                     if b"front" in open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0"))
        os.kill(front, signal.SIGKILL)
        server.process.wait(5)
        assert not connects(server.addresses[0])


def test_calls_of_many_clients(engine):
    with serve(engine, "--max-running=8", "--queue=64", "--memory=64m") as server:
        results = []

        def drive(index):
            reply = server.ask(post(call_message(id=1, token=index), Accept=JSON))
            results.append(reply.json()["result"]["structuredContent"]["status"])

        threads = [threading.Thread(target=drive, args=(i,)) for i in range(60)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert results == ["ok"] * 60
