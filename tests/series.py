"""Entries of a deployment's series, for tests of what is made of them, without an evaluation."""

from collections.abc import Mapping, Sequence
from typing import Any

from crosspath.analysis.toolchain_drift import REPLAYS
from crosspath.types import Estimate, digest
from crosspath.types.drift import EntryTrial, FrozenOutcome, SeriesEntry, ToolchainDrift

NOON = 1_790_942_400.0
"""2026-10-02 at noon (UTC), the day of the reference."""
DAY_S = 86400.0
TASKS = tuple(f"family-{number % 4}/task-{number}" for number in range(8))
OLD, NEW = "old-programs", "new-programs"
"""Digests of two toolchains."""
CONFIGURATION = {
    "model": "openai/bot",
    "model.served": "bot-0501",
    "contract": "plain",
    "contract.digest": digest("plain"),
    "op.temperature": "0.7",
    "toolchain.sandbox": "bubblewrap 0.8.0",
    "toolchain.programs.awk": "mawk 1.3.4",
    "packages.crosspath": "0.1.0",
}


def entry(day: int, passes: float | Mapping[str, float] = 1.0, *, trials: int = 1, **changes: Any) -> SeriesEntry:
    """The evaluation of the n-th day after the reference: of each task the first ``passes`` (a share) of its trials are right."""
    shares = {task: passes[task] if isinstance(passes, Mapping) else passes for task in TASKS}
    rows = [_trial(task, index, index < round(shares[task] * trials)) for task in TASKS for index in range(trials)]
    rate = Estimate(
        value=sum(bool(row.passed) for row in rows) / len(rows), low=0, high=1, n=len(rows), estimand="these_tasks", method="test"
    )
    found = SeriesEntry(
        evaluation=f"watch-{day:03d}",
        created_at=NOON + day * DAY_S,
        run=f"{day:032x}",
        deployment="bot",
        candidate="bot",
        role="day",
        rules={},  # pyright: ignore[reportArgumentType] - pydantic makes the record
        configuration=CONFIGURATION,
        toolchain=OLD,
        tasks={task: digest(task) for task in TASKS},
        families={task: task.partition("/")[0] for task in TASKS},
        planned_trials=trials,
        control="holds",
        rate=rate,
        trials=tuple(rows),
    )
    return found.model_copy(update=changes)


def _trial(task: str, index: int, passed: bool) -> EntryTrial:
    return EntryTrial(
        task=task,
        index=index,
        passed=passed,
        reply="right" if passed else "wrong",
        length=20,
        latency_s=1.0,
        served_model="bot-0501",
    )


def reference(passes: float | Mapping[str, float] = 1.0, *, trials: int = 10, day: int = 0, **changes: Any) -> SeriesEntry:
    """A reference of that day."""
    return entry(day, passes, trials=trials, role="reference", **changes)


def configured(**fields: str) -> dict[str, str]:
    """The configuration with other values; dots are written as two underscores."""
    return CONFIGURATION | {name.replace("__", "."): value for name, value in fields.items()}


def unmeasured(entry: SeriesEntry, share: float = 1.0) -> SeriesEntry:
    """The same evaluation, a share of its trials lost to a server that fails."""
    lost = round(share * len(entry.trials))
    blank = {"passed": None, "cause": "fault:server_error", "reply": "", "length": None, "latency_s": None}
    trials = [trial.model_copy(update=blank) if number < lost else trial for number, trial in enumerate(entry.trials)]
    return entry.model_copy(update={"trials": tuple(trials)})


def executed(*, toolchain: str = OLD, evidence: Sequence[FrozenOutcome] = (), **changes: Any) -> ToolchainDrift:
    """Frozen replies that came out as before."""
    found = ToolchainDrift(
        status="no drift", sentence="80 frozen replies come out as before", frozen="watch-000", replies=80, compared=80,
        toolchain=toolchain, evidence=tuple(evidence),
    )  # fmt: skip
    return found.model_copy(update=changes)


def evidence_of(entry: SeriesEntry, toolchain: str, otherwise: Sequence[str] = ()) -> tuple[FrozenOutcome, ...]:
    """Every reply of an entry executed once with a toolchain; those of ``otherwise`` came out the other way, six times."""
    times = {(one.task, one.index): REPLAYS if one.task in otherwise else 1 for one in entry.trials}
    passed = {(one.task, one.index): bool(one.passed) != (one.task in otherwise) for one in entry.trials}
    return tuple(
        FrozenOutcome(
            task=task, index=index, toolchain=toolchain, passes=passed[task, index] * n, fails=(not passed[task, index]) * n
        )
        for (task, index), n in times.items()
    )
