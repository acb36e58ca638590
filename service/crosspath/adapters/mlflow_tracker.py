"""Evaluations in MLflow. The only module that imports MLflow.

Every call names its run: MLflow's *active run* is thread-local and follows ``MLFLOW_RUN_ID``, so the fluent API would write to
other people's runs. Everything is logged after the evaluation is finished and safe elsewhere; logging the same evaluation again
completes or replaces what an interrupted attempt left, and never adds a second copy.
"""

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from crosspath.adapters.mlflow_layout import EVALUATION_TAG, LOGGED_TAG, Layout, RunContent, layout
from crosspath.adapters.mlflow_names import MAX_PROMPT, NOTE_TAG, chunks, prompt_name, prompt_tags
from crosspath.adapters.mlflow_rows import Row, span_record
from crosspath.adapters.mlflow_ui import (
    QUIET_ENVIRONMENT,
    artifacts_beside,
    database_file,
    evaluation_url,
    file_name,
    without_password,
)
from crosspath.errors import StoreError, TrackerError, boundary
from crosspath.store.bundle import index_digest, read_bundle
from crosspath.types import Facts, Judgement, Text

# Before the import: MLflow reads these when it is loaded. A user's own settings win, except where data would leave or be cut.
os.environ.update(QUIET_ENVIRONMENT)
os.environ["MLFLOW_TRUNCATE_LONG_VALUES"] = "false"
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "3")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "60")

from mlflow import MlflowClient
from mlflow.entities import (
    Assessment,
    AssessmentError,
    AssessmentSource,
    Experiment,
    Feedback,
    Metric,
    Param,
    Run,
    RunTag,
    Span,
    TraceInfo,
    TraceLocation,
    TraceState,
    ViewType,
)
from mlflow.tracing.client import TracingClient

BUNDLE = "bundle"
"""Artifact directory of the parent run that holds the bundle."""
PARENT_TAG = "mlflow.parentRunId"
OWN_TAG = "crosspath.own_parent"
"""Set on parent runs that this adapter made, and not on those that ``mlflow run`` opened."""
EXPERIMENT_TAGS = {
    "mlflow.experimentKind": "genai_development",
    NOTE_TAG: "Evaluations of Crosspath: open **Evaluation runs** in the menu. Configuration columns are under *Columns*.",
}
ROWS_IN_A_CALL = 50
WAIT_FOR_LOCK_S = 5
PROBE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0", "MLFLOW_HTTP_REQUEST_TIMEOUT": "6"}
"""The first answer of a server is waited for six seconds, once."""


@dataclass(frozen=True)
class MlflowRef:
    """Where an evaluation landed: the parent run."""

    run_id: str
    url: str


