"""Evaluations in MLflow: the ``Tracker`` port.

Everything is logged after the evaluation is finished and safe elsewhere; logging the same evaluation again completes or replaces
what an interrupted attempt left, and never adds a second copy.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from crosspath.adapters.mlflow_tracker.addresses import evaluation_url
from crosspath.adapters.mlflow_tracker.connection import Connection
from crosspath.adapters.mlflow_tracker.layout import EVALUATION_TAG, MAX_ROWS, MAX_STAGED, Layout, layout
from crosspath.adapters.mlflow_tracker.reading import logged_traces
from crosspath.adapters.mlflow_tracker.runs import BUNDLE, OWN_TAG, PARENT_TAG, RunLogger
from crosspath.adapters.mlflow_tracker.stored_trials import stored_trials
from crosspath.adapters.mlflow_tracker.vendor import TracingClient
from crosspath.errors import StoreError, TrackerError
from crosspath.store.bundle import drop_unlisted, read_bundle
from crosspath.types import Facts, Judgement, LoggedTrials


@dataclass(frozen=True)
class MlflowRef:
    """Where an evaluation landed: the parent run."""

    run_id: str
    url: str


class MlflowTracker:
    """Logs evaluations to an MLflow server or to an embedded SQLite store, and fetches them from there."""

    def __init__(
        self,
        tracking_uri: str,
        artifact_root: Path | None = None,
        *,
        traces: int | Literal["all"] | None = None,
        max_rows: int = MAX_ROWS,
    ) -> None:
        """``artifact_root``: where an embedded store keeps artifacts (default: beside the database).

        ``traces``: how many failing tasks of one evaluation have a span for each stage; ``all``: every one, and a row for every
        task whatever ``max_rows`` says; None: the usual number, and an evaluation that was logged with another stays as it is.
        ``max_rows`` bounds the rows, one per task and run, of one evaluation; each takes about 15 ms to 60 ms.
        """
        self._connection = Connection(tracking_uri, artifact_root)
        self._traces = traces
        self._max_rows = max_rows

    @property
    def uri(self) -> str:
        """The store's or server's address, with ``***`` for a password: it is stored and printed."""
        return self._connection.name

    def check(self) -> None:
        """Ask the store for a sign of life, before anything is spent on results that it could not keep.

        Raises:
            TrackerError: it does not answer within a few seconds.
        """
        self._connection.client()

    def log(self, facts: Facts, judgement: Judgement, bundle: Path, parent_run: str | None = None) -> MlflowRef:
        """Log one finished evaluation; the same one again changes nothing, or finishes what was interrupted.

        Raises:
            TrackerError: the server can't be reached, refuses, or did not keep what was logged.
        """
        content = self._layout(facts, judgement)
        content.check()
        client = self._connection.client()
        with self._connection.calling(f"logging {facts.head.id} to MLflow"):
            store = self._connection.store(client)
            traces = None if self._traces is None else str(self._traces)
            logged = RunLogger(store, content, bundle, traces).run(facts, parent_run)
        return MlflowRef(logged.parent, evaluation_url(self._connection.uri, logged.experiment, *logged.runs))

    def _layout(self, facts: Facts, judgement: Judgement) -> Layout:
        if self._traces == "all":
            return layout(facts, judgement)
        return layout(facts, judgement, self._max_rows, MAX_STAGED if self._traces is None else int(self._traces))

    def fetch(self, run_id: str, into: Path) -> Path:
        """Download the bundle of the evaluation that the run belongs to; the parent's or a nested run's id.

        Raises:
            TrackerError: no such run, it holds no evaluation, or the bundle is damaged.
        """
        client = self._connection.client()
        with self._connection.calling(f"no evaluation in run {run_id}"):
            tags = client.get_run(run_id).data.tags
            parent = tags.get(PARENT_TAG, run_id) if EVALUATION_TAG in tags else run_id
            into.mkdir(parents=True, exist_ok=True)
            if not client.list_artifacts(parent, BUNDLE):
                raise TrackerError(f"run {run_id} at {self._connection.name} holds no evaluation of Crosspath")
            found = Path(client.download_artifacts(parent, BUNDLE, str(into)))
            own = OWN_TAG in client.get_run(parent).data.tags
        _require_readable(found, run_id, own)
        return found

    def trials(self, experiment: str) -> Iterator[LoggedTrials]:
        """The trials of the evaluations of an experiment, the newest first; what can't be read says why.

        Raises:
            ConfigError: there is no such experiment.
            TrackerError: the server can't be reached.
        """
        client = self._connection.client()
        with self._connection.calling(f"reading replies of {experiment}"):
            yield from stored_trials(client, experiment)

    def traces(self, named: str) -> Iterator[dict[str, Any]]:
        """The traces of an experiment (its name or id) or of a run, each as ``trace.to_dict()`` gives it.

        Raises:
            ConfigError: there is no such experiment or run.
            TrackerError: the server can't be reached, or refuses.
        """
        client = self._connection.client()
        with self._connection.calling(f"reading traces of {named}"):
            yield from logged_traces(client, TracingClient(self._connection.uri), named)


def _require_readable(bundle: Path, run_id: str, own: bool) -> None:
    """``own``: the run was made for this evaluation; one that somebody else opened may have files of an earlier logging."""
    try:
        if not own:
            drop_unlisted(bundle)
        read_bundle(bundle)
    except StoreError as error:
        raise TrackerError(f"run {run_id} holds a damaged evaluation: {error}") from error
