#!/bin/bash
# Makes sure a Docker Engine answers: uses the one that is there, else starts one as root.
set -u

LOG=/var/log/python-sandbox-dockerd.log
LOCK=/run/python-sandbox-engine.lock
SOCKET=/var/run/docker.sock
WAIT_S=60

fail() {
    echo "docker/engine.sh: $*" >&2
    exit 1
}

# The engine's version, or nothing when none answers.
engine_version() {
    timeout 10 docker version --format '{{.Server.Version}}' 2>/dev/null | grep -E '^[0-9]'
}

use_running() {
    local version
    version=$(engine_version) || return 1
    echo "engine: Docker $version answers"
}

# is_program PID NAME: PID runs a program called NAME.
is_program() {
    [ "$(basename "$(readlink "/proc/$1/exe" 2>/dev/null)" 2>/dev/null)" = "$2" ]
}

program_runs() {
    local dir
    for dir in /proc/[0-9]*; do
        is_program "${dir#/proc/}" "$1" && return 0
    done
    return 1
}

# drop_stale_pid FILE NAME: removes a pid file whose process is gone or is another program.
# The engine itself looks only whether the number is in use, and then refuses to start.
drop_stale_pid() {
    [ -e "$1" ] || return 0
    is_program "$(cat "$1")" "$2" || rm -f "$1"
}

clean_leftovers() {
    drop_stale_pid /var/run/docker.pid dockerd
    drop_stale_pid /var/run/docker/containerd/containerd.pid containerd
    if ! program_runs containerd; then
        rm -f /var/run/docker/containerd/*.sock /var/run/docker/containerd/*.sock.ttrpc
    fi
    # Mounts of containers whose keeper died with the engine. A living one still needs them.
    if ! program_runs containerd-shim-runc-v2 && ! program_runs containerd; then
        awk '$2 ~ "^/var/(lib/docker|run/docker)/" || $2 ~ "^/run/docker/" { print $2 }' \
            /proc/mounts | tac | while read -r dir; do umount -l "$dir" 2>/dev/null; done
    fi
    [ -S "$SOCKET" ] && rm -f "$SOCKET"
    return 0
}

# A machine without an init system may come without control groups.
mount_cgroups() {
    local name hierarchy groups enabled
    [ -e /sys/fs/cgroup/cgroup.controllers ] && return 0
    mountpoint -q /sys/fs/cgroup || mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup || return 0
    # Columns two and three of /proc/cgroups are not needed, but must be read.
    # shellcheck disable=SC2034
    while read -r name hierarchy groups enabled; do
        [ "$enabled" = 1 ] || continue
        mkdir -p "/sys/fs/cgroup/$name"
        mountpoint -q "/sys/fs/cgroup/$name" && continue
        mount -t cgroup -o "$name" cgroup "/sys/fs/cgroup/$name" 2>/dev/null ||
            rmdir "/sys/fs/cgroup/$name" 2>/dev/null
    done < <(grep -v '^#' /proc/cgroups)
    return 0
}

# await_answer PID: waits for the engine for as long as the process lives.
await_answer() {
    local end=$((SECONDS + WAIT_S))
    while [ "$SECONDS" -lt "$end" ] && kill -0 "$1" 2>/dev/null; do
        [ -S "$SOCKET" ] && engine_version >/dev/null && return 0
        sleep 0.2
    done
    return 1
}

# start_dockerd [FLAGS]: returns once the engine answers, or 1 when it ended or is late.
start_dockerd() {
    local pid
    echo "--- $(date -u +%FT%TZ) dockerd $*" >>"$LOG"
    setsid dockerd "$@" >>"$LOG" 2>&1 </dev/null 9>&- &
    pid=$!
    await_answer "$pid" && return 0
    kill "$pid" 2>/dev/null
    wait "$pid"
    return 1
}

command -v docker >/dev/null ||
    fail "no docker command; install it with: apt-get install docker.io"
use_running && exit 0
case ${DOCKER_HOST:-} in
'' | "unix://$SOCKET" | unix:///run/docker.sock) ;;
*) fail "no Docker Engine answers at DOCKER_HOST=$DOCKER_HOST; start it, or unset DOCKER_HOST" ;;
esac
unset DOCKER_HOST
[ "$(id -u)" = 0 ] ||
    fail "no Docker Engine answers; start it, or run this as root, or join the group docker"
command -v dockerd >/dev/null ||
    fail "no Docker Engine answers and none is installed; apt-get install docker.io"

exec 9>"$LOCK"
flock -w 150 9 || fail "another start of the engine takes too long; see $LOG"
use_running && exit 0

if [ -d /run/systemd/system ]; then
    systemctl start docker || fail "systemctl start docker failed; see journalctl -u docker"
    await_answer $$ || fail "docker.service runs but does not answer; see journalctl -u docker"
    echo "engine: started it with systemctl start docker; it stays up"
    exit 0
fi

pid=$(cat /var/run/docker.pid 2>/dev/null)
if [ -n "$pid" ] && is_program "$pid" dockerd; then
    await_answer "$pid" && use_running && exit 0
    is_program "$pid" dockerd && fail "dockerd, process $pid, runs but does not answer; stop it"
fi
clean_leftovers
mount_cgroups
if ! start_dockerd; then
    # Without working iptables the engine cannot build its bridge; the sandbox needs no network.
    drop_stale_pid /var/run/docker.pid dockerd
    start_dockerd --iptables=false --bridge=none || {
        tail -n 15 "$LOG" >&2
        fail "dockerd did not come up; the end of $LOG is above"
    }
fi
echo "engine: started dockerd (log: $LOG); it stays up"
