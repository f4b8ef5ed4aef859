#!/bin/bash
# Makes sure the engine has an image to run scripts in: python:3.12-slim where a registry answers,
# else python-sandbox:slim, built here from the distribution's packages and kept in the cache.
# image.sh local: python-sandbox:slim in any case.
set -u

REGISTRY_IMAGE=python:3.12-slim
LOCAL_IMAGE=python-sandbox:slim
PACKAGES=ca-certificates,netbase,python3,tzdata
FIRST_ANSWER_S=20
PULL_S=900

CACHE=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/python-sandbox
WORK=
PULL_PID=

fail() {
    echo "docker/image.sh: $*" >&2
    exit 1
}

cleanup() {
    [ -n "$PULL_PID" ] && kill "$PULL_PID" 2>/dev/null
    if [ -n "$WORK" ]; then
        umount -l "$WORK"/root/{proc,sys,dev/pts,dev/shm} 2>/dev/null
        rm -rf --one-file-system "$WORK"
    fi
    return 0
}

suite() {
    # shellcheck source=/dev/null
    (. /etc/os-release && [ "${ID:-}" = debian ] && echo "${VERSION_CODENAME:-bookworm}") ||
        echo bookworm
}

# The mirror this machine already uses for SUITE; nothing when it has none, and debootstrap's own
# default is taken.
mirror() {
    # apt fills in these names, not the shell.
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' \
        2>/dev/null | awk -v suite="$1" '$2 == suite && $3 == "main" { print $1; exit }'
}

# pull: 1 when the registry gives no first answer soon, so that a machine without one goes on.
pull() {
    local log=$WORK/pull.log end=$((SECONDS + FIRST_ANSWER_S)) answered=
    docker pull "$REGISTRY_IMAGE" >"$log" 2>&1 9>&- &
    PULL_PID=$!
    while kill -0 "$PULL_PID" 2>/dev/null; do
        if [ -z "$answered" ] && grep -q 'Pulling from' "$log"; then
            answered=1
            end=$((SECONDS + PULL_S))
        fi
        [ "$SECONDS" -lt "$end" ] || kill "$PULL_PID" 2>/dev/null
        sleep 0.2
    done
    wait "$PULL_PID"
    local status=$?
    PULL_PID=
    return "$status"
}

# build SUITE TARBALL: the same packages give the same bytes.
build() {
    local root=$WORK/root suite=$1 tarball=$2 newest
    [ "$(id -u)" = 0 ] || fail "debootstrap needs root; run this as root, or pull $REGISTRY_IMAGE"
    command -v debootstrap >/dev/null || fail "no debootstrap; apt-get install debootstrap"
    debootstrap --variant=minbase --include="$PACKAGES" "$suite" "$root" \
        "$(mirror "$suite")" >"$WORK/debootstrap.log" 2>&1 9>&- || {
        tail -n 15 "$WORK/debootstrap.log" >&2
        fail "debootstrap failed, its last lines are above"
    }
    rm -rf "$root"/usr/share/{doc,info,lintian,locale,man}/* "$root"/var/log/* "$root"/tmp/* \
        "$root"/var/cache/{apt,debconf,ldconfig}/* "$root"/var/lib/apt/lists/* \
        "$root"/var/lib/dpkg/*-old "$root"/debootstrap "$root"/etc/{hostname,resolv.conf} \
        "$root"/etc/*-
    [ -x "$root/usr/bin/python3" ] || fail "the built image has no /usr/bin/python3"
    [ ! -e "$root/workspace" ] || fail "the built image has a /workspace"
    # No time stamp younger than the youngest Python source: the compiled files stay valid.
    newest=$(find "$root" -name '*.py' -printf '%Ts\n' | sort -n | tail -n 1)
    tar -C "$root" --sort=name --numeric-owner --clamp-mtime --mtime="@$newest" -c . |
        gzip -n -1 >"$tarball.part" && mv "$tarball.part" "$tarball"
}

has() {
    docker image inspect "$1" >/dev/null 2>&1
}

# A local image that an older recipe built is built anew.
has_local() {
    [ "$(docker image inspect --format '{{index .Config.Labels "python-sandbox.recipe"}}' \
        "$LOCAL_IMAGE" 2>/dev/null)" = "$1" ]
}

command -v docker >/dev/null || fail "no docker command; apt-get install docker.io"
docker version >/dev/null 2>&1 || fail "no Docker Engine answers; run docker/engine.sh first"

suite=$(suite)
recipe=$suite-$({ echo "$PACKAGES" && declare -f build; } | sha256sum | cut -c 1-12)
tarball=$CACHE/image-$recipe.tar.gz
mkdir -p "$CACHE" || fail "cannot write the cache folder $CACHE; set XDG_CACHE_HOME"
exec 9>"$CACHE/image.lock"
flock -w 1800 9 || fail "another set-up has held $CACHE/image.lock for half an hour"

registry=yes
[ "${1:-}" != local ] || registry=
if [ -n "$registry" ] && has "$REGISTRY_IMAGE"; then
    echo "image: $REGISTRY_IMAGE"
    exit 0
fi
if has_local "$recipe"; then
    echo "image: $LOCAL_IMAGE"
    exit 0
fi
trap cleanup EXIT
trap 'exit 1' INT TERM HUP
WORK=$(mktemp -d /var/tmp/python-sandbox-image.XXXXXX) || fail "cannot write /var/tmp"
if [ -n "$registry" ] && pull; then
    echo "image: $REGISTRY_IMAGE, pulled"
    exit 0
fi
if [ ! -s "$tarball" ]; then
    [ -z "$registry" ] || echo "image: no registry gives $REGISTRY_IMAGE"
    echo "image: building $LOCAL_IMAGE from packages ..."
    rm -f "$CACHE"/image-*.tar.gz
    build "$suite" "$tarball" || fail "cannot write $tarball"
fi
old=$(docker image inspect --format '{{.Id}}' "$LOCAL_IMAGE" 2>/dev/null)
docker import --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
    --change 'ENV LANG=C.UTF-8' --change 'CMD ["python3"]' \
    --change "LABEL python-sandbox.recipe=$recipe" "$tarball" "$LOCAL_IMAGE" >/dev/null ||
    fail "docker import of $tarball failed"
# The image of an older recipe, unless a container still uses it.
[ -z "$old" ] || docker rmi "$old" >/dev/null 2>&1
echo "image: $LOCAL_IMAGE, from $tarball"