class MlflowTracker:
    """Logs evaluations to an MLflow server or to an embedded SQLite store, and fetches them from there."""

    def __init__(self, tracking_uri: str, artifact_root: Path | None = None, *, max_traces: int = 240) -> None:
        """``artifact_root``: where an embedded store keeps artifacts (default: beside the database).

        ``max_traces`` bounds the per-task rows of one evaluation; each takes about 20 ms to 60 ms.
        """
        self._uri = tracking_uri
        self._name = without_password(tracking_uri, tracking_uri)
        self._max_traces = max_traces
        self._artifact_root = artifact_root or artifacts_beside(tracking_uri)

    @property
    def uri(self) -> str:
        """The store's or server's address."""
        return self._uri

    def check(self) -> None:
        """Ask the store for a sign of life, before anything is spent on results that it could not keep.

        Raises:
            TrackerError: it does not answer within a few seconds.
        """
        self._client()

    def log(self, facts: Facts, judgement: Judgement, bundle: Path, parent_run: str | None = None) -> MlflowRef:
        """Log one finished evaluation; the same one again changes nothing, or finishes what was interrupted.

        Raises:
            TrackerError: the server can't be reached, refuses, or did not keep what was logged.
        """
        content = layout(facts, judgement, self._max_traces)
        content.check()
        client = self._client()
        with self._calling(f"logging {facts.head.id} to MLflow"):
            return _Logging(client, TracingClient(self._uri), self, content, bundle).run(facts, parent_run)

    def fetch(self, run_id: str, into: Path) -> Path:
        """Download the bundle of the evaluation that the run belongs to; the parent's or a nested run's id.

        Raises:
            TrackerError: no such run, it holds no evaluation, or the bundle is damaged.
        """
        client = self._client()
        with self._calling(f"no evaluation in run {run_id}"):
            tags = client.get_run(run_id).data.tags
            parent = tags.get(PARENT_TAG, run_id) if EVALUATION_TAG in tags else run_id
            into.mkdir(parents=True, exist_ok=True)
            if not client.list_artifacts(parent, BUNDLE):
                raise TrackerError(f"run {run_id} at {self._name} holds no evaluation of Crosspath")
            found = Path(client.download_artifacts(parent, BUNDLE, str(into)))
        _require_readable(found, run_id)
        return found

    def experiment(self, client: MlflowClient, name: str) -> str:
        """Id of the experiment, created where it doesn't exist."""
        found: Experiment | None = client.get_experiment_by_name(name)
        if found and found.lifecycle_stage != "active":
            raise TrackerError(f"experiment {name!r} was deleted in MLflow at {self._name}: restore it, or name another one")
        if found:
            return found.experiment_id
        # A relative default would put artifacts below the current directory, wherever that is.
        location = None if self._artifact_root is None else (self._artifact_root.resolve() / file_name(name)).as_uri()
        return client.create_experiment(name, artifact_location=location, tags=EXPERIMENT_TAGS)

    def url(self, experiment_id: str, run_id: str | None = None, other: str | None = None) -> str:
        """Link to the evaluation-runs page."""
        return evaluation_url(self._uri, experiment_id, run_id, other)

    @contextmanager
    def _calling(self, doing: str) -> Iterator[None]:
        """Any error of MLflow as one line, without the password that its address may hold."""
        try:
            with boundary(TrackerError, f"{doing} at {self._name}"):
                yield
        except TrackerError as error:
            raise TrackerError(without_password(str(error), self._uri)) from error

    def _client(self) -> MlflowClient:
        """A client of a store that was seen to answer within a few seconds."""
        try:
            with _environment(PROBE), boundary(TrackerError, "no answer"):
                _require_writable(database_file(self._uri))
                client = MlflowClient(self._uri, self._uri)
                client.search_experiments(max_results=1)
        except TrackerError as error:
            reason = without_password(str(error.__cause__).strip().splitlines()[0][:160], self._uri)
            raise TrackerError(f"MLflow at {self._name} can't be used ({reason})") from error
        return client


