# --- What the script leaves behind ----------------------------------------------------------------

KIND_FILE = 1
KIND_FIGURE = 2
# Why the bytes of an artifact do not come along, as frame.h numbers it; 0 is that they do.
TOO_LARGE, USED_UP, NOT_REGULAR, NOT_HASHED, UNREADABLE, BAD_NAME = range(1, 7)

OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
NO_HASH = bytes(32)
# Beside the control characters: those that end lines, and those that turn the order of others.
UNSAFE = set(map(chr, (0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))))


def new_hash(much):
    """hashlib, which brings OpenSSL, is the faster one, but only once it is loaded."""
    for name in () if much else ("_sha2", "_sha256"):
        with contextlib.suppress(ImportError):
            return importlib.import_module(name).sha256()
    return importlib.import_module("hashlib").sha256()


def open_at(folder, name, flags=0):
    """Of whatever the script has made it unreadable: its user is this one."""
    try:
        return os.open(name, OPEN_FLAGS | flags, dir_fd=folder)
    except PermissionError:
        # It is no link, or that would be the error, and nothing is alive that could make it one.
        os.chmod(name, 0o700, dir_fd=folder)
        return os.open(name, OPEN_FLAGS | flags, dir_fd=folder)


def open_folder(folder, name):
    fd = open_at(folder, name, os.O_DIRECTORY)
    if os.fstat(fd).st_mode & 0o700 != 0o700:
        os.fchmod(fd, 0o700)
    return fd


def shown_name(path):
    """The name as bytes for a reader, and whether it is the true one."""
    raw = os.fsencode(path)
    text = raw.decode("utf-8", "backslashreplace")
    text = "".join(c if is_plain(c) else ascii(c)[1:-1] for c in text)
    data = text.encode()
    if len(data) > ARTIFACT_NAME_MAX:
        data = data[: ARTIFACT_NAME_MAX - 3].decode("utf-8", "ignore").encode() + b"..."
    return data, data == raw


def is_plain(character):
    code = ord(character)
    return code >= 0xA0 and character not in UNSAFE or 0x20 <= code < 0x7F


def free_names():
    """For figures: figure-1.png and so on, without those that files of the script's have."""
    for number in itertools.count(1):
        name = "figure-%d.png" % number
        if not os.path.lexists("%s/%s" % (OUTPUTS, name)):
            yield name


