"""Devices, setuid programs, capabilities, and the programs of the image that have privileges."""

from escapes import attempt, everywhere

DEVICES = (
    "mem kmem kmsg port sda vda nvme0n1 dm-0 fuse kvm net/tun mapper/control loop-control loop0 "
    "snd/seq dri/card0 nvidia0 nvidiactl vhost-net vsock userfaultfd hwrng rtc0 ttyS0 tty0 tty1 "
    "uinput vfio/vfio btrfs-control cuse autofs rfkill watchdog cpu/0/msr vga_arbiter initctl zram0"
).split()

DEV = (
    "core fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero console".split()
)

ATTEMPTS = [
    attempt(
        "character devices by mknod",
        """
        got = {'%s %d:%d' % (p, *n): attempt(os.mknod, p + '/dev', 0o666 | stat.S_IFCHR,
                                            os.makedev(*n))
               for p in ('/workspace', '/tmp', '/dev/shm')
               for n in ((1, 1), (1, 2), (1, 3), (1, 11), (10, 229), (10, 200), (10, 232), (5, 1))}
        """,
        everywhere("EPERM"),
    ),
    attempt(
        "block devices by mknod",
        """
        with open('/proc/partitions') as f:
            numbers = [tuple(map(int, line.split()[:2])) for line in f.read().splitlines()[2:]]
        got = {'%s %d:%d' % (p, *n): attempt(os.mknod, p + '/dev', 0o666 | stat.S_IFBLK,
                                            os.makedev(*n))
               for p in ('/workspace', '/tmp', '/dev/shm') for n in numbers + [(8, 0), (259, 0)]}
        """,
        everywhere("EPERM"),
    ),
    attempt(
        "the device that anyone may make",
        """
        os.mknod('/workspace/whiteout', 0o666 | stat.S_IFCHR, 0)
        got = [opened('/workspace/whiteout', os.O_RDONLY), opened('/workspace/whiteout', os.O_RDWR)]
        """,
        ["EACCES", "EACCES"],  # the mounts are nodev
    ),
    attempt(
        "device nodes that must not be there",
        """
        got = {n: opened('/dev/' + n, os.O_RDONLY | os.O_NONBLOCK) for n in %r}
        """
        % DEVICES,
        everywhere("ENOENT"),
    ),
    attempt(
        "device nodes that are there",
        """
        def is_block(name):
            try:
                return stat.S_ISBLK(os.stat('/dev/' + name).st_mode)
            except OSError:
                return False
        names = os.listdir('/dev')
        got = [sorted(set(names) - set(%r)), [n for n in names if is_block(n)], os.listdir('/dev/pts')]
        """
        % DEV,
        [[], [], ["ptmx"]],
    ),
    attempt(
        "terminals",
        """
        import fcntl
        got = {'tty': opened('/dev/tty'), 'console': opened('/dev/console')}
        master, slave = os.openpty()
        for name, number, data in (('TIOCSTI', 0x5412, b'x'), ('TIOCCONS', 0x541D, b''),
                                   ('TIOCLINUX', 0x541C, b'\\6')):
            got[name] = attempt(fcntl.ioctl, slave, number, data)
        """,
        {
            "tty": "ENXIO",
            "console": "ENOENT",
            "TIOCSTI": "EPERM",
            "TIOCCONS": "EPERM",
            "TIOCLINUX": "ENOTTY",
        },
    ),
    attempt(
        "the kernel's entropy",
        """
        import fcntl
        with open('/dev/urandom', 'rb', 0) as f:
            got = {name: attempt(fcntl.ioctl, f, number, struct.pack('2i', 8, 0))
                   for name, number in (('RNDADDTOENTCNT', 0x40045201), ('RNDADDENTROPY', 0x40085203),
                                        ('RNDZAPENTCNT', 0x5204), ('RNDCLEARPOOL', 0x5206))}
        """,
        everywhere("EPERM"),
    ),
    attempt(
        "ioctls on file systems",
        """
        import fcntl
        fd = os.open('/workspace', os.O_RDONLY)
        got = {name: attempt(fcntl.ioctl, fd, number, bytes(64))
               for name, number in (('FIFREEZE', 0xC0045877), ('FITHAW', 0xC0045878))}
        """,
        everywhere("EPERM"),
    ),
    attempt(
        "a program of one's own",
        """
        import shutil
        got = {}
        for place in ('/workspace', '/tmp', '/dev/shm'):
            shutil.copy('/bin/sh', place + '/sh')
            os.chmod(place + '/sh', 0o4755)
            with open(place + '/script', 'w') as f:
                f.write('#!/bin/sh\\nid\\n')
            os.chmod(place + '/script', 0o755)
            got[place + ' sh'] = attempt(os.execv, place + '/sh', ['sh', '-c', 'echo executed'])
            got[place + ' script'] = attempt(os.execv, place + '/script', ['script'])
        """,
        everywhere("EACCES"),
    ),
    attempt(
        "a program in memory, setuid",
        """
        import subprocess
        fd = os.memfd_create('sh', 0)
        with open('/bin/sh', 'rb') as f:
            os.write(fd, f.read())
        mode = attempt(os.fchmod, fd, 0o6755)
        out = subprocess.run(['/proc/self/fd/%d' % fd, '-p', '-c', 'echo $(id -u) $(id -g)'],
                             pass_fds=[fd], capture_output=True, text=True)
        got = [mode, out.stdout.split() == [str(os.getuid()), str(os.getgid())]]
        """,
        [0, True],
    ),
    attempt(
        "a library of one's own",
        """
        import shutil
        source = next(l.split()[-1] for l in open('/proc/self/maps') if '/libc' in l)
        got = {}
        for place in ('/workspace', '/tmp', '/dev/shm'):
            shutil.copy(source, place + '/libevil.so')
            try:
                got[place] = repr(ctypes.CDLL(place + '/libevil.so'))
            except OSError as e:
                got[place] = 'failed to map' if 'failed to map' in str(e) else str(e)
        """,
        everywhere("failed to map"),
    ),
    attempt(
        "setuid programs of the image",
        """
        import subprocess
        programs = []
        for top, folders, names in os.walk('/usr'):
            for path in (os.path.join(top, n) for n in names):
                mode = os.lstat(path).st_mode
                if stat.S_ISREG(mode) and mode & 0o6000:
                    programs.append(path)
        # What each would do for root: none may succeed.
        commands = {'su': ['-c', 'id', 'root'], 'mount': ['-t', 'tmpfs', 'none', '/mnt'],
                    'umount': ['/tmp'], 'newgrp': ['root'], 'passwd': ['-d', 'root'],
                    'chsh': ['-s', '/bin/sh', 'root'], 'chfn': ['-f', 'x', 'root'],
                    'gpasswd': ['-a', 'root', 'root'], 'expiry': ['-f'], 'chage': ['-E', '0', 'root'],
                    'sg': ['root', '-c', 'id'], 'unix_chkpwd': ['root', 'nonull']}
        # What image build makes is without any.
        got = [(len(programs) > 0) != os.path.isdir('/opt/python-sandbox'), []]
        for path in programs:
            arguments = commands.get(os.path.basename(path))
            if arguments is None:
                got[1].append('unknown: ' + path)
                continue
            out = subprocess.run([path, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                                 text=True, timeout=10)
            if out.returncode == 0:
                got[1].append([path, out.stdout, out.stderr])
        """,
        [True, []],
    ),
    attempt(
        "the effect of a setuid bit",
        """
        import subprocess
        # su keeps its bit in the image, unless image build took it; with no_new_privs it runs as the
        # script's user.
        path = '/usr/bin/su'
        child = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT)
        status = {}
        try:
            status = dict(l.split(':\\t', 1) for l in read('/proc/%d/status' % child.pid).splitlines())
        finally:
            child.kill()
            child.wait()
        got = [bool(os.stat(path).st_mode & 0o4000) != os.path.isdir('/opt/python-sandbox'), set(status['Uid'].split()) == {str(os.getuid())},
               status['CapEff'], status['NoNewPrivs']]
        """,
        [True, True, "0000000000000000", "1"],
    ),
    attempt(
        "capabilities by prctl",
        """
        def prctl(*a):
            answer = libc.prctl(*[ctypes.c_ulong(n) for n in a])
            return answer if answer >= 0 else name_of(ctypes.get_errno())
        got = [[n for n in range(64) if prctl(23, n, 0, 0, 0) not in (0, 'EINVAL')],  # bounding set
               prctl(47, 2, 21, 0, 0),  # ambient: raise SYS_ADMIN
               prctl(28, 0x2f, 0, 0, 0),  # securebits
               prctl(38, 0, 0, 0, 0),  # no_new_privs off
               prctl(39, 0, 0, 0, 0),  # and how it is
               prctl(35, 8, 4096, 0, 0)]  # PR_SET_MM
        """,
        [[], "EPERM", "EPERM", "EINVAL", 1, "EPERM"],
    ),
    attempt(
        "no_new_privs and seccomp of a new program",
        """
        import subprocess
        code = "print([l.split()[1] for l in open('/proc/self/status') " \\
               "if l.startswith(('NoNewPrivs', 'Seccomp:', 'CapBnd'))])"
        out = subprocess.check_output([sys.executable, '-I', '-c', code], text=True)
        got = sorted(eval(out))
        """,
        ["0000000000000000", "1", "2"],
    ),
    attempt(
        "privileged scheduling",
        """
        one = os.sched_param(1)
        got = {
            'fifo': attempt(os.sched_setscheduler, 0, os.SCHED_FIFO, one),
            'rr': attempt(os.sched_setscheduler, 0, os.SCHED_RR, one),
            'deadline': call(SCHED_SETATTR, 0, text(struct.pack(
                'IIQiIQQQ', 48, 6, 0, 0, 0, 10**7, 10**7, 10**7)), 0),
            'nice': attempt(os.nice, -5),
            'realtime io': call(IOPRIO_SET, 1, 0, 1 << 13),
        }
        """,
        everywhere("EPERM"),
    ),
    attempt(
        "limits above the hard ones",
        """
        import resource
        def above(kind):
            soft, hard = resource.getrlimit(kind)
            if hard == resource.RLIM_INFINITY:
                return 'EPERM'
            try:
                resource.setrlimit(kind, (soft, hard + 1))
            except ValueError:
                return 'EPERM'
            except OSError as e:
                return name_of(e.errno)
            return 0
        kinds = [n for n in dir(resource) if n.startswith('RLIMIT_') and n != 'RLIMIT_OFILE']
        got = {n: above(getattr(resource, n)) for n in kinds}
        """,
        everywhere("EPERM"),
    ),
    attempt(
        "core dumps",
        """
        import resource
        pid = os.fork()
        if pid == 0:
            os.kill(os.getpid(), signal.SIGSEGV)
        status = os.waitpid(pid, 0)[1]
        got = [resource.getrlimit(resource.RLIMIT_CORE), os.WTERMSIG(status), os.WCOREDUMP(status),
               [n for n in os.listdir('/workspace') if 'core' in n]]
        """,
        [[0, 0], 11, False, []],
    ),
]
