"""What the pipeline needs from the outside, as protocols of one or two methods.

Every port has a fake in ``crosspath.testing`` and at least one adapter in ``crosspath.adapters``; the same contract tests run
over both.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from crosspath.types import CheckResult, Execution, Facts, Fault, Judgement, ReplayJob, ReplayKey, Reply, Request, Text, Toolchain


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
