#!/bin/bash
# Makes a Debian package: build.sh WORK OUT. WORK/root is what make install put there, the package goes into
# the folder OUT. Variables: VERSION, REVISION; DEBFULLNAME and DEBEMAIL name the maintainer, and
# SOURCE_DATE_EPOCH fixes its time stamps. Needs dpkg-dev.
set -eu -o pipefail

HERE=$(cd "$(dirname "$0")" && pwd)
WORK=$(cd "$1" && pwd)
OUT=$(cd "$2" && pwd)
ROOT=$WORK/root
DOC=$ROOT/usr/share/doc/python-sandbox
MAINTAINER="${DEBFULLNAME:-The python-sandbox authors} <${DEBEMAIL:-authors@python-sandbox.invalid}>"
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(date +%s)}

if ! command -v dpkg-shlibdeps >/dev/null; then
    echo "make deb: dpkg-dev is missing; apt-get install dpkg-dev" >&2
    exit 1
fi

# The package of the library that is loaded at run time, which dpkg-shlibdeps cannot see.
curl_package() {
    local file
    file=$(realpath "$(gcc -print-file-name=libcurl.so.4)")
    dpkg-query -S "*/${file##*/}" | sed -n '1s/:.*//p'
}

copyright() {
    cat <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: python-sandbox

Files: *
Copyright: $(sed -n 's/^Copyright (c) //p' "$1")
License: Expat

License: Expat
$(sed -n '/^Permission/,$ { s/^$/./; s/^/ /; p }' "$1")
END
}

# What policy asks of a package, and nobody of make install.
polish() {
    strip --strip-unneeded --remove-section=.comment --remove-section=.note \
        "$ROOT/usr/bin/python-sandbox"
    install -d "$ROOT/etc/python-sandbox" "$ROOT/DEBIAN"
    mv -t "$ROOT/etc/python-sandbox" "$DOC/examples"/{config.json,server.env}
    copyright "$DOC/LICENSE" >"$DOC/copyright"
    rm "$DOC/LICENSE"
    cp "$WORK/debian/changelog" "$DOC/changelog"
    gzip -9n "$DOC"/{changelog,README.md} "$ROOT"/usr/share/man/man1/*.1
    install -D -m 644 "$HERE/lintian-overrides" "$ROOT/usr/share/lintian/overrides/python-sandbox"
    chmod 644 "$DOC"/{copyright,changelog.gz}
}

control() {
    (
        cd "$WORK"
        dpkg-shlibdeps -Tdebian/substvars root/usr/bin/python-sandbox
        echo "curl:Depends=$(curl_package) (>= 7.68)" >>debian/substvars
        dpkg-gencontrol -ppython-sandbox -Proot -Tdebian/substvars -fdebian/files
        cd root
        find etc -type f -printf '/%p\n' | LC_ALL=C sort >DEBIAN/conffiles
        find lib usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums
    )
    install -m 755 "$HERE"/{postinst,prerm,postrm} "$ROOT/DEBIAN"
}

mkdir -p "$WORK/debian"
sed "s/@MAINTAINER@/$MAINTAINER/" "$HERE/control.in" >"$WORK/debian/control"
printf 'python-sandbox (%s) unstable; urgency=medium\n\n  * Built from %s.\n\n -- %s  %s\n' \
    "$VERSION" "$REVISION" "$MAINTAINER" "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")" \
    >"$WORK/debian/changelog"
polish
control
find "$ROOT" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group --build "$ROOT" "$OUT"
