"""A watch as counts: of each compared task what was planned, scored and passed in the reference and on each day.

Rows are days, columns tasks. Sums over the first days are kept, so that a window takes two look-ups: a year has a thousand looks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crosspath.analysis.drift_change import Lost
from crosspath.analysis.sequential import Split
from crosspath.types.drift import EntryTrial, SeriesEntry

NO_REFERENCE_VERDICT = "no verdict in the reference"

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Day:
    """One UTC date of a watch: its evaluations are pooled."""

    day: str
    entries: tuple[SeriesEntry, ...]
    used: bool
    why_not: str
    """Why it is no measurement; empty where it is used."""


@dataclass(frozen=True)
class DayCounts:
    """One number a task, in the order of the watch's tasks."""

    passed: Counts
    scored: Counts
    unstable: Counts
    planned: Counts


@dataclass(frozen=True)
class Watch:
    """Everything since a reference."""

    reference: SeriesEntry
    days: tuple[Day, ...]
    set_apart: Mapping[str, str]
    """Task -> why it is not compared on any day: it has no verdict in the reference."""
    tasks: tuple[str, ...]

    @classmethod
    def of(cls, reference: SeriesEntry, days: Sequence[Day]) -> "Watch":
        """Days in any order; their entries hold the tasks that are compared on that day."""
        seen = {trial.task for trial in reference.trials if trial.passed is not None}
        apart = dict.fromkeys((task for task in reference.tasks if task not in seen), NO_REFERENCE_VERDICT)
        tasks = tuple(sorted(reference.tasks.keys() - apart.keys()))
        return cls(reference, tuple(sorted(days, key=lambda day: day.day)), apart, tasks)

    @cached_property
    def used(self) -> list[Day]:
        return [day for day in self.days if day.used]

    @cached_property
    def ordinals(self) -> list[int]:
        """Of the used days."""
        return [date.fromisoformat(day.day).toordinal() for day in self.used]

    def start_of(self, at: int, days: int) -> int:
        """Place of the first used day of a window of so many calendar days that ends with the used day ``at``."""
        return next(place for place in range(at + 1) if self.ordinals[place] > self.ordinals[at] - days)

    def trials(self, entries: Sequence[SeriesEntry]) -> list[EntryTrial]:
        """Of the compared tasks."""
        return [trial for entry in entries for trial in entry.trials if trial.task in self._places]

    def recent(self, day: Day) -> list[SeriesEntry]:
        """The evaluations of a day; the reference is never compared with itself."""
        return [entry for entry in day.entries if entry.key != self.reference.key]

    def counts(self, entries: Sequence[SeriesEntry]) -> DayCounts:
        """Of some evaluations together."""
        passed, scored, unstable, planned = (np.zeros(len(self.tasks), dtype=np.int64) for _ in range(4))
        for trial in self.trials(entries):
            place = self._places[trial.task]
            passed[place] += bool(trial.passed)
            scored[place] += trial.passed is not None
            unstable[place] += trial.unstable
        for entry in entries:
            planned += np.array([entry.planned_trials * (task in entry.tasks) for task in self.tasks], dtype=np.int64)
        return DayCounts(passed, scored, unstable, planned)

    def over(self, start: int, at: int) -> DayCounts:
        """Of the used days from ``start`` to ``at``, both included."""
        return DayCounts(*(one[at + 1] - one[start] for one in self._sums))

    def splits(self, start: int, at: int) -> dict[str, Split]:
        """The same beside the reference, by task."""
        recent = self.over(start, at)
        columns = (self._before.passed, self._before.scored, recent.passed, recent.scored)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {task: Split(*row) for task, row in zip(self.tasks, rows, strict=True)}

    def lost(self, counts: DayCounts) -> dict[str, Lost]:
        """Trials without a verdict; those that were planned and are not there are missing."""
        missing = np.maximum(counts.planned - counts.scored - counts.unstable, 0)
        rows = zip(missing.tolist(), counts.unstable.tolist(), strict=True)
        return {task: Lost(*row) for task, row in zip(self.tasks, rows, strict=True)}

    @cached_property
    def _places(self) -> dict[str, int]:
        return {task: place for place, task in enumerate(self.tasks)}

    @cached_property
    def _before(self) -> DayCounts:
        return self.counts([self.reference])

    @cached_property
    def _sums(self) -> list[Counts]:
        """Of passed, scored, unstable and planned: sums over the first 0, 1, ... used days."""
        found = [self.counts(self.recent(day)) for day in self.used]
        nothing = np.zeros((1, len(self.tasks)), dtype=np.int64)
        rows = [[getattr(one, name) for one in found] for name in ("passed", "scored", "unstable", "planned")]
        return [np.cumsum(np.concatenate([nothing, *(row[None, :] for row in each)]), axis=0) for each in rows]
