"""Reading the final state of a work directory whose processes are dead.

What is read was made by a hostile program: nothing is followed, no name is trusted, no special file is opened, and depth,
entries and hashed bytes are bounded.
"""

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from crosspath.types import FinalState, StateEntry, StateKind

MAX_DEPTH = 128
"""Directories below each other that are read; one descriptor each."""
HASHED_BYTES_PER_DISK = 4
"""Sparse files may be larger than the disk: at most this many times ``disk_bytes`` are hashed per state."""
_CHUNK = 1 << 20
_KINDS: dict[int, StateKind] = {
    stat.S_IFREG: "file",
    stat.S_IFLNK: "symlink",
    stat.S_IFDIR: "directory",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFBLK: "device",
    stat.S_IFCHR: "device",
}
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass
class _Budget:
    entries: int
    hashed_bytes: int
    file_cap_bytes: int
    truncated: bool = False


def read_state(root: int, *, entries: int, disk_bytes: int, file_cap_bytes: int) -> FinalState:
    """Everything below the open directory ``root``, sorted by path, without observations.

    A file that the hashing budget doesn't reach (only sparse files can exceed it) has the ``sha256`` ``""``, and the state
    is ``truncated``.
    """
    budget = _Budget(entries, disk_bytes * HASHED_BYTES_PER_DISK, file_cap_bytes)
    found = sorted(_walk(root, b"", 1, budget), key=lambda entry: entry.path)
    return FinalState(entries=tuple(found), truncated=budget.truncated)


def _walk(directory: int, prefix: bytes, depth: int, budget: _Budget) -> Iterator[StateEntry]:
    for name in _names(directory, budget):
        path = prefix + name
        info = os.stat(name, dir_fd=directory, follow_symlinks=False)
        yield _entry(directory, name, path, info, budget)
        if stat.S_ISDIR(info.st_mode):
            if depth >= MAX_DEPTH:
                budget.truncated = True
                continue
            with _opened(directory, name, info, os.O_DIRECTORY) as child:
                yield from _walk(child, path + b"/", depth + 1, budget)


def _names(directory: int, budget: _Budget) -> list[bytes]:
    names: list[bytes] = []
    with os.scandir(directory) as found:
        for item in found:
            if budget.entries == 0:
                budget.truncated = True
                break
            budget.entries -= 1
            names.append(os.fsencode(item.name))
    return names


def _entry(directory: int, name: bytes, path: bytes, info: os.stat_result, budget: _Budget) -> StateEntry:
    kind = _KINDS.get(stat.S_IFMT(info.st_mode), "device")
    mode = stat.S_IMODE(info.st_mode)
    if kind == "symlink":
        return StateEntry(path=path, kind=kind, mode=mode, target=os.readlink(name, dir_fd=directory))
    if kind != "file":
        return StateEntry(path=path, kind=kind, mode=mode)
    sha256, content = _read_file(directory, name, info, budget)
    return StateEntry(path=path, kind=kind, mode=mode, size=info.st_size, sha256=sha256, content=content)


def _read_file(directory: int, name: bytes, info: os.stat_result, budget: _Budget) -> tuple[str, bytes | None]:
    if info.st_size > budget.hashed_bytes:
        budget.truncated = True
        return "", None
    budget.hashed_bytes -= info.st_size
    with _opened(directory, name, info, 0) as fd:
        if info.st_size <= budget.file_cap_bytes:
            content = b"".join(_chunks(fd))
            return hashlib.sha256(content).hexdigest(), content
        whole = hashlib.sha256()
        for chunk in _chunks(fd):
            whole.update(chunk)
        return whole.hexdigest(), None


def _chunks(fd: int) -> Iterator[bytes]:
    while chunk := os.read(fd, _CHUNK):
        yield chunk


@contextlib.contextmanager
def _opened(directory: int, name: bytes, info: os.stat_result, flags: int) -> Iterator[int]:
    """``name`` opened; where its mode forbids even us to read it, the mode is changed for the moment."""
    mode, changed = stat.S_IMODE(info.st_mode), False
    try:
        fd = os.open(name, _READ | flags, dir_fd=directory)
    except OSError as error:
        if error.errno != errno.EACCES:
            raise
        changed = True
        os.chmod(name, mode | 0o700, dir_fd=directory)
        fd = os.open(name, _READ | flags, dir_fd=directory)
    try:
        yield fd
    finally:
        if changed:
            os.fchmod(fd, mode)
        os.close(fd)


def read_report(directory: int, name: str, cap_bytes: int) -> bytes | None:
    """The first ``cap_bytes`` of a plain file in the open directory; None where there is none, or something else."""
    try:
        fd = os.open(name, _READ, dir_fd=directory)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        return os.read(fd, cap_bytes)
    finally:
        os.close(fd)
