"""Pass rates of several models in two arrangements, by family, over the tasks that count for all of them.

Trials are averaged within their task and tasks within their family, as in every estimate for the task population: models are
ordered by the mean over families. Where all families have as many tasks that is the order of the counts of passed tasks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from crosspath.analysis.family_intervals import family_interval
from crosspath.analysis.outcomes import Outcomes, family_means, task_means
from crosspath.analysis.stats import mean
from crosspath.types import Estimate

Numbers = NDArray[np.float64]
NOTHING = 1e-9
"""Means that differ by less are equal: what is left of thirds that were added up."""
_Sides = tuple[tuple[Fraction, ...], tuple[Fraction, ...]]


@dataclass(frozen=True)
class SharedTasks:
    """``rates``: per model, best first, its family means in both arrangements; ``passed``: its passed tasks (means of trials)."""

    models: tuple[str, ...]
    rates: tuple[_Sides, ...]
    passed: tuple[tuple[Fraction, Fraction], ...]
    tasks: int
    missing: int
    """Tasks of some model that do not count for all."""

    @property
    def families(self) -> int:
        return len(self.rates[0][0])

    @cached_property
    def differences(self) -> Numbers:
        """Families x 2 x pairs: family means of the first - those of the second model, pairs as ``itertools.combinations``."""
        every = np.array([[[float(one) for one in side] for side in sides] for sides in self.rates], dtype=np.float64)
        left, right = np.triu_indices(len(self.models), 1)
        return np.moveaxis(every[left] - every[right], -1, 0).swapaxes(1, 2)

    def pairs(self) -> Iterator[tuple[str, str, _Sides, bool]]:
        """Both names of each pair, differences of family means in both arrangements, and whether the models differ by more than
        one task in both."""
        every = zip(self.models, self.rates, self.passed, strict=True)
        for (a, rates_a, passed_a), (b, rates_b, passed_b) in combinations(every, 2):
            first, second = (
                tuple(one - other for one, other in zip(*sides, strict=True)) for sides in zip(rates_a, rates_b, strict=True)
            )
            wide = all(abs(one - other) > 1 for one, other in zip(passed_a, passed_b, strict=True))
            yield a, b, (first, second), wide

    def estimate(self, families: Sequence[Fraction], lowest: int) -> Estimate:
        """The mean of family means as an estimate for the task population, ``lowest``..1."""
        low, high, method = family_interval(families, lowest, 1) if self.tasks else (None, None, "no task is shared")
        return Estimate(
            value=float(mean(families)) if families else None, low=low, high=high, n=self.tasks, missing=self.missing,
            estimand="task_population", method=method,
        )  # fmt: skip


def shared_tasks(first: Mapping[str, Outcomes], second: Mapping[str, Outcomes]) -> SharedTasks:
    """The tasks on which every model has a verdict on both sides. Names break ties of the order.

    Raises:
        ValueError: two models disagree about a task's family.
    """
    means = {name: (task_means(first[name].used()), task_means(second[name].used())) for name in sorted(first)}
    known = [side.keys() for sides in means.values() for side in sides]
    tasks = sorted(set[str]().union(*known).intersection(*known)) if known else []
    planned = {task for outcomes in (*first.values(), *second.values()) for task in outcomes.trials}
    families = _families((*first.values(), *second.values()), tasks)
    rates: dict[str, _Sides] = {}
    passed: dict[str, tuple[Fraction, Fraction]] = {}
    for name, sides in means.items():
        one, other = ({task: side[task] for task in tasks} for side in sides)
        rates[name] = family_means(one, families), family_means(other, families)
        passed[name] = sum(one.values(), Fraction(0)), sum(other.values(), Fraction(0))
    order = sorted(rates, key=lambda name: (*(-sum(side) for side in rates[name]), name))
    return SharedTasks(
        models=tuple(order),
        rates=tuple(rates[name] for name in order),
        passed=tuple(passed[name] for name in order),
        tasks=len(tasks),
        missing=len(planned) - len(tasks),
    )


def _families(outcomes: Sequence[Outcomes], tasks: Sequence[str]) -> dict[str, str]:
    families = {task: outcomes[0].families[task] for task in tasks}
    for one in outcomes:
        for task in tasks:
            if one.families[task] != families[task]:
                raise ValueError(f"task {task} is in two families: {families[task]}, {one.families[task]}")
    return families
