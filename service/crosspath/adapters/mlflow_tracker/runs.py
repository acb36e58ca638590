"""One evaluation on its way to MLflow: its runs, written, read back, and replaced where an earlier attempt was interrupted.

Every call names its run: MLflow's *active run* is thread-local and follows ``MLFLOW_RUN_ID``, so the fluent API would write to
other people's runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from crosspath.adapters.mlflow_tracker.addresses import file_name
from crosspath.adapters.mlflow_tracker.layout import EVALUATION_TAG, IDENTITY_TAG, LOGGED_TAG, Layout, RunContent, identity
from crosspath.adapters.mlflow_tracker.logged_models import CandidateModels
from crosspath.adapters.mlflow_tracker.names import NOTE_TAG, chunks, prompt_tags, shown
from crosspath.adapters.mlflow_tracker.prompts import register_contracts
from crosspath.adapters.mlflow_tracker.series_entries import ENTRY, SERIES_TAGS
from crosspath.adapters.mlflow_tracker.task_sets import CONTEXT, TaskSet
from crosspath.adapters.mlflow_tracker.traces import delete_rows, log_rows
from crosspath.adapters.mlflow_tracker.vendor import (
    Dataset,
    DatasetInput,
    Experiment,
    InputTag,
    Metric,
    MlflowClient,
    Param,
    Run,
    RunTag,
    TracingClient,
    ViewType,
)
from crosspath.errors import StoreError, TrackerError
from crosspath.pipeline.configurations import configuration_of
from crosspath.store.bundle import index_digest
from crosspath.types import Facts

BUNDLE = "bundle"
"""Artifact directory of the parent run that holds the bundle."""
PARENT_TAG = "mlflow.parentRunId"
OWN_TAG = "crosspath.own_parent"
"""Set on parent runs that this adapter made, and not on those that ``mlflow run`` opened."""
TRACES_TAG = "crosspath.traces"
"""How many rows have a span for each stage at most: a number, or ``all``. Another wish than this is logged anew."""
REPORTS = ("report.html", "report.md")
"""Files of the bundle that are artifacts of their own, at the top, where MLflow shows them."""
MOST_EXPERIMENTS = 1000
"""Newest first: an evaluation that is logged again was logged lately."""
EXPERIMENT_TAGS = {
    "mlflow.experimentKind": "genai_development",
    NOTE_TAG: "Evaluations of Crosspath: open **Evaluation runs** in the menu. Configuration columns are under *Columns*.",
}


@dataclass(frozen=True)
class Store:
    """An MLflow store that was seen to answer."""

    client: MlflowClient
    tracing: TracingClient
    name: str
    """Its address, without a password."""
    artifact_root: Path | None
    """Where experiments that are made here keep their artifacts; None: the server decides."""

    def experiment(self, name: str) -> str:
        """Id of the experiment, created where it doesn't exist."""
        found: Experiment | None = self.client.get_experiment_by_name(name)
        if found and found.lifecycle_stage != "active":
            raise TrackerError(f"experiment {name!r} was deleted in MLflow at {self.name}: restore it, or name another one")
        if found:
            return found.experiment_id
        # A relative default would put artifacts below the current directory, wherever that is.
        location = None if self.artifact_root is None else (self.artifact_root.resolve() / file_name(name)).as_uri()
        return self.client.create_experiment(name, artifact_location=location, tags=EXPERIMENT_TAGS)


@dataclass(frozen=True)
class Logged:
    """Where an evaluation is now."""

    experiment: str
    parent: str
    runs: tuple[str, ...]
    """Two runs to look at side by side: the first two candidates as deployed, or the only one and its reference."""


