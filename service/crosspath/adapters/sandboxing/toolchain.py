"""The programs that a reply meets, as they name themselves inside the sandbox, and what their files hold.

A version text alone misses a program that was rebuilt, and another one that calls itself the same: so the file that a name
leads to stands beside it, with the beginning of its SHA-256. What replies may call besides, and the libraries, are recorded by
name and size only: reading all of it takes seconds. The sandbox shows the same files that are read here.
"""

import hashlib
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from crosspath.adapters.sandboxing.environment import SYSTEM_PATH
from crosspath.types import Toolchain

COREUTILS = (
    "base64", "cat", "chmod", "cp", "cut", "date", "env", "head", "ls", "mkdir", "mv", "paste", "printf", "readlink", "rm", "seq",
    "sort", "tail", "tee", "touch", "tr", "uniq", "wc",
)  # fmt: skip
"""Those that replies call most; they share one line."""
IMAGE_VARIABLE = "CROSSPATH_IMAGE"
"""Name of the environment variable that says which image this is: a process inside can't know its digest."""
_DEBIAN_VERSION = Path("/etc/debian_version")
_LIBRARIES = ("/usr/local/lib", "/usr/lib", "/lib", "/usr/lib64", "/lib64")
_MOST_BYTES = 32 * 1024 * 1024
"""A larger program (node) is told by its size."""
_LETTERS = 12

PROBE = r"""
told() {
  while IFS= read -r line; do [ -n "$line" ] && break; done <<< "$1"
  printf '%s' "${line//$'\t'/ }"
}
version() {
  local option text
  for option in --version "-W version" -V; do
    text=$("$1" $option 2>&1 </dev/null) && told "$text" && return
  done
}
for name in awk bash find git grep jq make node perl python3 sed tar tmux xargs; do
  found=$(command -v "$name") && printf '%s\t%s\t%s\n' "$name" "$(readlink -f "$found")" "$(version "$name")"
done
printf 'sh\t%s\t\n' "$(readlink -f "$(command -v sh)")"
printf 'coreutils\t\t%s\n' "$(told "$(ls --version 2>&1)")"
"""
"""Bash text that prints one line per program: name, tab, its file, tab, first line of its version."""


def toolchain(sandbox: str, enforced: Sequence[str], missing: Sequence[str], run_probe: Callable[[str], bytes]) -> Toolchain:
    """The record, with the programs that ``run_probe(PROBE)`` lists."""
    lines = (line.split("\t", 2) for line in run_probe(PROBE).decode(errors="replace").splitlines())
    programs = {line[0]: _described(*line) for line in lines if len(line) == 3}
    return Toolchain(
        sandbox=sandbox,
        limits_enforced=tuple(enforced),
        limits_missing=tuple(missing),
        programs=dict(sorted((programs | _besides()).items())),
        platform=platform.platform(),
        python=sys.version.split()[0],
        image=os.environ.get(IMAGE_VARIABLE) or _system(),
    )


def _system() -> str:
    """``Debian GNU/Linux 12 (bookworm), 12.11``; empty where the system does not say."""
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", "")
        full = _DEBIAN_VERSION.read_text("ascii", "replace").strip() if _DEBIAN_VERSION.is_file() else ""
    except OSError:
        return ""
    return ", ".join(filter(None, (name, full)))


def _described(name: str, file: str, version: str) -> str:
    """``mawk 1.3.4 20200120, /usr/bin/mawk sha256 0123456789ab``."""
    if name == "coreutils":
        return f"{version}, {len(COREUTILS)} of them sha256 {_together(COREUTILS)}"
    return ", ".join(filter(None, (version, f"{file} {_content(Path(file))}")))


def _content(file: Path) -> str:
    try:
        found = file.stat()
        return _digest(str(file), found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
    except OSError:
        return "can't be read"


@lru_cache(maxsize=256)
def _digest(file: str, _device: int, _inode: int, size: int, _changed: int) -> str:
    """Of a file's content; read once as long as it stays the same."""
    if size > _MOST_BYTES:
        return f"{size} bytes"
    with Path(file).open("rb") as opened:
        return f"sha256 {hashlib.file_digest(opened, 'sha256').hexdigest()[:_LETTERS]}"


def _together(names: Sequence[str]) -> str:
    """One digest of several programs, wherever they are on the path."""
    found = [_content(place) for name in names for place in [_on_path(name)] if place]
    return hashlib.sha256("\n".join(found).encode()).hexdigest()[:_LETTERS]


def _on_path(name: str) -> Path | None:
    places = (Path(directory, name) for directory in SYSTEM_PATH.split(":"))
    return next((place for place in places if place.exists()), None)


def _besides() -> dict[str, str]:
    """All programs on the path and all shared libraries, by name and size."""
    return {"others": _sizes(SYSTEM_PATH.split(":"), ""), "libraries": _sizes([*_LIBRARIES, *_by_machine()], ".so")}


def _by_machine() -> Iterator[str]:
    """Where Debian and its like have libraries: a directory for each kind of machine."""
    yield from sorted(str(place) for place in Path("/usr/lib").glob("*-linux-*") if place.is_dir())


def _sizes(directories: Sequence[str], within: str) -> str:
    real = dict.fromkeys(os.path.realpath(directory) for directory in directories)
    found = sorted({f"{name} {size}" for directory in real for name, size in _files(directory) if within in name})
    return f"{len(found)} by name and size, sha256 {hashlib.sha256(chr(10).join(found).encode()).hexdigest()[:_LETTERS]}"


def _files(directory: str) -> Iterator[tuple[str, int]]:
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.is_file():
                    yield entry.path, entry.stat().st_size
    except OSError:
        return
