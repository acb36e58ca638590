"""Where a directory of results is put: asked before anything is done for it, filled beside its place, put there as a whole."""

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from crosspath.errors import ConfigError, StoreError, boundary

FRESH = ".filling-"
"""How directories begin that are being filled."""


def require_place(directory: Path, document: str, kind: str, *, force: bool) -> None:
    """Refuse a place that holds something else, or that can't be written.

    ``document``: name of the file by which a directory of this ``kind`` (``verdict``) is known.

    Raises:
        ConfigError: it is no directory, one with other content and no ``force``, or nothing can be made there.
    """
    if directory.name in ("", ".."):
        raise ConfigError(f"{directory} can't be replaced as a whole: name a directory in it", field="--output")
    try:
        _require_free(directory, document, kind, force)
        _probe(directory)
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        shown = str(directory) if len(str(directory)) <= 200 else f"{str(directory)[:197]}..."
        raise ConfigError(f"{shown} can't be written: {why}; name another directory", field="--output") from None


def _require_free(directory: Path, document: str, kind: str, force: bool) -> None:
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise ConfigError(f"{directory} is no directory: name one that is empty, or none", field="--output")
    if not directory.exists():
        return
    if directory.is_mount():
        raise ConfigError(f"{directory} is a mount point, which can't be replaced: name a directory in it", field="--output")
    if not any(directory.iterdir()):
        return
    if not (directory / document).is_file():
        raise ConfigError(f"{directory} is not empty and holds no {kind}: name another directory", field="--output")
    if not force:
        raise ConfigError(f"{directory} holds a {kind} already: name another directory, or give --force", field="--output")


def _probe(directory: Path) -> None:
    """Make a directory where it is to be, and everything above it, and take that away again."""
    missing = [place for place in (directory, *directory.parents) if not place.exists()]
    made: list[Path] = []
    try:
        for place in reversed(missing):
            place.mkdir()
            made.append(place)
        Path(tempfile.mkdtemp(prefix=FRESH, dir=directory.parent)).rmdir()
    finally:
        for place in reversed(made):
            with suppress(OSError):  # somebody else has begun to use it
                place.rmdir()


def fresh_place(directory: Path) -> Path:
    """A directory beside the one that is to hold the result, to be filled and then put in its place.

    Raises:
        StoreError: the place can't be written.
    """
    with boundary(StoreError, f"writing {directory}"):
        directory.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=FRESH, dir=directory.parent))
        fresh.chmod(0o755)
        return fresh


def put_in_place(fresh: Path, directory: Path) -> None:
    """Rename it, in place of an earlier result, which stays where that fails.

    Raises:
        StoreError: the place can't be written.
    """
    with boundary(StoreError, f"writing {directory}"):
        old = fresh.with_name(f".old{fresh.name}")
        if directory.exists():
            directory.rename(old)
        try:
            fresh.rename(directory)
        except BaseException:
            with suppress(OSError):  # there was none
                old.rename(directory)
            raise
        shutil.rmtree(old, ignore_errors=True)
