#!/bin/bash
# Two root folders with this machine's release of Debian, made once and kept in the cache; prints where, as
# lines NAME=PATH:
#   CLEAN      what debootstrap makes, nothing else
#   TOOLS      the same with systemd, lintian and the shells that complete command lines
#   ARCHIVES   packages that were downloaded for them
# A test copies a root, or lays an overlay over it.
set -eu

CACHE=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/python-sandbox
TOOLS="systemd lintian man-db zsh fish"

fail() {
    echo "tests/install/roots.sh: $*" >&2
    exit 1
}

# The mirror that this machine uses for SUITE; nothing when it has none, and debootstrap's own
# default is taken.
mirror() {
    # apt fills in these names, not the shell.
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' \
        2>/dev/null | awk -v suite="$1" '$2 == suite && $3 == "main" { print $1; exit }'
}

# inside ROOT COMMAND...
inside() {
    local root=$1
    shift
    DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 chroot "$root" "$@"
}

fill() {
    local suite=$1 folder=$2
    debootstrap --variant=minbase "$suite" "$folder/clean" "$(mirror "$suite")"
    cp /etc/resolv.conf "$folder/clean/etc"
    inside "$folder/clean" apt-get update
    cp -a "$folder/clean" "$folder/tools"
    # shellcheck disable=SC2086
    inside "$folder/tools" apt-get install -y --no-install-recommends $TOOLS
    inside "$folder/tools" apt-get clean
    mkdir -p "$folder/archives/partial"
    touch "$folder/complete"
}

[ "$(id -u)" = 0 ] || fail "debootstrap needs root"
command -v debootstrap >/dev/null || fail "no debootstrap; apt-get install debootstrap"
# shellcheck source=/dev/null
suite=$(. /etc/os-release && [ "${ID:-}" = debian ] && echo "${VERSION_CODENAME:-}") || true
suite=${suite:-bookworm}
folder=$CACHE/roots-$suite-$(sha256sum <"$0" | cut -c 1-12)
mkdir -p "$CACHE"
exec 9>"$CACHE/roots.lock"
flock -w 900 9 || fail "another set-up has held $CACHE/roots.lock for 15 minutes"
if [ ! -e "$folder/complete" ]; then
    echo "tests: making root folders in $folder ..." >&2
    rm -rf --one-file-system "$CACHE"/roots-*/
    mkdir "$folder"
    fill "$suite" "$folder" >"$CACHE/roots.log" 2>&1 9>&- || {
        tail -n 15 "$CACHE/roots.log" >&2
        fail "could not fill $folder, the end of $CACHE/roots.log is above"
    }
fi
echo "CLEAN=$folder/clean"
echo "TOOLS=$folder/tools"
echo "ARCHIVES=$folder/archives"
