#!/bin/sh
# Writes requirements.lock and requirements-dev.lock anew: one resolution for all supported Pythons, every file with its hash,
# no addresses. The resolver is uv, which is needed for nothing else.
set -eu
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}

command -v uv >/dev/null || "$venv/bin/python" -m pip --quiet install uv
lock() {
    output=$1
    shift
    PATH="$PATH:$venv/bin" uv pip compile pyproject.toml --quiet --universal --generate-hashes --no-annotate --no-header \
        --no-emit-index-url --no-emit-find-links --output-file "$output" "$@"
    sed -i '1i # Written by `make lock` from pyproject.toml. Install: pip install --require-hashes -r '"$output" "$output"
}
lock requirements.lock --group build
lock requirements-dev.lock --group build --group dev --constraints requirements.lock
