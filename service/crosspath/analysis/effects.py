"""Estimates: a rate of one cell, or a paired contrast of two.

**Missing and unstable rows.** A contrast is taken over tasks that count on both sides; what was left out is in ``missing`` and
``unstable``, and ``worst``..``best`` hold the value that the whole plan would have given. The known half of a pair is used for
those bounds. They are widened to hold the value itself where the lost rows contradict it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from crosspath.analysis.family_intervals import family_interval
from crosspath.analysis.outcomes import Outcomes, Used, average, family_means, task_means
from crosspath.analysis.stats import (
    ALPHA,
    Interval,
    difference_on_these_tasks,
    mcnemar_p,
    share_interval,
    sign_flip_p,
)
from crosspath.types import Estimand, Estimate

Families = Mapping[str, str]


def rate_of(outcomes: Outcomes, bad: bool = False) -> Estimate:
    """The rate of a cell: on exactly these tasks where each has one trial, else over the population of families.

    ``bad`` is the outcome that a lost trial would have had at worst (True for the silent-wrong rate).
    """
    if any(len(trials) > 1 for trials in outcomes.trials.values()):
        return population_rate(outcomes, bad)
    used = outcomes.used()
    if not used:
        return _rate(outcomes, None, Interval(None, None, "nothing was scored"), "these_tasks", bad)
    value = average(task_means(used), None)
    low, high, name = share_interval(float(value), len(used))
    interval = Interval(low, high, f"{name} over tasks, one trial each")
    return _rate(outcomes, value, interval, "these_tasks", bad)


def population_rate(outcomes: Outcomes, bad: bool = False, alpha: float = ALPHA) -> Estimate:
    """The mean of family means, as an estimate for the population of families; ``alpha`` as in :func:`family_interval`."""
    used = outcomes.used()
    families = family_means(task_means(used), outcomes.families)
    value = average(task_means(used), outcomes.families) if used else None
    return _rate(outcomes, value, family_interval(families, 0, 1, alpha), "task_population", bad)


def _rate(outcomes: Outcomes, value: Fraction | None, interval: Interval, estimand: Estimand, bad: bool) -> Estimate:
    families = outcomes.families if estimand == "task_population" else None
    ends = (
        [average({task: outcomes.bound(task, missing) for task in outcomes.trials}, families) for missing in (bad, not bad)]
        if outcomes.trials
        else [None, None]
    )
    n = sum(len(trials) for trials in outcomes.used().values())
    planned = sum(len(trials) for trials in outcomes.trials.values())
    return Estimate(
        value=_float(value), low=interval.low, high=interval.high,
        n=n, missing=planned - n - len(outcomes.unstable), unstable=len(outcomes.unstable),
        worst=_float(ends[0]), best=_float(ends[1]), estimand=estimand, method=interval.method,
    )  # fmt: skip


@dataclass(frozen=True)
class Contrast:
    """``minuend`` - ``subtrahend`` over the tasks of ``used_minuend`` and ``used_subtrahend`` (the same tasks)."""

    minuend: Outcomes
    subtrahend: Outcomes
    used_minuend: Used
    used_subtrahend: Used

    @cached_property
    def families(self) -> Families:
        return {**self.minuend.families, **self.subtrahend.families}

    @cached_property
    def by_family(self) -> tuple[Fraction, ...]:
        """Mean differences of the families, in alphabetical order."""
        return family_means(self.differences, self.families)

    @cached_property
    def differences(self) -> Mapping[str, Fraction]:
        """Task -> difference of its two trial means."""
        first, second = task_means(self.used_minuend), task_means(self.used_subtrahend)
        return {task: first[task] - second[task] for task in first}

    def bounds(self, families: Families | None) -> tuple[Fraction, Fraction] | None:
        """Worst and best value over everything that was planned, and the value itself; None where nothing was planned."""
        ends = self.whole_plan(families)
        if ends is None:
            return None
        value = [average(self.differences, families)] if self.differences else []
        return min([*ends, *value]), max([*ends, *value])

    def whole_plan(self, families: Families | None) -> tuple[Fraction, Fraction] | None:
        """Worst and best value over everything that was planned, to which what was observed alone need not belong."""
        tasks = sorted({*self.minuend.trials, *self.subtrahend.trials})
        if not tasks:
            return None
        ends = [
            average({task: self.minuend.bound(task, up) - self.subtrahend.bound(task, not up) for task in tasks}, families)
            for up in (False, True)
        ]
        return ends[0], ends[1]


def these_replies(contrast: Contrast) -> Estimate:
    """The difference for exactly these replies: no sampling error, only what could not be observed."""
    bounds = contrast.bounds(None)
    complete = bounds is not None and bounds[0] == bounds[1]
    method = "exact for these replies" if complete else "bounds over what was lost; exact otherwise"
    low, high = (_float(bounds[0]), _float(bounds[1])) if bounds and contrast.used_minuend else (None, None)
    return _estimate(contrast, Interval(low, high, method), "these_replies")


def these_tasks(contrast: Contrast) -> Estimate:
    """The difference of two generations on exactly these tasks; McNemar's p where each task has one trial."""
    if not contrast.used_minuend:
        return _estimate(contrast, Interval(None, None, "no task was scored on both sides"), "these_tasks")
    first, second = (list(used.values()) for used in (contrast.used_minuend, contrast.used_subtrahend))
    interval = difference_on_these_tasks(first, second)
    p_value = None
    if all(len(trials) == 1 for trials in (*first, *second)):
        lost, gained = changed(contrast)
        p_value = mcnemar_p(lost, gained)
        interval = interval._replace(method=f"{interval.method}; McNemar exact p, ignores families")
    return _estimate(contrast, interval, "these_tasks", p_value)


