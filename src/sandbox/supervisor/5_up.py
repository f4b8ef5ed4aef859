# --- What goes up ---------------------------------------------------------------------------------


def cut_text(data):
    """Valid UTF-8 of at most VALUE_MAX bytes."""
    text = bytes(data).decode("utf-8", "replace")
    return text.encode()[:VALUE_MAX].decode("utf-8", "ignore").encode()


class Outbox:
    """Frames on their way to stdout, which is never waited for."""

    def __init__(self, fd):
        self.fd = fd
        self.queue = collections.deque()
        self.size = 0

    def put(self, kind, payload=b""):
        self.queue.append(memoryview(kind + struct.pack(">I", len(payload))))
        self.queue.append(memoryview(payload))
        self.size += 5 + len(payload)

    def full(self):
        return self.size >= PENDING_MAX

    def flush(self):
        while self.queue:
            try:
                done = os.writev(self.fd, list(itertools.islice(self.queue, 64)))
            except BlockingIOError:
                return
            except OSError:
                os._exit(0)  # nobody reads any more
            self.size -= done
            while self.queue and done >= len(self.queue[0]):
                done -= len(self.queue.popleft())
            if done:
                self.queue[0] = self.queue[0][done:]


class Stream:
    """One output pipe of the script: its head goes up live, its tail is kept, all is counted."""

    def __init__(self, fd, live, late):
        self.fd = fd
        self.live = live
        self.late = late
        self.open = True
        self.bytes = 0
        self.chars = 0
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def start(self, head, tail):
        self.head = math.inf if head < 0 else head
        self.ring = memoryview(bytearray(tail))
        self.kept = 0
        self.next = 0

    def wanted(self, outbox):
        return self.open and (self.head == 0 or not outbox.full())

    def read(self, outbox):
        """Takes what one read gives. False: there was nothing."""
        try:
            data = os.read(self.fd, READ_SIZE)
        except BlockingIOError:
            return False
        if not data:
            self.close()
            return False
        self.count(data)
        if self.head >= len(data):
            outbox.put(self.live, data)
            self.head -= len(data)
            return True
        if self.head:
            outbox.put(self.live, data[: self.head])
        self.keep(data[self.head :])
        self.head = 0
        return True

    def count(self, data):
        self.bytes += len(data)
        if data.isascii() and not self.decoder.getstate()[0]:
            self.chars += len(data)
        else:
            self.chars += len(self.decoder.decode(data))

    def keep(self, data):
        size = len(self.ring)
        data = data[max(0, len(data) - size) :]
        first = min(len(data), size - self.next)
        self.ring[self.next : self.next + first] = data[:first]
        self.ring[: len(data) - first] = data[first:]
        self.next = (self.next + len(data)) % size if size else 0
        self.kept = min(size, self.kept + len(data))

    def drain(self, outbox):
        """Once all writers are dead. False: more is there than may go up now."""
        while self.wanted(outbox):
            if not self.read(outbox):
                self.close()
        return not self.open

    def finish(self, outbox):
        self.chars += len(self.decoder.decode(b"", True))
        parts = [self.ring[: self.next]]
        if self.kept == len(self.ring):
            parts.insert(0, self.ring[self.next :])
        for part in parts:
            for at in range(0, len(part), FRAME_MAX):
                outbox.put(self.late, part[at : at + FRAME_MAX])

    def close(self):
        if self.open:
            os.close(self.fd)
            self.open = False


