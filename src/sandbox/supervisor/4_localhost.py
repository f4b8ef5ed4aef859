# --- localhost ------------------------------------------------------------------------------------

DNS_A, DNS_PTR, DNS_AAAA, DNS_ANY = 1, 12, 28, 255
DNS_IN = 1
PTR_V4 = "1.0.0.127.in-addr.arpa"
PTR_V6 = "1." + "0." * 31 + "ip6.arpa"


def dns_question(query):
    """Returns name, type and the end of the one question of a query."""
    _, flags, questions, answers, _, _ = struct.unpack_from(">6H", query)
    if flags & 0xF800 or questions != 1 or answers:
        raise ValueError
    labels, at = [], 12
    while query[at]:
        if query[at] > 63:
            raise ValueError
        labels.append(query[at + 1 : at + 1 + query[at]].decode("ascii"))
        at += 1 + query[at]
    kind, space = struct.unpack_from(">2H", query, at + 1)
    if space != DNS_IN:
        raise ValueError
    return ".".join(labels).lower(), kind, at + 5


def dns_reply(query, hostname, has_v6):
    """The answer to one query; None where it is malformed."""
    try:
        name, kind, end = dns_question(query)
    except (ValueError, IndexError, struct.error):
        return None
    records = []
    known = True
    if name == "localhost" or name.endswith(".localhost") or name == hostname:
        if kind in (DNS_A, DNS_ANY):
            records.append((DNS_A, bytes((127, 0, 0, 1))))
        if kind in (DNS_AAAA, DNS_ANY) and has_v6:
            records.append((DNS_AAAA, bytes(15) + b"\1"))
    elif name == PTR_V4 or (name == PTR_V6 and has_v6):
        if kind in (DNS_PTR, DNS_ANY):
            records.append((DNS_PTR, b"\x09localhost\0"))
    else:
        known = False
    ident, flags = struct.unpack_from(">2H", query)
    flags = 0x8480 | flags & 0x0100 | (0 if known else 3)
    reply = struct.pack(">6H", ident, flags, 1, len(records), 0, 0) + query[12:end]
    for kind, data in records:
        reply += struct.pack(">3HIH", 0xC00C, kind, DNS_IN, 60, len(data)) + data
    return reply


class Resolver:
    """Answers for localhost: /etc/hosts is empty, and the C library then asks 127.0.0.1."""

    def __init__(self):
        self.hostname = socket.gethostname().lower()
        v4 = self.bind(socket.AF_INET, "127.0.0.1")
        v6 = self.bind(socket.AF_INET6, "::1")
        self.works = v4 is not None
        self.has_v6 = v6 is not None
        self.sockets = {sock.fileno(): sock for sock in (v4, v6) if sock is not None}

    @staticmethod
    def bind(family, address):
        try:
            sock = socket.socket(family, socket.SOCK_DGRAM)
        except OSError:
            return None
        try:
            sock.setblocking(False)
            sock.bind((address, 53))
            return sock
        except OSError:
            sock.close()
            return None

    def answer(self, fd):
        sock = self.sockets[fd]
        for _ in range(DNS_ROUND):
            try:
                query, sender = sock.recvfrom(512)
                reply = dns_reply(query, self.hostname, self.has_v6)
                if reply is not None:
                    sock.sendto(reply, sender)
            except BlockingIOError:
                return
            except OSError:
                pass  # the sender is gone


