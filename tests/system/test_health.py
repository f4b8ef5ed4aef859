"""`health`: where it asks, what it makes of the answer, and what a container's check sees of it."""

import contextlib
import os
import shutil
import socket
import subprocess
import threading
import time

import pytest

from served import BINARY, wait_until
from engine import Engine
from test_http_serve import environment, serve


def health(*arguments, command=(), **env):
    return subprocess.run([*command, BINARY, "health", *arguments], env=environment(**env),
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False, text=True)


def is_well(done):
    return (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


def is_ill(done, *parts):
    return (done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1
            and all(part in done.stderr for part in parts))


@contextlib.contextmanager
def answering(*pieces, hold=False):
    """A server that gives every client these bytes; its URL."""
    def answer(listener):
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                with client, contextlib.suppress(OSError):
                    client.recv(65536)
                    for piece in pieces:
                        client.sendall(piece)
                    if hold:
                        client.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer, args=(listener,), daemon=True).start()
        yield "http://127.0.0.1:%d/" % listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def reply(status, body=b"", *headers):
    lines = ["HTTP/1.1 %d X" % status, "Content-Length: %d" % len(body), "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "[::1]", "[::]", "localhost", ""])
def test_it_asks_where_the_server_listens(address):
    flag = ["--http-without-token-is-unsafe"] if address in ("0.0.0.0", "[::]") else []
    with Engine() as engine, serve(engine, *flag, address=address + ":0") as server:
        where = "%s:%d" % (address, server.addresses[0][1])
        assert is_well(health("--http=" + where))
        assert is_well(health(HTTP=where))
        assert is_well(health(where, HTTP="127.0.0.1:1"))
        assert wait_until(lambda: is_well(health("--ready", HTTP=where)), 5)
        assert is_well(health("http://localhost:%d/healthz" % server.addresses[0][1], HTTP="127.0.0.1:1"))
        for path in ("", "/", "/mcp", "/mcp/"):
            assert is_well(health("http://localhost:%d%s" % (server.addresses[0][1], path)))
            assert is_well(health("--ready", "http://localhost:%d%s" % (server.addresses[0][1], path)))


def test_it_tells_why_a_server_is_not_ready():
    with Engine() as engine, serve(engine) as server:
        where = "127.0.0.1:%d" % server.addresses[0][1]
        engine.stop()
        assert wait_until(lambda: is_ill(health("--ready", HTTP=where), where + "/readyz", "status 503",
                                         "no Docker Engine answers"), 10)
        assert is_well(health(HTTP=where))


@pytest.mark.parametrize("arguments, word", [
    (["http://127.0.0.1:1/"], "127.0.0.1:1"), (["--http=127.0.0.1:1"], "127.0.0.1:1/healthz"),
    (["file:///etc/hostname"], "no http:// or https://"),
    (["localhost:x"], "localhost:x/healthz"), (["no.such.host.invalid:80"], "no.such.host.invalid"), (["127.0.0.1:1"], "127.0.0.1:1/healthz"),
    (["http://127.0.0.1:1/", "http://127.0.0.1:1/"], "one URL"), (["--http=nonsense"], "nonsense"),
    (["--bad"], "--bad"), (["http://no.such.host.invalid/"], "no.such.host.invalid")])
def test_no_answer_is_no_health(arguments, word):
    done = health(*arguments)
    assert is_ill(done, word), done


@pytest.mark.parametrize("answer, word", [
    (reply(404, b"nothing\n"), "status 404: nothing"), (reply(500), "status 500"),
    (reply(302, b"", "Location: http://127.0.0.1:1/"), "status 302"), (reply(204), "status 204"),
    (reply(503, b"\x1b[31mred\n"), "status 503"), (reply(503, b"a" * 100000), "status 503"),
    (b"nonsense\r\n\r\n", ""), (b"", "")])
def test_other_answers_are_no_health(answer, word):
    with answering(answer) as url:
        done = health(url)
        assert is_ill(done, word) and "\x1b" not in done.stderr, done


def test_a_proxy_is_not_asked():
    with answering(reply(200, b"ok\n")) as url:
        done = subprocess.run([BINARY, "health", "http://127.0.0.1:1/"], capture_output=True, timeout=20,
                              env={**environment(), "http_proxy": url, "ALL_PROXY": url}, check=False)
        assert done.returncode == 1
        assert is_well(health(url))


def test_silence_ends_in_time():
    with answering(hold=True) as url:
        start = time.monotonic()
        assert is_ill(health(url), "imeout")
        assert time.monotonic() - start < 8


@contextlib.contextmanager
def first_process(*command):
    """A program as process 1 of a namespace; what to put before a command that is to join it."""
    joins = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    with subprocess.Popen([*joins, *command], env=environment(), stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        children = "/proc/%d/task/%d/children" % (process.pid, process.pid)

        def child():
            with open(children, encoding="ascii") as file:
                return file.read().strip()

        inside = wait_until(child, 5)
        try:
            yield ["nsenter", "--target", inside, "--pid", "--mount"]
        finally:
            process.kill()


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("nsenter"), reason="namespaces need root")
def test_without_an_address_it_asks_process_1():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    engine = "--docker-host=/nowhere/docker.sock"
    flags = [engine, "--http=127.0.0.1:%d" % port]
    for command in ([BINARY, "serve", *flags], [BINARY, *flags]):
        with first_process(*command) as join:
            assert wait_until(lambda: is_well(health(command=join)), 10)
            assert is_ill(health("--ready", command=join), ":%d/readyz: status 503" % port)
    with first_process(BINARY, "serve", engine) as join:
        done = health(command=join)
        assert done.returncode == 0 and "stdin and stdout" in done.stdout
    with first_process("sleep", "60") as join:
        done = health(command=join)
        assert is_ill(done, "give its URL"), done