class Collector:
    """Sends figures and files, once everything but PID 1 is dead. Nothing that lies there may hold
    it up or harm it: what is looked at, read, hashed and sent is bounded, and so is the time."""

    def __init__(self, outbox, limits):
        self.outbox = outbox
        self.names = limits["files"]
        self.most = limits["file"]
        self.total = limits["total"]
        self.look = LOOK_MAX
        self.unhashed = HASH_MAX
        self.rest = 0  # not named
        self.more = False  # and there may be more of them

    def run(self):
        """A generator that gives way after each piece of work, and while the reader is slow."""
        self.end = time.monotonic() + COLLECT_S + self.total // COLLECT_PACE
        try:
            top = open_folder(None, WORKSPACE)
        except OSError:
            yield from self.tell(KIND_FILE, UNREADABLE, b"outputs")
        else:
            yield from self.figures(top)
            yield from self.entry(top, os.path.basename(OUTPUTS), "", 0)
        if self.rest or self.more:
            self.outbox.put(b"R", struct.pack(">QB", self.rest, self.more))

    def give_way(self):
        began = time.monotonic()
        yield
        while self.outbox.full():
            yield
        self.end += time.monotonic() - began

    def tell(self, kind, reason, name, size=0, digest=NO_HASH):
        self.outbox.put(b"A", struct.pack(">BBQ32s", kind, reason, size, digest) + name)
        self.names -= 1
        if self.outbox.full():
            yield from self.give_way()

    def names_in(self, folder):
        """The names in it, sorted; fewer where too many have been seen."""
        with os.scandir(folder) as entries:
            names = [entry.name for entry in itertools.islice(entries, self.look + 1)]
        if len(names) > self.look:
            self.more = True
            self.rest += 1
            names.pop()
        self.look -= len(names)
        return sorted(names, key=os.fsencode)

    def figures(self, top):
        try:
            folder = open_folder(top, os.path.basename(FIGURES))
        except OSError:
            return
        count = 0
        shown = free_names()
        for name in self.names_in(folder):
            if name.endswith(".png"):
                count += 1
                if count <= FIGURES_MAX and self.goes_on():
                    yield from self.file(folder, name, KIND_FIGURE, next(shown).encode())
                else:
                    self.rest += 1
            elif name == os.path.basename(FIGURES_MORE):
                size = os.stat(name, dir_fd=folder, follow_symlinks=False).st_size
                self.rest += min(size, FIGURES_COUNTED_MAX)
        os.close(folder)

    def goes_on(self):
        """Whether there is room for another name, and time."""
        if self.names > 0 and time.monotonic() >= self.end:
            self.names = 0
            self.more = True
        return self.names > 0

    def entry(self, folder, name, prefix, depth):
        """A file, or a folder with all that is in it."""
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:  # the script has removed OUTPUTS
            return
        path = prefix + name
        if stat.S_ISDIR(status.st_mode):
            try:
                if depth > DEPTH_MAX:
                    raise RecursionError
                inner = open_folder(folder, name)
            except (OSError, RecursionError):
                if self.goes_on():
                    yield from self.tell(KIND_FILE, UNREADABLE, shown_name(path + "/")[0])
                else:
                    self.rest += 1
                return
            for child in self.names_in(inner):
                yield from self.entry(inner, child, path + "/" if depth else "", depth + 1)
            os.close(inner)
        elif not self.goes_on():
            self.rest += 1
        else:
            yield from self.file(folder, name, KIND_FILE, *shown_name(path))

    def file(self, folder, name, kind, shown, valid=True):
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            yield from self.tell(kind, NOT_REGULAR, shown)
        elif not valid:
            yield from self.tell(kind, BAD_NAME, shown, status.st_size)
        else:
            try:
                fd = open_at(folder, name)
            except OSError:
                yield from self.tell(kind, UNREADABLE, shown, status.st_size)
                return
            yield from self.content(fd, kind, shown)
            os.close(fd)

    def content(self, fd, kind, shown):
        status = os.fstat(fd)
        size = status.st_size
        comes = size <= min(self.most, self.total)
        sparse = status.st_blocks * 512 < size
        digest = None
        if comes or size <= self.unhashed and (not sparse or size <= self.most):
            try:
                digest = yield from self.digest(fd, size)
            except OSError:
                yield from self.tell(kind, UNREADABLE, shown, size)
                return
        if digest is None:
            yield from self.tell(kind, NOT_HASHED, shown, size)
        elif not comes:
            reason = TOO_LARGE if size > self.most else USED_UP
            yield from self.tell(kind, reason, shown, size, digest)
        else:
            self.total -= size
            yield from self.tell(kind, 0, shown, size, digest)
            yield from self.bytes(fd, size)

    def digest(self, fd, size):
        """None: there is not the time for it."""
        self.unhashed -= size
        state = new_hash(HASH_MAX - self.unhashed >= FAST_HASH_FROM)
        while size:
            if time.monotonic() >= self.end:
                return None
            data = os.read(fd, min(size, FRAME_MAX))
            if not data:
                raise OSError
            state.update(data)
            size -= len(data)
            yield from self.give_way()
        return state.digest()

    def bytes(self, fd, size):
        os.lseek(fd, 0, os.SEEK_SET)
        while size:
            data = os.read(fd, min(size, FRAME_MAX))
            if not data:
                fail("a file has become shorter while nothing ran")
            self.outbox.put(b"a", data)
            size -= len(data)
            yield from self.give_way()


