"""Rows of a cell arranged by task and trial, and the means over them.

A row *counts* when it was observed and is stable. Trials are averaged within their task, tasks within their family: a task with
a lost trial weighs as much as any other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal

from crosspath.analysis.stats import mean, share
from crosspath.types import CellRow

Used = Mapping[str, tuple[bool, ...]]
"""Task -> outcomes of the trials that count, at least one."""
Asked = Literal["passed", "silent_wrong", "false_alarm"]
"""What is asked of a row."""


@dataclass(frozen=True)
class Outcomes:
    """One cell's outcomes. ``trials``: task -> trial index -> passed; None: missing or unstable."""

    trials: Mapping[str, Mapping[int, bool | None]]
    families: Mapping[str, str]
    unstable: frozenset[tuple[str, int]]
    tiers: Mapping[str, int] = field(default_factory=dict[str, int])
    """Of the tasks that have one."""

    def counting(self, task: str) -> frozenset[int]:
        """Indices of the task's trials that count."""
        return frozenset(index for index, passed in self.trials.get(task, {}).items() if passed is not None)

    def used(self) -> Used:
        """All trials that count, of every task that has one."""
        return self.picked({task: self.counting(task) for task in self.trials})

    def picked(self, indices: Mapping[str, frozenset[int]]) -> Used:
        """The outcomes at ``indices`` (task -> trials that count); tasks without any are left out."""
        return {
            task: tuple(bool(self.trials[task][index]) for index in sorted(indices[task]))
            for task in sorted(indices)
            if indices[task]
        }

    def bound(self, task: str, missing: bool) -> Fraction:
        """The task's mean if every trial that doesn't count had ended as ``missing``; also for a task that has no trial."""
        return self._bounds[missing].get(task, Fraction(missing))

    @cached_property
    def _bounds(self) -> Mapping[bool, Mapping[str, Fraction]]:
        """Worst and best mean of each task; one object where nothing is missing."""
        filled = {task: trials for task, trials in self.trials.items() if trials}
        complete = all(passed is not None for trials in filled.values() for passed in trials.values())
        least = {task: share(bool(passed) for passed in trials.values()) for task, trials in filled.items()}
        if complete:
            return {False: least, True: least}
        return {False: least, True: {task: share(one is not False for one in trials.values()) for task, trials in filled.items()}}


def arrange(rows: Iterable[CellRow], asked: Asked = "passed") -> Outcomes:
    """Rows as outcomes: whether they passed, or whether they are silently wrong, or false alarms.

    Raises:
        ValueError: two rows of the same trial, or a task in two families.
    """
    trials: dict[str, dict[int, bool | None]] = {}
    families: dict[str, str] = {}
    unstable: set[tuple[str, int]] = set()
    tiers: dict[str, int] = {}
    for row in rows:
        task = trials.setdefault(row.task, {})
        if row.index in task:
            raise ValueError(f"two rows of {row.task}#{row.index} in one cell")
        if families.setdefault(row.task, row.family) != row.family:
            raise ValueError(f"task {row.task} is in two families: {families[row.task]}, {row.family}")
        lost = row.unstable or row.passed is None
        task[row.index] = None if lost else bool(getattr(row, asked))
        if row.unstable:
            unstable.add((row.task, row.index))
        if row.tier is not None:
            tiers[row.task] = row.tier
    return Outcomes(trials, families, frozenset(unstable), tiers)


def task_means(used: Used) -> dict[str, Fraction]:
    """Task -> share of its counting trials that came out true."""
    return {task: share(outcomes) for task, outcomes in used.items()}


def family_means(tasks: Mapping[str, Fraction], families: Mapping[str, str]) -> tuple[Fraction, ...]:
    """Means over each family's tasks, families in alphabetical order."""
    grouped: dict[str, list[Fraction]] = {}
    for task, value in tasks.items():
        grouped.setdefault(families[task], []).append(value)
    return tuple(mean(grouped[family]) for family in sorted(grouped))


def average(tasks: Mapping[str, Fraction], families: Mapping[str, str] | None) -> Fraction:
    """Mean over tasks, or with ``families`` the mean over family means; of at least one task."""
    values: Sequence[Fraction] = tuple(tasks.values()) if families is None else family_means(tasks, families)
    return mean(values)
