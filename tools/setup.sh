#!/bin/sh
# Makes .venv and installs a hashed lock and ostler into it. Usage: tools/setup.sh requirements.lock
#
# It needs a Python 3.11 or newer and nothing beside it. pip comes along as a wheel, because Debian parts Python from pip
# and from ensurepip; requirements-setup.lock has its hash. Where packages come from is pip's own configuration.
# .venv/.locks names what is installed and is written last: what was interrupted, or has changed, starts over.
set -eu
lock=$1
wheel=$(echo tools/pip-*.whl)
export PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1 # a user's pip.conf may say otherwise; .venv is the only target
unset PIP_TARGET PIP_PREFIX PIP_CONSTRAINT PYTHONHOME PYTHONPATH || true

log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

probe='import sys
if sys.version_info < (3, 11): sys.exit("it is Python %d.%d" % sys.version_info[:2])
import sqlite3, ssl, venv, zlib
print(sys.executable)'

try() { # prints the Python behind $1 when it runs and is complete; else notes why not
    if [ -f "$1" ] && [ -x "$1" ]; then
        "$1" -c "$probe" 2>"$log" && return 0
        echo "  $1: $(tail -n 1 "$log")" >>"$log.refused"
    fi
    return 1
}

find_python() (
    trap 'rm -f "$log.refused"' EXIT
    : >"$log.refused"
    if [ -n "${PYTHON:-}" ]; then
        try "$(command -v "$PYTHON" || echo "$PYTHON")" && exit 0
        echo "PYTHON=$PYTHON cannot run ostler." >&2
    else
        set -f
        IFS=:
        # every folder of the PATH: the first python3 may be too old, or a shim with nothing behind it
        for name in python3 python3.13 python3.12 python3.11 python3.14 python; do
            for folder in $PATH; do
                try "$folder/$name" && exit 0
            done
        done
    fi
    {
        echo "ostler needs Python 3.11 or newer with its standard library. Looked at:"
        cat "$log.refused"
        echo "Install one (Debian, Ubuntu: apt-get install python3; Fedora: dnf install python3; macOS: brew install python)"
        echo "or name one: make setup PYTHON=/path/to/python3.12"
    } >&2
    exit 2
)

attempt() { # runs quietly; a failure shows what was printed, and $1
    what=$1
    shift
    "$@" >"$log" 2>&1 && return
    cat "$log" >&2
    echo "setup: could not $what." >&2
    exit 1
}

pip_install() {
    .venv/bin/python -I "$wheel/pip" install --quiet --no-input --no-warn-script-location --no-deps "$@"
}

is_ours() { # a moved or copied folder, or a Python that is gone, makes the environment useless
    .venv/bin/python -I -c 'import os, sys; sys.exit(not os.path.samefile(sys.prefix, ".venv"))' 2>/dev/null &&
        grep -qxF "at $(pwd -P)" .venv/.locks 2>/dev/null
}

entry() {
    echo "$1 $(cat requirements-build.lock "$1" | cksum)"
}

has() {
    grep -qxF "$(entry "$1")" .venv/.locks
}

is_stale() { # another version of the same lock is installed: packages that left it must go
    grep -q "^$1 " .venv/.locks && ! has "$1"
}

if ! is_ours || is_stale requirements.lock || is_stale "$lock"; then
    python=$(find_python)
    echo "setting up .venv with $("$python" -V) ($python)" >&2
    rm -rf .venv
    attempt "make an environment with $python" "$python" -I -m venv --without-pip .venv
    echo "at $(pwd -P)" >.venv/.locks
fi
if ! has "$lock"; then
    echo "installing $lock" >&2
    mv .venv/.locks .venv/.locks.before
    attempt "install $lock: is the package index reached? (pip's settings hold: PIP_INDEX_URL, pip.conf, proxies)" \
        pip_install --require-hashes -r requirements-build.lock -r "$lock"
    { # each lock holds what requirements.lock holds
        cat .venv/.locks.before
        entry requirements.lock
        entry "$lock"
    } | sort -u >.venv/.locks.new
    mv .venv/.locks.new .venv/.locks
fi
attempt "install ostler itself" pip_install --no-build-isolation --no-index --editable .
touch .venv/.runtime
[ "$lock" = requirements.lock ] || touch .venv/.dev
