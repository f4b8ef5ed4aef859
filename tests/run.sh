#!/bin/bash
# Runs every suite, keeps each one's output under build/log, and ends with "N passed, N failed" over
# all of them. make test calls it after the set-up.
set -u

cd "$(dirname "$0")/.." || exit 1
LOGS=build/log
LEFT_WAIT_S=5
PASSED=0
FAILED=0
TABLE=()

# sum PATTERN LOG: adds up the numbers that the pattern captures.
sum() {
    sed -nE "s/$1/\1/p" "$2" | awk '{ total += $1 } END { print total + 0 }'
}

# The counts of one log, as "passed failed": lines of checks and replays ("ok   x", "FAIL x"),
# cmocka's closing lines, or pytest's.
counts() {
    local log=$1 passed failed last
    passed=$(($(grep -c '^ok   ' "$log") + $(sum '^\[  PASSED  \] ([0-9]+) test.*' "$log")))
    failed=$(($(grep -c '^FAIL ' "$log") + $(sum '^\[  FAILED  \] ([0-9]+) test.*' "$log")))
    last=$(grep -E '^(=+ )?[0-9]+ (passed|failed|error|skipped|deselected).* in [0-9.]+s' "$log" |
        tail -n 1)
    passed=$((passed + $(sum '.*\b([0-9]+) passed.*' - <<<"$last")))
    failed=$((failed + $(sum '.*\b([0-9]+) failed.*' - <<<"$last")))
    failed=$((failed + $(sum '.*\b([0-9]+) errors?.*' - <<<"$last")))
    echo "$passed $failed"
}

# add NAME PASSED FAILED SECONDS
add() {
    PASSED=$((PASSED + $2))
    FAILED=$((FAILED + $3))
    TABLE+=("$(printf '%-12s %6d %6d %6d s' "$@")")
}

# suite NAME LIMIT_S COMMAND...: a suite that crashes, hangs or runs no test counts as a failure.
suite() {
    local name=$1 limit=$2 log=$LOGS/$1.log start=$SECONDS status passed failed
    shift 2
    echo "== $name"
    : >"$log"
    timeout --kill-after=10 "$limit" "$@" >"$log" 2>&1 </dev/null &
    SUITE=$!
    # What cmocka says of each test that passed stays in the log.
    tail -n +1 -f --pid="$SUITE" -s 0.3 "$log" |
        grep --line-buffered -vE '^\[( +(RUN|OK) +|=+|  PASSED  )\]'
    wait "$SUITE"
    status=$?
    SUITE=
    [ "$status" -ne 124 ] || echo "FAIL $name: not done after $limit s" | tee -a "$log"
    read -r passed failed < <(counts "$log")
    if [ "$failed" = 0 ] && { [ "$status" != 0 ] || [ "$passed" = 0 ]; }; then
        echo "FAIL $name: exit $status, $passed tests passed"
        failed=1
    fi
    add "$name" "$passed" "$failed" $((SECONDS - start))
}

# A test that fails is tried once more and counted as it ends then; the summary shows how it failed first. Real
# engines on busy machines are late now and then, and what is broken fails twice.
pytest() {
    local name=$1 limit=$2
    shift 2
    suite "$name" "$limit" "$PYTHON_SANDBOX_TEST_VENV/bin/python" -m pytest -ra --timeout=300 \
        --durations=10 --reruns 1 --reruns-delay 2 --rerun-show-tracebacks -p no:cacheprovider "$@"
}

# The containers of our servers, as "ID OWNER".
containers() {
    docker ps -a --no-trunc --filter label=python-sandbox.owner \
        --format '{{.ID}} {{.Label "python-sandbox.owner"}}' | sort
}

# What the suites left: servers from this tree, and new containers whose server is gone.
left_behind() {
    local dir id pid exe
    for dir in /proc/[0-9]*; do
        exe=$(readlink "$dir/exe" 2>/dev/null)
        [[ $exe == "$PWD"/build/*python-sandbox* ]] && echo "process ${dir#/proc/}: $exe"
    done
    comm -13 "$LOGS/containers.before" <(containers) | while read -r id pid _; do
        [ -e "/proc/${pid#pid=}" ] || echo "container $id of server ${pid#pid=}"
    done
}

leftovers() {
    local end=$((SECONDS + LEFT_WAIT_S)) found start=$SECONDS
    echo "== leftovers"
    while found=$(left_behind) && [ -n "$found" ] && [ "$SECONDS" -lt "$end" ]; do
        sleep 0.5
    done
    if [ -n "$found" ]; then
        printf 'FAIL left behind: %s\n' "$found"
        add leftovers 0 1 $((SECONDS - start))
    else
        echo "ok   no server and no container is left"
        add leftovers 1 0 $((SECONDS - start))
    fi
}

SUITE=
trap '[ -z "$SUITE" ] || kill "$SUITE" 2>/dev/null; exit 1' INT TERM HUP
mkdir -p "$LOGS"
lines=$(tests/tools.sh) || exit 1
while IFS= read -r line; do
    export "${line?}"
done <<<"$lines"
MAKEFLAGS=-j$(nproc)
export PYTHON_SANDBOX_TEST_ENGINE_RESTART=1 PYTHONDONTWRITEBYTECODE=1 MAKEFLAGS
containers >"$LOGS/containers.before"

suite lint 900 make -s lint
suite unit 900 make -s check
suite unit-asan 900 make -s FLAVOUR=asan check
suite replay 900 make -s FLAVOUR=asan replay
if make -s all && make -s FLAVOUR=fixtures all && make -s FLAVOUR=hostile all; then
    suite bench 600 python3 tests/bench/warm.py
    suite preload 1800 python3 tests/bench/preload.py
    pytest docker 2700 tests/docker
    pytest clients 1200 tests/clients
    pytest compose 1800 tests/compose
    pytest system 1200 tests/system
    pytest conformance 600 tests/conformance
    pytest install 1200 tests/install
    pytest swarm 1500 tests/swarm
else
    echo "FAIL build"
    add build 0 1 0
fi
leftovers

echo
printf '%-12s %6s %6s %6s\n' suite passed failed time
printf '%s\n' "${TABLE[@]}"
echo "$PASSED passed, $FAILED failed"
[ "$FAILED" = 0 ]
