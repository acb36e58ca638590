"""A store or server of MLflow that is seen to answer before anything is asked, and its errors as one line without secrets."""

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from crosspath.adapters.mlflow_tracker.addresses import absolute, artifacts_beside, database_file, without_password
from crosspath.adapters.mlflow_tracker.runs import Store
from crosspath.adapters.mlflow_tracker.vendor import MlflowClient, TracingClient
from crosspath.errors import TrackerError, boundary

WAIT_FOR_LOCK_S = 5
PROBE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0", "MLFLOW_HTTP_REQUEST_TIMEOUT": "6"}
"""The first answer of a server is waited for six seconds, once."""


class Connection:
    """One address of MLflow."""

    def __init__(self, tracking_uri: str, artifact_root: Path | None = None) -> None:
        """``artifact_root``: where an embedded store keeps artifacts (default: beside the database)."""
        self.uri = absolute(tracking_uri)
        self.name = without_password(self.uri, self.uri)
        """The address, with ``***`` for a password: it is stored and printed."""
        self._artifact_root = artifact_root or artifacts_beside(self.uri)

    def client(self) -> MlflowClient:
        """A client of a store that was seen to answer within a few seconds.

        Raises:
            TrackerError: it does not answer.
        """
        try:
            with _environment(PROBE), boundary(TrackerError, "no answer"):
                _require_writable(database_file(self.uri))
                client = MlflowClient(self.uri, self.uri)
                client.search_experiments(max_results=1)
        except TrackerError as error:
            reason = without_password(str(error.__cause__).strip().splitlines()[0][:160], self.uri)
            raise TrackerError(f"MLflow at {self.name} can't be used ({reason})") from error
        return client

    def store(self, client: MlflowClient) -> Store:
        """What runs are written to."""
        return Store(client, TracingClient(self.uri), self.name, self._artifact_root)

    @contextmanager
    def calling(self, doing: str) -> Iterator[None]:
        """Any error of MLflow as one line, without the password that its address may hold."""
        try:
            with boundary(TrackerError, f"{doing} at {self.name}"):
                yield
        except TrackerError as error:
            refused = _database_error(error)
            said = str(error) if refused is None else f"{doing} at {self.name}: {refused}"
            raise TrackerError(without_password(said, self.uri)) from error


def _database_error(error: BaseException | None) -> sqlite3.Error | None:
    """What an embedded store says itself; MLflow's own text begins with advice to whoever programs it."""
    while error is not None and not isinstance(error, sqlite3.Error):
        error = error.__cause__ or error.__context__
    return error


def _require_writable(database: Path | None) -> None:
    """Ask for the right to write, once. MLflow itself asks for a minute, with a warning each time.

    A database that is made here keeps a write-ahead log: MLflow commits about twice a row, each of which is then one write to
    the disk and not several, and a server that shows the store does not wait for them.
    """
    if database is None:
        return
    database.parent.mkdir(parents=True, exist_ok=True)
    fresh = not database.exists()
    with closing(sqlite3.connect(database, timeout=WAIT_FOR_LOCK_S, isolation_level=None)) as connection:
        if fresh:
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """MLflow takes time-outs from the environment only."""
    before: dict[str, str | None] = {key: os.environ.get(key) for key in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value
