#!/bin/bash
# Process 1 of a machine of the tests: machine.sh NAME FOLDER. Has namespaces of its own, and an engine that
# finds every place at its usual path. Waits for a line on stdin, which says that there is a network.
set -eu

name=$1 folder=$2
hostname "$name"
mount -t tmpfs -o mode=755 tmpfs /run
# What /sys shows of the network is that of whoever mounted it.
mkdir /run/cgroup
mount --rbind /sys/fs/cgroup /run/cgroup
mount -t sysfs sysfs /sys
mount --rbind /run/cgroup /sys/fs/cgroup
[ ! -d /etc/docker ] || mount -t tmpfs tmpfs /etc/docker
mkdir -p /var/lib/docker
mount -t tmpfs -o "size=2g" tmpfs /var/lib/docker
read -r parent
dockerd --host=unix:///run/docker.sock --host="unix://$folder/docker.sock" \
    --exec-opt=native.cgroupdriver=cgroupfs --cgroup-parent="$parent" >"$folder/log" \
    2>&1 </dev/null &
# Ends with the engine, and everything else on this machine ends with it.
wait "$!"
