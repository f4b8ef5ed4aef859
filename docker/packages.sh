#!/bin/bash
# Installs the Debian packages that are missing, as root: packages.sh [build|engine|server|test]...
# Silent when nothing is missing.
set -u

# PACKAGE[=COMMAND]: the package counts as there when dpkg says so or when the command exists,
# so that a tool from elsewhere does for the packaged one.
BUILD="gcc=gcc libc6-dev make=make pkg-config=pkg-config python3=python3
    libcjson-dev libcurl4-openssl-dev libmicrohttpd-dev libseccomp-dev nettle-dev"
SERVER="ca-certificates"
ENGINE="debootstrap=debootstrap"
TEST="clang-format-14=clang-format-14 clang-tidy-14=clang-tidy-14 codespell=codespell
    cppcheck=cppcheck docker-compose=docker-compose dpkg-dev=dpkg-shlibdeps git=git haproxy=haproxy
    libcmocka-dev nodejs=node npm=npm openssl=openssl python3-venv shellcheck=shellcheck
    valgrind=valgrind"

there() {
    local package=${1%%=*} command=${1#*=}
    [ "$command" != "$1" ] && command -v "$command" >/dev/null && return 0
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed
}

# The engine's own packages, only where no engine answers and none could be started.
engine_packages() {
    if ! command -v dockerd >/dev/null && ! timeout 10 docker version >/dev/null 2>&1; then
        echo docker.io
    fi
    # The client is a package of its own in newer releases.
    if ! command -v docker >/dev/null && apt-cache show docker-cli >/dev/null 2>&1; then
        echo docker-cli
    fi
}

install() {
    apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@" >"$LOG" 2>&1
}

missing=()
for group in "${@:-build}"; do
    case $group in
    build) list=$BUILD ;;
    server) list=$SERVER ;;
    engine) list="$ENGINE $(engine_packages)" ;;
    test) list=$TEST ;;
    *)
        echo "docker/packages.sh: unknown group '$group'; use build, engine, server or test" >&2
        exit 2
        ;;
    esac
    for entry in $list; do
        there "$entry" || missing+=("${entry%%=*}")
    done
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "docker/packages.sh: please install, or run as root on Debian: ${missing[*]}" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
LOG=$(mktemp) || exit 1
trap 'rm -f "$LOG"' EXIT
echo "packages: installing ${missing[*]} ..."
# A list that is missing or old names files that the mirror no longer has: refresh it, once.
if ! install "${missing[@]}" && ! { apt-get update >"$LOG" 2>&1 && install "${missing[@]}"; }; then
    tail -n 15 "$LOG" >&2
    echo "docker/packages.sh: apt-get failed, its last lines are above" >&2
    exit 1
fi
