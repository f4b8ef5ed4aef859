"""Files of the host and of the image, /proc and /sys."""

from escapes import attempt, everywhere, unwritable

SOCKETS = (
    "/var/run/docker.sock /run/docker.sock /docker.sock /tmp/docker.sock /host/var/run/docker.sock "
    "/run/containerd/containerd.sock /run/podman/podman.sock /run/user/0/podman/podman.sock "
    "/run/user/1000/docker.sock /run/crio/crio.sock /run/dbus/system_bus_socket /run/snapd.socket "
    "/run/systemd/private /run/systemd/journal/socket /var/lib/lxd/unix.socket /run/buildkitd.sock"
).split()

SECRETS = (
    "/run/secrets /var/run/secrets/kubernetes.io/serviceaccount/token /root/.docker/config.json "
    "/etc/kubernetes /var/lib/kubelet /var/lib/docker /var/lib/containerd /host /rootfs /hostfs "
    "/etc/machine-id /var/lib/dbus/machine-id /etc/ssh/ssh_host_rsa_key /home/ubuntu /boot/vmlinuz"
).split()

KERNEL_SETTINGS = (
    "core_pattern modprobe hotplug sysrq hostname domainname panic randomize_va_space dmesg_restrict "
    "kptr_restrict perf_event_paranoid unprivileged_bpf_disabled yama/ptrace_scope ns_last_pid "
    "core_pipe_limit usermodehelper/bset usermodehelper/inheritable poweroff_cmd shmmax msgmax "
    "threads-max pid_max modules_disabled kexec_load_disabled cap_last_cap"
).split()

SYS_FILES = (
    "/sys/kernel/uevent_helper /sys/kernel/profiling /sys/kernel/fscaps /sys/kernel/mm/ksm/run "
    "/sys/kernel/mm/transparent_hugepage/enabled /sys/kernel/rcu_expedited /sys/power/state "
    "/sys/power/disk /sys/class/net/lo/mtu /sys/class/net/lo/flags /sys/bus/pci/rescan "
    "/sys/module/kernel/parameters/panic /sys/devices/system/cpu/cpu1/online "
    "/sys/block/vda/queue/scheduler /sys/block/sda/device/delete /sys/block/vda/uevent "
    "/sys/kernel/kexec_crash_size /sys/kernel/debug/tracing/trace_on /sys/kernel/tracing/trace_marker"
).split()


