"""A deployment's evaluations over time in MLflow, and what looks at them found: the ``Series`` port."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from crosspath.adapters.mlflow_tracker.addresses import run_url
from crosspath.adapters.mlflow_tracker.connection import Connection
from crosspath.adapters.mlflow_tracker.entry_cache import EntryCache
from crosspath.adapters.mlflow_tracker.layout import LOGGED_TAG
from crosspath.adapters.mlflow_tracker.look_logging import RECORD, LookLogger, looks_of
from crosspath.adapters.mlflow_tracker.series_entries import entry_digest
from crosspath.adapters.mlflow_tracker.series_reading import SeriesReader, download
from crosspath.adapters.mlflow_tracker.tracker import MlflowRef
from crosspath.adapters.mlflow_tracker.vendor import MlflowClient, Run, ViewType
from crosspath.errors import StoreError, TrackerError
from crosspath.spec.resolution import name_problem
from crosspath.store import migrations
from crosspath.types.drift import Drift, SeriesHistory

MOST_LOOKS = 20
"""So many of the newest looks are tried until one can be read."""


class MlflowSeries:
    """Series at an MLflow server or in an embedded SQLite store."""

    def __init__(self, tracking_uri: str, artifact_root: Path | None = None, cache: Path | None = None) -> None:
        """``artifact_root``: where an embedded store keeps artifacts (default: beside the database).

        ``cache``: a directory for entries that were fetched; None: each is fetched each time.
        """
        self._connection = Connection(tracking_uri, artifact_root)
        self._cache = EntryCache(cache)

    def history(self, deployment: str, experiment: str | None = None) -> SeriesHistory:
        """All evaluations of a deployment, oldest first; those that can't be read say why.

        An entry that is missing or damaged is made anew from the evaluation's bundle.

        Raises:
            ConfigError: there is no such deployment or experiment, or it is in several experiments and none is named.
            TrackerError: the server can't be reached.
        """
        client = self._connection.client()
        with self._connection.calling(f"reading the evaluations of {deployment}"):
            return SeriesReader(client, self._connection.uri, self._cache).history(deployment, experiment)

    def last_look(self, deployment: str, experiment: str) -> Drift | None:
        """What the newest look that can be read found; None where there was none.

        Raises:
            TrackerError: the server can't be reached.
        """
        client = self._connection.client()
        with self._connection.calling(f"reading the last look at {deployment}"):
            found = (self._drift(client, run) for run in _newest(client, deployment, experiment))
            return next((drift for drift in found if drift), None)

    def log_look(self, drift: Drift, directory: Path) -> MlflowRef:
        """One run for the day of this look, with ``directory`` as artifacts; ``drift.json`` is among them.

        Raises:
            TrackerError: the server can't be reached, or did not keep what was logged.
        """
        if problem := name_problem(drift.deployment):
            raise TrackerError(f"{drift.deployment!r} {problem}")
        client = self._connection.client()
        with self._connection.calling(f"logging {drift.id} to MLflow"):
            place, run_id = LookLogger(self._connection.store(client), drift, directory).log()
        return MlflowRef(run_id, run_url(self._connection.uri, place, run_id))

    def _drift(self, client: MlflowClient, run: Run) -> Drift | None:
        """None: damaged, of a newer version, or gone; the server itself answers."""
        with tempfile.TemporaryDirectory(prefix="crosspath-") as temporary:
            try:
                data = download(client, self._connection.uri, run, RECORD, Path(temporary)).read_bytes()
            except StoreError:
                return None
        if entry_digest(data) != run.data.tags.get(LOGGED_TAG):
            return None
        try:
            return migrations.DRIFT.parsed(Drift, data, RECORD)
        except StoreError:
            return None


def _newest(client: MlflowClient, deployment: str, experiment: str) -> Sequence[Run]:
    place = client.get_experiment_by_name(experiment)
    if place is None or name_problem(deployment):
        return []
    wanted, order = f"{looks_of(deployment)} and tags.`{LOGGED_TAG}` != ''", ["attributes.start_time DESC"]
    return client.search_runs([place.experiment_id], wanted, ViewType.ACTIVE_ONLY, MOST_LOOKS, order)
