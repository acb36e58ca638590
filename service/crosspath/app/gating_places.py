"""Where a verdict is written: asked before anything is replayed, filled beside its place, and put there as a whole.

A gate that is killed leaves behind what it was filling, and the note of what it had replayed. The next gate of the store takes
away what no gate goes on with: nobody was ever told of a verdict in it, and all replays are in the ledger.
"""

import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from crosspath.errors import ConfigError, StoreError, boundary

VERDICT = "verdict.json"
GATES = "gates"
"""Directory in the store that holds verdicts."""
FRESH = ".gate-"
"""How directories begin that are being filled."""
NOTE = ".unfinished-"
"""How notes begin of what an interrupted gate replayed."""
NOTE_KEPT_S = 7 * 24 * 3600.0
"""So long the same gate goes on with what it had replayed."""


def require_place(directory: Path, *, force: bool) -> None:
    """Refuse a place that holds something else, or that can't be written.

    Raises:
        ConfigError: it is no directory, one with other content and no ``force``, or nothing can be made there.
    """
    if directory.name in ("", ".."):
        raise ConfigError(f"{directory} can't be replaced as a whole: name a directory in it", field="--output")
    try:
        _require_free(directory, force)
        _probe(directory)
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        shown = str(directory) if len(str(directory)) <= 200 else f"{str(directory)[:197]}..."
        raise ConfigError(f"{shown} can't be written: {why}; name another directory", field="--output") from None


def _require_free(directory: Path, force: bool) -> None:
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise ConfigError(f"{directory} is no directory: name one that is empty, or none", field="--output")
    if not directory.exists():
        return
    if directory.is_mount():
        raise ConfigError(f"{directory} is a mount point, which can't be replaced: name a directory in it", field="--output")
    if not any(directory.iterdir()):
        return
    if not (directory / VERDICT).is_file():
        raise ConfigError(f"{directory} is not empty and holds no verdict: name another directory", field="--output")
    if not force:
        raise ConfigError(f"{directory} holds a verdict already: name another directory, or give --force", field="--output")


def _probe(directory: Path) -> None:
    """Make a directory where the verdict is to be, and everything above it, and take that away again."""
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
    """A directory beside the one that is to hold the verdict, to be filled and then put in its place.

    Raises:
        StoreError: the place can't be written.
    """
    with boundary(StoreError, f"writing {directory}"):
        directory.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=FRESH, dir=directory.parent))
        fresh.chmod(0o755)
        return fresh


def put_in_place(fresh: Path, directory: Path) -> None:
    """Rename it, in place of an earlier verdict.

    Raises:
        StoreError: the place can't be written.
    """
    with boundary(StoreError, f"writing {directory}"):
        old = fresh.with_name(f".old{fresh.name}")
        if directory.exists():
            directory.rename(old)
        fresh.rename(directory)
        shutil.rmtree(old, ignore_errors=True)


def clear_leftovers(gates: Path) -> None:
    """Take away what killed gates left in the store; only for who holds the ledger's lease, so that no other gate fills it now.

    An earlier verdict that was to be replaced (``.old...``) stays, as do notes that a gate may still go on with.
    """
    for place in gates.glob(f"{FRESH}*"):
        shutil.rmtree(place, ignore_errors=True)
    for note in gates.glob(f"{NOTE}*"):
        with suppress(OSError):
            if note.suffix == ".new" or note.lstat().st_mtime < time.time() - NOTE_KEPT_S:
                note.unlink()