def population(contrast: Contrast, alpha: float = ALPHA) -> Estimate:
    """The mean difference over the population of families: an interval on family means, and the sign-flip test over families."""
    interval = family_interval(contrast.by_family, -1, 1, alpha)
    p_value = sign_flip_p(contrast.by_family)
    if p_value is not None:
        interval = interval._replace(method=f"{interval.method}; sign-flip p over families")
    return _estimate(contrast, interval, "task_population", p_value)


def changed(contrast: Contrast) -> tuple[int, int]:
    """Pairs of trials, by index: right only in the subtrahend (lost), right only in the minuend (gained)."""
    pairs = [
        pair
        for task, outcomes in contrast.used_minuend.items()
        for pair in zip(outcomes, contrast.used_subtrahend[task], strict=False)
    ]
    return pairs.count((False, True)), pairs.count((True, False))


def _estimate(contrast: Contrast, interval: Interval, estimand: Estimand, p_value: float | None = None) -> Estimate:
    families = contrast.families if estimand == "task_population" else None
    value = average(contrast.differences, families) if contrast.differences else None
    bounds = contrast.bounds(families) or (None, None)
    n, missing, unstable = _counts(contrast)
    return Estimate(
        value=_float(value), low=interval.low, high=interval.high, n=n, missing=missing, unstable=unstable,
        worst=_float(bounds[0]), best=_float(bounds[1]), estimand=estimand, method=interval.method, p_value=p_value,
    )  # fmt: skip


def _counts(contrast: Contrast) -> tuple[int, int, int]:
    """Pairs that were used, pairs left out because something is missing, and because something is unstable."""
    sides = (contrast.minuend, contrast.subtrahend)
    tasks = {*contrast.minuend.trials, *contrast.subtrahend.trials}
    planned = sum(max(len(side.trials.get(task, {})) for side in sides) for task in tasks)
    n = sum(min(len(trials), len(contrast.used_subtrahend[task])) for task, trials in contrast.used_minuend.items())
    unstable = min(planned - n, len(contrast.minuend.unstable | contrast.subtrahend.unstable))
    return n, planned - n - unstable, unstable


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
