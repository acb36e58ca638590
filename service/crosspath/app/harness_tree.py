"""The files of a user's harness, and what they are: digests over names and contents."""

import hashlib
import os
from pathlib import Path

from crosspath.app.packages import git_state
from crosspath.errors import ConfigError

MAX_FILES = 20_000
_SKIPPED = {".git", "__pycache__", ".venv", "node_modules"}


def tree_digest(root: Path, field: str) -> str:
    """SHA-256 over the relative names and contents of all files below ``root``; caches are left out.

    Raises:
        ConfigError: something can't be read, or there are too many files; names ``field``.
    """
    try:
        files = [root] if root.is_file() else sorted(files_of(root, field))
        total = hashlib.sha256()
        for file in files:
            total.update(os.fsencode(file.relative_to(root.parent)) + b"\0")
            total.update(content_digest(file))
    except OSError as error:
        raise ConfigError(f"{str(error.filename or root)!r} can't be read: {error.strerror}", field=field) from error
    return total.hexdigest()


def content_digest(file: Path) -> bytes:
    """SHA-256 of a file's content."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").digest()


def files_of(root: Path, field: str) -> list[Path]:
    """All files below the directory ``root`` without caches and environments.

    Raises:
        ConfigError: it is no directory, or holds more than can be identified.
        OSError: a directory can't be read.
    """
    if not root.is_dir():
        raise ConfigError(f"{str(root)!r} is neither a file nor a directory", field=field)
    found: list[Path] = []
    for directory, names, files in os.walk(root, onerror=_refuse):
        names[:] = [each for each in names if each not in _SKIPPED]
        found += [path for file in files if (path := Path(directory, file)).is_file()]
        if len(found) > MAX_FILES:
            raise ConfigError(f"{str(root)!r} holds more than {MAX_FILES} files", field=field)
    return found


def any_dirty(paths: tuple[Path, ...]) -> bool | None:
    """Whether a checkout that holds one of ``paths`` has uncommitted changes in it; None outside of git."""
    states = [git_state(path if path.is_dir() else path.parent, "." if path.is_dir() else path.name)[1] for path in paths]
    known = [state for state in states if state is not None]
    return any(known) if known else None


def _refuse(error: OSError) -> None:
    """Code that can't be seen has no identity."""
    raise error
