#!/bin/sh
# Installs what the sandbox and the tasks need from the system: bubblewrap, git, bash (and Python's venv module on Debian).
# With --if-missing: only if something is missing; where it may not install, it prints the one line to run and fails.
set -eu

missing=
for program in bwrap git bash; do
    command -v "$program" >/dev/null 2>&1 || missing="$missing $program"
done
if [ "${1:-}" = --if-missing ] && [ -z "$missing" ]; then
    exit 0
fi

packages="bubblewrap git bash"
if command -v apt-get >/dev/null 2>&1; then
    packages="$packages python3-venv"
    line="apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q $packages"
elif command -v dnf >/dev/null 2>&1; then
    line="dnf install -y $packages"
elif command -v apk >/dev/null 2>&1; then
    line="apk add $packages"
elif command -v pacman >/dev/null 2>&1; then
    line="pacman -S --needed --noconfirm $packages"
else
    echo "Missing:${missing:- nothing}. No known package manager here: install $packages with yours." >&2
    exit 1
fi

if [ "$(id -u)" = 0 ]; then
    as_root="sh -c"
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root="sudo -n sh -c"
else
    echo "Missing:${missing:- nothing}. Please run this once:" >&2
    echo "    sudo sh -c '$line'" >&2
    exit 1
fi

echo "Installing $packages"
$as_root "$line"
