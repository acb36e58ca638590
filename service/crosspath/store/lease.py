"""The right to write to a ledger, held by one process at a time."""

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

from crosspath.errors import StoreError


class Lease:
    """An exclusive lock on a file: the kernel gives it back when its process dies, however it dies."""

    def __init__(self, directory: Path, name: str = "ledger.lock") -> None:
        self._path = directory / name
        self._file: int | None = None

    def acquire(self, *, on_wait: Callable[[str], None] | None = None, timeout_s: float | None = None) -> None:
        """Wait until no other process holds the lease; ``on_wait`` is told once who does.

        Raises:
            StoreError: ``timeout_s`` passed, or the directory is not writable.
        """
        file = self._open()
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not _locked(file):
            if deadline is not None and time.monotonic() > deadline:
                os.close(file)
                raise StoreError(f"{self._path.parent}: process {self._holder()} is using this store")
            if on_wait is not None:
                on_wait(f"waiting for process {self._holder()} that is using this store")
                on_wait = None
            time.sleep(0.1)
        self._file = file
        self._sign(file)

    def _open(self) -> int:
        try:
            return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StoreError(f"{self._path.parent}: the store is not writable ({error.strerror})") from error

    def _sign(self, file: int) -> None:
        """Leave our process id for those who wait; a full disk has no room even for that."""
        try:
            os.ftruncate(file, 0)
            os.pwrite(file, str(os.getpid()).encode(), 0)
        except OSError as error:
            raise StoreError(f"{self._path}: {error.strerror}") from error

    def _holder(self) -> str:
        return self._path.read_text().strip() or "unknown"

    def release(self) -> None:
        """Let the next process go on."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
