#!/bin/bash
# A machine that systemd runs, in namespaces of its own over a root that stays as it is:
#   machine.sh ROOT WORK SOCKET
# WORK is an empty folder for what changes, SOCKET the engine's. The machine has the network of this one,
# and control groups without controllers. It ends with the process; SIGTERM ends it cleanly.
set -eu

ROOT=$1 WORK=$2 SOCKET=$3
GROUP=$WORK/cgroup/python-sandbox-test-$$

devices() {
    local name
    mount -t tmpfs -o mode=755 tmpfs dev
    for name in null zero full random urandom tty; do
        touch "dev/$name"
        mount --bind "/dev/$name" "dev/$name"
    done
    mkdir dev/shm dev/pts
    mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
    ln -s pts/ptmx dev/ptmx
    ln -s /proc/self/fd dev/fd
}

boot() {
    mkdir "$WORK"/{changed,overlay,root}
    mount -t overlay -o "lowerdir=$ROOT,upperdir=$WORK/changed,workdir=$WORK/overlay" overlay "$WORK/root"
    cd "$WORK/root"
    mount -t proc proc proc
    mount -t sysfs -o ro sysfs sys
    mount -t cgroup2 cgroup2 sys/fs/cgroup
    mount -t tmpfs -o mode=755 tmpfs run
    mount -t tmpfs tmpfs tmp
    devices
    touch run/docker.sock
    mount --bind "$SOCKET" run/docker.sock
    sed -i '/^docker:/d' etc/group
    echo "docker:x:$(stat -c %g "$SOCKET"):" >>etc/group
    pivot_root . mnt
    umount -l /mnt
    mount --make-rshared /
    export container=other
    exec /lib/systemd/systemd --log-target=null
}

# Two steps lead to it: to mounts of its own, then to a control group that is the root of what it sees.
case ${4:-} in
'') exec unshare --mount --propagation private "$0" "$@" join ;;
join)
    mkdir "$WORK/cgroup"
    mount -t cgroup2 cgroup2 "$WORK/cgroup"
    mkdir "$GROUP"
    trap 'kill -9 "$MACHINE" || true' TERM INT
    (
        echo "$BASHPID" >"$GROUP/cgroup.procs"
        exec unshare --cgroup --mount --pid --ipc --uts --fork --kill-child \
            --propagation private "$0" "$ROOT" "$WORK" "$SOCKET" boot
    ) &
    MACHINE=$!
    wait "$MACHINE" || true
    wait "$MACHINE" 2>/dev/null || true
    for _ in {1..50}; do
        find "$GROUP" -depth -type d -exec rmdir {} + 2>/dev/null || true
        [ -d "$GROUP" ] || break
        sleep 0.1
    done
    ;;
boot) boot ;;
esac