class RunLogger:
    """Writes one evaluation to a store."""

    def __init__(self, store: Store, content: Layout, bundle: Path, traces: str | None = None) -> None:
        """``traces``: what was asked for, as in ``TRACES_TAG``; None: nothing, so that what is there will do."""
        self._store = store
        self._traces = traces
        self._client = store.client
        self._content = content
        self._bundle = bundle
        self._token = _token(bundle)

    def run(self, facts: Facts, parent_run: str | None) -> Logged:
        """Write what is missing; ``parent_run``: the run that somebody else opened for it.

        Raises:
            TrackerError: the store did not keep what was logged.
        """
        experiment = self._experiment_of(parent_run)
        earlier = self._parents(identity(facts.head))
        done = next((run for run in earlier if self._is_complete(run, parent_run)), None)
        for run in earlier:
            if run is not done:
                self._clear(run, keep=parent_run)
        parent = done.info.run_id if done else self._log_all(experiment, facts, parent_run)
        if done:
            self._log_models(done.info.experiment_id, parent, facts)
        runs = [*self._nested(experiment, parent, "matched"), *self._nested(experiment, parent, "reference")]
        return Logged(experiment, parent, tuple(run.info.run_id for run in runs[:2]))

    def _experiment_of(self, parent_run: str | None) -> str:
        if parent_run is None:
            return self._store.experiment(self._content.experiment)
        return self._client.get_run(parent_run).info.experiment_id

    def _parents(self, wanted: str) -> list[Run]:
        """Parent runs of this very evaluation, in any experiment: a given parent may be in another one than the spec's."""
        places = [one.experiment_id for one in self._client.search_experiments(max_results=MOST_EXPERIMENTS)]
        tags = f"tags.`{IDENTITY_TAG}` = '{wanted}' and tags.`crosspath.role` = 'evaluation'"
        return list(self._client.search_runs(places, tags, ViewType.ACTIVE_ONLY, max_results=50))

    def _nested(self, experiment: str, parent: str, role: str | None = None) -> list[Run]:
        wanted = f"tags.`{PARENT_TAG}` = '{parent}'" + (f" and tags.`crosspath.role` = '{role}'" if role else "")
        runs = self._client.search_runs([experiment], wanted, ViewType.ACTIVE_ONLY, max_results=1000)
        return sorted(runs, key=lambda run: -run.info.start_time)

    def _is_complete(self, run: Run, parent_run: str | None) -> bool:
        """Whether everything of this very content is there, under the parent that was asked for."""
        wanted = parent_run in (None, run.info.run_id)
        if not wanted or run.data.tags.get(LOGGED_TAG) != self._token:
            return False
        if self._traces is not None and run.data.tags.get(TRACES_TAG) != self._traces:
            return False
        return len(self._nested(run.info.experiment_id, run.info.run_id)) == len(self._content.nested)

    def _clear(self, parent: Run, keep: str | None) -> None:
        """Take away what an earlier, interrupted or outdated attempt left; another one's parent run only loses our tags."""
        experiment = parent.info.experiment_id
        CandidateModels(self._client, experiment, parent.info.run_id).delete()
        for run in self._nested(experiment, parent.info.run_id):
            delete_rows(self._store.tracing, experiment, run.info.run_id)
            self._client.delete_run(run.info.run_id)
        if OWN_TAG in parent.data.tags:
            self._client.delete_run(parent.info.run_id)
        elif parent.info.run_id != keep:
            self._untag(parent.info.run_id, EVALUATION_TAG, IDENTITY_TAG, LOGGED_TAG, *SERIES_TAGS)

    def _untag(self, run_id: str, *tags: str) -> None:
        there = self._client.get_run(run_id).data.tags
        for tag in tags:
            if tag in there:
                self._client.delete_tag(run_id, tag)

    def _log_all(self, experiment: str, facts: Facts, parent_run: str | None) -> str:
        started = facts.head.created_at
        ended = max([started, *(end or start for start, end in facts.sessions)])
        if parent_run:  # what was logged there before counts no longer, wherever this attempt may end
            self._untag(parent_run, LOGGED_TAG, *SERIES_TAGS)
        parent = parent_run or self._create(experiment, self._content.parent, _milliseconds(started), {OWN_TAG: "true"})
        self._log_content(parent, self._adopted(parent) if parent_run else self._content.parent)
        prompts = register_contracts(self._client, experiment, self._content.contracts)
        for key, value in prompt_tags(self._content.parent.prompts, prompts).items():
            self._client.set_tag(parent, key, value)
        for number, run in enumerate(reversed(self._content.nested), 1):
            # A millisecond apart, the first one last: MLflow lists the newest first, and so in the order of the spec.
            links = {PARENT_TAG: parent} | prompt_tags(run.prompts, prompts)
            child = self._create(experiment, run, _milliseconds(started) + number, links)
            self._log_content(child, run)
            log_rows(self._store.tracing, experiment, child, run.rows)
            self._finish(child, ended, run)
        self._log_artifacts(parent)
        self._log_models(experiment, parent, facts)
        self._client.set_tag(parent, TRACES_TAG, self._traces or "usual")
        self._client.set_tag(parent, LOGGED_TAG, self._token)
        if parent_run:
            self._client.update_run(parent, name=self._content.parent.name)
        else:
            self._finish(parent, ended, self._content.parent)
        return parent

    def _log_models(self, experiment: str, parent: str, facts: Facts) -> None:
        """Each candidate as a logged model; also of an evaluation that was logged before there were any."""
        configurations = {shown(one.name): configuration_of(facts, one) for one in facts.lock.candidates}
        models = CandidateModels(self._client, experiment, parent)
        models.complete(self._nested(experiment, parent, "matched"), self._content.nested, configurations)

    def _log_artifacts(self, parent: str) -> None:
        """The bundle, and the report at the top: MLflow opens an HTML file that stands there.

        Raises:
            TrackerError: a file is missing afterwards.
        """
        reports = [name for name in REPORTS if (self._bundle / name).is_file()]
        for name in reports:
            self._client.log_artifact(parent, str(self._bundle / name))
        self._client.log_artifacts(parent, str(self._bundle), BUNDLE)
        kept = {entry.path for entry in (*self._client.list_artifacts(parent), *self._client.list_artifacts(parent, BUNDLE))}
        wanted = {*reports, *(f"{BUNDLE}/{path.name}" for path in self._bundle.iterdir())}
        if lost := sorted(wanted - kept):
            raise TrackerError(f"run {self._content.parent.name!r}: MLflow did not keep the artifact {lost[0]}")

    def _create(self, experiment: str, run: RunContent, started_ms: int, more: Mapping[str, str]) -> str:
        created = self._client.create_run(experiment, started_ms, {**run.tags, **more}, run.name)
        return created.info.run_id

    def _adopted(self, run_id: str) -> RunContent:
        """The parent's content for a run that someone else opened: a param that is taken gets a name of our own.

        MLflow loses a whole batch of params when one of them is already there with another value.
        """
        taken = self._client.get_run(run_id).data.params
        content = self._content.parent
        params = {f"crosspath.{key}" if taken.get(key, value) != value else key: value for key, value in content.params.items()}
        return replace(content, params=params)

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
        if run.entry:
            self._client.log_text(run_id, run.entry, ENTRY)
            if ENTRY not in {one.path for one in self._client.list_artifacts(run_id, ENTRY.split("/")[0])}:
                raise TrackerError(f"run {run.name!r}: MLflow did not keep the artifact {ENTRY}")
        if run.tasks:
            self._client.log_inputs(run_id, [_dataset_input(run.tasks)])
        _require_kept(self._client.get_run(run_id), run)

    def _finish(self, run_id: str, ended_s: float, run: RunContent) -> None:
        started_ms = self._client.get_run(run_id).info.start_time
        self._client.set_terminated(run_id, "FINISHED" if run.complete else "FAILED", max(started_ms, _milliseconds(ended_s)))


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
    digests = [one.dataset.digest for one in found.inputs.dataset_inputs] if found.inputs else []
    if run.tasks and run.tasks.digest not in digests:
        raise TrackerError(f"run {run.name!r}: MLflow did not keep the dataset {run.tasks.name!r}")


def _dataset_input(tasks: TaskSet) -> DatasetInput:
    dataset = Dataset(tasks.name, tasks.digest, source_type="local", source=tasks.source, profile=tasks.profile)
    return DatasetInput(dataset, [InputTag(*CONTEXT)])


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _token(bundle: Path) -> str:
    """Identity of what is to be logged, from the index of its bundle."""
    try:
        return index_digest(bundle)
    except StoreError as error:
        raise TrackerError(f"nothing to log: {error}") from error