ATTEMPTS = [
    attempt(
        "the password file",
        """
        got = [read('/etc/shadow'), read('/etc/gshadow'), read('/proc/self/root/etc/shadow')]
        """,
        ["EACCES"] * 3,
    ),
    attempt(
        "files of the image, for writing",
        """
        paths = ['/etc/passwd', '/etc/shadow', '/etc/hosts', '/etc/resolv.conf', '/etc/hostname',
                 os.path.realpath('/bin/sh'), os.path.realpath(sys.executable), os.__file__,
                 '/proc/self/root/etc/passwd', '/etc/ld.so.cache']
        got = {p: opened(p, os.O_WRONLY) for p in paths}
        """,
        everywhere("EACCES"),
    ),
    attempt(
        "new files and folders in the image",
        """
        flags = os.O_CREAT | os.O_WRONLY
        places = ['/', '/etc', '/usr/local/bin', '/var/tmp', '/run', '/root', '/home', '/opt', '/mnt',
                  os.path.dirname(os.__file__)]
        got = {p: opened(p + '/new', flags) for p in places}
        got.update({p + '/': attempt(os.mkdir, p + '/new') for p in places})
        """,
        # EACCES: the folder itself is closed
        lambda got: got.pop("/root") == got.pop("/root/") == "EACCES"
        and set(got.values()) == {"EROFS"},
    ),
    attempt(
        "what else changes a file of the image",
        """
        got = {
            'chmod': attempt(os.chmod, '/etc/passwd', 0o666),
            'chown': attempt(os.chown, '/etc/passwd', os.getuid(), -1),
            'utime': attempt(os.utime, '/etc/passwd'),
            'unlink': attempt(os.unlink, '/etc/passwd'),
            'rename': attempt(os.rename, '/etc/passwd', '/etc/passwd-'),
            'symlink': attempt(os.symlink, '/etc/passwd', '/etc/passwd+'),
            'truncate': attempt(os.truncate, '/etc/passwd', 0),
        }
        got['truncate'] = got['truncate'] == 'EACCES' and 'EROFS'
        """,
        everywhere("EROFS"),
    ),
    attempt(
        "links out of the image",
        """
        got = [attempt(os.link, '/etc/passwd', '/workspace/x'),
               attempt(os.link, '/usr/bin/env', '/tmp/x'),
               attempt(os.rename, '/etc', '/workspace/y')]
        """,
        ["EXDEV"] * 3,
    ),
    attempt(
        "roots of processes",
        """
        got = {}
        for pid in (p for p in os.listdir('/proc') if p.isdigit() and int(p) != os.getpid()):
            for name in ('root/etc', 'cwd/', 'exe', 'fd', 'map_files', 'environ', 'mem', 'maps',
                         'task/%s/root/etc' % pid):
                got[pid + '/' + name] = opened('/proc/%s/%s' % (pid, name), os.O_RDONLY)
        """,
        everywhere("EACCES"),
    ),
    attempt(
        "up from the root",
        """
        def same(path):
            a, b = os.stat(path), os.stat('/')
            return (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
        fd = os.open('/', os.O_PATH)
        up = os.open('../../..', os.O_PATH, dir_fd=fd)
        os.mkdir('/workspace/a')
        os.chdir('/workspace/a')
        got = [same(p) for p in ('/..', '/../../../..', '/proc/self/root/../..',
                                 '/proc/self/fd/%d' % up, '/proc/self/cwd/../../../..',
                                 '/workspace/a/../../../..')]
        """,
        [True] * 6,
    ),
    attempt(
        "up from a folder that was moved away",
        """
        os.makedirs('/workspace/deep/a/b')
        os.chdir('/workspace/deep/a/b')
        os.rename('/workspace/deep/a', '/workspace/a')
        os.rmdir('/workspace/a/b')
        got = [attempt(os.chdir, '..'), os.getcwd(), attempt(os.chdir, '../../../..'), os.getcwd()]
        """,
        [0, "/workspace/a", 0, "/"],
    ),
    attempt(
        "folders of the overlay",
        """
        import re
        with open('/proc/self/mountinfo') as f:
            paths = re.findall('(?:lowerdir|upperdir|workdir)=([^, \\\\n]+)', f.read())
        paths = [p for part in paths for p in part.split(':')]
        got = {p: opened(p, os.O_RDONLY) for p in paths + ['/var/lib/docker/overlay2']}
        """,
        everywhere("ENOENT"),
    ),
    attempt(
        "sockets of engines and services",
        """
        got = {p: connected(socket.AF_UNIX, socket.SOCK_STREAM, p) for p in %r}
        """
        % SOCKETS,
        everywhere("ENOENT"),
    ),
    attempt(
        "any socket, pipe or device in the whole tree",
        """
        got = []
        for top, folders, names in os.walk('/'):
            if top in ('/proc', '/sys', '/dev'):
                folders[:] = []
                continue
            for name in names:
                mode = os.lstat(os.path.join(top, name)).st_mode
                if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
                    got.append(os.path.join(top, name))
        """,
        [],
    ),
    attempt(
        "secrets in the usual places",
        """
        got = {p: opened(p, os.O_RDONLY) for p in %r}
        """
        % SECRETS,
        lambda got: got.pop("/root/.docker/config.json") == "EACCES"
        and set(got.values()) == {"ENOENT"},
    ),
    attempt(
        "what the engine leaves in a container",
        """
        got = [read('/.dockerenv'), read('/run/.containerenv'),
               [l for l in read('/etc/hosts').splitlines() if l.strip() and l[0] != '#'],
               [l for l in read('/etc/resolv.conf').splitlines() if l.strip() and l[0] != '#'],
               read('/etc/hostname')]
        """,
        lambda got: got[0] in ("", "ENOENT")
        and got[1] == "ENOENT"
        and got[2:4] == [[], []]
        and got[4] in ("sandbox\n", ""),
    ),
    attempt(
        "what is masked",
        """
        got = {p: read(p) for p in ('/proc/kcore', '/proc/keys', '/proc/timer_list',
                                    '/proc/sched_debug', '/proc/latency_stats')}
        got.update({p: os.listdir(p) for p in ('/sys/firmware', '/proc/acpi', '/proc/scsi')
                    if os.path.isdir(p)})
        """,
        lambda got: all(answer in ("", "ENOENT", []) for answer in got.values()),
    ),
    attempt(
        "memory and log of the kernel",
        """
        got = {p: opened(p, os.O_RDONLY)
               for p in ('/proc/kmsg', '/proc/kpagecount', '/proc/kpageflags', '/proc/vmallocinfo',
                         '/proc/slabinfo', '/proc/pagetypeinfo')}
        """,
        lambda got: set(got.values()) <= {"EACCES", "EPERM", "ENOENT"},
    ),
    attempt(
        "addresses of the kernel",
        """
        with open('/proc/kallsyms') as f:
            got = sorted({line.split()[0] for line in f})
        """,
        lambda got: all(set(address) == {"0"} for address in got),
    ),
    attempt(
        "physical addresses of one's own memory",
        """
        buffer = text(b'x' * 65536)
        with open('/proc/self/pagemap', 'rb', 0) as f:
            f.seek(ctypes.addressof(buffer) // 4096 * 8)
            words = struct.unpack('8Q', f.read(64))
        got = [word & ((1 << 55) - 1) for word in words]
        """,
        [0] * 8,
    ),
    attempt(
        "settings of the kernel",
        """
        got = {n: written('/proc/sys/kernel/' + n) for n in %r}
        """
        % KERNEL_SETTINGS,
        {name: unwritable("/proc/sys/kernel/" + name) for name in KERNEL_SETTINGS},
    ),
    attempt(
        "every file of /proc/sys",
        """
        got = {}
        for top, _, names in os.walk('/proc/sys'):
            for name in names:
                path = os.path.join(top, name)
                got[opened(path)] = path
        """,
        lambda got: "EACCES" in got and set(got) <= {"EACCES", "EROFS", "EPERM"},
    ),
    attempt(
        "the core pattern, to have the host run a program",
        """
        before = read('/proc/sys/kernel/core_pattern')
        got = [written('/proc/sys/kernel/core_pattern', b'|/workspace/evil'),
               opened('/proc/self/root/proc/sys/kernel/core_pattern'),
               read('/proc/sys/kernel/core_pattern') == before]
        """,
        ["EACCES", "EACCES", True],
    ),
    attempt(
        "triggers of the kernel",
        """
        got = {p: written(p, b'b') for p in ('/proc/sysrq-trigger', '/proc/irq/default_smp_affinity',
               '/proc/mtrr', '/proc/timer_stats', '/proc/acpi/wakeup', '/proc/scsi/scsi')}
        """,
        lambda got: set(got.values()) <= {"EACCES", "ENOENT"},
    ),
    attempt(
        "files of process 1, for writing",
        """
        names = ('mem', 'comm', 'oom_score_adj', 'oom_adj', 'coredump_filter', 'clear_refs',
                 'uid_map', 'gid_map', 'setgroups', 'loginuid', 'autogroup', 'sched',
                 'timerslack_ns', 'attr/current', 'attr/exec', 'task/1/comm', 'fd/1', 'fd/0')
        got = {n: written('/proc/1/' + n) for n in names}
        """,
        lambda got: set(got.values()) <= {"EACCES", "EPERM", "ENOENT"}
        and {got[n] for n in ("mem", "comm", "oom_score_adj", "uid_map", "fd/1")} == {"EACCES"},
    ),
    attempt(
        "one's own place before the OOM killer",
        """
        got = [written('/proc/self/oom_score_adj', n) for n in (b'-1', b'-500', b'-1000')]
        """,
        ["EACCES"] * 3,
    ),
    attempt(
        "ids of a user namespace",
        """
        got = [written('/proc/self/uid_map', b'0 0 1'), written('/proc/self/gid_map', b'0 0 1'),
               written('/proc/self/setgroups', b'deny')]
        """,
        ["EPERM", "EPERM", "EACCES"],
    ),
    attempt(
        "files of /sys",
        """
        got = {p: written(p) for p in %r}
        """
        % SYS_FILES,
        lambda got: got["/sys/class/net/lo/mtu"] == "EROFS"
        and set(got.values()) <= {"EROFS", "ENOENT"},
    ),
    attempt(
        "every file of the cgroups",
        """
        got = {}
        for top, folders, names in os.walk('/sys/fs/cgroup'):
            for name in names:
                path = os.path.join(top, name)
                if not os.path.islink(path):
                    got[opened(path)] = path
        """,
        lambda got: set(got) <= {"EACCES", "EROFS"} and got,
    ),
    attempt(
        "a cgroup of one's own",
        """
        places = ['/sys/fs/cgroup'] + ['/sys/fs/cgroup/' + n for n in os.listdir('/sys/fs/cgroup')]
        got = {p: attempt(os.mkdir, p + '/new') for p in places if os.path.isdir(p)}
        """,
        lambda got: set(got.values()) <= {"EROFS", "EACCES"} and got,
    ),
    attempt(
        "the release agent of a cgroup",
        """
        got = {}
        for top, _, names in os.walk('/sys/fs/cgroup'):
            for name in ('release_agent', 'notify_on_release', 'cgroup.procs', 'tasks',
                         'devices.allow', 'cgroup.event_control', 'memory.max', 'pids.max',
                         'memory.limit_in_bytes', 'memory.oom_control', 'cpu.cfs_quota_us'):
                if name in names:
                    got[os.path.join(top, name)] = written(os.path.join(top, name))
        got['mount'] = call(40 if ARM else 165, text(b'c'), text(b'/tmp'), text(b'cgroup'), 0,
                            text(b'rdma'))
        got['namespaces'] = call(UNSHARE, 0x12020000)
        """,
        lambda got: got.pop("mount") == got.pop("namespaces") == "EPERM"
        and set(got.values()) <= {"EACCES", "EROFS"}
        and got,
    ),
]
