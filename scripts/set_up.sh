#!/bin/sh
# Usage: set_up.sh LOCK. Makes $VENV hold exactly what LOCK names, and the project itself. Quick when nothing changed.
set -eu

lock=$1
venv=${VENV:-.venv}
cd "$(dirname "$0")/.."

if [ "$(uname -s)" != Linux ]; then
    echo "Crosspath executes model output in a sandbox that needs Linux; this is $(uname -s)." >&2
    exit 1
fi

sh scripts/install_deps.sh --if-missing

find_python() {
    for name in ${PYTHON:-} python3.13 python3.12 python3.11 python3 python; do
        # A name can be a shim with nothing behind it: only running it tells.
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            echo "$name"
            return
        fi
    done
    echo "Crosspath needs Python 3.11 or newer; none was found. Name one: make PYTHON=/path/to/python3.12 ..." >&2
    exit 1
}

# What an installation was made from. The development lock holds all of the other, so its stamp serves both.
wanted="$(cat requirements.lock requirements-dev.lock pyproject.toml scripts/set_up.sh | sha256sum | cut -d' ' -f1) in $(pwd)"
for stamp in "$venv/installed-$lock" "$venv/installed-requirements-dev.lock"; do
    if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && "$venv/bin/python" -c '' 2>/dev/null; then
        exit 0
    fi
done

if ! { [ -x "$venv/bin/python" ] && "$venv/bin/python" -m pip --version >/dev/null 2>&1; }; then
    python=$(find_python)
    echo "Setting up $venv with $("$python" --version)"
    rm -rf "$venv"
    if ! "$python" -m venv "$venv"; then
        echo "This Python cannot make virtual environments; install its venv package (Debian, Ubuntu: apt-get install python3-venv)." >&2
        exit 1
    fi
fi

echo "Installing what $lock names (the first time this takes some minutes)"
pip="$venv/bin/python -m pip --disable-pip-version-check --no-input"
# Three times quiet: warnings about package sources that a machine lists and lacks are noise here; errors still show.
$pip -qqq install --require-hashes -r "$lock"
# The build backend comes from the lock, too: nothing is fetched without a hash.
$pip -qqq install --no-deps --no-build-isolation --no-index --editable .
echo "$wanted" >"$venv/installed-$lock"
