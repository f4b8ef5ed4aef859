#!/bin/sh
# Makes what is missing beside the compose files: .env with the group of the engine's socket, and
# secrets/ with a token. Changes nothing that is there, but for a metrics-token that is no token any more
# and secrets that the containers could not read. What else is wrong is told, and then the status is 1.
set -eu

cd "$(dirname "$0")"
status=0

wrong() {
    echo "compose/init.sh: $*" >&2
    status=1
}

# setting NAME: what .env has for it, if anything.
setting() {
    [ ! -e .env ] || sed -n "s/^$1=//p" .env | tail -n 1 | tr -d "\"'\r"
}

named=$(setting DOCKER_SOCKET)
named=${named:-/var/run/docker.sock}
SOCKET=${DOCKER_SOCKET:-$named}

# A rootless engine gives its containers the user's own group as group 0.
group_of_socket() {
    if [ "$(stat -L -c %u "$SOCKET")" = 0 ]; then
        stat -L -c %g "$SOCKET"
    else
        echo 0
    fi
}

random_word() {
    head -c 32 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=\n'
}

make_env() {
    {
        sed "s/^DOCKER_GID=.*/DOCKER_GID=$(group_of_socket)/" .env.example
        [ -z "${DOCKER_SOCKET:-}" ] || echo "DOCKER_SOCKET=$DOCKER_SOCKET"
    } >.env
    echo "made compose/.env"
}

check_env() {
    gid=$(setting DOCKER_GID)
    group=$(group_of_socket)
    again="in it, or remove it and run this again"
    if [ "$SOCKET" != "$named" ]; then
        wrong "compose/.env names another socket, $named: set DOCKER_SOCKET=$SOCKET and DOCKER_GID=$group $again"
    elif [ "$gid" != "$group" ]; then
        wrong "compose/.env has DOCKER_GID=$gid: set DOCKER_GID=$group, for $SOCKET, $again"
    fi
}

# secret NAME COMMAND...: what the command prints. The folder keeps others out; the file must be
# readable, since it is mounted as it is into containers whose users are not root.
secret() {
    file=secrets/$1
    shift
    [ ! -s "$file" ] || return 0
    if [ -L "$file" ]; then
        wrong "compose/$file leads to no file, or to an empty one: mend it, or remove it"
        return 0
    fi
    "$@" >"$file"
    chmod 0444 "$file"
    echo "made compose/$file"
}

first_token() {
    grep -m 1 '[^[:space:]]' secrets/token | tr -d '\n'
}

# Whether a file holds one of the tokens.
is_token() {
    [ -s "$1" ] && grep -v '^[[:space:]]*$' secrets/token | grep -qxF -f "$1"
}

# What a link leads to is in a folder that may not keep others out.
make_readable() {
    [ -f "$1" ] || return 0
    case $(stat -L -c %a "$1") in
    *[4-7]) return 0 ;;
    esac
    if [ -L "$1" ]; then
        wrong "compose/$1 leads to a file that the containers cannot read: put a copy in its place"
    else
        chmod 0444 "$1"
        echo "compose/$1: made readable, mode 0444; the folder keeps others out"
    fi
}

# What agrees with itself needs no engine that is up.
if [ ! -S "$SOCKET" ]; then
    if [ "$SOCKET" != "$named" ] || [ -z "$(setting DOCKER_GID)" ]; then
        wrong "no engine at $SOCKET; start it, or give its socket as DOCKER_SOCKET"
    fi
elif [ -e .env ]; then
    check_env
else
    make_env
fi
mkdir -p secrets
chmod 0700 secrets
secret token random_word
if [ -e secrets/token ]; then
    is_token secrets/metrics-token || rm -f secrets/metrics-token
    secret metrics-token first_token
fi
secret grafana-password random_word
for name in token metrics-token grafana-password tls.crt tls.key; do
    make_readable "secrets/$name"
done
[ "$status" = 0 ]
