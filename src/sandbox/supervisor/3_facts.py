# --- The facts ------------------------------------------------------------------------------------


def cgroup_path(names):
    for name in names:
        if os.path.exists(CGROUP + name):
            return CGROUP + name
    return None


def cgroup_facts():
    paths = ((key, cgroup_path(names)) for key, names in CGROUP_FILES.items())
    return {key: read_text(path).rstrip("\n") for key, path in paths if path}


def status_facts():
    lines = (line.partition(":") for line in read_text("/proc/self/status").splitlines())
    status = {key: text.strip() for key, _, text in lines}
    facts = {key: status[key] for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
    facts["no_new_privs"] = int(status["NoNewPrivs"])
    facts["seccomp"] = int(status["Seccomp"])
    return facts


# System calls that harm nothing with all arguments 0 or -1, and that the profile refuses whatever the
# arguments are: a kernel that answers with another errno than the profile's has not got the profile.
REFUSED = {
    "x86_64": {
        "bpf": 321,
        "io_uring_setup": 425,
        "kcmp": 312,
        "keyctl": 250,
        "mount": 165,
        "perf_event_open": 298,
        "pidfd_getfd": 438,
        "process_vm_readv": 310,
        "setns": 308,
        "unshare": 272,
    },
    "aarch64": {
        "bpf": 280,
        "io_uring_setup": 425,
        "kcmp": 272,
        "keyctl": 219,
        "mount": 40,
        "perf_event_open": 241,
        "pidfd_getfd": 438,
        "process_vm_readv": 270,
        "setns": 268,
        "unshare": 97,
    },
}
FAMILIES = {"AF_NETLINK": 16, "AF_PACKET": 17, "AF_ALG": 38, "AF_VSOCK": 40}

MASKED = (
    "/proc/acpi",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/firmware",
)
READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")


def attempt(call, *arguments):
    """The errno of a call that goes through Python."""
    try:
        call(*arguments).close()
    except AttributeError:
        return 0
    except OSError as error:
        return error.errno
    return 0


def refused_calls(libc):
    minus = ctypes.c_long(-1)
    tried = {}
    for name, number in REFUSED.get(os.uname().machine, {}).items():
        done = libc.syscall(ctypes.c_long(number), minus, minus, minus, minus, minus, minus)
        tried[name] = ctypes.get_errno() if done == -1 else 0
    for name, family in FAMILIES.items():
        tried[name] = attempt(socket.socket, family, socket.SOCK_DGRAM)
    # Of other processes than oneself: one's own number is as good as another's.
    me = os.getpid()
    tried["prlimit64"] = attempt(resource.prlimit, me, resource.RLIMIT_NOFILE)
    tried["sched_setscheduler"] = attempt(
        os.sched_setscheduler, me, os.SCHED_OTHER, os.sched_param(0)
    )
    tried["setpriority"] = attempt(os.setpriority, os.PRIO_PROCESS, me, 0)
    return tried


def is_masked(path):
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            return not os.listdir(path)
        return status.st_rdev == os.makedev(1, 3)  # /dev/null lies over it
    except OSError:
        return True


def is_read_only(path):
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return True


def unmasked_paths():
    paths = [path for path in MASKED if not is_masked(path)]
    return paths + [path for path in READ_ONLY if not is_read_only(path)]


def entries(folder):
    """What is in a folder, as far as device nodes work there and the script may look into it."""
    try:
        if os.statvfs(folder).f_flag & os.ST_NODEV:
            return []
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def folders(folder):
    return [entry.path for entry in entries(folder) if entry.is_dir(follow_symlinks=False)]


def device(path):
    status = os.lstat(path)
    kind = "b" if stat.S_ISBLK(status.st_mode) else "c" if stat.S_ISCHR(status.st_mode) else None
    number = status.st_rdev
    return kind and "%s %d:%d" % (kind, os.major(number), os.minor(number))


def device_nodes():
    found = {}
    for folder in ["/", *folders("/"), *folders("/dev")]:
        for entry in entries(folder):
            if entry.is_symlink() or entry.is_file() or entry.is_dir():
                continue
            node = device(entry.path)
            if node:
                found[valid(entry.path)] = node
    return found


def cgroup_roots():
    lines = read_text("/proc/self/cgroup").splitlines()
    return sorted({line.split(":", 2)[2] for line in lines})


def swap_bytes():
    for line in read_text("/proc/meminfo").splitlines():
        if line.startswith("SwapTotal:"):
            return int(line.split()[1]) * 1024
    return 0


# Those that serve installing, which is not to be had here.
HIDDEN_MODULES = {"pip", "pkg_resources", "setuptools", "wheel"}


def module_name(entry):
    """The name that a folder's entry is imported by; None where it is none."""
    name, dot, kind = entry.name.partition(".")
    if not name.isidentifier() or not name.isascii() or name[0] == "_" or name in HIDDEN_MODULES:
        return None
    if dot:
        return name if kind == "py" or kind.endswith("so") else None
    return name if entry.is_dir() else None


def module_names():
    """What can be imported beside the standard library."""
    names = set()
    for path in sys.path:
        if os.path.basename(path) in ("site-packages", "dist-packages"):
            with contextlib.suppress(OSError), os.scandir(path) as entries:
                names.update(map(module_name, entries))
    text = " ".join(sorted(names - {None}))
    return text if len(text) <= MODULES_MAX else text[: MODULES_MAX + 1].rpartition(" ")[0]


def valid(text):
    return text.encode("utf-8", "backslashreplace").decode()


def hello(libc, resolver):
    facts = status_facts()
    facts.update(
        python="%d.%d.%d" % sys.version_info[:3],
        executable=valid(sys.executable),
        uid=os.getuid(),
        gid=os.getgid(),
        groups=os.getgroups(),
        hostname=valid(socket.gethostname()),
        environ={valid(name): valid(text) for name, text in os.environ.items()},
        interfaces=[
            line.partition(":")[0].strip()
            for line in read_text("/proc/self/net/dev").splitlines()[2:]
        ],
        mountinfo=read_text("/proc/self/mountinfo"),
        rlimits={
            name: resource.getrlimit(getattr(resource, name))
            for name in dir(resource)
            if name.startswith("RLIMIT_")
        },
        refused=refused_calls(libc),
        devices=sorted(os.listdir("/dev")),
        nodes=device_nodes(),
        cgroup_roots=cgroup_roots(),
        unmasked=unmasked_paths(),
        swap_bytes=swap_bytes(),
        cgroup=cgroup_facts(),
        resolver=resolver,
        modules=module_names(),
    )
    data = json.dumps(facts).encode()
    if len(data) > HELLO_MAX:
        fail("the facts of this container take %d bytes; %d is the most" % (len(data), HELLO_MAX))
    return data


class Counters:
    """The cgroup's own counts. Open from the start: at the end there may be no memory left."""

    def __init__(self):
        self.oom = self.open(OOM_FILES)
        self.peak = self.open(PEAK_FILES)

    @staticmethod
    def open(names):
        path = cgroup_path(names)
        try:
            return os.open(path, os.O_RDONLY) if path else None
        except OSError:
            return None

    def oom_kills(self):
        try:
            for line in os.pread(self.oom, 4096, 0).splitlines():
                if line.startswith(b"oom_kill "):
                    return int(line.split()[1])
        except (OSError, TypeError, ValueError):
            pass
        return -1

    def peak_bytes(self):
        try:
            return int(os.pread(self.peak, 64, 0))
        except (OSError, TypeError, ValueError):
            return 0


def cpu_us(who):
    usage = resource.getrusage(who)
    return int((usage.ru_utime + usage.ru_stime) * 1000000)


