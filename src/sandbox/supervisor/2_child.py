# --- The script's process -------------------------------------------------------------------------


class Pipes:
    """Every descriptor that PID 1 and the script's process have in common."""

    def __init__(self):
        self.job_r, self.job_w = os.pipe()
        self.ready_r, self.ready_w = os.pipe()
        self.stdin_r, self.stdin_w = os.pipe()
        self.stdout_r, self.stdout_w = os.pipe()
        self.stderr_r, self.stderr_w = os.pipe()
        self.value_r, self.value_w = os.pipe()
        for fd in (self.stdout_r, self.stderr_r):
            try:
                fcntl.fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE)
            except OSError:
                pass  # the user's or the host's quota: the usual size is good, too

    def keep_parent_ends(self):
        for name in ("job_r", "ready_w", "stdin_r", "stdout_w", "stderr_w", "value_w"):
            os.close(getattr(self, name))
        for name in ("ready_r", "stdin_w", "stdout_r", "stderr_r", "value_r"):
            os.set_blocking(getattr(self, name), False)

    def keep_child_ends(self):
        """Closes all that PID 1 has, its fds 0, 1 and 2 and what it inherited included."""
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(self.stdout_w, 1)
        os.dup2(self.stderr_w, 2)
        start = min(VALUE_FD_FROM, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 1)
        self.value_w = fcntl.fcntl(self.value_w, fcntl.F_DUPFD_CLOEXEC, start)
        keep = {0, 1, 2, self.job_r, self.ready_w, self.stdin_r, self.value_w}
        for name in os.listdir("/proc/self/fd"):
            if int(name) not in keep:
                try:
                    os.close(int(name))
                except OSError:
                    pass  # that of the listing itself


def fix_environment():
    """What programs look up in /etc/passwd, which has no entry for this user."""
    env = os.environ
    env.setdefault("USER", "sandbox")
    env.setdefault("LOGNAME", env["USER"])
    env.setdefault("HOME", WORKSPACE)
    for name in ("HOME", "XDG_CACHE_HOME", "MPLCONFIGDIR", "TMPDIR"):
        path = os.path.normpath(env.get(name, ""))
        if path.startswith(("/tmp/", WORKSPACE + "/")):
            os.makedirs(path, exist_ok=True)
            if name == "MPLCONFIGDIR":
                copy_files(MATPLOTLIB_SEED, path)


def copy_files(source, target):
    """As far as there are any, and without those that the target has."""
    with contextlib.suppress(OSError):
        for name in os.listdir(source):
            with contextlib.suppress(OSError), open("%s/%s" % (source, name), "rb") as file:
                with open("%s/%s" % (target, name), "xb") as copy:
                    copy.write(file.read())


def cpu_limit():
    """How many processors the cgroup's quota is worth, rounded up; None where there is no quota."""
    facts = cgroup_facts()
    if "cpu.max" in facts:
        quota, period = facts["cpu.max"].split()[:2]
    else:
        quota, period = facts.get("cpu.cfs_quota_us", "-1"), facts.get("cpu.cfs_period_us", "0")
    if quota in ("max", "-1"):
        return None
    return max(1, math.ceil(int(quota) / int(period)))


def limit_cpu_count():
    """Pools sized by the host's processors would thrash inside the quota."""
    limit = cpu_limit()
    if limit is None:
        return
    affinity = os.sched_getaffinity
    count = min(limit, os.cpu_count() or limit)

    def cpu_count():
        """Return the number of CPUs that this program may use."""
        return count

    def sched_getaffinity(pid):
        """Return the affinity of the process identified by pid."""
        return set(sorted(affinity(pid))[:count])

    os.cpu_count = cpu_count
    os.sched_getaffinity = sched_getaffinity
    if hasattr(os, "process_cpu_count"):
        os.process_cpu_count = lambda: min(count, len(affinity(0)))
    # For interpreters that the script starts.
    os.environ.setdefault("PYTHON_CPU_COUNT", str(count))


def text_output(fd, name, errors):
    """As `python -u` opens it: what was written survives a kill."""
    raw = io.FileIO(fd, "wb", closefd=False)
    raw.name = name
    text = io.TextIOWrapper(raw, "utf-8", errors, "\n", write_through=True)
    text.mode = "w"
    return text


def open_outputs():
    sys.stdout = sys.__stdout__ = text_output(1, "<stdout>", "surrogateescape")
    sys.stderr = sys.__stderr__ = text_output(2, "<stderr>", "backslashreplace")


def open_input(pipes, path, length):
    if length > 0:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        os.dup2(fd, 0)
        os.close(fd)
        os.unlink(path)
    elif length < 0:
        os.dup2(pipes.stdin_r, 0)
    raw = io.FileIO(0, "rb", closefd=False)
    raw.name = "<stdin>"
    sys.stdin = io.TextIOWrapper(io.BufferedReader(raw), "utf-8", "surrogateescape", "\n")
    sys.stdin.mode = "r"
    sys.__stdin__ = sys.stdin


