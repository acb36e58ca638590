"""Published tables, one file each in the store's directory, apart from every evaluation."""

import os
import re
import tempfile
from pathlib import Path

from crosspath.errors import ConfigError, StoreError, boundary
from crosspath.types import Published

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ENDING = ".json"


def check_name(name: str) -> str:
    """``name``, which becomes part of a file's name.

    Raises:
        ConfigError: it has other characters than a file's name may have.
    """
    if not _NAME.fullmatch(name):
        right = "letters, digits, '.', '_' and '-', at most 64, a letter or digit first"
        raise ConfigError(f"{name!r} is no name for a published table; right: {right}", field="--name")
    return name


def published_names(store: Path) -> tuple[str, ...]:
    """Names of all tables, sorted."""
    found = (path.name.removesuffix(_ENDING) for path in (store / "published").glob(f"*{_ENDING}"))
    return tuple(sorted(name for name in found if _NAME.fullmatch(name)))


def load_published(store: Path, name: str) -> Published:
    """One table.

    Raises:
        ConfigError: there is none of that name.
        StoreError: its file can't be read.
    """
    path = file_of(store, check_name(name))
    if not path.is_file():
        known = ", ".join(published_names(store)) or "none; crosspath import-published FILE adds one"
        raise ConfigError(f"no published table {name!r} in {store}; known: {known}")
    with boundary(StoreError, f"reading {path}"):
        return Published.from_json(path.read_bytes())


def save_published(store: Path, published: Published, *, replace: bool = False) -> Published:
    """Keep a table; the same file under the same name again changes nothing. Returns what is kept.

    Raises:
        ConfigError: another table has that name, and ``replace`` is not asked for.
        StoreError: it can't be written.
    """
    path = file_of(store, check_name(published.name))
    with boundary(StoreError, f"writing {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        new = _write(path, published.model_dump_json(indent=1, ensure_ascii=True).encode("ascii") + b"\n", replace=replace)
    if new:
        return published
    kept = load_published(store, published.name)
    if kept.sha256 == published.sha256:
        return kept
    raise ConfigError(f"{published.name!r} is another table already; give this one --name, or --replace that one")


def remove_published(store: Path, name: str) -> None:
    """Forget a table.

    Raises:
        ConfigError: there is none of that name.
        StoreError: it can't be removed.
    """
    path = file_of(store, load_published(store, name).name)
    with boundary(StoreError, f"removing {path}"):
        path.unlink()


def file_of(store: Path, name: str) -> Path:
    """Where a table is kept."""
    return store / "published" / f"{name}{_ENDING}"


def _write(path: Path, data: bytes, *, replace: bool) -> bool:
    """Put the whole file in its place in one step; False: there is one, which stays."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    fresh = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.chmod(0o644)
        return _placed(fresh, path, replace=replace)
    finally:
        fresh.unlink(missing_ok=True)


def _placed(fresh: Path, path: Path, *, replace: bool) -> bool:
    if replace:
        fresh.replace(path)
        return True
    try:
        path.hardlink_to(fresh)  # fails where a file is, so that of two imports at once one is told
    except FileExistsError:
        return False
    return True
