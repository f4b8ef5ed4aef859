#!/bin/bash
# Runs every check of the code's form; prints one line for each, and what a failed one found.
# CPPFLAGS: the include paths and macros of the build (make lint sets them).
# The checks are called by name.
# shellcheck disable=SC2317
set -u -o pipefail

cd "$(dirname "$0")/../.." || exit 1
OUT=$(mktemp) || exit 1
trap 'rm -f "$OUT"' EXIT
FAILED=0
SHOWN_LINES=60

# check NAME COMMAND...: a check passes when the command exits 0.
check() {
    local name=$1
    shift
    if "$@" >"$OUT" 2>&1 </dev/null; then
        echo "ok   $name"
    else
        echo "FAIL $name"
        # Compilers add source lines and notes; the errors alone say enough.
        { grep -E ': error:' "$OUT" || cat "$OUT"; } | sed 's/^/     /' | head -n "$SHOWN_LINES"
        FAILED=1
    fi
}

# tracked PATTERN...: the tracked and the new files, NUL-separated.
tracked() {
    git ls-files -z --cached --others --exclude-standard -- "$@" |
        while IFS= read -r -d '' name; do
            if [ -f "$name" ]; then printf '%s\0' "$name"; fi
        done
}

format() {
    tracked '*.c' '*.h' | xargs -0 -r clang-format-14 --dry-run -Werror
}

shells() {
    tracked '*.sh' .ci/run cmd/share/debian/p* | xargs -0 -r shellcheck
}

# "nd" is the end of "2nd", "Inh" a field of the kernel (CapInh).
spelling() {
    tracked ':!tests/fuzz/corpus' | xargs -0 -r codespell -L nd,inh,fo
}

# The include paths and macros, one a line.
flags() {
    echo "$CPPFLAGS" | tr ' ' '\n' | grep '^-[ID]' | sed "s/'//g"
}

# cppcheck has tables for the C library and reads no system header, but for the list macros.
static_check() {
    local options
    mapfile -t options < <(flags | grep -v '^-I/usr/')
    cppcheck -q --enable=warning,portability,performance --std=c11 --library=posix,gnu \
        --inline-suppr --suppressions-list=tests/lint/cppcheck.txt --error-exitcode=1 \
        --include="/usr/include/$(gcc -print-multiarch)/sys/queue.h" "${options[@]}" \
        src cmd tests
}

check layers python3 tests/lint/layers.py
check banned python3 tests/lint/banned.py
check cleanup python3 tests/lint/cleanup.py
check sizes python3 tests/lint/sizes.py
check words python3 tests/lint/words.py
check clang-format format
check shellcheck shells
check codespell spelling
check cppcheck static_check
exit "$FAILED"
