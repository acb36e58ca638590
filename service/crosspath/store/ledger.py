"""The durable ledger: one SQLite file that every observation is appended to before anything is made of it.

* One lease per ledger: a second process waits for the first (:class:`Lease`).
* One writer. Rows are appended; a later observation of the same thing stands after the earlier one, never in its place.
* An attempt row is written *before* its request is sent. A row without an end is a request that was in flight when the
  program died: it may have been served and paid for, so it is counted, not forgotten.
* A finished evaluation never changes; ``replay`` and ``validate`` open a new one.
"""

import fcntl
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from crosspath.errors import ConfigError, StoreError
from crosspath.types import Attempt, EvaluationHead, Facts, Replay, Trial, TrialKey

SCHEMA_VERSION = 1

_SCHEMA = """
CREATE TABLE evaluations (id TEXT PRIMARY KEY, created_at REAL, spec_digest TEXT, status TEXT, head TEXT, frame TEXT);
CREATE TABLE sessions (evaluation TEXT, number INTEGER, started_at REAL, ended_at REAL, PRIMARY KEY (evaluation, number));
CREATE TABLE attempts (evaluation TEXT, request_key TEXT, number INTEGER, session INTEGER, ended INTEGER, record TEXT,
    PRIMARY KEY (evaluation, request_key, number));
CREATE TABLE trials (seq INTEGER PRIMARY KEY, evaluation TEXT, generation TEXT, task TEXT, trial INTEGER, has_reply INTEGER,
    record TEXT);
CREATE INDEX trials_of ON trials (evaluation);
CREATE TABLE replays (seq INTEGER PRIMARY KEY, evaluation TEXT, key TEXT, has_facts INTEGER, record TEXT);
CREATE INDEX replays_of ON replays (evaluation);
"""


_ENDED, _LOST = 1, 2
"""States of an attempt row beside 0, in flight."""