def prepare_child(libc, pipes, end):
    """Everything that can be done before the script is known. Returns the job."""
    try:
        pipes.keep_child_ends()
        # Only now: whoever can read this process finds nothing of PID 1 in it.
        set_dumpable(libc, 1)
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
        os.setsid()
        # What a Python that was started on a file has.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        os.chdir(WORKSPACE)
        fix_environment()
        os.makedirs(OUTPUTS, exist_ok=True)
        limit_cpu_count()
        open_outputs()
        # Python 3.13 and later keep the text of -c there, and would quote it for eval()ed code.
        linecache.clearcache()
        getattr(linecache, "_interactive_cache", {}).clear()
        compile_script(b"# As much as can be warm\n0", "")
        Preload(sys.argv[1:], pipes.ready_w).run(libc)
        os.chdir(WORKSPACE)  # wherever a module has gone
        end.start()
        with open(pipes.job_r, "rb") as file:
            line = file.read()
        if not line:
            os._exit(0)
        job = json.loads(line)
        if "refused" in job:
            sys.stderr.write(job["refused"] + "\n")
            os._exit(1)
        open_input(pipes, job.get("input"), job["stdin"])
        os.close(pipes.stdin_r)
        fresh_seeds()
        return job
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def compile_script(source, path):
    """Returns the code of the script and, where its last statement is an expression, that of the
    expression, which the first then lacks."""
    parts = None
    if len(source) <= VALUE_SOURCE_MAX:
        # Recorded since some Python versions give the same warning for the text and for the tree.
        with contextlib.suppress(Exception), warnings.catch_warnings(record=True) as seen:
            parts = compile_parts(source, path)
    if parts is None:
        # As it is: for its own error, or because it is too large or too deep for a tree.
        return compile(source, path, "exec", 0, True), None
    shown = {}
    for warning in seen:
        shown.setdefault((str(warning.message), warning.category, warning.lineno), warning)
    for warning in shown.values():
        warnings.showwarning(warning.message, warning.category, warning.filename, warning.lineno)
    return parts


def compile_parts(source, path):
    tree = compile(source, path, "exec", ast.PyCF_ONLY_AST, True)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = tree.body[-1]
        if len(tree.body) > 1 or ast.get_docstring(tree, False) is None:
            tree.body.pop()
    body = compile(tree, path, "exec", 0, True)
    if last is not None:
        flags = body.co_flags & FUTURE_FLAGS
        last = compile(ast.Expression(last.value), path, "eval", flags, True)
    return body, last


FUTURE_FLAGS = 0
for _name in __future__.all_feature_names:
    FUTURE_FLAGS |= getattr(__future__, _name).compiler_flag


def fresh_main(path):
    """The module that `python FILE` runs the file in."""
    main = types.ModuleType("__main__")
    main.__file__ = path
    main.__cached__ = None
    main.__builtins__ = sys.modules["builtins"]
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    if "__annotations__" in globals():  # Python 3.14 and later make it when it is asked for
        main.__annotations__ = {}
    sys.modules["__main__"] = main
    return main.__dict__


def forget_shadowed():
    """What stands beside a script comes before modules of that name, the few excepted that every
    start of Python brings; others were imported for the supervisor, or by a preload."""
    names = {entry.partition(".")[0] for entry in os.listdir(WORKSPACE)}
    for name in names & (sys.modules.keys() - PLAIN_MODULES):
        spec = importlib.machinery.PathFinder.find_spec(name, [WORKSPACE])
        if spec is not None and spec.has_location:
            for other in list(sys.modules):
                if other == name or other.startswith(name + "."):
                    del sys.modules[other]


def run_script(job, value_fd, figures, end):
    """Runs the script and returns, or raises what it raised: the interpreter's own end of `-c`
    then does all that follows the end of `python FILE`."""
    path = "%s/%s" % (WORKSPACE, job["name"])
    sys.argv = [path] + job["argv"]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv = [sys.executable] + sys.argv
    sys.path.insert(0, WORKSPACE)
    forget_shadowed()
    pipe = os.fstat(value_fd)
    figures.start(job["outputs"])
    namespace = fresh_main(path)
    try:
        with open(path, "rb") as file:
            source = file.read()
        body, last = compile_script(source, path)
        del source
        exec(body, namespace)
        if last is not None:
            value = eval(last, namespace)
            if value is not None and figures.is_own_process() and not figures.shows(value):
                send_value(value_fd, pipe, value)
    except BaseException as error:
        taken = end.takes(error)
        # An exec() while a KeyboardInterrupt is reported makes the interpreter forget that it was one.
        late = not taken and not isinstance(error, (SystemExit, KeyboardInterrupt))
        if not late:
            figures.finish()
        if not taken:
            if not isinstance(error, SystemExit):
                hide_own_frames(figures.finish if late else None)
            raise
    else:
        figures.finish()
        end.takes(None)


def value_text(value):
    """A frame as its reader wants it, who has no terminal: wide, and with its shape. What the script
    prints is left as it is, and what it has set of these options is kept."""
    pandas = sys.modules.get("pandas")
    options = {"width": (80, 160), "max_columns": (0, 20), "show_dimensions": ("truncate", True)}
    changes = []
    with contextlib.suppress(Exception):  # a module of the script's own by that name
        for name, (default, better) in options.items():
            name = "display." + name
            if pandas.get_option(name) == default:
                changes += [name, better]
    if not changes:
        return repr(value)
    with pandas.option_context(*changes):
        return repr(value)


def send_value(fd, pipe, value):
    try:
        text = value_text(value)
    except BaseException as error:
        text = "<repr failed: %s>" % error_text(error)
    data = value_bytes(text)
    with contextlib.suppress(OSError):
        # The script may have closed it and have opened something else in its place.
        while data and os.path.samestat(os.fstat(fd), pipe):
            data = data[os.write(fd, data) :]


def error_text(error):
    text = type(error).__name__
    with contextlib.suppress(BaseException):
        text = ("%s: %s" % (text, error))[:ERROR_TEXT_MAX].rstrip(": ")
    return text


def value_bytes(text):
    """Of at most VALUE_MAX bytes, with a last line that says what was left out."""
    data = str.encode(text, "utf-8", "backslashreplace")
    if len(data) > VALUE_MAX:
        head = data[: VALUE_MAX - 80].decode("utf-8", "ignore")
        line = "\n[%d of %d characters left out]" % (len(text) - len(head), len(text))
        data = (head + line).encode()
    return data


