"""What the tests of an engine at tcp:// need: certificates, and the engine's unix socket behind TLS."""

import asyncio
import os
import pathlib
import ssl
import subprocess
import tempfile
import threading

from sandbox import wait_until

CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
CLIENT = "extendedKeyUsage=clientAuth"
SERVER = "extendedKeyUsage=serverAuth"
NAMES = "DNS:localhost,IP:127.0.0.1,IP:::1"


LATE_S = 90  # for what takes a second or two, on a machine that is busy with other things
SLEEP = "import time; print('started', flush=True); time.sleep(120)"


def start_sleeper(server):
    """A call whose script runs, and goes on for two minutes."""
    call = server.start(SLEEP, progress=True, timeout_seconds=120)
    assert wait_until(lambda: any("started" in p["message"] for p in call.progress), LATE_S), (
        call.progress, call.message, server.stderr())
    return call


def openssl(*arguments):
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def fresh_folder(parent, name):
    """One more of the name, which any user may pass through."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=name + "-", dir=parent))
    folder.chmod(0o755)
    return folder


class Authority:
    """A CA, and what it signs; each certificate is a folder with ca.pem, cert.pem and key.pem."""

    def __init__(self, folder, name="CA"):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        self.cert = self.folder / "ca.pem"
        self.key = self.folder / "ca-key.pem"
        openssl("req", "-x509", *CURVE, "-keyout", str(self.key), "-out", str(self.cert), "-days", "10",
                "-subj", "/CN=" + name)

    def issue(self, name, *extensions, days=10):
        """A fresh folder; days below 0 are in the past."""
        folder = fresh_folder(self.folder, name)
        request, extra = folder / "request", folder / "extensions"
        extra.write_text("\n".join(extensions) + "\n")
        openssl("req", *CURVE, "-keyout", str(folder / "key.pem"), "-out", str(request), "-subj", "/CN=" + name)
        openssl("x509", "-req", "-in", str(request), "-CA", str(self.cert), "-CAkey", str(self.key),
                "-CAcreateserial", "-days", str(days), "-extfile", str(extra), "-out", str(folder / "cert.pem"))
        (folder / "ca.pem").write_bytes(self.cert.read_bytes())
        os.chmod(folder / "key.pem", 0o600)
        return folder

    def server(self, name="server", names=NAMES, days=10):
        return self.issue(name, SERVER, "subjectAltName=" + names, days=days)

    def client(self, name="client", days=10):
        return self.issue(name, CLIENT, days=days)


class TlsFront:
    """Ends TLS on 127.0.0.1 before a unix socket, and asks for a certificate, as dockerd --tlsverify does.
    Runs on a thread of its own."""

    def __init__(self, socket_path, certs, authority, port=0, newest=None):
        self.socket_path = socket_path
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certs / "cert.pem", certs / "key.pem")
        self.context.load_verify_locations(authority)
        self.context.verify_mode = ssl.CERT_REQUIRED
        if newest:
            self.context.maximum_version = newest
        self.port = port
        self.versions = set()  # of TLS, that connections had
        self.connections = 0
        self.open = set()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.server = None
        self.start()

    def call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(10)

    def start(self):
        self.server = self.call(self._listen())
        self.port = self.server.sockets[0].getsockname()[1]

    async def _listen(self):
        return await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=self.context)

    async def _serve(self, reader, writer):
        self.connections += 1
        self.versions.add(writer.get_extra_info("ssl_object").version())
        self.open.add(writer)
        if not self.server.is_serving():
            writer.transport.abort()
        try:
            from_engine, to_engine = await asyncio.open_unix_connection(self.socket_path)
            await asyncio.wait(
                [self.loop.create_task(self._pump(reader, to_engine)),
                 self.loop.create_task(self._pump(from_engine, writer))],
                return_when=asyncio.FIRST_COMPLETED)
            to_engine.close()
        except OSError:
            pass
        self.open.discard(writer)
        writer.close()

    async def _pump(self, reader, writer):
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass

    async def _stop(self):
        self.server.close()
        for writer in list(self.open):
            writer.transport.abort()
        await self.server.wait_closed()

    def stop(self):
        """Every connection breaks, and none is taken any more."""
        self.call(self._stop())

    def close(self):
        self.stop()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()
