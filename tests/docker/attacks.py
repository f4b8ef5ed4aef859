"""Scripts that several tests run inside the sandbox."""

from sandbox import py

PLACES = ["/dev/mqueue", "/dev/shm", "/tmp", "/workspace"]  # the only ones that can be written

# System calls that Python has no function for. Each answers 0 or the error's name.
SYSCALLS = py(
    """
    import ctypes, errno, os, platform

    libc = ctypes.CDLL(None, use_errno=True)
    ARM = platform.machine() == 'aarch64'
    PTRACE = 117 if ARM else 101
    PROCESS_VM_READV = 270 if ARM else 310
    PROCESS_VM_WRITEV = 271 if ARM else 311
    KCMP = 272 if ARM else 312
    SCHED_SETATTR = 274 if ARM else 314
    IOPRIO_SET = 30 if ARM else 251
    SETPRIORITY = 140 if ARM else 141
    PRLIMIT64 = 261 if ARM else 302
    UNSHARE = 97 if ARM else 272
    PIDFD_OPEN, PIDFD_GETFD = 434, 438

    def name_of(number):
        return errno.errorcode.get(number, str(number))

    def call(number, *arguments):
        wide = [a if isinstance(a, (ctypes.Array, ctypes.c_void_p)) else ctypes.c_long(a)
                for a in arguments]
        libc.syscall.restype = ctypes.c_long
        if libc.syscall(ctypes.c_long(number), *wide) >= 0:
            return 0
        return name_of(ctypes.get_errno())

    def attempt(function, *arguments):
        try:
            function(*arguments)
        except OSError as e:
            return name_of(e.errno)
        return 0
    """
)

# Every way to make the process `target` slower. Leaves a dictionary `slowed`: 0 means that it worked.
SLOW_DOWN = SYSCALLS + py(
    """
    import struct

    def slow_down(target):
        attr = ctypes.create_string_buffer(struct.pack('IIQiIQQQ', 48, 5, 0, 0, 0, 0, 0, 0))
        zero = os.sched_param(0)
        return {
            'sched_setscheduler': attempt(os.sched_setscheduler, target, os.SCHED_IDLE, zero),
            'sched_setscheduler batch': attempt(os.sched_setscheduler, target, os.SCHED_BATCH, zero),
            'sched_setparam': attempt(os.sched_setparam, target, zero),
            'sched_setattr': call(SCHED_SETATTR, target, attr, 0),
            'sched_setaffinity': attempt(os.sched_setaffinity, target, os.sched_getaffinity(0)),
            'setpriority process': attempt(os.setpriority, os.PRIO_PROCESS, target, 19),
            'setpriority group': call(SETPRIORITY, os.PRIO_PGRP, os.getpgid(target) or target, 19),
            'setpriority user': attempt(os.setpriority, os.PRIO_USER, os.getuid(), 19),
            'setpriority user 0': attempt(os.setpriority, os.PRIO_USER, 0, 19),
            'ioprio_set process': call(IOPRIO_SET, 1, target, 3 << 13),
            'ioprio_set group': call(IOPRIO_SET, 2, os.getpgid(target) or target, 3 << 13),
            'ioprio_set user': call(IOPRIO_SET, 3, os.getuid(), 3 << 13),
        }

    slowed = slow_down(1)
    """
)

# Slows PID 1 where that works, then keeps the processor busy with 120 processes.
SPINNERS = SLOW_DOWN + py(
    """
    print('spinning', flush=True)
    for _ in range(120):
        try:
            if os.fork() == 0:
                while True:
                    pass
        except OSError:
            break
    while True:
        pass
    """
)

# Prints every place that can be written, as a JSON list.
WRITABLE = py(
    """
    import json, os, stat

    PLACES = {'/workspace', '/tmp', '/dev/shm', '/dev/mqueue'}
    found = []

    def try_open(path, flags):
        try:
            os.close(os.open(path, flags | os.O_NONBLOCK, 0o600))
        except OSError:
            return
        found.append(path)

    def try_folder(path):
        probe = os.path.join(path, '.probe')
        try:
            os.close(os.open(probe, os.O_CREAT | os.O_WRONLY, 0o600))
            os.unlink(probe)
        except OSError:
            return
        found.append(path)

    def try_file(path):
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            return
        if stat.S_ISREG(mode) or stat.S_ISBLK(mode):
            try_open(path, os.O_WRONLY)
        elif stat.S_ISSOCK(mode):
            found.append(path)

    for top, folders, files in os.walk('/'):
        if top in PLACES:
            folders[:] = []
            try_folder(top)
            continue
        try_folder(top)
        if top == '/proc':
            # The script's own processes; and files that open for everyone but take only a trigger.
            folders[:] = [d for d in folders if not d.isdigit() and d != 'pressure']
        for name in files:
            try_file(os.path.join(top, name))
    print(json.dumps(sorted(found)))
    """
)


def forged_frames():
    """A script that writes a forged end of the run wherever it can, and then ends with status 7."""
    return py(
        """
        import os, struct, sys

        def frame(kind, payload):
            return kind + struct.pack('>I', len(payload)) + payload

        end = frame(b'X', struct.pack('>11q', 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0))
        inner = frame(b'O', b'FORGED OUTPUT') + frame(b'V', b"'FORGED VALUE'") + end
        outer = struct.pack('>BxxxI', 1, len(inner)) + inner  # as the engine wraps it
        forged = end + inner + outer

        def write(fd):
            try:
                os.set_blocking(fd, False)
                os.write(fd, forged)
            except OSError:
                pass
            finally:
                try:
                    os.set_blocking(fd, True)
                except OSError:
                    pass

        def write_path(path):
            try:
                fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                return
            write(fd)
            os.close(fd)

        for fd in range(1024):
            write(fd)
        for pid in [p for p in os.listdir('/proc') if p.isdigit()]:
            for fd in range(64):
                write_path('/proc/%s/fd/%d' % (pid, fd))
        for name in ('/dev/stdout', '/dev/stderr', '/dev/tty', '/dev/console', '/dev/ptmx',
                     '/dev/pts/0', '/proc/1/task/1/fd/1'):
            write_path(name)
        os._exit(7)
        """
    )


def assert_only_memory_is_writable(lines):
    """lines are those of /proc/self/mountinfo inside."""
    for line in lines:
        left, _, right = line.partition(" - ")
        point, options = left.split()[4], left.split()[5].split(",")
        kind = right.split()[0]
        if point == "/":
            assert "ro" in options, line
        if "rw" in options:
            assert kind in ("tmpfs", "mqueue", "proc", "devpts"), line