class _Logging:
    """One evaluation on its way to MLflow."""

    def __init__(
        self, client: MlflowClient, tracing: TracingClient, tracker: MlflowTracker, content: Layout, bundle: Path
    ) -> None:
        self._client = client
        self._tracing = tracing
        self._tracker = tracker
        self._content = content
        self._bundle = bundle
        self._token = _token(bundle)

    def run(self, facts: Facts, parent_run: str | None) -> MlflowRef:
        experiment = self._experiment_of(parent_run)
        earlier = self._parents(experiment, facts.head.id)
        done = next((run for run in earlier if self._is_complete(run, parent_run)), None)
        for run in earlier:
            if run is not done:
                self._clear(run, keep=parent_run)
        parent = done.info.run_id if done else self._log_all(experiment, facts, parent_run)
        matched = self._nested(experiment, parent, "matched")
        pair = [run.info.run_id for run in matched[:2]]
        return MlflowRef(parent, self._tracker.url(experiment, *pair))

    def _experiment_of(self, parent_run: str | None) -> str:
        if parent_run is None:
            return self._tracker.experiment(self._client, self._content.experiment)
        return self._client.get_run(parent_run).info.experiment_id

    def _parents(self, experiment: str, evaluation: str) -> list[Run]:
        """Parent runs of this evaluation, here and in the spec's experiment (a given parent may be in another one)."""
        wanted = f"tags.`{EVALUATION_TAG}` = '{evaluation}' and tags.`crosspath.role` = 'evaluation'"
        usual = self._client.get_experiment_by_name(self._content.experiment)
        places = {experiment} | ({usual.experiment_id} if usual else set())
        return list(self._client.search_runs(sorted(places), wanted, ViewType.ACTIVE_ONLY, max_results=50))

    def _nested(self, experiment: str, parent: str, role: str | None = None) -> list[Run]:
        wanted = f"tags.`{PARENT_TAG}` = '{parent}'" + (f" and tags.`crosspath.role` = '{role}'" if role else "")
        runs = self._client.search_runs([experiment], wanted, ViewType.ACTIVE_ONLY, max_results=1000)
        return sorted(runs, key=lambda run: -run.info.start_time)

    def _is_complete(self, run: Run, parent_run: str | None) -> bool:
        """Whether everything of this very content is there, under the parent that was asked for."""
        wanted = parent_run in (None, run.info.run_id)
        if not wanted or run.data.tags.get(LOGGED_TAG) != self._token:
            return False
        return len(self._nested(run.info.experiment_id, run.info.run_id)) == len(self._content.nested)

    def _clear(self, parent: Run, keep: str | None) -> None:
        """Take away what an earlier, interrupted or outdated attempt left; another one's parent run only loses our tags."""
        experiment = parent.info.experiment_id
        for run in self._nested(experiment, parent.info.run_id):
            for batch in chunks(_trace_ids(self._tracing, experiment, run.info.run_id)):
                self._tracing.delete_traces(experiment, trace_ids=list(batch))
            self._client.delete_run(run.info.run_id)
        if OWN_TAG in parent.data.tags:
            self._client.delete_run(parent.info.run_id)
        elif parent.info.run_id != keep:
            self._client.delete_tag(parent.info.run_id, EVALUATION_TAG)

    def _log_all(self, experiment: str, facts: Facts, parent_run: str | None) -> str:
        started = facts.head.created_at
        ended = max((end or start for start, end in facts.sessions), default=started)
        parent = parent_run or self._create(experiment, self._content.parent, started, {OWN_TAG: "true"})
        self._log_content(parent, self._adopted(parent) if parent_run else self._content.parent)
        prompts = self._register_contracts(experiment)
        for key, value in prompt_tags(self._content.parent.prompts, prompts).items():
            self._client.set_tag(parent, key, value)
        for number, run in enumerate(reversed(self._content.nested)):
            # A millisecond apart, the first one last: MLflow lists the newest first, and so in the order of the spec.
            links = {PARENT_TAG: parent} | prompt_tags(run.prompts, prompts)
            child = self._create(experiment, run, started + number / 1000, links)
            self._log_content(child, run)
            self._log_rows(experiment, child, run)
            self._finish(child, ended)
        self._client.log_artifacts(parent, str(self._bundle), BUNDLE)
        self._client.set_tag(parent, LOGGED_TAG, self._token)
        if parent_run:
            self._client.update_run(parent, name=self._content.parent.name)
        else:
            self._finish(parent, ended)
        return parent

    def _create(self, experiment: str, run: RunContent, started_s: float, more: Mapping[str, str]) -> str:
        created = self._client.create_run(experiment, round(started_s * 1000), {**run.tags, **more}, run.name)
        return created.info.run_id

    def _adopted(self, run_id: str) -> RunContent:
        """The parent's content for a run that someone else opened: a param that is taken gets a name of our own.

        MLflow loses a whole batch of params when one of them is already there with another value.
        """
        taken = self._client.get_run(run_id).data.params
        content = self._content.parent
        params = {f"crosspath.{key}" if taken.get(key, value) != value else key: value for key, value in content.params.items()}
        return RunContent(content.name, params, content.metrics, content.tags, content.long_params)

    def _log_content(self, run_id: str, run: RunContent) -> None:
        """Params, metrics, tags, figures and long texts; then read back what MLflow kept."""
        for batch in chunks(list(run.params.items())):
            self._client.log_batch(run_id, params=[Param(key, value) for key, value in batch])
        for batch in chunks(list(run.tags.items())):
            self._client.log_batch(run_id, tags=[RunTag(key, value) for key, value in batch])
        now = self._client.get_run(run_id).info.start_time
        self._client.log_batch(run_id, metrics=[Metric(key, value, now, 0) for key, value in run.metrics.items()])
        for key, text in run.long_params.items():
            self._client.log_text(run_id, text, f"long_params/{key}.txt")
        for name in run.figures:
            if (self._bundle / name).is_file():
                self._client.log_artifact(run_id, str(self._bundle / name), "figures")
        _require_kept(self._client.get_run(run_id), run)

    def _log_rows(self, experiment: str, run_id: str, run: RunContent) -> None:
        for batch in chunks(run.rows, ROWS_IN_A_CALL):
            _write_rows(self._tracing, experiment, run_id, batch)
        found = len(_trace_ids(self._tracing, experiment, run_id))
        if found != len(run.rows):
            raise TrackerError(f"run {run.name!r}: {len(run.rows)} rows were logged, MLflow kept {found}")

    def _finish(self, run_id: str, ended_s: float) -> None:
        self._client.set_terminated(run_id, "FINISHED", int(ended_s * 1000))

    def _register_contracts(self, experiment: str) -> dict[str, tuple[str, int]]:
        """Contract -> name and version in the prompt registry; a new version only where the text is new."""
        return {
            text.name: _registered(self._client, experiment, text)
            for text in self._content.contracts
            if 0 < len(text.content) <= MAX_PROMPT
        }


