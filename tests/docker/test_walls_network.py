"""The network that a script does not have, seen from inside."""

import subprocess

from attacks import SYSCALLS
from sandbox import py


def host_addresses():
    found = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False)
    return found.stdout.split()


def test_the_only_interface_is_loopback(server):
    got = server.facts(
        py(
            """
            import json, socket
            with open('/proc/net/dev') as f:
                devices = [line.split(':')[0].strip() for line in f if ':' in line]
            with open('/proc/net/route') as f:
                routes = f.read().splitlines()[1:]
            try:
                names = [name for _, name in socket.if_nameindex()]
            except PermissionError:  # the kernel's own socket may be closed as well
                names = ['lo']
            print(json.dumps([names, devices, routes]))
            """
        )
    )
    assert got == [["lo"], ["lo"], []]


def test_connecting_anywhere_fails_at_once(server):
    addresses = host_addresses() + (
        "1.1.1.1 8.8.8.8 10.0.0.1 172.17.0.1 172.17.0.2 192.168.0.1 169.254.169.254 100.100.100.200 "
        "224.0.0.1 255.255.255.255 2606:4700:4700::1111 fe80::1 fd00::1 ff02::1"
    ).split()
    got = server.facts(
        py(
            """
            import json, socket, time
            got = {}
            for address in %r:
                family = socket.AF_INET6 if ':' in address else socket.AF_INET
                for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
                    for port in 53, 80, 2375:
                        start = time.monotonic()
                        try:
                            with socket.socket(family, kind) as s:
                                s.settimeout(3)
                                s.connect((address, port))
                                if kind == socket.SOCK_DGRAM:
                                    s.send(b'x')
                            answer = 'connected'
                        except OSError as e:
                            answer = 'failed'
                        if answer == 'connected' or time.monotonic() - start > 0.5:
                            got['%%s %%s %%d' %% (address, kind, port)] = [answer, time.monotonic() - start]
            print(json.dumps(got))
            """
        )
        % addresses
    )
    assert got == {}


def test_other_socket_families_reach_nothing(server):
    got = server.facts(
        SYSCALLS
        + py(
            """
            import json, socket, time

            def connect(family, kind, address):
                with socket.socket(family, kind) as s:
                    s.settimeout(3)
                    s.connect(address)

            got = {}
            for cid in 0, 1, 2, 3:
                for port in 22, 1024, 2375:
                    start = time.monotonic()
                    answer = attempt(connect, socket.AF_VSOCK, socket.SOCK_STREAM, (cid, port))
                    if answer == 0 or time.monotonic() - start > 0.5:
                        got['vsock %d %d' % (cid, port)] = answer
            for name in 'docker.sock', 'run/docker.sock', 'run/containerd/containerd.sock':
                if attempt(connect, socket.AF_UNIX, socket.SOCK_STREAM, '/' + name) == 0:
                    got[name] = 0
            for family, kind, protocol in (
                (socket.AF_PACKET, socket.SOCK_RAW, 3), (socket.AF_INET, socket.SOCK_RAW, 1),
                (socket.AF_INET6, socket.SOCK_RAW, 58),
            ):
                if attempt(lambda: socket.socket(family, kind, protocol).close()) == 0:
                    got['raw %d' % family] = 0
            print(json.dumps(got))
            """
        )
    )
    assert got == {}


def test_resolving_any_name_fails_at_once(server):
    got = server.facts(
        py(
            """
            import json, socket, time
            got = {}
            for name in ('example.com', 'python.org', 'host.docker.internal', 'gateway.docker.internal',
                         'metadata.google.internal', 'hub.docker.com', 'a', 'a.b.c.d.e.f.',
                         'localhost.example.com', 'x' * 63 + '.com', 'b\\u00fccher.example'):
                start = time.monotonic()
                try:
                    answer = repr(socket.getaddrinfo(name, 80))
                except OSError:
                    answer = 'failed'
                seconds = time.monotonic() - start
                if answer != 'failed' or seconds > 0.5:
                    got[name] = [answer, seconds]
            print(json.dumps(got))
            """
        )
    )
    assert got == {}


def test_localhost_resolves(server):
    got = server.facts(
        py(
            """
            import json, shutil, socket, subprocess
            addresses = sorted({a[4][0] for a in socket.getaddrinfo('localhost', 80)})
            own = socket.gethostbyname(socket.gethostname())
            with socket.socket() as s:
                s.bind(('localhost', 0))
                bound = s.getsockname()[0]
            getent = '127.0.0.1'
            if shutil.which('getent'):
                out = subprocess.run(['getent', 'ahostsv4', 'localhost'], capture_output=True, text=True)
                getent = out.stdout.split()[0]
            print(json.dumps([addresses, own, bound, getent]))
            """
        )
    )
    assert set(got[0]) <= {"127.0.0.1", "::1"} and "127.0.0.1" in got[0]
    assert got[1].startswith("127.") and got[2:] == ["127.0.0.1", "127.0.0.1"]


def test_a_server_and_a_client_inside_the_script_talk_over_localhost(server):
    result = server.run(
        py(
            """
            import http.server, threading, urllib.request

            class Hello(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    self.send_response(200)
                    self.end_headers()
                    self.wfile.write(b'hello over localhost')
                def log_message(self, *args):
                    pass

            with http.server.ThreadingHTTPServer(('localhost', 0), Hello) as web:
                threading.Thread(target=web.serve_forever, daemon=True).start()
                url = 'http://localhost:%d/' % web.server_address[1]
                print(urllib.request.urlopen(url, timeout=5).read().decode())
                web.shutdown()

            """
        )
    )
    assert (result.status, result.stdout) == ("ok", "hello over localhost\n"), result
