"""An engine that does not do what it was asked: a proxy in front of the real one, which changes the
body of every POST /containers/create and passes all else on as it is.

Requests are read as HTTP, so that connections can be kept alive and bodies may come in chunks.
Answers are passed on byte for byte; a connection with an upgrade is no HTTP any more and is passed
on in both directions.
"""

import contextlib
import json
import re
import socket
import threading

CREATE = re.compile(rb"POST (/v[0-9.]+)?/containers/create[? ]")
HEAD_MAX = 64 << 10
KEPT_MAX = 4 << 20


class Reader:
    """One direction of a connection, read by lines and by lengths."""

    def __init__(self, sock):
        self.sock = sock
        self.kept = b""

    def more(self):
        data = self.sock.recv(65536)
        if not data:
            raise EOFError
        self.kept += data

    def until(self, mark):
        while mark not in self.kept:
            if len(self.kept) > HEAD_MAX:
                raise ValueError("a head without an end")
            self.more()
        found, _, self.kept = self.kept.partition(mark)
        return found + mark

    def exactly(self, size):
        while len(self.kept) < size:
            self.more()
        found, self.kept = self.kept[:size], self.kept[size:]
        return found

    def rest(self):
        """Whatever comes next; empty at the end."""
        if not self.kept:
            return self.sock.recv(65536)
        found, self.kept = self.kept, b""
        return found


def headers_of(head):
    lines = head.decode("latin-1").split("\r\n")[1:]
    pairs = (line.partition(":") for line in lines if line)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def body_of(reader, headers):
    """The whole body of a request, as it came and as it is meant."""
    if headers.get("transfer-encoding", "").lower() != "chunked":
        body = reader.exactly(int(headers.get("content-length", "0")))
        return body, body
    came = meant = b""
    while True:
        line = reader.until(b"\r\n")
        size = int(line.split(b";")[0], 16)
        came += line
        if size == 0:
            return came + reader.until(b"\r\n"), meant
        chunk = reader.exactly(size)
        came += chunk + reader.exactly(2)
        meant += chunk


class Proxy:
    """Listens on `path` for one server. change(body) weakens one wall of a container in place."""

    def __init__(self, path, engine_path, change=None):
        self.path = path
        self.engine_path = engine_path
        self.change = change
        self.creates = 0
        self.down = b""  # what went down the streams of containers
        self.faults = []
        self.sockets = set()
        self.threads = []
        self.lock = threading.Lock()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(64)

    def __enter__(self):
        self.spawn(self.accept)
        return self

    def __exit__(self, *_):
        with self.lock:
            open_sockets = [self.listener, *self.sockets]
        for sock in open_sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(10)
        self.listener.close()
        assert not any(thread.is_alive() for thread in self.threads), "the proxy does not end"
        assert not self.faults, self.faults

    def spawn(self, target, *arguments):
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self.threads.append(thread)
        thread.start()
        return thread

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            self.spawn(self.serve, client)

    def serve(self, client):
        with client, socket.socket(socket.AF_UNIX) as engine:
            pair = {client, engine}
            with self.lock:
                self.sockets |= pair
            try:
                engine.connect(self.engine_path)
                answers = threading.Thread(target=self.pump, args=(engine, client), daemon=True)
                answers.start()
                self.requests(client, engine)
                answers.join()
            except OSError:
                pass  # one of the two has gone
            finally:
                with self.lock:
                    self.sockets -= pair

    @staticmethod
    def pump(source, target):
        """Answers; at their end or the reader's, the connection is over."""
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        for sock in (source, target):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def requests(self, client, engine):
        reader = Reader(client)
        try:
            while not self.request(reader, engine):
                pass
            while data := reader.rest():
                with self.lock:
                    self.down = (self.down + data)[-KEPT_MAX:]
                engine.sendall(data)
        except EOFError:
            pass
        except ValueError as error:
            self.faults.append(repr(error))
        with contextlib.suppress(OSError):
            engine.shutdown(socket.SHUT_WR)

    def request(self, reader, engine):
        """Passes one request on. True: what follows is no HTTP."""
        head = reader.until(b"\r\n\r\n")
        headers = headers_of(head)
        came, meant = body_of(reader, headers)
        if CREATE.match(head) and self.change:
            head, came = self.changed(head, meant)
        if CREATE.match(head):
            with self.lock:
                self.creates += 1
        engine.sendall(head + came)
        return "upgrade" in headers

    def changed(self, head, body):
        asked = json.loads(body)
        self.change(asked)
        body = json.dumps(asked).encode()
        lines = [
            line
            for line in head.decode("latin-1").split("\r\n")
            if not line.lower().startswith(("content-length:", "transfer-encoding:", "expect:"))
        ]
        lines.insert(1, "Content-Length: %d" % len(body))
        return "\r\n".join(lines).encode("latin-1"), body
