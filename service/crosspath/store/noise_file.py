"""The rows of a noise probe: one file of JSON lines, only ever appended to.

The first line says what is asked. Each request has a line before it is sent and one with its end; the last line of all says that
the probe is finished. A line that a kill or a full disk cut off is passed over: its request counts as one whose end nobody saw.
A lock on the file keeps a second process out, and goes with its process.
"""

import fcntl
import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from crosspath.errors import StoreError
from crosspath.types.noise import NoiseHead, NoiseRow

DIRECTORY = "noise"
"""Below the store."""
_FINISHED = {"finished": True}


class NoiseFile:
    """One probe's file, open and locked."""

    def __init__(self, path: Path, descriptor: int, head: NoiseHead, rows: tuple[NoiseRow, ...]) -> None:
        self.path = path
        self.head = head
        self.known = rows
        """What earlier starts of the command kept: of each request the last line."""
        self._descriptor = descriptor

    @classmethod
    def open(cls, store: Path, name: str, digest: str, concurrency: int) -> Self:
        """Go on with the newest unfinished probe of ``digest``, or begin another one.

        Raises:
            StoreError: the place can't be written, or another process is at it.
        """
        directory = store / DIRECTORY
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{directory} can't be created ({error.strerror})") from error
        for path in sorted(directory.glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns, reverse=True):
            head = _head_of_unfinished(path)
            if head is not None and head.digest == digest:
                descriptor = _locked(path)
                return cls(path, descriptor, head, _last(_rows(path)))
        return cls._begin(directory, name, digest, concurrency)

    @classmethod
    def _begin(cls, directory: Path, name: str, digest: str, concurrency: int) -> Self:
        now = time.time()
        prefix = f"{name}-{time.strftime('%Y%m%d', time.gmtime(now))}-"
        number = 1
        while (path := directory / f"{prefix}{number}.jsonl").exists():
            number += 1
        head = NoiseHead(id=path.stem, digest=digest, created_at=now, concurrency=concurrency)
        file = cls(path, _locked(path), head, ())
        file._write(head.to_json())
        return file

    def append(self, row: NoiseRow) -> None:
        """Keep one row: whoever kills this process does not lose it.

        Raises:
            StoreError: the disk is full, or something like it.
        """
        self._write(row.to_json())

    def finish(self) -> None:
        """Nothing is owed any more: the same command begins another probe."""
        self._write(json.dumps(_FINISHED))

    def close(self) -> None:
        """Close it and let another process at it."""
        with suppress(OSError):
            os.close(self._descriptor)

    def _write(self, line: str) -> None:
        data = line.encode("ascii") + b"\n"
        try:
            written = os.write(self._descriptor, data)
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror}") from error
        if written < len(data):
            raise StoreError(f"{self.path}: the disk is full")


def _locked(path: Path) -> int:
    """The file open to append, and locked; what a kill left without an end of line gets one."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise StoreError(f"{path}: another process is at this probe") from None
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        os.write(descriptor, b"\n")
    return descriptor


def _lines(path: Path) -> list[Any]:
    """The documents of all lines; those that were cut off are left out."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    documents: list[Any] = []
    for line in lines:
        with suppress(ValueError):
            documents.append(json.loads(line))
    return documents


def _head_of_unfinished(path: Path) -> NoiseHead | None:
    """What it asks; None: it is finished, or nothing can be made of it."""
    documents = _lines(path)
    if not documents or _FINISHED in documents[1:]:
        return None
    try:
        return NoiseHead.model_validate(documents[0])
    except ValidationError:
        return None


def _rows(path: Path) -> list[NoiseRow]:
    try:
        return [NoiseRow.model_validate(document) for document in _lines(path)[1:]]
    except ValidationError as error:
        raise StoreError(f"{path}: another version of Crosspath wrote it; move it away to begin anew") from error


def _last(rows: list[NoiseRow]) -> tuple[NoiseRow, ...]:
    """Of each request its last line: the one with its end, where it was seen."""
    return tuple({(row.attempt.request_key, row.attempt.number): row for row in rows}.values())
