"""The durable ledger: one SQLite file that every observation is appended to before anything is made of it.

* One lease per ledger: a second process waits for the first (:class:`~crosspath.store.lease.Lease`).
* One writer. Rows are appended; an observation that was made once is never replaced by a later one.
* An attempt row is written *before* its request is sent. A row without an end is a request that was in flight when the
  program died: it may have been served and paid for, so it is counted, not forgotten.
* A finished evaluation never changes: the database itself refuses. ``replay`` and ``validate`` open a new one.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from crosspath.errors import ConfigError, StoreError
from crosspath.store.database import Database
from crosspath.store.lease import Lease
from crosspath.store.ledger_schemas import LEDGER
from crosspath.store.ordering import in_order
from crosspath.types import Attempt, EvaluationHead, Facts, Replay, Trial

_IN_FLIGHT, _ENDED, _LOST = 0, 1, 2
"""States of an attempt row."""

Observed = Attempt | Trial | Replay
"""What is appended. An attempt without an end opens its row; the same attempt with an end closes it."""

_T = TypeVar("_T", Trial, Replay)


class Ledger:
    """All evaluations below one directory."""

    def __init__(self, directory: Path, *, reading: bool = False) -> None:
        """Open or create the ledger in ``directory``; with ``reading`` only look at what is there, which needs no right to write.

        Raises:
            StoreError: the directory or the file can't be written (or read), or an unknown version of Crosspath wrote it.
        """
        self.directory = directory
        self.path = directory / "ledger.db"
        self.lease = Lease(directory)
        if reading:
            self._db = Database.to_read(self.path, LEDGER)
            return
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{directory}: the store can't be created ({error.strerror})") from error
        self._db = Database.to_write(self.path, LEDGER, self._alone)

    def close(self) -> None:
        """Close the file and give the lease back."""
        self._db.close()
        self.lease.release()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While an older ledger is brought to today's tables, no process writes to it."""
        self.lease.acquire(timeout_s=0)
        try:
            yield
        finally:
            self.lease.release()

    # -- evaluations ---------------------------------------------------------------------------------------------------

    def new_id(self, name: str, now: float) -> str:
        """``NAME-YYYYMMDD-N`` with the first free N; one word, so that every command that is printed with it can be copied."""
        prefix = f"{name.replace(' ', '-')}-{time.strftime('%Y%m%d', time.gmtime(now))}-"
        taken = {row[0] for row in self._db.rows("SELECT id FROM evaluations")}
        return next(f"{prefix}{n}" for n in range(1, len(taken) + 2) if f"{prefix}{n}" not in taken)

    def open_evaluation(self, facts: Facts) -> None:
        """Write a new evaluation: its frame, and the trials and replays that it starts with."""
        head = facts.head
        with self._db.transaction():
            row = (head.id, head.created_at, head.spec_digest, "running", head.to_json(), _frame(facts))
            self._db.execute("INSERT INTO evaluations VALUES (?, ?, ?, ?, ?, ?)", row)
            for record in (*facts.trials, *facts.replays):
                self._append(head.id, record)
            self._db.execute("UPDATE evaluations SET status = ? WHERE id = ?", (head.status, head.id))

    def unfinished(self, spec_digest: str) -> str | None:
        """The newest evaluation of this very configuration that was started and not finished."""
        query = "SELECT id FROM evaluations WHERE spec_digest = ? AND status != 'finished' ORDER BY created_at DESC, rowid DESC"
        rows = self._db.rows(query, spec_digest)
        return rows[0][0] if rows else None

    def update(self, facts: Facts) -> None:
        """Rewrite head and frame: its status, what the lock learned, where it was logged.

        Raises:
            StoreError: it is finished, and more would change than where it was logged.
        """
        head = facts.head
        with self._db.transaction():
            self._db.execute(
                "UPDATE evaluations SET status = ?, head = ?, frame = ? WHERE id = ?",
                (head.status, head.to_json(), _frame(facts), head.id),
            )

    def update_head(self, head: EvaluationHead) -> None:
        """Rewrite the head alone: where a finished evaluation was logged. Its frame stays as an older version wrote it.

        Raises:
            StoreError: the status of a finished evaluation would change.
        """
        with self._db.transaction():
            self._db.execute("UPDATE evaluations SET status = ?, head = ? WHERE id = ?", (head.status, head.to_json(), head.id))

    def remove(self, evaluation: str) -> None:
        """Take away an evaluation that nobody asked for, with all that was observed for it; what comes next uses its room.

        Raises:
            StoreError: nothing was taken away.
        """
        with self._db.transaction():
            for table in ("sessions", "attempts", "trials", "replays"):
                self._db.execute(f"DELETE FROM {table} WHERE evaluation = ?", (evaluation,))
            self._db.execute("DELETE FROM evaluations WHERE id = ?", (evaluation,))

    def heads(self) -> tuple[EvaluationHead, ...]:
        """All evaluations, oldest first.

        Raises:
            StoreError: the ledger can't be read.
        """
        rows = self._db.rows("SELECT id, head FROM evaluations ORDER BY created_at, rowid")
        return tuple(self._parsed(EvaluationHead, head, name) for name, head in rows)

    def facts(self, evaluation: str) -> Facts:
        """Everything that was observed, in the order of the plan: the first observation of each trial and replay, or else its
        last fault.

        Raises:
            ConfigError: there is no such evaluation.
            StoreError: the ledger can't be read.
        """
        found = self._db.rows("SELECT head, frame FROM evaluations WHERE id = ?", evaluation)
        if not found:
            raise ConfigError(f"no evaluation {evaluation!r} in {self.path}; known: {self._known()}")
        head, frame = found[0]
        attempts = self._db.rows("SELECT record, state FROM attempts WHERE evaluation = ? ORDER BY rowid", evaluation)
        facts = self._parsed(Facts, frame, evaluation).model_copy(
            update={
                "head": self._parsed(EvaluationHead, head, evaluation),
                "trials": self._observations(Trial, "trials", evaluation),
                "replays": self._observations(Replay, "replays", evaluation),
                "attempts": tuple(self._parsed(Attempt, record, evaluation) for record, _ in attempts),
                "sessions": self.sessions(evaluation),
                "bought_again": sum(state == _LOST for _, state in attempts),
            }
        )
        return in_order(facts)

    def sessions(self, evaluation: str) -> tuple[tuple[float, float | None], ...]:
        """Begin and end of each start of the program; no end: it was killed, or still runs."""
        rows = self._db.rows("SELECT started_at, ended_at FROM sessions WHERE evaluation = ? ORDER BY number", evaluation)
        return tuple((start, end) for start, end in rows)

    def _observations(self, kind: type[_T], table: str, evaluation: str) -> tuple[_T, ...]:
        found: dict[str, _T] = {}
        settled: set[str] = set()
        query = f"SELECT key, observed, record FROM {table} WHERE evaluation = ? ORDER BY seq"
        for key, observed, record in self._db.each(query, evaluation):
            if key not in settled:
                found[key] = self._parsed(kind, record, evaluation)
                settled |= {key} if observed else set()
        return tuple(found.values())

    def _parsed(self, kind: type[Any], text: str, evaluation: str) -> Any:
        try:
            return kind.from_json(text)
        except (ValidationError, ValueError) as error:
            first = str(error).splitlines()[0]
            raise StoreError(f"{self.path}: evaluation {evaluation} can't be read: {first}") from error

    def _known(self) -> str:
        ids = [row[0] for row in self._db.rows("SELECT id FROM evaluations ORDER BY created_at DESC LIMIT 5")]
        return ", ".join(ids) or "none yet"

    # -- observations --------------------------------------------------------------------------------------------------

    def start_session(self, evaluation: str, now: float) -> int:
        """Begin one start of the program; returns its number, from 1."""
        with self._db.transaction():
            number = self._db.rows("SELECT COALESCE(MAX(number), 0) + 1 FROM sessions WHERE evaluation = ?", evaluation)[0][0]
            self._db.execute("INSERT INTO sessions VALUES (?, ?, ?, NULL)", (evaluation, number, now))
        return int(number)

    def end_session(self, evaluation: str, number: int, now: float) -> None:
        """Close it; a session without an end was killed."""
        with self._db.transaction():
            self._db.execute("UPDATE sessions SET ended_at = ? WHERE evaluation = ? AND number = ?", (now, evaluation, number))

    def abandon_in_flight(self, evaluation: str) -> int:
        """Give up on requests that were sent and whose end nobody saw; returns how many this call gave up.

        Each such row counts as bought again for good. Look-ups of recorded replies cost nothing and don't count.
        """
        lost = 0
        with self._db.transaction():
            query = "SELECT rowid, record FROM attempts WHERE evaluation = ? AND state = ?"
            for rowid, record in self._db.rows(query, evaluation, _IN_FLIGHT):
                local = self._parsed(Attempt, record, evaluation).local
                self._db.execute("UPDATE attempts SET state = ? WHERE rowid = ?", (_ENDED if local else _LOST, rowid))
                lost += not local
        return lost

    def append(self, evaluation: str, records: Sequence[Observed]) -> None:
        """Add observations in one transaction; all are durable when this returns.

        Raises:
            StoreError: none was written (a full disk, a finished evaluation, an attempt that is open already).
        """
        with self._db.transaction():
            for record in records:
                self._append(evaluation, record)

    def _append(self, evaluation: str, record: Observed) -> None:
        if isinstance(record, Attempt):
            self._append_attempt(evaluation, record)
            return
        table, observation = ("trials", record.reply) if isinstance(record, Trial) else ("replays", record.execution)
        self._db.execute(
            f"INSERT INTO {table} (evaluation, key, observed, record) VALUES (?, ?, ?, ?)",
            (evaluation, record.key.to_json(), int(observation is not None), record.to_json()),
        )

    def _append_attempt(self, evaluation: str, attempt: Attempt) -> None:
        key = (evaluation, attempt.request_key, attempt.number)
        if attempt.ended_at is None:
            self._db.execute("INSERT INTO attempts VALUES (?, ?, ?, ?, ?)", (*key, _IN_FLIGHT, attempt.to_json()))
        else:
            self._db.execute(
                "UPDATE attempts SET state = ?, record = ? WHERE evaluation = ? AND request_key = ? AND number = ?",
                (_ENDED, attempt.to_json(), *key),
            )


def _frame(facts: Facts) -> str:
    """Everything but observations, and but where it was logged, which may be learned after the end."""
    head = facts.head.model_copy(update={"mlflow_run": None, "mlflow_uri": None})
    empty = {"head": head, "trials": (), "attempts": (), "replays": (), "sessions": (), "bought_again": 0}
    return facts.model_copy(update=empty).to_json()