class Lease:
    """The right to write to a ledger, held by one process at a time and released when it dies, however it dies."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "ledger.lock"
        self._file: int | None = None

    def acquire(self, *, on_wait: Callable[[str], None] | None = None, timeout_s: float | None = None) -> None:
        """Wait until no other process holds the lease.

        Raises:
            StoreError: ``timeout_s`` passed, or the directory is not writable.
        """
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StoreError(f"{self._path.parent}: the store is not writable ({error.strerror})") from error
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        told = False
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if on_wait and not told:
                    on_wait(f"waiting for process {self._holder()} that is using this store")
                    told = True
                if deadline is not None and time.monotonic() > deadline:
                    raise StoreError(f"{self._path.parent}: process {self._holder()} is using this store") from None
                time.sleep(0.1)
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, str(os.getpid()).encode(), 0)

    def _holder(self) -> str:
        return self._path.read_text().strip() or "unknown"

    def release(self) -> None:
        """Let the next process go on."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class Ledger:
    """All evaluations below one directory."""

    def __init__(self, directory: Path) -> None:
        """Open or create the ledger in ``directory``.

        Raises:
            StoreError: the directory or the file can't be written, or another version of Crosspath wrote it.
        """
        self.directory = directory
        self.path = directory / "ledger.db"
        self.lease = Lease(directory)
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{directory}: the store can't be created ({error.strerror})") from error
        with self._errors():
            self._db = sqlite3.connect(self.path, timeout=30.0, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._prepare()

    def _prepare(self) -> None:
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            with self._transaction():
                if self._db.execute("PRAGMA user_version").fetchone()[0] == 0:
                    for statement in _SCHEMA.split(";"):
                        self._db.execute(statement)
                    self._db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        elif version != SCHEMA_VERSION:
            raise StoreError(f"{self.path}: written by another version (schema {version}, this one reads {SCHEMA_VERSION})")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: {error}") from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing, durable when the block ends."""
        with self._errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def close(self) -> None:
        """Close the file and give the lease back."""
        self._db.close()
        self.lease.release()

    # -- evaluations ---------------------------------------------------------------------------------------------------

    def new_id(self, name: str, now: float) -> str:
        """``NAME-YYYYMMDD-N`` with the first free N."""
        prefix = f"{name}-{time.strftime('%Y%m%d', time.gmtime(now))}-"
        taken = {row[0] for row in self._db.execute("SELECT id FROM evaluations")}
        return next(f"{prefix}{n}" for n in range(1, len(taken) + 2) if f"{prefix}{n}" not in taken)

    def open_evaluation(self, facts: Facts) -> None:
        """Write the frame of a new evaluation: everything but trials, attempts and replays, which may be given too."""
        frame = facts.model_copy(update={"trials": (), "attempts": (), "replays": (), "sessions": ()})
        with self._transaction():
            self._db.execute(
                "INSERT INTO evaluations VALUES (?, ?, ?, ?, ?, ?)",
                (
                    facts.head.id,
                    facts.head.created_at,
                    facts.head.spec_digest,
                    facts.head.status,
                    facts.head.to_json(),
                    frame.to_json(),
                ),
            )
            for trial in facts.trials:
                self._insert_trial(facts.head.id, trial)
            self._insert_replays(facts.head.id, facts.replays)

    def unfinished(self, spec_digest: str) -> str | None:
        """The newest evaluation of this very spec that was started and not finished."""
        row = self._db.execute(
            "SELECT id FROM evaluations WHERE spec_digest = ? AND status != 'finished' ORDER BY created_at DESC LIMIT 1",
            (spec_digest,),
        ).fetchone()
        return row[0] if row else None

    def update(self, facts: Facts) -> None:
        """Rewrite head and frame of an unfinished evaluation (its status, what the lock learned)."""
        frame = facts.model_copy(update={"trials": (), "attempts": (), "replays": (), "sessions": ()})
        with self._transaction():
            self._db.execute(
                "UPDATE evaluations SET status = ?, head = ?, frame = ? WHERE id = ?",
                (facts.head.status, facts.head.to_json(), frame.to_json(), facts.head.id),
            )

    def heads(self) -> tuple[EvaluationHead, ...]:
        """All evaluations, oldest first."""
        with self._errors():
            rows = self._db.execute("SELECT head FROM evaluations ORDER BY created_at, rowid").fetchall()
        return tuple(EvaluationHead.from_json(row[0]) for row in rows)

    def facts(self, evaluation: str) -> Facts:
        """Everything that was observed, the last word on each trial and replay.

        Raises:
            ConfigError: there is no such evaluation.
            StoreError: the ledger can't be read.
        """
        with self._errors():
            row = self._db.execute("SELECT head, frame FROM evaluations WHERE id = ?", (evaluation,)).fetchone()
            if row is None:
                raise ConfigError(f"no evaluation {evaluation!r} in {self.path}; known: {self._known()}")
            trials = {}
            query = "SELECT generation, task, trial, has_reply, record FROM trials WHERE evaluation = ? ORDER BY seq"
            for generation, task, index, has_reply, record in self._db.execute(query, (evaluation,)):
                if has_reply or not trials.get((generation, task, index), (False,))[0]:
                    trials[generation, task, index] = (has_reply, record)
            replays = {}
            query = "SELECT key, has_facts, record FROM replays WHERE evaluation = ? ORDER BY seq"
            for key, has_facts, record in self._db.execute(query, (evaluation,)):
                if has_facts or not replays.get(key, (False,))[0]:
                    replays[key] = (has_facts, record)
            attempts = self._db.execute(
                "SELECT record FROM attempts WHERE evaluation = ? ORDER BY rowid", (evaluation,)
            ).fetchall()
            lost = self._db.execute(
                "SELECT COUNT(*) FROM attempts WHERE evaluation = ? AND ended = ?", (evaluation, _LOST)
            ).fetchone()
            sessions = self._db.execute(
                "SELECT started_at, ended_at FROM sessions WHERE evaluation = ? ORDER BY number", (evaluation,)
            ).fetchall()
        try:
            frame = Facts.from_json(row[1])
            return frame.model_copy(
                update={
                    "head": EvaluationHead.from_json(row[0]),
                    "trials": tuple(Trial.from_json(record) for _, record in trials.values()),
                    "replays": tuple(Replay.from_json(record) for _, record in replays.values()),
                    "attempts": tuple(Attempt.from_json(record[0]) for record in attempts),
                    "sessions": tuple((start, end) for start, end in sessions),
                    "bought_again": lost[0],
                }
            )
        except (ValidationError, ValueError) as error:
            raise StoreError(f"{self.path}: evaluation {evaluation} can't be read: {str(error).splitlines()[0]}") from error

    def _known(self) -> str:
        ids = [row[0] for row in self._db.execute("SELECT id FROM evaluations ORDER BY created_at DESC LIMIT 5")]
        return ", ".join(ids) or "none yet"

    # -- observations --------------------------------------------------------------------------------------------------

    def start_session(self, evaluation: str, now: float) -> int:
        """Begin one start of the program; returns its number, from 1."""
        with self._transaction():
            query = "SELECT COALESCE(MAX(number), 0) + 1 FROM sessions WHERE evaluation = ?"
            number = int(self._db.execute(query, (evaluation,)).fetchone()[0])
            self._db.execute("INSERT INTO sessions VALUES (?, ?, ?, NULL)", (evaluation, number, now))
        return number

    def end_session(self, evaluation: str, number: int, now: float) -> None:
        """Close it; a session without an end was killed."""
        with self._transaction():
            self._db.execute("UPDATE sessions SET ended_at = ? WHERE evaluation = ? AND number = ?", (now, evaluation, number))

    def abandon_in_flight(self, evaluation: str) -> int:
        """Give up on requests that were sent and whose end nobody saw; returns how many this call gave up.

        Each such row counts as bought again for good. Look-ups of recorded replies cost nothing and don't count.
        """
        with self._transaction():
            rows = self._db.execute(
                "SELECT rowid, record FROM attempts WHERE evaluation = ? AND ended = 0", (evaluation,)
            ).fetchall()
            for rowid, record in rows:
                lost = 0 if Attempt.from_json(record).local else 1
                self._db.execute("UPDATE attempts SET ended = ? WHERE rowid = ?", (_LOST if lost else _ENDED, rowid))
        return sum(not Attempt.from_json(record).local for _, record in rows)

    def next_attempt(self, evaluation: str, request_key: str) -> int:
        """The number that the next attempt at this request gets, from 1."""
        query = "SELECT COALESCE(MAX(number), 0) + 1 FROM attempts WHERE evaluation = ? AND request_key = ?"
        with self._errors():
            return int(self._db.execute(query, (evaluation, request_key)).fetchone()[0])

    def write_attempt(self, evaluation: str, attempt: Attempt) -> None:
        """Before sending: the row without an end."""
        with self._transaction():
            self._db.execute(
                "INSERT INTO attempts VALUES (?, ?, ?, ?, 0, ?)",
                (evaluation, attempt.request_key, attempt.number, attempt.session, attempt.to_json()),
            )

    def end_attempt(self, evaluation: str, attempt: Attempt, trial: Trial | None = None) -> None:
        """After it came back: the end, and the trial it settled, in one transaction."""
        with self._transaction():
            self._db.execute(
                "UPDATE attempts SET ended = 1, record = ? WHERE evaluation = ? AND request_key = ? AND number = ?",
                (attempt.to_json(), evaluation, attempt.request_key, attempt.number),
            )
            if trial is not None:
                self._insert_trial(evaluation, trial)

    def write_trial(self, evaluation: str, trial: Trial) -> None:
        """A trial that ended without a request (a fault before sending)."""
        with self._transaction():
            self._insert_trial(evaluation, trial)

    def _insert_trial(self, evaluation: str, trial: Trial) -> None:
        key: TrialKey = trial.key
        self._db.execute(
            "INSERT INTO trials (evaluation, generation, task, trial, has_reply, record) VALUES (?, ?, ?, ?, ?, ?)",
            (evaluation, key.generation, key.task, key.index, int(trial.reply is not None), trial.to_json()),
        )

    def write_replays(self, evaluation: str, replays: Iterable[Replay]) -> None:
        """All replays of one trial in one transaction."""
        with self._transaction():
            self._insert_replays(evaluation, replays)

    def _insert_replays(self, evaluation: str, replays: Iterable[Replay]) -> None:
        self._db.executemany(
            "INSERT INTO replays (evaluation, key, has_facts, record) VALUES (?, ?, ?, ?)",
            [(evaluation, r.key.to_json(), int(r.execution is not None), r.to_json()) for r in replays],
        )
