"""The identity of a user's harness: what its bound files hold, or the git tree they belong to."""

import hashlib
import os
from pathlib import Path

from crosspath.app.packages import git_state
from crosspath.errors import ConfigError
from crosspath.types import External, PathSpec, digest

MAX_FILES = 20_000


def identify(spec: PathSpec, base: Path) -> PathSpec:
    """``spec`` with absolute binds and the digest of the code that it runs; unchanged where it is no external harness.

    Raises:
        ConfigError: a bound path does not exist, can't be read, or holds more files than can be identified.
    """
    if spec.external is None:
        return spec
    binds = tuple(str(_bound(path, base, spec.name)) for path in spec.external.bind)
    found = External(
        argv=tuple(_absolute(word, base, binds) for word in spec.external.argv),
        bind=binds,
        env=spec.external.env,
        code_digest=digest([_tree(Path(path), spec.name) for path in binds]),
        dirty=_dirty(binds),
    )
    return spec.model_copy(update={"external": found})


def _bound(given: str, base: Path, name: str) -> Path:
    try:
        return (base / given).resolve(strict=True)
    except FileNotFoundError:
        raise _wrong(f"{given!r} does not exist ({base / given})", name) from None
    except OSError as error:
        raise _wrong(f"{given!r} can't be read: {error.strerror}", name) from None
    except RuntimeError:  # how Python 3.11 and 3.12 tell it
        raise _wrong(f"{given!r} can't be read: it is a symbolic link to itself", name) from None


def _wrong(problem: str, name: str) -> ConfigError:
    return ConfigError(problem, field=f"transports.{name}.external.bind")


def _absolute(word: str, base: Path, binds: tuple[str, ...]) -> str:
    """A word that names a file below a bind is made absolute, because the harness starts in the work directory."""
    try:
        candidate = (base / word).resolve(strict=True)
    except (OSError, RuntimeError):
        return word  # whatever it is, it is not the name of a file
    inside = any(candidate == Path(bind) or Path(bind) in candidate.parents for bind in binds)
    return str(candidate) if inside else word


def _dirty(binds: tuple[str, ...]) -> bool | None:
    states = [git_state(Path(path) if Path(path).is_dir() else Path(path).parent)[1] for path in binds]
    known = [state for state in states if state is not None]
    return any(known) if known else None


def _tree(root: Path, name: str) -> str:
    """SHA-256 over the relative names and contents of all files below ``root``; caches are left out."""
    try:
        files = [root] if root.is_file() else sorted(_files(root, name))
        total = hashlib.sha256()
        for file in files:
            total.update(os.fsencode(file.relative_to(root.parent)) + b"\0")
            total.update(_content_digest(file))
    except OSError as error:
        raise _wrong(f"{str(error.filename or root)!r} can't be read: {error.strerror}", name) from error
    return total.hexdigest()


def _content_digest(file: Path) -> bytes:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").digest()


def _files(root: Path, name: str) -> list[Path]:
    if not root.is_dir():
        raise _wrong(f"{str(root)!r} is neither a file nor a directory", name)
    skipped = {".git", "__pycache__", ".venv", "node_modules"}
    found: list[Path] = []
    for directory, names, files in os.walk(root, onerror=_refuse):
        names[:] = [each for each in names if each not in skipped]
        found += [path for file in files if (path := Path(directory, file)).is_file()]
        if len(found) > MAX_FILES:
            raise _wrong(f"{str(root)!r} holds more than {MAX_FILES} files", name)
    return found


def _refuse(error: OSError) -> None:
    """Code that can't be seen has no identity."""
    raise error