def _registered(client: MlflowClient, experiment: str, text: Text) -> tuple[str, int]:
    name = prompt_name(text.name)
    if client.get_prompt(name) is None:
        client.create_prompt(name, f"What a model is told under the contract {text.name}", {})
    _show_in_experiment(client, name, experiment)
    versions = client.search_model_versions(f"name = '{name}' and tags.`mlflow.prompt.is_prompt` = 'true'")
    for version in versions:
        found = client.get_prompt_version(name, version.version)
        if found and found.template == text.content:
            return name, int(version.version)
    tags = {"crosspath.digest": text.digest, "crosspath.version": text.version or "unset"}
    made = client.create_prompt_version(name, text.content, f"contract {text.name}, version {text.version or 'unset'}", tags)
    return name, int(made.version)


def _show_in_experiment(client: MlflowClient, prompt: str, experiment: str) -> None:
    """List the prompt on the experiment's page. MLflow keeps the ids in one tag, with a comma on either side of each."""
    tags = getattr(client.get_prompt(prompt), "tags", None) or {}
    known = [one for one in tags.get("_mlflow_experiment_ids", "").split(",") if one]
    if experiment not in known:
        client.set_prompt_tag(prompt, "_mlflow_experiment_ids", f",{','.join([*known, experiment])},")


def _write_rows(tracing: TracingClient, experiment: str, run_id: str, rows: Sequence[Row]) -> None:
    """A trace with one span and its assessments for each row; the spans of all of them travel in one call."""
    spans = [Span.from_dict(span_record(row)) for row in rows]
    for row, span in zip(rows, spans, strict=True):
        tracing.start_trace(_trace_info(experiment, run_id, row, span))
    tracing.log_spans(experiment, spans)


def _trace_info(experiment: str, run_id: str, row: Row, span: Span) -> TraceInfo:
    """What the list of rows shows; ``mlflow.sourceRun`` ties the trace to its run."""
    return TraceInfo(
        trace_id=span.trace_id,
        trace_location=TraceLocation.from_experiment_id(experiment),
        request_time=round(row.started_s * 1000),
        state=TraceState.ERROR if row.fault else TraceState.OK,
        request_preview=row.request_text,
        response_preview=row.response_text,
        client_request_id=row.name,
        execution_duration=round(row.duration_s * 1000),
        trace_metadata={"mlflow.sourceRun": run_id},
        tags={"mlflow.traceName": row.name, **row.tags},
        assessments=_assessments(row, run_id),
    )


def _assessments(row: Row, run_id: str) -> list[Assessment]:
    source = AssessmentSource("CODE", "crosspath")
    return [
        Feedback(
            name=verdict.name,
            value=verdict.value,
            error=AssessmentError("FAULT", verdict.fault) if verdict.fault else None,
            source=source,
            rationale=verdict.rationale or None,
            metadata={"mlflow.assessment.sourceRunId": run_id},
        )
        for verdict in row.verdicts
    ]


def _trace_ids(tracing: TracingClient, experiment: str, run_id: str) -> list[str]:
    found: list[str] = []
    token: str | None = None
    while True:
        page = tracing.search_traces(
            [experiment], f"metadata.`mlflow.sourceRun` = '{run_id}'", max_results=500, page_token=token, include_spans=False
        )
        found += [trace.info.trace_id for trace in page]
        token = page.token
        if not token:
            return found


def _require_kept(found: Run, run: RunContent) -> None:
    """Compare what MLflow returns with what was logged.

    Raises:
        TrackerError: a value differs or is missing.
    """
    for kind, wanted, kept in (
        ("param", run.params, found.data.params),
        ("tag", run.tags, found.data.tags),
        ("metric", run.metrics, found.data.metrics),
    ):
        wrong = [key for key, value in wanted.items() if kept.get(key) != value]
        if wrong:
            raise TrackerError(f"run {run.name!r}: MLflow did not keep {kind} {wrong[0]!r} as it was logged")


def _token(bundle: Path) -> str:
    """Identity of what is to be logged, from the index of its bundle."""
    try:
        return index_digest(bundle)
    except StoreError as error:
        raise TrackerError(f"nothing to log: {error}") from error


def _require_readable(bundle: Path, run_id: str) -> None:
    try:
        read_bundle(bundle)
    except StoreError as error:
        raise TrackerError(f"run {run_id} holds a damaged evaluation: {error}") from error


def _require_writable(database: Path | None) -> None:
    """Ask for the right to write, once. MLflow itself asks for a minute, with a warning each time."""
    if database is None:
        return
    database.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(database, timeout=WAIT_FOR_LOCK_S, isolation_level=None)) as connection:
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
