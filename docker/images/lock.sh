#!/bin/bash
# Writes datascience.txt and gpu.txt anew: the newest versions of what the .in files name and of all that they
# need, for CPython 3.11 and later, with the hash of every file. Takes uv, or fetches it from PyPI.
set -eu

cd "$(dirname "$0")"
uv=$(command -v uv) || {
    venv=$(mktemp -d)
    trap 'rm -rf "$venv"' EXIT
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet uv
    uv=$venv/bin/uv
}
for name in datascience gpu; do
    { echo "# From $name.in, by lock.sh." && echo "--only-binary :all:"; } >"$name.txt.new"
    "$uv" pip compile --no-config --quiet --universal --python-version 3.11 --generate-hashes \
        --only-binary :all: --no-header --no-annotate --native-tls "$name.in" >>"$name.txt.new"
    mv "$name.txt.new" "$name.txt"
done
