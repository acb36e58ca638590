"""What the pipeline needs from the outside, as protocols of one or two methods.

Every port has a fake in ``crosspath.testing`` and at least one adapter in ``crosspath.adapters``; the same contract tests run
over both.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from crosspath.types import (
    CheckResult,
    Decision,
    EvidenceRef,
    Execution,
    Facts,
    Fault,
    Judgement,
    LoggedTrials,
    ModelVersion,
    ReplayJob,
    ReplayKey,
    Reply,
    Request,
    Text,
    Toolchain,
    Verdict,
)
from crosspath.types.drift import Drift, SeriesHistory


class Model(Protocol):
    """Sends one request once. Retries belong to the caller."""

    async def generate(self, request: Request) -> Reply:
        """One attempt.

        Raises:
            ModelError: with ``type`` and ``retryable``; nothing else.
        """
        ...


class Sandbox(Protocol):
    """Executes hostile commands, each job in a fresh work directory."""

    def run(self, jobs: Sequence[ReplayJob]) -> tuple[Execution | Fault, ...]:
        """One result per job, in order. A job that could not be observed gives a ``Fault`` and never spoils its neighbours."""
        ...

    def describe(self) -> Toolchain:
        """The sandbox, the limits in force and those missing, and the programs that replies will meet."""
        ...


class Validator(Protocol):
    """Judges rows with Great Expectations suites."""

    def validate(self, suite: Text, tables: "ReplayTables") -> Mapping[int, tuple[CheckResult, ...]]:
        """Row number of a replay -> the expectations it did not meet; every replay has an entry.

        Raises:
            ConfigError: the suite is not acceptable (unknown expectation, aggregate, ``mostly`` below 1, ...).
            ValidatorError: the validation could not be carried out for every row.
        """
        ...


class ReplayTables(Protocol):
    """The two tables of a whole evaluation, as lists of plain rows."""

    @property
    def replays(self) -> Sequence[ReplayKey]:
        """Replay number -> key."""
        ...

    @property
    def final_state(self) -> Sequence[Mapping[str, object]]:
        """One row per replay and path, expected beside actual."""
        ...

    @property
    def executions(self) -> Sequence[Mapping[str, object]]:
        """One row per replay."""
        ...


class Tracker(Protocol):
    """Where evaluations are read: MLflow."""

    @property
    def uri(self) -> str:
        """Where it logs to."""
        ...

    def check(self) -> None:
        """Ask for a sign of life, before anything is spent on results that could not be kept.

        Raises:
            TrackerError: it does not answer within a few seconds.
        """
        ...

    def log(self, facts: Facts, judgement: Judgement, bundle: Path, parent_run: str | None = None) -> "RunRef":
        """Log one finished evaluation; ``bundle`` is the directory of its artifacts.

        Raises:
            TrackerError: the server can't be reached, or did not keep what was logged.
        """
        ...

    def fetch(self, run_id: str, into: Path) -> Path:
        """Download the bundle of an evaluation that some machine logged.

        Raises:
            TrackerError: no such run, or it holds no evaluation.
        """
        ...

    def trials(self, experiment: str) -> Iterator[LoggedTrials]:
        """The trials of the evaluations of an experiment, the newest evaluation first; damaged ones say so.

        Raises:
            ConfigError: there is no such experiment.
            TrackerError: the server can't be reached.
        """
        ...


class Registry(Protocol):
    """MLflow's model registry. A promotion is an entry in a history that is only ever added to; then the alias moves."""

    def register(self, run_id: str, candidate: str, model: str) -> ModelVersion:
        """Make a candidate of a logged evaluation (its parent run) a version of a registered model; twice is once.

        Raises:
            TrackerError: the server can't be reached, no such run or candidate.
        """
        ...

    def find(self, ref: EvidenceRef) -> ModelVersion:
        """The version that a reference to a model names.

        Raises:
            ConfigError: there is no such model, version or alias.
            TrackerError: the server can't be reached.
        """
        ...

    def versions(self, model: str) -> tuple[ModelVersion, ...]:
        """All versions of a registered model that Crosspath made, oldest first; none where there is no such model.

        Raises:
            TrackerError: the server can't be reached.
        """
        ...

    def aliases(self, model: str) -> Mapping[str, int]:
        """Alias -> version that it points to now; empty where there is no such model.

        Raises:
            TrackerError: the server can't be reached.
        """
        ...

    def log_verdict(self, verdict: Verdict, directory: Path, experiment: str) -> "RunRef":
        """A run of its own for a verdict, with its directory as artifacts; the same verdict again changes nothing.

        Raises:
            TrackerError: the server can't be reached, or did not keep what was logged.
        """
        ...

    def fetch_verdict(self, run_id: str, into: Path) -> Path:
        """Download the directory of a verdict.

        Raises:
            TrackerError: no such run, or it holds no verdict.
        """
        ...

    def promote(self, version: ModelVersion, alias: str, expected: int | None, verdict: Verdict, run_id: str) -> Decision:
        """Move an alias to ``version``. ``expected``: where it was seen last; None: it did not exist.

        Raises:
            ConfigError: the alias is somewhere else by now; nothing was moved.
            TrackerError: the server can't be reached; the message says whether anything was moved.
        """
        ...

    def rollback(self, model: str, alias: str) -> Decision:
        """Take the last promotion of an alias back.

        Raises:
            ConfigError: there is none, or the alias was moved by somebody else since.
            TrackerError: the server can't be reached; the message says whether anything was moved.
        """
        ...

    def finish(self, model: str, alias: str) -> Decision:
        """Carry out the last decision about an alias, where the program was killed before the alias was moved.

        Raises:
            ConfigError: nothing is unfinished, or the alias was moved by somebody else since.
            TrackerError: the server can't be reached; the message says whether anything was moved.
        """
        ...

    def decisions(self, model: str, alias: str | None = None) -> tuple[Decision, ...]:
        """The whole history, oldest first."""
        ...


class Series(Protocol):
    """A deployment's evaluations over time, and what every look at them found."""

    def history(self, deployment: str, experiment: str | None = None) -> SeriesHistory:
        """All its evaluations, oldest first; those that can't be read say why. ``experiment``: of this one only.

        Raises:
            ConfigError: there is no such deployment (naming those that there are), or evaluations of that name are in several
                experiments and none is named.
            TrackerError: the server can't be reached.
        """
        ...

    def last_look(self, deployment: str, experiment: str) -> Drift | None:
        """What the newest look that can be read found; None where there was none.

        Raises:
            TrackerError: the server can't be reached.
        """
        ...

    def log_look(self, drift: Drift, directory: Path) -> "RunRef":
        """One run for the day of this look, in its experiment, with ``directory`` as artifacts. Another look on the same (UTC)
        day takes its place; the same look again changes nothing.

        Raises:
            TrackerError: the server can't be reached, or did not keep what was logged.
        """
        ...


class RunRef(Protocol):
    """Where an evaluation landed."""

    @property
    def run_id(self) -> str: ...
    @property
    def url(self) -> str:
        """A link to the evaluation-runs page."""
        ...


class Executor(Protocol):
    """Carries requests and replays to workers: in this process, or Ray actors."""

    async def generate(self, request: Request) -> Reply | Fault:
        """One attempt on some model worker. Never raises for what a worker did or suffered."""
        ...

    async def replay(self, jobs: Sequence[ReplayJob]) -> tuple[Execution | Fault, ...]:
        """The jobs of one trial on some replay worker; a dead worker gives a Fault per job."""
        ...

    def toolchain(self) -> Toolchain:
        """As the executing worker reports it."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...
