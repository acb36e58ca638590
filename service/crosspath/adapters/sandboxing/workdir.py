"""Writing fixtures, programs and input files below a directory that is open; and taking such a directory away again."""

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator

from crosspath.adapters.sandboxing.failures import JobFailure
from crosspath.types import FileEntry

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def write_entries(root: int, entries: Iterable[FileEntry], owner: int = 0) -> None:
    """Write ``entries`` below the open directory ``root``, owned by ``owner`` (0: by us).

    Symbolic links come last, so that no file is ever written through one; then directories get their modes, the deepest first,
    so that one may be closed to its own owner although there is something in it.

    Raises:
        JobFailure: a path is absolute, leads out, or can't be written.
    """
    made: set[bytes] = set()
    listed = sorted(entries, key=lambda entry: (entry.kind == "symlink", entry.path))
    for entry in listed:
        parts = _parts(entry.path)
        with _told(entry):
            _make_directories(root, parts[:-1], made, owner)
            _write_entry(root, b"/".join(parts), entry, made, owner)
    for entry in reversed(listed):
        if entry.kind == "directory" and entry.mode is not None:
            with _told(entry):
                _settle(os.open(b"/".join(_parts(entry.path)), _DIRECTORY, dir_fd=root), entry.mode, owner)


@contextlib.contextmanager
def _told(entry: FileEntry) -> Iterator[None]:
    """The entry in place of the operating system's error."""
    try:
        yield
    except OSError as error:
        raise JobFailure("fixture_failed", f"{entry.path!r} can't be written: {error.strerror}") from error


def make_directory(name: str, mode: int, parent: int) -> None:
    """A new directory in the open directory ``parent`` with exactly that mode, whatever the umask is that cron, or root, has."""
    os.mkdir(name, mode, dir_fd=parent)
    os.chmod(name, mode, dir_fd=parent)


def _parts(path: bytes) -> list[bytes]:
    parts = [part for part in path.split(b"/") if part not in (b"", b".")]
    if path.startswith(b"/") or not parts or b".." in parts or b"\0" in path:
        raise JobFailure("fixture_failed", f"{path!r} is not a relative path below the work directory")
    return parts


def _make_directories(root: int, parts: list[bytes], made: set[bytes], owner: int) -> None:
    for end in range(1, len(parts) + 1):
        _make_directory(root, b"/".join(parts[:end]), 0o755, made, owner)


def _make_directory(root: int, path: bytes, mode: int, made: set[bytes], owner: int) -> None:
    if path in made:
        return
    made.add(path)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, mode, dir_fd=root)
    _settle(os.open(path, _DIRECTORY, dir_fd=root), mode, owner)


def _write_entry(root: int, path: bytes, entry: FileEntry, made: set[bytes], owner: int) -> None:
    if entry.kind == "directory":
        _make_directory(root, path, 0o755, made, owner)
    elif entry.kind == "symlink":
        os.symlink(entry.target, path, dir_fd=root)
        if owner:
            os.chown(path, owner, owner, dir_fd=root, follow_symlinks=False)
    else:
        fd = os.open(path, _NEW_FILE, 0o600, dir_fd=root)
        view = memoryview(entry.content)
        while view:
            view = view[os.write(fd, view) :]
        _settle(fd, 0o644 if entry.mode is None else entry.mode, owner)


def _settle(fd: int, mode: int, owner: int) -> None:
    if owner:
        os.fchown(fd, owner, owner)
    os.fchmod(fd, mode)
    os.close(fd)


def remove_tree(name: bytes, parent: int) -> None:
    """Remove what ``name`` is in the open directory ``parent``, whatever its modes.

    Nothing is followed, and nothing that is mounted below is entered: it may be a directory of the host.
    """
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        _remove_directory(name, parent)


def _remove_directory(name: bytes, parent: int) -> None:
    info = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if not stat.S_ISDIR(info.st_mode) or info.st_dev != os.fstat(parent).st_dev:
        raise JobFailure("sandbox_failed", f"{name!r} can't be removed")
    os.chmod(name, 0o700, dir_fd=parent)
    fd = os.open(name, _DIRECTORY, dir_fd=parent)
    try:
        for child in os.listdir(fd):  # noqa: PTH208 - of a descriptor
            remove_tree(os.fsencode(child), fd)
    finally:
        os.close(fd)
    os.rmdir(name, dir_fd=parent)
