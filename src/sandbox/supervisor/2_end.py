# --- The end of the script ------------------------------------------------------------------------


def hide_own_frames(then):
    """For the exception on its way up: the interpreter reports it, as it does for `python FILE`,
    and sys.excepthook gets to see the script's frames only. Calls then() once it has been reported,
    so that what takes long cannot keep the report back; None: nothing is left to do."""
    hook = getattr(sys, "excepthook", sys.__excepthook__)
    own = globals()

    def excepthook(kind, value, trace):
        sys.excepthook = hook
        while trace is not None and trace.tb_frame.f_globals is own:
            trace = trace.tb_next
        sys.last_traceback = trace
        try:
            hook(kind, value.with_traceback(trace), trace)
        finally:
            if then is not None:
                then()

    sys.excepthook = excepthook


def writable_files():
    """What this process may write to, by descriptor."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        with contextlib.suppress(OSError):  # that of the list itself
            if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY:
                status = os.fstat(fd)
                found[fd] = status.st_dev, status.st_ino
    return found


format_warning = warnings.formatwarning


def format_last_warning(message, category, filename, lineno, line=None):
    """As the interpreter's own end tells of what it finds: no line of a script is at it."""
    if filename == "<string>":
        filename, lineno = "sys", 1
    return format_warning(message, category, filename, lineno, line)


class QuickEnd:
    """The last of the exit handlers. The interpreter's own end takes apart every module that was
    ever loaded, which takes longer than most scripts do. This does what of it a script can see: its
    objects are finalized, files flushed, exit handlers of C libraries called. What some other module
    has got hold of, a file that is still open or a function with all that it sees, is for the
    interpreter's own end."""

    def __init__(self):
        self.exit_code = None  # None: leave it to the interpreter
        atexit.register(self.run)

    def start(self):
        """Whatever is there now is not the script's."""
        self.newest_module = next(reversed(sys.modules))
        self.writable = writable_files()

    def takes(self, error):
        """The script has ended, with an exception or None. False: the exception must go on up."""
        if error is None:
            self.exit_code = 0
        elif isinstance(error, SystemExit):
            code = error.code
            if code is not None and (type(code) is not int or abs(code) >= 1 << 31):
                return False
            self.exit_code = (code or 0) & 0xFF
        else:
            # The interpreter reports it first. Its report changes the exit code in rare cases.
            if isinstance(error, Exception) and sys.excepthook is sys.__excepthook__:
                self.exit_code = 1
            return False
        return True

    def run(self):
        if self.exit_code is None or not self.flush():
            return
        over = False
        with contextlib.suppress(BaseException):
            over = self.take_apart() and self.flush()
            over = over and writable_files().items() <= self.writable.items()
        if over:
            # With the interpreter's lock held: no thread that is left runs any further.
            ctypes.pythonapi.exit(self.exit_code)
        gc.unfreeze()  # that end finds files by what it collects

    def take_apart(self):
        """Whether nobody else holds any of it."""
        if warnings.formatwarning is format_warning:
            warnings.formatwarning = format_last_warning
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            vars(sys).pop(name, None)
        if gc.isenabled():
            gc.collect()  # as the interpreter: it brings files before their buffers, for later
        names = list(self.script_modules())
        marks = [self.mark(vars(sys.modules[name])) for name in names]
        modules = [weakref.ref(sys.modules.pop(name)) for name in names]
        gc.collect()
        for module in filter(None, (ref() for ref in modules)):
            self.clear(vars(module))
        gc.collect()
        return all(mark() is None for mark in marks)

    @staticmethod
    def mark(namespace):
        """For a namespace itself there is no weak reference."""
        mark = namespace["__mark__"] = set()
        return weakref.ref(mark)

    @staticmethod
    def flush():
        """False: it fails, which the interpreter reports in its own way."""
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None and not stream.closed:
                    stream.flush()
            return True
        except BaseException:
            return False

    def script_modules(self):
        """Latest first. To look at the others as well would copy the memory that they share."""
        names = list(itertools.takewhile(self.newest_module.__ne__, reversed(sys.modules)))
        own = (WORKSPACE + "/", "/tmp/")
        for name in names + ["__main__"]:
            module = sys.modules.get(name)
            if isinstance(module, types.ModuleType):
                if name == "__main__" or str(getattr(module, "__file__", "")).startswith(own):
                    yield name

    @staticmethod
    def clear(namespace):
        """In the interpreter's order: private names first."""
        for private in (True, False):
            for name in list(namespace):
                if name != "__builtins__" and private == (name[:1] == "_" != name[1:2]):
                    namespace[name] = None


