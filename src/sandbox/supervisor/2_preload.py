# --- Modules that are imported before there is a script -------------------------------------------

def use_matplotlib():
    """The first figure looks up all fonts."""
    importlib.import_module("matplotlib.pyplot")
    figure = importlib.import_module("matplotlib.figure").Figure()
    canvas = importlib.import_module("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.plot([0, 1], label="x")
    axes.set_title("x")
    axes.legend()
    canvas.print_png(io.BytesIO())


def use_pandas():
    str(sys.modules["pandas"].DataFrame({"x": [1.0]}).describe())


# The first use of these loads and sets up as much as their import does.
PRELOAD_USES = {
    "matplotlib": use_matplotlib,
    "matplotlib.pyplot": use_matplotlib,
    "pandas": use_pandas,
}


def start_keeper(libc):
    """Starts a process that shares this one's memory and does nothing, and returns its pid, or -1
    where there is none. The kernel frees memory page by page, and tells of no end before that is
    over: with somebody left to hold it, that is after the verdict. Its parent is PID 1, so that the
    script cannot wait for it."""
    set_tid_address = SET_TID_ADDRESS.get(os.uname().machine)
    libc.calloc.restype = ctypes.c_void_p
    room = libc.calloc(1, KEEPER_ROOM)
    if set_tid_address is None or not hasattr(libc, "gnu_get_libc_version") or not room:
        return -1
    lock = ctypes.c_void_p(room)
    shared = ctypes.create_string_buffer(64)
    libc.pthread_mutexattr_init(shared)
    libc.pthread_mutexattr_setpshared(shared, 1)
    libc.pthread_mutex_init(lock, shared)
    # Its first word in the GNU C library. The kernel gives it back, and wakes whoever waits for it,
    # when this process ends or becomes another program: then nobody needs the memory.
    ctypes.c_int.from_address(room).value = 1
    libc.syscall(set_tid_address, lock)
    wait = ctypes.cast(libc.pthread_mutex_lock, ctypes.c_void_p)
    top = ctypes.c_void_p((room + KEEPER_ROOM) & ~15)
    before = signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
    try:
        return libc.clone(wait, top, CLONE_VM | CLONE_PARENT | signal.SIGCHLD, lock)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Preload:
    """The child's half: imports, and tells PID 1 through the pipe what it is at. A '+' for each
    module that is begun; then '!' and why that failed, or '=', the CPU time in microseconds and the
    keeper's pid."""

    def __init__(self, modules, fd):
        self.modules = modules
        self.fd = fd

    def run(self, libc):
        keeper = -1
        if self.modules:
            self.import_all()
            # Nothing of this is garbage; the script's end would look at all of it.
            gc.collect()
            gc.freeze()
            keeper = start_keeper(libc)
        os.write(self.fd, b"=" + struct.pack(">qi", cpu_us(resource.RUSAGE_SELF), keeper))
        os.close(self.fd)

    def import_all(self):
        logging = importlib.import_module("logging")
        shown = warnings.showwarning
        # What a module warns of when it is imported is not the script's to mend.
        warnings.showwarning = hidden = lambda *args, **kwargs: None
        logging.disable()
        for name in self.modules:
            os.write(self.fd, b"+")
            try:
                importlib.import_module(name)
                with contextlib.suppress(Exception):  # a version that has changed
                    PRELOAD_USES.get(name, int)()
            except BaseException as error:
                self.fail(error)
        logging.disable(logging.NOTSET)
        if warnings.showwarning is hidden:
            warnings.showwarning = shown

    def fail(self, error):
        text = " ".join(("%s: %s" % (type(error).__name__, error)).split())
        os.write(self.fd, b"!" + text.encode("utf-8", "backslashreplace")[:PRELOAD_TEXT_MAX])
        os._exit(1)


def fresh_seeds():
    """Of the generators that everyone shares: what they were seeded with is older than the job."""
    for name in ("random", "numpy.random"):
        if name in sys.modules:
            sys.modules[name].seed()


def take_waiting(fd):
    """What waits in a pipe, as far as one read gets."""
    try:
        return os.read(fd, WAITING_MAX)
    except BlockingIOError:
        return b""


class PreloadWatch:
    """PID 1's half: ends the container where the preload fails, prints or takes too long."""

    def __init__(self, modules, pipes):
        self.modules = modules
        self.pipes = pipes
        self.begun = 0
        self.said = b""
        self.ended = False  # without having been ready
        self.idle_cpu_us = 0
        self.keeper = -1
        self.deadline = time.monotonic() + PRELOAD_S if modules else None

    def patience(self):
        """Milliseconds that are left; None is for ever."""
        if self.deadline is None:
            return None
        left = math.ceil((self.deadline - time.monotonic()) * 1000)
        if left <= 0:
            fail("%s was not over within %d s" % (self.current(), PRELOAD_S))
        return left

    def current(self):
        return "the preload of %s" % self.modules[max(0, min(self.begun, len(self.modules)) - 1)]

    def read(self):
        """Whether the child is ready."""
        data = os.read(self.pipes.ready_r, PRELOAD_TEXT_MAX)
        self.said += data
        while self.said[:1] == b"+":
            self.begun += 1
            self.said = self.said[1:]
        if self.said[:1] == b"!" and (not data or len(self.said) > PRELOAD_TEXT_MAX):
            fail("%s failed: %s" % (self.current(), self.said[1:].decode("utf-8", "replace")))
        self.ended = not data
        if self.said[:1] != b"=" or len(self.said) < 13:
            return False
        self.idle_cpu_us, self.keeper = struct.unpack(">qi", self.said[1:13])
        self.deadline = None
        self.expect_silence()
        return True

    def expect_silence(self):
        """What was printed would stand in the output of the script."""
        text = self.take_words().decode("utf-8", "replace")
        if text:
            fail(
                "the preload of %s printed %r, which every script would seem to have printed"
                % (", ".join(self.modules), text[:PRELOAD_SHOWN])
            )

    def take_words(self):
        """What modules have printed so far, on both streams."""
        fds = (self.pipes.stdout_r, self.pipes.stderr_r) if self.modules else ()
        return b"".join(map(take_waiting, fds))

    def explain_end(self, status):
        """Of the child, before it was ready: the preload's, where there is one."""
        with contextlib.suppress(BlockingIOError):
            while not self.ended:
                self.read()  # its last words tell more
        if not self.begun:
            return "the child ended with status %d before it got a script" % status
        how = "with status %d" % os.WEXITSTATUS(status)
        if os.WIFSIGNALED(status):
            how = "by signal %d" % os.WTERMSIG(status)
            if os.WTERMSIG(status) == signal.SIGKILL:
                how += ", as where the profile's memory is too small"
        return "%s ended its process %s" % (self.current(), how)


