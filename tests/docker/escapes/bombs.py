"""More of everything than there is."""

from escapes import Bomb
from sandbox import py


def bomb(name, script, *rest, **options):
    return Bomb(name, py(script), *rest, **options)


NO_SPACE = "No space left on device"
FILL = """
with open('%s/bomb', 'wb', 0) as f:
    while True:
        f.write(bytes(1 << 20))
"""

BOMBS = [
    bomb(
        "processes",
        """
        while True:
            try:
                os.fork()
            except OSError:
                pass
        """,
        "timed_out",
        seconds=2,
    ),
    bomb(
        "processes that start others and end",
        """
        def hop():
            while True:
                try:
                    if os.fork():
                        os._exit(0)
                except OSError:
                    pass
        while True:
            try:
                if os.fork() == 0:
                    hop()
                os.wait()
            except OSError:
                pass
        """,
        "timed_out",
        seconds=2,
    ),
    bomb(
        "threads",
        """
        import threading
        n = 0
        try:
            while True:
                threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
                n += 1
        finally:
            print(n < 128, flush=True)
            os._exit(1)
        """,
        "error",
        "True",
    ),
    bomb(
        "programs",
        """
        import subprocess
        kept = []
        try:
            while True:
                kept.append(subprocess.Popen(['sleep', '60']))
        finally:
            print(len(kept) < 128)
        """,
        "error",
        "BlockingIOError",
    ),
    bomb(
        "orphans that ignore every signal",
        """
        for _ in range(30):
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    for number in range(1, 65):
                        try:
                            signal.signal(number, signal.SIG_IGN)
                        except (OSError, ValueError):
                            pass
                    while True:
                        time.sleep(1)
                os._exit(0)
        while True:
            time.sleep(1)
        """,
        "timed_out",
        seconds=2,
    ),
    bomb(
        "a script that stops itself",
        """
        os.kill(os.getpid(), signal.SIGSTOP)
        """,
        "timed_out",
        seconds=2,
    ),
    bomb(
        "processor time",
        """
        for _ in range(8):
            if os.fork() == 0:
                break
        while True:
            pass
        """,
        "timed_out",
        seconds=2,
    ),
    bomb(
        "memory of objects",
        """
        kept = []
        while True:
            kept.append(bytearray(b'x' * (1 << 22)))
        """,
        "out_of_memory",
    ),
    bomb(
        "mapped memory",
        """
        import mmap
        kept = []
        while True:
            kept.append(mmap.mmap(-1, 1 << 24))
            for page in range(0, 1 << 24, 4096):
                kept[-1][page] = 1
        """,
        "out_of_memory",
    ),
    bomb(
        "memory of many small processes before the OOM killer",
        """
        # As close to process 1 in the OOM killer's eyes as it goes.
        for n in (b'0', b'-1'):
            written('/proc/self/oom_score_adj', n)
        for _ in range(90):
            if os.fork() == 0:
                kept = bytearray(b'x' * (4 << 20))
                while True:
                    time.sleep(1)
        while True:
            time.sleep(1)
        """,
        "out_of_memory|timed_out",
        seconds=4,
    ),
    bomb(
        "files in memory",
        """
        fd = os.memfd_create('bomb')
        while True:
            os.write(fd, b'x' * (1 << 20))
        """,
        "out_of_memory",
    ),
    bomb(
        "shared memory of system v",
        """
        SHMGET, SHMAT = (194, 196) if ARM else (29, 30)
        libc.syscall.restype = ctypes.c_long
        while True:
            ident = libc.syscall(ctypes.c_long(SHMGET), ctypes.c_long(0), ctypes.c_long(1 << 24),
                                 ctypes.c_long(0o1600))
            at = libc.syscall(ctypes.c_long(SHMAT), ctypes.c_long(ident), ctypes.c_long(0),
                              ctypes.c_long(0))
            assert ident >= 0 and at > 0, name_of(ctypes.get_errno())
            ctypes.memset(at, 1, 1 << 24)
        """,
        "out_of_memory",
    ),
    bomb(
        "semaphores and queues of system v",
        """
        SEMGET, MSGGET = (190, 186) if ARM else (64, 68)
        for number, arguments in ((SEMGET, (0, 1, 0o1600)), (MSGGET, (0, 0o1600))):
            n = 0
            while call(number, *arguments) == 0 and n < 40000:
                n += 1
            print(call(number, *arguments))
        """,
        "ok",
        "ENOSPC\nENOSPC\n",
    ),
    bomb(
        "message queues",
        """
        MQ_OPEN = 180 if ARM else 240
        answers = []
        for n in range(600):
            attributes = text(struct.pack('8l', 0, 10, 8192, 0, 0, 0, 0, 0))
            answers.append(call(MQ_OPEN, text(b'q%d' % n), os.O_CREAT, 0o600, attributes))
        print(answers[-1])
        """,
        "ok",
        "EMFILE|ENOSPC",
    ),
    bomb(
        "all tmpfs at once",
        """
        kept = []
        for place in ('/workspace', '/tmp', '/dev/shm'):
            with open(place + '/bomb', 'wb', 0) as f:
                try:
                    while True:
                        f.write(b'x' * (1 << 20))
                except OSError as e:
                    print(name_of(e.errno), flush=True)
        while True:
            kept.append(b'x' * (1 << 22))
        """,
        "out_of_memory",
    ),
    *(
        bomb("room in " + place, FILL % place, "error", NO_SPACE)
        for place in ("/workspace", "/tmp", "/dev/shm")
    ),
    bomb(
        "inodes",
        """
        n = 0
        while True:
            os.symlink('x', '/workspace/%d' % n)
            n += 1
        """,
        "error",
        NO_SPACE,
    ),
    bomb(
        "inodes of /dev/shm",
        """
        n = 0
        while n < 400000:
            os.close(os.open('/dev/shm/%d' % n, os.O_CREAT))
            n += 1
        """,
        "error|out_of_memory",
        NO_SPACE + "|^$",
    ),
    bomb(
        "a deep folder",
        """
        n = 0
        while True:
            os.mkdir('d' * 200)
            os.chdir('d' * 200)
            n += 1
        """,
        "error",
        NO_SPACE,
    ),
    bomb(
        "a sparse file",
        """
        fd = os.open('/workspace/sparse', os.O_CREAT | os.O_RDWR)
        print(attempt(os.ftruncate, fd, 1 << 50), attempt(os.posix_fallocate, fd, 0, 1 << 40))
        """,
        "ok",
        "(0|EFBIG) ENOSPC",
    ),
    bomb(
        "descriptors",
        """
        n = 0
        try:
            while True:
                os.dup(0)
                n += 1
        finally:
            print(n <= 8192)
        """,
        "error",
        "Too many open files",
    ),
    bomb(
        "buffers of pipes",
        """
        import fcntl
        kept, answer = [], 0
        while answer == 0 and len(kept) < 4000:
            kept.append(os.pipe())
            answer = attempt(fcntl.fcntl, kept[-1][1], 1031, 1 << 20)
        print(answer, len(kept) < 200)
        """,
        "ok",
        "EPERM True",
    ),
    bomb(
        "buffers of sockets",
        """
        kept = []
        while True:
            kept.append(socket.socketpair())
            for s in kept[-1]:
                s.setblocking(False)
                s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
                try:
                    while True:
                        s.send(b'x' * 65536)
                except BlockingIOError:
                    pass
        """,
        "out_of_memory",
    ),
    bomb(
        "watches of inotify",
        """
        fd = libc.inotify_init()
        n = 0
        while n < 16000 and libc.inotify_add_watch(fd, b'/workspace', 0xfff) >= 0:
            os.mkdir('w%d' % n)
            libc.inotify_add_watch(fd, b'w%d' % n, 0xfff)
            n += 1
        instances = 0
        while instances < 9000 and libc.inotify_init() >= 0:
            instances += 1
        print(name_of(ctypes.get_errno()))
        """,
        "ok",
        "EMFILE",
    ),
    bomb(
        "timers",
        """
        CREATE = 107 if ARM else 222
        n, answer = 0, 0
        while answer == 0 and n < 400000:
            answer = call(CREATE, 1, 0, text(bytes(8)))
            n += 1
        print(answer)
        """,
        "ok",
        "EAGAIN",
    ),
    bomb(
        "epolls in epolls",
        """
        import select
        kept = [select.epoll()]
        while True:
            kept.append(select.epoll())
            kept[-1].register(kept[-2].fileno(), select.EPOLLIN)
        """,
        "error",
        "Errno",
    ),
    bomb(
        "errors without end",
        """
        while True:
            os.write(2, b'e' * 65536)
        """,
        "timed_out",
        seconds=2,
    ),
    bomb(
        "the stack",
        """
        sys.setrecursionlimit(1 << 30)
        def down(n):
            return down(n + 1) + 1
        down(0)
        """,
        "killed|out_of_memory",
    ),
    bomb(
        "a message that never ends, to process 1",
        """
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        end = time.monotonic() + 1
        while time.monotonic() < end:
            try:
                s.sendto(os.urandom(512), ('127.0.0.1', 53))
            except OSError:
                pass
        print(attempt(lambda: s.connect(('127.0.0.1', 53))))
        """,
        "ok",
        "0",
    ),
]
