"""Entries that were fetched before, below the store: an entry never changes, so its digest is its name.

Nothing depends on it: what can't be read or is not what its name says is fetched again, what can't be written is left out.
"""

import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from crosspath.adapters.mlflow_tracker.series_entries import entry_digest

MOST_BYTES = 256 * 1024 * 1024
MOST_FILES = 8_000
DEAD_AFTER_S = 3600.0
"""What is half written for so long is nobody's any more."""
_ENDING, _UNFINISHED = ".json", ".new-"


class EntryCache:
    """Files named by the SHA-256 of their content."""

    def __init__(self, directory: Path | None, most_bytes: int = MOST_BYTES, most_files: int = MOST_FILES) -> None:
        """``directory``: made with the first entry; None: nothing is kept."""
        self._directory = directory
        self._most_bytes = most_bytes
        self._most_files = most_files

    def read(self, digest: str) -> bytes | None:
        """The entry with this digest; None: not here, or not what it was."""
        if self._directory is None or not digest.isalnum():
            return None
        with suppress(OSError):
            data = (self._directory / f"{digest}{_ENDING}").read_bytes()
            return data if entry_digest(data) == digest else None
        return None

    def write(self, data: bytes) -> None:
        """Keep an entry, whole or not at all."""
        if self._directory is None:
            return
        with suppress(OSError):
            self._directory.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._directory, prefix=_UNFINISHED)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                Path(name).replace(self._directory / f"{entry_digest(data)}{_ENDING}")
            finally:
                Path(name).unlink(missing_ok=True)

    def trim(self) -> None:
        """Take away what a killed program left half written, and the oldest where they became too many."""
        if self._directory is None:
            return
        left_bytes, left_files = self._most_bytes, self._most_files
        with suppress(OSError):
            for path, state in _newest_first(self._directory):
                left_bytes, left_files = left_bytes - state.st_size, left_files - 1
                if left_bytes < 0 or left_files < 0 or _is_left(path, state):
                    path.unlink(missing_ok=True)


def _newest_first(directory: Path) -> list[tuple[Path, os.stat_result]]:
    return sorted(((path, path.lstat()) for path in directory.iterdir()), key=lambda one: -one[1].st_mtime)


def _is_left(path: Path, state: os.stat_result) -> bool:
    """Whether it is half written, and no other program's that writes it now."""
    return path.name.startswith(_UNFINISHED) and state.st_mtime < time.time() - DEAD_AFTER_S
