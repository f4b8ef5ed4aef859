"""Process 1, descriptors, signals, programs of the runtime."""

from attacks import SLOW_DOWN
from escapes import Attempt, attempt, everywhere

ATTEMPTS = [
    Attempt(
        "slowing process 1",
        SLOW_DOWN + "got = slowed\n",
        everywhere("EPERM"),
    ),
    attempt(
        "every signal to process 1",
        """
        KILL, TKILL, TGKILL, QUEUE, TGQUEUE = (129, 130, 131, 138, 240) if ARM \\
            else (62, 200, 234, 129, 297)
        info = text(struct.pack('3i', 10, 0, -1) + bytes(116))
        before = read('/proc/1/stat').split(')')[1].split()[1:4]
        pidfd = os.pidfd_open(1)
        for number in range(1, 65):
            call(KILL, 1, number)
            call(TKILL, 1, number)
            call(TGKILL, 1, 1, number)
            call(QUEUE, 1, number, info)
            call(TGQUEUE, 1, 1, number, info)
            call(424, pidfd, number, 0, 0)
        time.sleep(0.3)
        state = read('/proc/1/stat').split(')')[1].split()
        got = [state[0] in 'SR', state[1:4] == before]
        """,
        [True, True],
    ),
    attempt(
        "signals to everyone and to those that are not there",
        """
        got = [attempt(os.kill, -1, signal.SIGKILL), attempt(os.kill, 4000, signal.SIGKILL),
               attempt(os.killpg, 4000, signal.SIGKILL), opened('/proc/1/mem', os.O_RDONLY)]
        """,
        ["ESRCH", "ESRCH", "ESRCH", "EACCES"],
    ),
    attempt(
        "sessions and groups of process 1",
        """
        got = [attempt(os.setpgid, 0, 1), attempt(os.setpgid, 1, 0), attempt(os.setsid)]
        """,
        ["EPERM", "ESRCH", "EPERM"],
    ),
    attempt(
        "processes that are there",
        """
        got = sorted(int(p) for p in os.listdir('/proc') if p.isdigit())
        got = [got == sorted([1, os.getpid()]), os.getppid()]
        """,
        [True, 1],
    ),
    attempt(
        "the memory of process 1",
        """
        got = {n: opened('/proc/1/' + n, os.O_RDONLY)
               for n in ('mem', 'maps', 'smaps', 'pagemap', 'auxv', 'environ', 'stack', 'syscall',
                         'io', 'numa_maps', 'map_files', 'fd', 'fdinfo', 'ns/pid', 'task/1/mem')}
        """,
        lambda got: set(got.values()) <= {"EACCES", "ENOENT"}
        and {got[n] for n in ("mem", "maps", "environ", "fd", "task/1/mem")} == {"EACCES"},
    ),
    attempt(
        "the program of process 1, as in CVE-2019-5736",
        """
        fd = os.open('/proc/self/exe', os.O_PATH)
        got = [opened('/proc/1/exe', os.O_RDONLY), opened('/proc/1/exe', os.O_WRONLY),
               opened('/proc/self/exe', os.O_WRONLY), opened('/proc/self/fd/%d' % fd, os.O_RDWR),
               opened('/proc/self/fd/%d' % fd, os.O_WRONLY | os.O_TRUNC),
               attempt(os.execv, '/proc/1/exe', ['runc'])]
        """,
        lambda got: got[:2] == ["EACCES", "EACCES"]
        and set(got[2:5]) <= {"EACCES", "EROFS"}
        and got[5] == "EACCES",
    ),
    attempt(
        "descriptors that lead out, as in CVE-2024-21626",
        """
        def target(fd):
            try:
                return os.readlink('/proc/self/fd/%d' % fd)
            except OSError:
                return None
        inside = ('pipe:', '/dev/null', '/workspace/')
        got = [[target(fd) for fd in range(4096)
                if target(fd) and not target(fd).startswith(inside)],
               {fd: attempt(os.chdir, '/proc/self/fd/%d/..' % fd) for fd in range(32)}, os.getcwd()]
        got[1] = sorted(set(map(str, got[1].values())))
        """,
        lambda got: got[0] == []
        and set(got[1]) <= {"ENOENT", "ENOTDIR"}
        and got[2] == "/workspace",
    ),
    attempt(
        "descriptors of a new program",
        """
        import subprocess
        code = 'import os; print([os.readlink("/proc/self/fd/%d" % n) for n in range(3, 4096) ' \\
               'if os.path.lexists("/proc/self/fd/%d" % n)])'
        got = subprocess.check_output([sys.executable, '-I', '-c', code], close_fds=False, text=True)
        """,
        "[]\n",
    ),
    attempt(
        "folders by O_PATH and openat2",
        """
        root = os.open('/proc/self/root', os.O_PATH)
        got = [attempt(os.open, '../../../var/lib/docker', os.O_RDONLY),
               attempt(lambda: os.open('../var/lib/docker', os.O_RDONLY, dir_fd=root)),
               attempt(lambda: os.open('/proc/1/root', os.O_PATH)),
               attempt(lambda: os.open('/proc/1/cwd/x', os.O_PATH)),
               attempt(lambda: os.stat('/proc/1/root/'))]
        """,
        lambda got: got[:2] == ["ENOENT", "ENOENT"] and set(got[2:]) == {"EACCES"},
    ),
    attempt(
        "races with symbolic links",
        """
        import threading
        os.mkdir('/workspace/real')
        os.symlink('/proc/1/root', '/workspace/link')
        with open('/workspace/real/etc', 'w') as f:
            f.write('mine')
        stop = time.monotonic() + 1
        EXCHANGE = 2
        def swap():
            while time.monotonic() < stop:
                call(276 if ARM else 316, -100, text(b'/workspace/real'), -100,
                     text(b'/workspace/link'), EXCHANGE)
        thread = threading.Thread(target=swap)
        thread.start()
        seen = set()
        while time.monotonic() < stop:
            seen.add(read('/workspace/real/etc'))
        thread.join()
        got = sorted(seen)
        """,
        lambda got: set(got) <= {"mine", "EACCES", "ENOENT"} and "mine" in got,
    ),
    attempt(
        "a sibling by CLONE_PARENT instead of a child",
        """
        pid = libc.syscall(ctypes.c_long(220 if ARM else 56), ctypes.c_long(0x8000 | 17),
                           ctypes.c_long(0), ctypes.c_long(0), ctypes.c_long(0), ctypes.c_long(0))
        if pid == 0:
            os._exit(0)
        got = attempt(os.waitpid, pid, 0)
        """,
        "ECHILD",
    ),
    attempt(
        "processors that are not one's own",
        """
        setaffinity = 122 if ARM else 203
        mask = text(b'\\xff' * 128)
        got = [call(setaffinity, 1, 128, mask), call(setaffinity, os.getpid(), 128, mask),
               call(setaffinity, 0, 128, text(bytes(128)))]
        """,
        ["EPERM", "EPERM", "EINVAL"],
    ),
    attempt(
        "the environment",
        """
        got = sorted(os.environ)
        """,
        lambda got: set(got)
        <= set(
            "HOME HOSTNAME JOBLIB_TEMP_FOLDER LANG LOGNAME MKL_NUM_THREADS MPLBACKEND MPLCONFIGDIR "
            "NUMBA_CACHE_DIR NUMEXPR_MAX_THREADS OMP_NUM_THREADS OPENBLAS_NUM_THREADS PATH TMPDIR "
            "PYTHON_CPU_COUNT USER XDG_CACHE_HOME GPG_KEY PYTHON_VERSION PYTHON_SHA256 LC_CTYPE "
            "PYTHON_PIP_VERSION PYTHON_GET_PIP_URL PYTHON_GET_PIP_SHA256 "
            "PYTHON_SETUPTOOLS_VERSION".split()
        ),
    ),
    attempt(
        "names of this machine",
        """
        got = [socket.gethostname(), read('/proc/sys/kernel/hostname'), read('/etc/machine-id'),
               read('/proc/self/cgroup').count('docker')]
        """,
        ["sandbox", "sandbox\n", "ENOENT", 0],
    ),
    attempt(
        "memory that stays",
        """
        got = [call(228 if ARM else 149, 0x10000, 1 << 30) != 0,
               attempt(lambda: __import__('mmap').mmap(-1, 1 << 21, flags=0x40022))]
        """,
        [True, "ENOMEM"],  # locked memory, huge pages
    ),
]
