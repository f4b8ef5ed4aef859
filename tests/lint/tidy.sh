#!/bin/bash
# clang-tidy over everything but the unit tests, where the analyzer does not know that a failed cmocka assertion
# ends a test. CPPFLAGS: the include paths and macros of the build (make analyze sets them). Takes minutes.
set -u -o pipefail

cd "$(dirname "$0")/../.." || exit 1
mapfile -t options < <(echo "$CPPFLAGS" | tr ' ' '\n' | grep '^-[ID]' | sed "s/'//g")
git ls-files -z --cached --others --exclude-standard -- 'src/*.c' 'cmd/*.c' 'tests/fuzz/*.c' |
    xargs -0 -r -P "$(nproc)" -I{} clang-tidy-14 --quiet {} -- -std=gnu17 "${options[@]}"
