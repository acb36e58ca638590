"""The file behind the ledger: opened to write, or only to read, which also works where nothing can be written."""

import hashlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from crosspath.errors import StoreError

_WAL = "-wal"
_NO_ROOM_BYTES = 64 * 1024
"""With less than that SQLite can't even make its index of the log."""
_NOT_AS_USUAL = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY)
"""What SQLite says where it may not write, or has no room for, the index that it reads a log with."""

_Copy = tempfile.TemporaryDirectory[str]


@dataclass(frozen=True)
class Older:
    """A schema that files of ours had once."""

    version: int
    """Its ``user_version``."""
    tables: str
    """Digest of its tables, see :meth:`Database.tables`: the version alone did not always tell."""
    steps: tuple[str, ...]
    """SQL that leads to the next one."""


@dataclass(frozen=True)
class Schema:
    """The statements that make the tables, what their version is made of, and the schemas that can be brought to this one."""

    statements: Sequence[str]
    versioned: Sequence[str]
    older: Sequence[Older] = ()
    """Oldest first; each leads to the next one, the last to this one."""
    functions: Mapping[str, Callable[..., str]] = field(default_factory=dict[str, Callable[..., str]])
    """Name -> what the steps of ``older`` may call in their SQL."""

    @property
    def version(self) -> int:
        return schema_version(self.versioned)


class Database:
    """One SQLite file with a given schema, opened by :meth:`to_write` or :meth:`to_read`.

    ``user_version`` holds a digest of the schema, so a file with other tables is never taken for one of ours. A known older one
    is brought to today's in one transaction when it is opened to write; to read, a copy of it is.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, copy: _Copy | None = None) -> None:
        self.path = path
        self._connection = connection
        self._copy = copy
        self._place: tuple[int, int] | None = None

    @classmethod
    def to_write(cls, path: Path, schema: Schema, alone: Callable[[], AbstractContextManager[None]] = nullcontext) -> Self:
        """Open or create it. An older schema is changed within ``alone``, which keeps other writers away.

        Raises:
            StoreError: it can't be written, or an unknown version of Crosspath wrote it.
        """
        _require_writable(path)
        with _told(path):
            opened = cls(path, sqlite3.connect(path, timeout=30.0, isolation_level=None, check_same_thread=False))
        with opened._closed_on_error():
            opened._create(schema)
            if opened._version() != schema.version:
                opened._require_known(schema)
                with alone():
                    opened._migrate(schema)
            opened.execute("PRAGMA journal_mode=WAL")
            opened.execute("PRAGMA synchronous=FULL")  # what was committed survives a power cut, too
        opened._place = _place_of(path)
        return opened

    @classmethod
    def to_read(cls, path: Path, schema: Schema) -> Self:
        """Open it where nothing can or may be written; one that does not exist reads as empty.

        Raises:
            StoreError: it can't be read, or an unknown version of Crosspath wrote it.
        """
        if _is_empty(path):
            opened = cls(path, sqlite3.connect(":memory:", isolation_level=None))
            opened._create(schema)
            return opened
        with _told(path):
            connection, copy = _reading(path)
        opened = cls(path, connection, copy)
        with opened._closed_on_error():
            if opened._version() == schema.version:
                return opened
            opened._require_known(schema)
            return opened._migrated_copy(schema)

    @contextmanager
    def _closed_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _create(self, schema: Schema) -> None:
        """Make the tables in a new file, unless another process was faster."""
        if self._is_used():
            return
        with self.transaction():
            if self._is_used():
                return
            for statement in schema.statements:
                self.execute(statement)
            self.execute(f"PRAGMA user_version={schema.version}")

    def _require_known(self, schema: Schema) -> None:
        if self._steps(schema) is None:
            raise StoreError(f"{self.path}: written by another version of Crosspath; use that one, or another store (--store)")

    def _steps(self, schema: Schema) -> list[str] | None:
        """SQL that leads from these tables to today's; None: they are unknown."""
        version, tables = self._version(), self.tables()
        for number, one in enumerate(schema.older):
            if (one.version, one.tables) == (version, tables):
                return [statement for later in schema.older[number:] for statement in later.steps]
        return None

    def _migrate(self, schema: Schema) -> None:
        """All steps in one transaction, unless another process was faster."""
        for name, function in schema.functions.items():
            self._connection.create_function(name, -1, function, deterministic=True)
        with self.transaction():
            if self._version() == schema.version:
                return
            self._require_known(schema)
            for statement in self._steps(schema) or ():
                self.execute(statement)
            self.execute(f"PRAGMA user_version={schema.version}")

    def _migrated_copy(self, schema: Schema) -> Self:
        """A copy with today's tables, in a directory of its own that goes when it is closed."""
        copy = tempfile.TemporaryDirectory(prefix="crosspath-")
        try:
            with _told(self.path):
                opened = type(self)(self.path, sqlite3.connect(Path(copy.name) / self.path.name, isolation_level=None), copy)
                self._connection.backup(opened._connection)
            opened._migrate(schema)
        except BaseException:
            copy.cleanup()
            raise
        self.close()
        return opened

    def tables(self) -> str:
        """Digest of the statements that its tables, indices and triggers were made with, whatever their white space."""
        made = self.rows("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
        return hashlib.sha256("\n".join(" ".join(row[0].split()) for row in made).encode()).hexdigest()

    def _is_used(self) -> bool:
        return self.rows("SELECT count(*) FROM sqlite_master")[0][0] > 0

    def _version(self) -> int:
        return int(self.rows("PRAGMA user_version")[0][0])

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> None:
        """Carry out one statement.

        Raises:
            StoreError: it failed.
        """
        with _told(self.path):
            self._connection.execute(statement, parameters)

    def rows(self, query: str, *parameters: object) -> list[Any]:
        """All rows of a query.

        Raises:
            StoreError: it can't be read.
        """
        with _told(self.path):
            return self._connection.execute(query, parameters).fetchall()

    def each(self, query: str, *parameters: object) -> Iterator[Any]:
        """The rows of a query one by one, for results that are large.

        Raises:
            StoreError: it can't be read.
        """
        with _told(self.path):
            yield from self._connection.execute(query, parameters)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, durable when the block ends.

        Raises:
            StoreError: nothing was written, or the file is no longer where it was.
        """
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # a full disk may have ended it already
                with suppress(StoreError):  # the first error is the one to tell
                    self.execute("ROLLBACK")
            raise
        if self._place is not None and _place_of(self.path) != self._place:
            raise StoreError(f"{self.path}: it was moved or deleted while it was in use; what was observed is lost")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
        if self._copy is not None:
            self._copy.cleanup()


def schema_version(schema: Sequence[str]) -> int:
    """A positive number of 31 bits that changes whenever the tables do."""
    return int(hashlib.sha256("\n".join(schema).encode()).hexdigest()[:8], 16) >> 1 | 1


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """SQLite's errors with the file's name and, as far as we can see it, the reason."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {_reason(path, error)}") from error


