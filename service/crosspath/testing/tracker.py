"""A tracker in memory: for tests and for looking at what would be logged."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from crosspath.errors import ConfigError, StoreError, TrackerError
from crosspath.store.bundle import index_digest, read_bundle, read_trials
from crosspath.types import Facts, Judgement, LoggedTrials


@dataclass(frozen=True)
class MemoryRef:
    """Where an evaluation landed."""

    run_id: str
    url: str


@dataclass
class MemoryRun:
    """One run: the parent, or a candidate's."""

    run_id: str
    name: str
    parent: str | None = None
    evaluation: str | None = None
    created_at: float = 0.0
    """Of the evaluation: ids are counted in each ledger, so two evaluations may have the same."""
    bundle: Path | None = None
    content: str | None = None
    """Digest of the bundle that was logged."""
    experiment: str | None = None
    """Of an evaluation."""
    traces: int | Literal["all"] | None = None
    """How many failing tasks were asked to be shown stage by stage."""


@dataclass
class MemoryTracker:
    """Keeps runs in ``runs`` and copies of the bundles below ``directory``. ``reachable=False``: a server that is down.

    ``traces``: how many failing tasks are to be shown stage by stage; None: whatever is there will do.
    """

    directory: Path
    reachable: bool = True
    traces: int | Literal["all"] | None = None
    runs: dict[str, MemoryRun] = field(default_factory=dict[str, MemoryRun])

    @property
    def uri(self) -> str:
        """Where it logs to."""
        return "memory:"

    def check(self) -> None:
        """A sign of life.

        Raises:
            TrackerError: ``reachable`` is False.
        """
        if not self.reachable:
            raise TrackerError("MLflow at memory: can't be used (it was made unreachable)")

    def open_run(self, name: str) -> str:
        """A run that somebody else opened, as ``mlflow run`` does; its id."""
        return self._add(MemoryRun(f"memory-{len(self.runs) + 1}", name)).run_id

    def log(self, facts: Facts, judgement: Judgement, bundle: Path, parent_run: str | None = None) -> MemoryRef:
        """Log one evaluation; the same one again changes nothing.

        Raises:
            TrackerError: ``reachable`` is False, there is no such parent run or no bundle.
        """
        content = self._content(bundle)
        wanted = (facts.head.id, facts.head.created_at)
        earlier = [run for run in self.runs.values() if (run.evaluation, run.created_at) == wanted and run.parent is None]
        same = next((run for run in earlier if self._is_complete(run, content, parent_run)), None)
        if same:
            return self._ref(same.run_id)
        if parent_run is not None and parent_run not in self.runs:
            raise TrackerError(f"no run {parent_run} at memory:")
        for run in earlier:
            self._drop(run.run_id)
        parent = self._add(MemoryRun(parent_run or f"memory-{len(self.runs) + 1}", facts.head.name, evaluation=facts.head.id))
        parent.experiment = facts.head.experiment
        parent.content, parent.created_at, parent.traces = content, facts.head.created_at, self.traces
        parent.bundle = self.directory / parent.run_id / "bundle"
        shutil.copytree(bundle, parent.bundle, dirs_exist_ok=True)
        for one in judgement.decompositions:
            self._add(MemoryRun(f"{parent.run_id}/{one.candidate}", one.candidate, parent.run_id, facts.head.id))
        return self._ref(parent.run_id)

    def fetch(self, run_id: str, into: Path) -> Path:
        """Copy the bundle of the evaluation that a run belongs to.

        Raises:
            TrackerError: no such run, it holds no evaluation, or the bundle is damaged.
        """
        self.check()
        run = self.runs.get(run_id)
        parent = self.runs.get(run.parent) if run and run.parent else run
        if parent is None or parent.bundle is None:
            raise TrackerError(f"no evaluation in run {run_id} at memory:")
        found = Path(shutil.copytree(parent.bundle, into / "bundle", dirs_exist_ok=True))
        try:
            read_bundle(found)
        except StoreError as error:
            raise TrackerError(f"run {run_id} holds a damaged evaluation: {error}") from error
        return found

    def trials(self, experiment: str) -> Iterator[LoggedTrials]:
        """The trials of the evaluations of an experiment, the newest first.

        Raises:
            ConfigError: there is no such experiment.
            TrackerError: ``reachable`` is False.
        """
        self.check()
        runs = [run for run in self.runs.values() if run.experiment == experiment and run.bundle]
        if not runs:
            raise ConfigError(f"there is no experiment {experiment!r}", field="reuse")
        for run in sorted(runs, key=lambda run: -run.created_at):
            try:
                yield LoggedTrials(run=run.run_id, evaluation=run.name, trials=read_trials(run.bundle or Path()))
            except StoreError as error:
                yield LoggedTrials(run=run.run_id, evaluation=run.name, problem=str(error))

    def _is_complete(self, run: MemoryRun, content: str, parent_run: str | None) -> bool:
        return run.content == content and parent_run in (None, run.run_id) and self.traces in (None, run.traces)

    def _content(self, bundle: Path) -> str:
        self.check()
        try:
            return index_digest(bundle)
        except StoreError as error:
            raise TrackerError(f"nothing to log: {error}") from error

    def _add(self, run: MemoryRun) -> MemoryRun:
        self.runs[run.run_id] = run
        return run

    def _drop(self, parent: str) -> None:
        for run_id in [run.run_id for run in self.runs.values() if parent in (run.run_id, run.parent)]:
            del self.runs[run_id]

    def _ref(self, run_id: str) -> MemoryRef:
        return MemoryRef(run_id, f"memory:/{run_id}")
