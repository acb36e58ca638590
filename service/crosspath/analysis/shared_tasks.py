"""Pass rates of several models in two arrangements, over the tasks that count for all of them, as sums by family.

Each task weighs the same: a ranking is an order of counts of passed tasks, as people read it from a table. What is said of other
families treats a family's sum as one draw: for totals ``c`` and sizes ``n`` of G families the mean is d = sum(c) / sum(n), and
its variance G / (G - 1) * sum((c - n d)^2) / sum(n)^2: the linearised ratio of cluster totals (Cochran 1977, Sampling techniques,
section 9A.1). For families of equal size that is t on family means.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from crosspath.analysis.outcomes import Outcomes, task_means
from crosspath.analysis.stats import ALPHA, t_quantile, tie_interval
from crosspath.types import Estimate

Numbers = NDArray[np.float64]
Indices = NDArray[np.intp]
NOTHING = 1e-9
"""Sums of task means that differ by less are equal: what is left of thirds that were added up."""


@dataclass(frozen=True)
class SharedTasks:
    """``passed``: families x 2 arrangements x models, sums of task means; ``sizes``: tasks of each family."""

    models: tuple[str, ...]
    sizes: Numbers
    passed: Numbers
    missing: int
    """Tasks of some model that do not count for all."""

    @property
    def families(self) -> int:
        return len(self.sizes)

    @property
    def tasks(self) -> int:
        return round(float(self.sizes.sum()))

    def differences(self) -> Numbers:
        """Families x 2 x pairs: first - second model of each pair of :meth:`pairs`."""
        left, right = self.pairs()
        return self.passed[:, :, left] - self.passed[:, :, right]

    def pairs(self) -> tuple[Indices, Indices]:
        """Places of both models of each pair, in the order of ``itertools.combinations``."""
        left, right = np.triu_indices(len(self.models), 1)
        return left, right


def shared_tasks(first: Mapping[str, Outcomes], second: Mapping[str, Outcomes]) -> SharedTasks:
    """The tasks on which every model has a verdict on both sides. Models come best first; names break ties.

    Raises:
        ValueError: two models disagree about a task's family.
    """
    means = {name: (task_means(first[name].used()), task_means(second[name].used())) for name in sorted(first)}
    known = [side.keys() for sides in means.values() for side in sides]
    tasks = sorted(set[str]().union(*known).intersection(*known)) if known else []
    planned = {task for outcomes in (*first.values(), *second.values()) for task in outcomes.trials}
    models = tuple(sorted(means, key=lambda name: (*(-sum(side[task] for task in tasks) for side in means[name]), name)))
    families = _families((*first.values(), *second.values()), tasks)
    names = sorted(set(families.values()))
    passed = np.zeros((len(names), 2, len(models)))
    for column, model in enumerate(models):
        for side in (0, 1):
            passed[:, side, column] = _by_family(means[model][side], tasks, families, names)
    sizes = _by_family(dict.fromkeys(tasks, Fraction(1)), tasks, families, names)
    return SharedTasks(models, sizes, passed, len(planned) - len(tasks))


def _families(outcomes: Sequence[Outcomes], tasks: Sequence[str]) -> dict[str, str]:
    families = {task: outcomes[0].families[task] for task in tasks}
    for one in outcomes:
        for task in tasks:
            if one.families[task] != families[task]:
                raise ValueError(f"task {task} is in two families: {families[task]}, {one.families[task]}")
    return families


def _by_family(
    values: Mapping[str, Fraction], tasks: Sequence[str], families: Mapping[str, str], names: Sequence[str]
) -> Numbers:
    sums = dict.fromkeys(names, Fraction(0))
    for task in tasks:
        sums[families[task]] += values[task]
    return np.array([float(sums[name]) for name in names], dtype=np.float64)


def mean_and_error(sums: Numbers, sizes: Numbers) -> tuple[Numbers, Numbers]:
    """Mean and standard error (see above) of each column of ``sums`` (families x ...), for at least two families."""
    groups, total = len(sizes), sizes.sum()
    mean = np.asarray(sums.sum(axis=0) / total)
    left = sums - sizes.reshape(-1, *[1] * (sums.ndim - 1)) * mean
    error = np.asarray(np.sqrt(groups / (groups - 1) * (left**2).sum(axis=0)) / total)
    return mean, np.where(error < NOTHING, 0.0, error)


def p_values(sums: Numbers, sizes: Numbers) -> Numbers:
    """Two-sided p of each column of ``sums``: that its mean is zero for families like these.

    t with G - 1 degrees; where all families tie the exact bound of :func:`crosspath.analysis.stats.tie_interval` turned around:
    with c = 1 / (1 + size of the mean), p = c^G + (1 - c)^G.
    """
    from scipy.special import stdtr  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    groups = len(sizes)
    mean, error = mean_and_error(sums, sizes)
    tied = error == 0
    t = np.abs(mean) / np.where(tied, 1.0, error)
    share = 1 / (1 + np.minimum(np.abs(mean), 1))
    return np.where(tied, np.minimum(1, share**groups + (1 - share) ** groups), 2 * np.asarray(stdtr(groups - 1, -t)))


def estimate(sums: Numbers, sizes: Numbers, missing: int, lowest: int) -> Estimate:
    """The mean of one column of family sums, with its interval cut to ``lowest``..1."""
    groups, tasks = len(sizes), round(float(sizes.sum()))
    value = float(sums.sum() / sizes.sum()) if tasks else None
    low = high = None
    method = "no interval: one family says nothing about how families differ" if groups else "no task is shared"
    if groups > 1 and value is not None:
        low, high, method = _interval(sums, sizes, lowest)
    return Estimate(
        value=value, low=low, high=high, n=tasks, missing=missing, estimand="task_population", method=method,
        p_value=float(p_values(sums[:, None], sizes)[0]) if groups > 1 and lowest < 0 else None,
    )  # fmt: skip


def _interval(sums: Numbers, sizes: Numbers, lowest: int) -> tuple[float | None, float | None, str]:
    mean, error = (float(one[0]) for one in mean_and_error(sums[:, None], sizes))
    groups = len(sizes)
    if error == 0:
        return tie_interval(Fraction(mean), groups, lowest, 1, ALPHA)
    half = t_quantile(groups - 1) * error
    return max(float(lowest), mean - half), min(1.0, mean + half), f"t on {groups} families, each task weighs the same"
