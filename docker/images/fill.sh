#!/bin/sh
# Fills an image, as root in its build: installs the requirements, and fonts for those who draw; compiles every
# module; leaves no program with set-user-ID, and nothing of this folder.
set -eu
umask 022

FOLDER=/tmp/fill
SEED=/opt/python-sandbox/matplotlib # the supervisor copies it to where matplotlib looks
FONTS="fonts-dejavu-core fonts-liberation fonts-wqy-microhei"
CJK="WenQuanYi Micro Hei"
# Their tests are a third of the image, and no module outside them imports them.
TESTS_OF="matplotlib mpl_toolkits numpy pandas pyarrow scipy sklearn statsmodels sympy"

export DEBIAN_FRONTEND=noninteractive PIP_BREAK_SYSTEM_PACKAGES=1 PIP_DISABLE_PIP_VERSION_CHECK=1
export PIP_NO_CACHE_DIR=1 PIP_NO_COMPILE=1 PIP_PROGRESS_BAR=off PIP_ROOT_USER_ACTION=ignore
if [ -s "$FOLDER/ca.crt" ]; then
    export PIP_CERT="$FOLDER/ca.crt"
fi

fail() {
    echo "image build: $*" >&2
    exit 1
}

has_module() {
    python3 -c 'import importlib.util as u, sys; sys.exit(not u.find_spec(sys.argv[1]))' "$1"
}

# install PACKAGE...: from the distribution.
install() {
    command -v apt-get >/dev/null || fail "the base image has no apt-get to install: $*"
    if [ ! -e "$FOLDER/updated" ]; then
        apt-get update -q
        touch "$FOLDER/updated"
    fi
    apt-get install -q -y --no-install-recommends "$@"
}

install_requirements() {
    grep -q '^ *[^ #]' "$FOLDER/$REQUIREMENTS" || return 0
    if has_module pip; then
        python3 -m pip install -r "$FOLDER/$REQUIREMENTS"
    else
        install python3-pip
        python3 -m pip install -r "$FOLDER/$REQUIREMENTS"
        apt-get purge -q -y --autoremove python3-pip
    fi
}

package_folders() {
    python3 -c 'import site; print(*site.getsitepackages(), sep="\n")' | while read -r dir; do
        [ ! -d "$dir" ] || echo "$dir"
    done
}

remove_tests() {
    for dir in $(package_folders); do
        for name in $TESTS_OF; do
            [ ! -d "$dir/$name" ] ||
                find "$dir/$name" -type d -name tests -prune -exec rm -rf {} +
        done
    done
}

# Labels in any script are drawn without a setting, and the list of fonts, which takes seconds to make, is
# there from the start.
prepare_matplotlib() {
    rc=$(python3 -c 'import matplotlib; print(matplotlib.matplotlib_fname())')
    sed -i "s/^#font.family: .*/#font.family: sans-serif, $CJK/" "$rc"
    mkdir -p "$SEED"
    MPLCONFIGDIR=$SEED python3 "$FOLDER/fonts.py"
    chmod -R a+rX "$SEED"
}

# What is not compiled here is compiled in every container: root is read-only there. Some packages hold files
# for other versions of Python, which do not compile.
compile_all() {
    stdlib=$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
    for dir in "$stdlib" $(package_folders); do
        python3 -m compileall -qq -j 0 "$dir" || :
    done
}

command -v python3 >/dev/null || fail "the base image has no python3"
install_requirements
if has_module matplotlib || has_module PIL; then
    # shellcheck disable=SC2086
    install $FONTS
fi
remove_tests
if has_module matplotlib; then
    prepare_matplotlib || fail "this matplotlib cannot be prepared; take 3.6 or later"
fi
compile_all
find / -xdev -type f -perm /6000 -exec chmod a-s {} +
rm -rf "$FOLDER" /var/lib/apt/lists/* /var/cache/apt/* /var/log/*
