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
        ConfigError: a bound path does not exist, or holds more files than can be identified.
    """
    if spec.external is None:
        return spec
    binds = tuple(str((base / path).resolve()) for path in spec.external.bind)
    for given, absolute in zip(spec.external.bind, binds, strict=True):
        if not Path(absolute).exists():
            raise ConfigError(f"{given!r} does not exist ({absolute})", field=f"transports.{spec.name}.external.bind")
    found = External(
        argv=tuple(_absolute(word, base, binds) for word in spec.external.argv),
        bind=binds,
        env=spec.external.env,
        code_digest=digest([_tree(Path(path), spec.name) for path in binds]),
        dirty=_dirty(binds),
    )
    return spec.model_copy(update={"external": found})


def _absolute(word: str, base: Path, binds: tuple[str, ...]) -> str:
    """A word that names a file below a bind is made absolute, because the harness starts in the work directory."""
    candidate = (base / word).resolve()
    inside = any(candidate == Path(bind) or Path(bind) in candidate.parents for bind in binds)
    return str(candidate) if inside and candidate.exists() else word


def _dirty(binds: tuple[str, ...]) -> bool | None:
    states = [git_state(Path(path) if Path(path).is_dir() else Path(path).parent)[1] for path in binds]
    known = [state for state in states if state is not None]
    return any(known) if known else None


def _tree(root: Path, name: str) -> str:
    """SHA-256 over the relative names and contents of all files below ``root``; caches are left out."""
    files = [root] if root.is_file() else sorted(_files(root))
    if len(files) > MAX_FILES:
        raise ConfigError(f"{str(root)!r} holds more than {MAX_FILES} files", field=f"transports.{name}.external.bind")
    total = hashlib.sha256()
    for file in files:
        total.update(os.fsencode(file.relative_to(root.parent)) + b"\0")
        total.update(hashlib.sha256(_content(file, name)).digest())
    return total.hexdigest()


def _content(file: Path, name: str) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        problem = f"{str(file)!r} can't be read: {error.strerror}"
        raise ConfigError(problem, field=f"transports.{name}.external.bind") from error


def _files(root: Path) -> list[Path]:
    skipped = {".git", "__pycache__", ".venv", "node_modules"}
    found: list[Path] = []
    for directory, names, files in os.walk(root):
        names[:] = [name for name in names if name not in skipped]
        found += [path for file in files if (path := Path(directory, file)).is_file()]
    return found
