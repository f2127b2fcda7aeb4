#!/bin/sh
# Installs the outside tools that some tests need from the distribution's packages, where that is possible: as root, with apt.
# Elsewhere it does nothing: those tests are then counted as not run. It never fails; OSTLER_TEST_REQUIRE=all is what insists.
set -u
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || exit 0

missing=
need() { # a command's names, then its package
    package=$2
    for name in $1; do
        command -v "$name" >/dev/null && return
    done
    missing="$missing $package"
}
need "chromium chromium-browser google-chrome" chromium
need "node" nodejs
need "tmux" tmux
need "curl" curl
[ -x .tools/deb/usr/bin/promtool ] || need "promtool" prometheus
[ -x .tools/deb/usr/sbin/nginx ] || need "nginx" nginx
[ -n "$missing" ] || exit 0

# what could not be installed is not tried again for a day, so that a machine without a network is not slow every time
refused=.cache/test-tools-refused
if [ -z "${CI:-}" ] && [ -n "$(find "$refused" -mtime -1 2>/dev/null)" ] && [ "$(cat "$refused")" = "$missing" ]; then
    exit 0
fi
echo "installing for the tests:$missing" >&2
export DEBIAN_FRONTEND=noninteractive
apt() {
    apt-get --quiet --quiet --assume-yes --no-install-recommends -o Acquire::Retries=2 -o Acquire::http::Timeout=30 \
        -o DPkg::Lock::Timeout=120 "$@" </dev/null >/dev/null 2>&1
}
apt update
for package in $missing; do
    case $package in
    prometheus | nginx) # unpacked, not installed: these packages would start servers
        mkdir -p .tools/deb
        (cd .tools/deb && apt -o APT::Sandbox::User=root download "$package" && dpkg-deb --extract "$package"_*.deb . && rm -f "$package"_*.deb)
        ;;
    *) apt install "$package" ;;
    esac || { mkdir -p .cache && echo "$missing" >"$refused"; }
done
exit 0
