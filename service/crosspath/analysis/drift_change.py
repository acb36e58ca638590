"""How much the pass rate of a few tasks changed against a reference: an estimate with an interval that carries both samples.

The estimate is the mean over tasks of recent rate minus reference rate, about exactly these tasks. Each side's mean gets its
own interval, and both are joined (Newcombe 1998, method 10; Zou and Donner 2008, MOVER). A side's interval is Agresti and
Coull's, with the number of alike trials that would give its variance *within* tasks; so a task that always passes adds nothing to
it, and yet no side has the width 0. A day of a watch has one or two trials a task, too few to show how far they vary: there, the
reference's rate of the task, moved by the change, says it. Measured coverage: ``docs/drift-statistics.md``.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from crosspath.analysis.sequential import Split
from crosspath.analysis.stats import share_interval
from crosspath.types import Estimate

METHOD = "MOVER of two Agresti-Coull intervals with the variance within tasks; both samples vary"
_NOTHING = "no task has trials on both sides"
_Z = 1.959964
_BORROWED = 2
"""So many trials weighs what is known of a task's variance from elsewhere."""


class Lost(NamedTuple):
    """Recent trials of one task without a verdict."""

    missing: int
    unstable: int


class _Ends(NamedTuple):
    low: float
    high: float


def change_of(splits: Mapping[str, Split], lost: Mapping[str, Lost]) -> Estimate:
    """Mean over the tasks that have trials on both sides, from -1 to 1; ``n``: recent trials.

    ``worst`` and ``best``: if all recent trials without a verdict had failed, or passed.
    """
    both = {task: split for task, split in sorted(splits.items()) if split.before_trials and split.recent_trials}
    missing, unstable = (sum(one[place] for one in lost.values()) for place in (0, 1))
    if not both:
        return Estimate(
            value=None, low=None, high=None, n=0, missing=missing, unstable=unstable, estimand="these_tasks", method=_NOTHING
        )  # fmt: skip
    before, recent = (mean_rate(list(both.values()), side) for side in ("before", "recent"))
    low, high = change_interval(list(both.values()))
    worst, best = _bounds(splits, lost)
    return Estimate(
        value=recent - before, low=low, high=high, n=sum(split.recent_trials for split in both.values()), missing=missing,
        unstable=unstable, worst=worst, best=best, estimand="these_tasks", method=METHOD,
    )  # fmt: skip


def mean_rate(splits: Sequence[Split], side: str) -> float:
    """Mean over tasks of their rates; each task has trials on that side (``before`` or ``recent``)."""
    place = 0 if side == "before" else 2
    return math.fsum(split[place] / split[place + 1] for split in splits) / len(splits)


def change_interval(splits: Sequence[Split]) -> tuple[float, float]:
    """A 95 % interval for the mean change of at least one task that has trials on both sides."""
    before, recent = mean_rate(splits, "before"), mean_rate(splits, "recent")
    change = recent - before
    was = _ends(before, [(_variance_before(split), split.before_trials) for split in splits])
    now = _ends(recent, [(_variance_recent(split, change), split.recent_trials) for split in splits])
    low = change - math.hypot(recent - now.low, was.high - before)
    high = change + math.hypot(now.high - recent, before - was.low)
    return max(-1.0, low), min(1.0, high)


def pooled_rate(split: Split) -> float:
    """Of both sides together, half a trial of either outcome added, so that it is never 0 or 1."""
    return (split.before + split.recent + 0.5) / (split.before_trials + split.recent_trials + 1)


def _variance_before(split: Split) -> float:
    return _variance(split.before, split.before_trials, pooled_rate(split))


def _variance_recent(split: Split, change: float) -> float:
    expected = min(1.0, max(0.0, (split.before + 0.5) / (split.before_trials + 1) + change))
    return _variance(split.recent, split.recent_trials, expected)


def _variance(passed: int, trials: int, expected: float) -> float:
    """Of one trial of a task: what its trials show, and what a rate of ``expected`` would give."""
    seen = passed * (trials - passed) / trials
    return (seen + _BORROWED * expected * (1 - expected)) / (trials - 1 + _BORROWED)


def _ends(rate: float, tasks: Sequence[tuple[float, int]]) -> _Ends:
    """Agresti-Coull around a mean over tasks; ``tasks``: of each the variance of one trial, and its trials."""
    alike = len(tasks) ** 2 / math.fsum(1 / trials for _, trials in tasks)
    within = math.fsum(variance / trials for variance, trials in tasks) / len(tasks) ** 2
    near = (alike * rate + 0.5) / (alike + 1)
    n = max(alike, near * (1 - near) / within) if within else alike
    centre = (rate * n + _Z**2 / 2) / (n + _Z**2)
    half = _Z * math.sqrt(centre * (1 - centre) / (n + _Z**2))
    return _Ends(max(0.0, min(rate, centre - half)), min(1.0, max(rate, centre + half)))


def _bounds(splits: Mapping[str, Split], lost: Mapping[str, Lost]) -> tuple[float, float]:
    """The change if all recent trials that are lost had failed, and had passed; tasks that are lost altogether included."""
    away = {task: sum(lost.get(task, (0, 0))) for task in splits}
    planned = [(one, away[task]) for task, one in splits.items() if one.before_trials and one.recent_trials + away[task]]
    before = math.fsum(one.before / one.before_trials for one, _ in planned)
    worst = math.fsum(one.recent / (one.recent_trials + gone) for one, gone in planned)
    best = math.fsum((one.recent + gone) / (one.recent_trials + gone) for one, gone in planned)
    return (worst - before) / len(planned), (best - before) / len(planned)


def day_rate(counts: Mapping[str, tuple[int, int]], lost: Mapping[str, Lost]) -> Estimate | None:
    """Pass rate of one day: mean over tasks with a verdict; None where there is none. ``counts``: passes and trials of a task."""
    seen = [(passed, trials) for _, (passed, trials) in sorted(counts.items()) if trials]
    if not seen:
        return None
    rate = math.fsum(passed / trials for passed, trials in seen) / len(seen)
    ends = share_interval(rate, len(seen) ** 2 / math.fsum(1 / trials for _, trials in seen))
    missing, unstable = (sum(one[place] for one in lost.values()) for place in (0, 1))
    return Estimate(
        value=rate, low=ends.low, high=ends.high, n=sum(trials for _, trials in seen), missing=missing, unstable=unstable,
        estimand="these_tasks", method=ends.method,
    )  # fmt: skip
