#!/bin/bash
# Prepares the machine: setup.sh [build|engine|test]...; build and engine when nothing is named.
set -eu

cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- build engine
./packages.sh "$@"
for group; do
    if [ "$group" = engine ]; then
        ./engine.sh
        ./image.sh
    fi
done