def _reason(path: Path, error: sqlite3.Error) -> str:
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in (*_NOT_AS_USUAL, sqlite3.SQLITE_FULL):
        with suppress(OSError):
            room = os.statvfs(path.parent)
            if room.f_bavail * room.f_frsize < _NO_ROOM_BYTES:
                return f"the disk is full ({error})"
    return str(error)


def _require_writable(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644))
    except OSError as error:
        raise StoreError(f"{path}: the store is not writable ({error.strerror})") from error


def _is_empty(path: Path) -> bool:
    """Whether there is nothing to read.

    Raises:
        StoreError: there is something, and this user may not.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError as error:
        raise StoreError(f"{path}: it can't be read ({error.strerror})") from error
    try:
        return os.fstat(file).st_size == 0 and not _log_bytes(path)
    finally:
        os.close(file)


def _place_of(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _log_bytes(path: Path) -> int:
    log = path.with_name(path.name + _WAL)
    return log.stat().st_size if log.exists() else 0


def _reading(path: Path) -> tuple[sqlite3.Connection, _Copy | None]:
    """The usual way, which another process may write beside; else, where nothing can be written: as it lies there, or with its
    log a copy of both.
    """
    try:
        return _probed(path, "mode=ro"), None
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _NOT_AS_USUAL:
            raise
    if not _log_bytes(path):
        return _probed(path, "mode=ro&immutable=1"), None
    copy = tempfile.TemporaryDirectory(prefix="crosspath-")
    copied = Path(copy.name) / path.name
    try:
        for suffix in ("", _WAL):
            shutil.copyfile(path.with_name(path.name + suffix), copied.with_name(copied.name + suffix))
        return _probed(copied, "mode=rw"), copy
    except BaseException:
        copy.cleanup()
        raise


def _probed(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=30.0, isolation_level=None)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection
