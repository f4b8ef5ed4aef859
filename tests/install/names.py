"""A name server at an address of this machine that is not loopback."""

import socket
import struct
import threading

ROUTED = "192.0.2.1"  # nobody's: nothing is sent there
HEADER = struct.Struct(">6H")
ANSWERED, ONE = 0x8180, 1
TYPE_A = 1
TTL_S = 60


def own_address():
    """None where this machine has loopback alone."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((ROUTED, 53))
        except OSError:
            return None
        return probe.getsockname()[0]


def reply(query, address):
    """Every name has that address of IPv4, and none of IPv6."""
    end = query.index(b"\0", HEADER.size) + 5
    kind = struct.unpack(">H", query[end - 4:end - 2])[0]
    found = kind == TYPE_A
    record = b"\xc0\x0c" + struct.pack(">HHIH", TYPE_A, ONE, TTL_S, 4) + socket.inet_aton(address)
    head = HEADER.pack(HEADER.unpack(query[:HEADER.size])[0], ANSWERED, ONE, found, 0, 0)
    return head + query[HEADER.size:end] + (record if found else b"")


class NameServer:
    """Listens on a thread of its own until it is closed."""

    def __init__(self, address, answer):
        self.address = address
        self.answer = answer
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, 53))
        self.socket.settimeout(0.2)
        self.open = True
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while self.open:
            try:
                query, client = self.socket.recvfrom(512)
            except socket.timeout:
                continue
            self.socket.sendto(reply(query, self.answer), client)

    def close(self):
        self.open = False
        self.thread.join()
        self.socket.close()
